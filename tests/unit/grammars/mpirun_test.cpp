// Command lines of mpirun and Hydra: each option has an effect, or an error names the option to use.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "command_line_fixture.h"
#include "mpirun/arguments.h"

namespace dlaunch::cli {
namespace {

using plan::BindTo;
using plan::MapBy;
using plan::RankBy;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Kind = plan::StdinTarget::Kind;

struct TextLine {
  Words args;  // "prog" is added
  std::function<bool(const Options&)> holds;
};

void PrintTo(const TextLine& line, std::ostream* out) { print_words(line.args, *out); }

const plan::AppRequest& app(const Options& o) { return o.request.apps.front(); }

auto ranks_each(int n) {
  return [n](const Options& o) { return o.request.ranks_per_host == n; };
}
auto binding(plan::BindingRequest wanted) {
  return [wanted](const Options& o) { return o.request.binding == wanted; };
}
auto on_failure(bool abort) {
  return [abort](const Options& o) { return o.policy.abort_on_failure == abort; };
}
auto env(const Words& wanted) {
  return [wanted](const Options& o) { return variables(app(o)) == wanted; };
}
auto label(const std::string& text) {
  return [text](const Options& o) { return o.output.label == text; };
}
auto reached_by(const std::string& command) {
  return [command](const Options& o) { return o.exec == command; };
}
bool runs(const Options& o) { return !o.dry_run && o.verb == Verb::run; }
bool tagged(const Options& o) { return o.output.tag; }
bool timestamped(const Options& o) { return o.output.timestamp; }
bool merged(const Options& o) { return o.output.merge_stderr; }
bool oversubscribed(const Options& o) { return o.request.oversubscribe; }
auto kept_in(const std::string& target, bool copy) {
  return [=](const Options& o) {
    return o.output.files && o.output.files->target == target && o.output.files->copy == copy;
  };
}
bool kept_in_logs(const Options& o) { return o.output.files && o.output.files->target == "/cwd/logs"; }

class OpenMpiLine : public testing::TestWithParam<TextLine> {};

TEST_P(OpenMpiLine, Sets) {
  Words args = GetParam().args;
  args.push_back("prog");
  CommandLineFixture fixture;
  fixture.files = {{"/cwd/h", "a slots=2\n"},
                   {"/cwd/r", "rank 0=a slot=0\n"},
                   {"/cwd/am", "# ours\nbtl = self,tcp\n\norte_tag_output=1\n"},
                   {"/cwd/tune", "-x A=b -mca pml ob1\n--mca orte_tag_output 1\n"}};
  const Options options = fixture.options(args);
  EXPECT_TRUE(GetParam().holds(options)) << testing::PrintToString(args);
  EXPECT_THAT(programs(options), ElementsAre(Words{"prog"}));
  EXPECT_THAT(options.notes, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Places, OpenMpiLine,
    testing::Values(
        TextLine{{"-pernode"}, ranks_each(1)}, TextLine{{"--pernode"}, ranks_each(1)},
        TextLine{{"-npernode", "3"}, ranks_each(3)}, TextLine{{"--ppr", "2:node"}, ranks_each(2)},
        TextLine{{"-N", "2"}, ranks_each(2)}, TextLine{{"-bynode"}, binding({.map_by = MapBy::node})},
        TextLine{{"-byslot"}, binding({})},
        TextLine{{"-bycore", "-bind-to-core"}, binding({.bind_to = BindTo::core, .map_by = MapBy::core})},
        TextLine{{"-bysocket", "-bind-to-socket"}, binding({.bind_to = BindTo::socket, .map_by = MapBy::socket})},
        TextLine{{"-bind-to-none"}, binding({})},
        TextLine{{"--bind-to", "core:overload-allowed"}, binding({.bind_to = BindTo::core, .overload = true})},
        TextLine{{"--bind-to", "core:if-supported"}, binding({.bind_to = BindTo::core, .if_supported = true})},
        TextLine{{"--bind-to", "numa:if-supported,overload-allowed"},
                 binding({.bind_to = BindTo::numa, .overload = true, .if_supported = true})},
        TextLine{{"--bind-to", ":overload-allowed"}, binding({.overload = true})},
        TextLine{{"-bind-to", "rr"}, binding({.bind_to = BindTo::hwthread})},
        TextLine{{"-bind-to", "machine"}, binding({})},
        TextLine{{"-bind-to", "core:2"}, binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"-bind-to", "numa:1"}, binding({.bind_to = BindTo::numa})},
        TextLine{{"--bind-to", "package"}, binding({.bind_to = BindTo::socket})},
        TextLine{{"-cpus-per-proc", "2"}, binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"--cpus-per-rank", "2"}, binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"--map-by", "slot:PE=2"}, binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"--map-by", "socket:PE=3", "--bind-to", "hwthread"},
                 binding({.bind_to = BindTo::hwthread, .map_by = MapBy::socket, .cores_per_rank = 3})},
        TextLine{{"--map-by", "package:PE=2"},
                 binding({.bind_to = BindTo::core, .map_by = MapBy::socket, .cores_per_rank = 2})},
        TextLine{{"--map-by", "ppr:2:node:pe=4"},
                 [](const Options& o) {
                   return ranks_each(2)(o) && o.request.binding.cores_per_rank == 4 &&
                          o.request.binding.bind_to == BindTo::core;
                 }},
        TextLine{{"--map-by", ":OVERSUBSCRIBE"}, oversubscribed},
        TextLine{{"--map-by", "node:OVERSUBSCRIBE"}, oversubscribed},
        TextLine{{"--map-by", "slot:pe=2,oversubscribe"}, oversubscribed},
        TextLine{{"-oversubscribe", "--map-by", "slot:NOOVERSUBSCRIBE"},
                 [](const Options& o) { return !oversubscribed(o); }},
        TextLine{{"--map-by", "seq"}, [](const Options& o) { return o.request.in_sequence; }},
        TextLine{{"--rank-by", "node"}, binding({.rank_by = RankBy::node})},
        TextLine{{"-cpu-set", "0-3"}, [](const Options& o) { return o.request.cpu_list == "0-3"; }},
        TextLine{{"-cpu-list", "0,2"}, [](const Options& o) { return o.request.cpu_list == "0,2"; }},
        TextLine{{"--use-hwthread-cpus"}, [](const Options& o) { return o.request.threads_are_cpus; }},
        TextLine{{"--use-hwthread-cpus", "--map-by", "slot:PE=2"},
                 binding({.bind_to = BindTo::hwthread, .cores_per_rank = 2})},
        TextLine{{"-cpus-per-proc", "2", "-use-hwthread-cpus"},
                 binding({.bind_to = BindTo::hwthread, .cores_per_rank = 2})},
        TextLine{{"--map-by", "slot:PE=2:HWTCPUS"}, binding({.bind_to = BindTo::hwthread, .cores_per_rank = 2})},
        TextLine{{"--map-by", ":hwtcpus"}, [](const Options& o) { return o.request.threads_are_cpus; }},
        TextLine{{"--use-hwthread-cpus", "--map-by", "slot:PE=2", "--bind-to", "core"},
                 binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"-nolocal"}, [](const Options& o) { return o.hosts.no_local; }},
        TextLine{{"-machinefile", "h"}, [](const Options& o) { return o.hosts.hostfile.size() == 1; }},
        TextLine{{"-rf", "r"}, [](const Options& o) { return o.request.rank_places.size() == 1; }},
        TextLine{{"-default-hostfile", "h"}, [](const Options& o) { return o.hosts.default_hostfile.size() == 1; }},
        TextLine{{"-report-bindings"}, binding({.report = true})}));

INSTANTIATE_TEST_SUITE_P(
    Rest, OpenMpiLine,
    testing::Values(
        TextLine{{"-do-not-launch"}, [](const Options& o) { return o.dry_run; }},
        TextLine{{"--display-map"}, [](const Options& o) { return o.show_map && !o.dry_run; }},
        TextLine{{"-display-allocation"}, [](const Options& o) { return o.show_allocation; }},
        TextLine{{"--display", "map,bind,allocation"},
                 [](const Options& o) { return o.show_map && o.show_allocation && o.request.binding.report; }},
        TextLine{{"--output", "tag,timestamp,merge"},
                 [](const Options& o) { return tagged(o) && timestamped(o) && merged(o); }},
        TextLine{{"--output", "dir=logs"}, kept_in_logs}, TextLine{{"--output-directory", "logs"}, kept_in_logs},
        TextLine{{"--output", "rank"}, label("[{rank}]<{stream}>: ")},
        TextLine{{"-report-pid", "-"}, [](const Options& o) { return o.report_pid == "-"; }},
        TextLine{{"--report-pid", "+"}, [](const Options& o) { return o.report_pid == "+"; }},
        TextLine{{"--report-pid", "pid"}, [](const Options& o) { return o.report_pid == "/cwd/pid"; }},
        TextLine{{"-q"}, [](const Options& o) { return o.quiet; }},
        TextLine{{"--quiet"}, [](const Options& o) { return o.quiet; }},
        TextLine{{"-disable-recovery"}, on_failure(true)},
        TextLine{{"-personality", "ompi"}, [](const Options& o) { return o.hosts.slots_are_limits; }},
        TextLine{{"-prefix", "/opt/m"}, env({"PATH=/opt/m/bin", "LD_LIBRARY_PATH=/opt/m/lib"})},
        TextLine{{"-novm", "--noprefix", "-leave-session-attached", "-show-progress"}, runs},
        TextLine{{"-report-state-on-timeout", "--allow-run-as-root"}, runs},
        TextLine{{"-am", "am"}, [](const Options& o) { return tagged(o) && env({"OMPI_MCA_btl=self,tcp"})(o); }},
        TextLine{{"-tune", "am"}, [](const Options& o) { return tagged(o) && env({"OMPI_MCA_btl=self,tcp"})(o); }},
        TextLine{{"-tune", "tune"}, [](const Options& o) { return tagged(o) && env({"A=b", "OMPI_MCA_pml=ob1"})(o); }},
        TextLine{{"-x", "A=b=c", "-x", "HOME"}, env({"A=b=c", "HOME"})},
        TextLine{{"-stdin", "none"}, [](const Options& o) { return o.stdin_target.kind == Kind::none; }}));

INSTANTIATE_TEST_SUITE_P(
    Hydra, OpenMpiLine,
    testing::Values(
        TextLine{{"-genv", "A", "1"}, env({"A=1"})}, TextLine{{"-env", "A", "b=c"}, env({"A=b=c"})},
        TextLine{{"-genv", "A", ""}, env({"A="})}, TextLine{{"-genv", "A", "-n"}, env({"A=-n"})},
        TextLine{{"-genvlist", "HOME,A"}, env({"HOME", "A"})}, TextLine{{"-envlist", "HOME"}, env({"HOME"})},
        TextLine{{"-genvall", "-envall"}, env({})}, TextLine{{"-l"}, label("[{rank}] ")},
        TextLine{{"-prepend-rank"}, label("[{rank}] ")},
        TextLine{{"-prepend-pattern", "%h/%r 100%% {x} "}, label("{host}/{rank} 100% {{x}} ")},
        TextLine{{"-outfile-pattern", "o/%h.%r"},
                 [](const Options& o) {
                   const auto& f = o.output.files;
                   return f && f->by_stream && !f->copy && f->target == "/cwd/o/{host}.{rank}" && f->err_target.empty();
                 }},
        TextLine{{"-outfile-pattern", "o.%r", "-errfile-pattern", "e.%r:copy"},
                 [](const Options& o) {
                   const auto& f = *o.output.files;
                   return f.target == "/cwd/o.{rank}" && f.err_target == "/cwd/e.{rank}:copy" && !f.copy_err;
                 }},
        TextLine{{"-output-from", "2"}, [](const Options& o) { return o.output.console_ranks == std::set<int>{2}; }},
        TextLine{{"-hosts", "a,b"}, [](const Options& o) { return o.hosts.list.size() == 2; }},
        TextLine{{"-hostlist", "a,b"}, [](const Options& o) { return o.hosts.list.size() == 2; }},
        TextLine{{"-f", "h", "-ppn", "2"}, ranks_each(2)}, TextLine{{"-launcher", "ssh"}, reached_by("")},
        TextLine{{"-bootstrap", "ssh"}, reached_by("")},
        TextLine{{"-launcher-exec", "/x/rsh"}, reached_by("/x/rsh {host}")},
        TextLine{{"-skip-launch-node"}, [](const Options& o) { return o.hosts.no_local; }},
        TextLine{{"-disable-auto-cleanup"}, on_failure(false)}, TextLine{{"-dac"}, on_failure(false)},
        TextLine{{"-enable-auto-cleanup"}, on_failure(true)},
        TextLine{{"-wdir", "/d"}, [](const Options& o) { return app(o).wdir == "/d"; }}));

INSTANTIATE_TEST_SUITE_P(
    Mca, OpenMpiLine,
    testing::Values(
        TextLine{{"-mca", "orte_abort_on_non_zero_status", "0"}, on_failure(false)},
        TextLine{{"-mca", "orte_abort_on_non_zero_status", "1"}, on_failure(true)},
        TextLine{{"-mca", "orte_enable_recovery", "1"}, on_failure(false)},
        TextLine{{"--mca", "orte_tag_output", "true"}, tagged},
        TextLine{{"-gmca", "orte_timestamp_output", "1"}, timestamped},
        TextLine{{"-omca", "orte_merge_stderr_to_stdout", "1"}, merged},
        TextLine{{"-mca", "iof_base_redirect_app_stderr_to_stdout", "1"}, merged},
        TextLine{{"-mca", "orte_output_filename", "logs"}, kept_in_logs},
        TextLine{{"-mca", "orte_execute_quiet", "1"}, [](const Options& o) { return o.quiet; }},
        TextLine{{"-mca", "orte_default_hostfile", "h"},
                 [](const Options& o) { return o.hosts.default_hostfile.size() == 1; }},
        TextLine{{"-mca", "orte_rankfile", "r"}, [](const Options& o) { return o.request.rank_places.size() == 1; }},
        TextLine{{"-mca", "rmaps_rank_file_path", "r"},
                 [](const Options& o) { return o.request.rank_places.size() == 1; }},
        TextLine{{"-mca", "rmaps_base_mapping_policy", "node"}, binding({.map_by = MapBy::node})},
        TextLine{{"-mca", "rmaps_base_pattern", "ppr:2:node"}, ranks_each(2)},
        TextLine{{"-mca", "rmaps_base_ranking_policy", "node"}, binding({.rank_by = RankBy::node})},
        TextLine{{"-mca", "rmaps_base_oversubscribe", "1"}, oversubscribed},
        TextLine{{"-mca", "rmaps_base_no_oversubscribe", "0"}, oversubscribed},
        TextLine{{"-mca", "rmaps_base_n_pernode", "4"}, ranks_each(4)},
        TextLine{{"-mca", "rmaps_base_pernode", "1"}, ranks_each(1)},
        TextLine{{"-mca", "rmaps_base_bynode", "1"}, binding({.map_by = MapBy::node})},
        TextLine{{"-mca", "rmaps_base_byslot", "1"}, binding({})},
        TextLine{{"-mca", "rmaps", "seq"}, [](const Options& o) { return o.request.in_sequence; }},
        TextLine{{"-mca", "rmaps_base_cpus_per_rank", "2"}, binding({.bind_to = BindTo::core, .cores_per_rank = 2})},
        TextLine{{"-mca", "rmaps_base_no_schedule_local", "1"}, [](const Options& o) { return o.hosts.no_local; }},
        TextLine{{"-mca", "rmaps_base_display_map", "1"}, [](const Options& o) { return o.show_map; }},
        TextLine{{"-mca", "ras_base_display_alloc", "1"}, [](const Options& o) { return o.show_allocation; }},
        TextLine{{"-mca", "hwloc_base_binding_policy", "socket"}, binding({.bind_to = BindTo::socket})},
        TextLine{{"-mca", "hwloc_base_report_bindings", "1"}, binding({.report = true})},
        TextLine{{"-mca", "hwloc_base_use_hwthreads_as_cpus", "1"},
                 [](const Options& o) { return o.request.threads_are_cpus; }},
        TextLine{{"-mca", "hwloc_base_cpu_list", "0-1"}, [](const Options& o) { return o.request.cpu_list == "0-1"; }},
        TextLine{{"-mca", "odls_base_sigkill_timeout", "3"},
                 [](const Options& o) { return o.policy.grace == std::chrono::seconds(3); }},
        TextLine{{"-mca", "plm_rsh_num_concurrent", "8"}, [](const Options& o) { return o.hosts_at_once == 8; }},
        TextLine{{"-mca", "plm_rsh_agent", "ssh"}, reached_by("")},
        TextLine{{"-mca", "plm_rsh_agent", "ssh : rsh"}, reached_by("")},
        TextLine{{"-mca", "plm_rsh_agent", "rsh"}, reached_by("rsh {host}")},
        TextLine{{"-mca", "plm_rsh_agent", "/etc/mpi/kubexec.sh"}, reached_by("/etc/mpi/kubexec.sh {host}")},
        TextLine{{"-mca", "plm_rsh_agent", "ssh -p 2222"}, reached_by("ssh -p 2222 -T -o BatchMode=yes {host}")},
        TextLine{{"-mca", "plm_rsh_args", "-p 2222"}, reached_by("ssh -T -o BatchMode=yes -p 2222 {host}")},
        TextLine{{"-mca", "plm_rsh_agent", "rsh", "-mca", "plm_rsh_args", "-l me"}, reached_by("rsh -l me {host}")},
        TextLine{{"-mca", "pml", "ob1"}, env({"OMPI_MCA_pml=ob1"})},
        TextLine{{"-mca", "btl", "^openib"}, env({"OMPI_MCA_btl=^openib"})},
        TextLine{{"--mca", "btl_tcp_if_include", "eth0"}, env({"OMPI_MCA_btl_tcp_if_include=eth0"})},
        TextLine{{"-gmca", "mpi_yield_when_idle", "1"}, env({"OMPI_MCA_mpi_yield_when_idle=1"})},
        TextLine{{"-mca", "coll_hcoll_enable", "0"}, env({"OMPI_MCA_coll_hcoll_enable=0"})},
        TextLine{{"-mca", "opal_cuda_support", "a=b"}, env({"OMPI_MCA_opal_cuda_support=a=b"})},
        TextLine{{"-mca", "mca_base_env_list", "A=1;B=2;HOME"}, env({"A=1", "B=2", "HOME"})},
        TextLine{{"-prtemca", "plm_ssh_agent", "rsh"}, reached_by("rsh {host}")},
        TextLine{{"--prtemca", "rmaps_default_mapping_policy", ":oversubscribe"}, oversubscribed},
        TextLine{{"--prtemca", "rmaps_default_ranking_policy", "node"}, binding({.rank_by = RankBy::node})},
        TextLine{{"--prtemca", "hwloc_default_binding_policy", "core"}, binding({.bind_to = BindTo::core})},
        TextLine{{"--prtemca", "hwloc_default_cpu_list", "0-1"},
                 [](const Options& o) { return o.request.cpu_list == "0-1"; }},
        TextLine{{"--prtemca", "prte_default_hostfile", "h"},
                 [](const Options& o) { return o.hosts.default_hostfile.size() == 1; }},
        TextLine{{"-pmixmca", "gds", "hash"}, env({"PMIX_MCA_gds=hash"})},
        TextLine{{"-iface", "eth0"}, env({"MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE=eth0"})},
        TextLine{{"--output", "file=x{"}, kept_in("/cwd/x{{.{rank}", true)},
        TextLine{{"--output", "tag,file=d/x:nocopy"}, kept_in("/cwd/d/x.{rank}", false)},
        TextLine{{"--output", "tag-detailed"}, label("[{host},{rank}]<{stream}>: ")},
        TextLine{{"--output", "tag-fullname"}, tagged}, TextLine{{"--get-stack-traces"}, runs},
        TextLine{{"--display", "map-devel"}, [](const Options& o) { return o.show_map; }},
        TextLine{{"--display-comm"}, env({"OMPI_MCA_ompi_display_comm=mpi_init"})},
        TextLine{{"--stream-buffering", "0"}, env({"OMPI_MCA_ompi_stream_buffering=0"})},
        TextLine{{"--map-by", ":DISPLAY,INHERIT"}, [](const Options& o) { return o.show_map; }},
        TextLine{{"--map-by", "slot:DONOTLAUNCH"}, [](const Options& o) { return o.dry_run; }},
        TextLine{{"--map-by", "slot:NOLOCAL"}, [](const Options& o) { return o.hosts.no_local; }},
        TextLine{{"--bind-to", "core:REPORT"}, binding({.bind_to = BindTo::core, .report = true})},
        TextLine{{"--rtos", "abort-nonzero-exit=0"}, on_failure(false)},
        TextLine{{"--rtos", "timeout=3"}, [](const Options& o) { return o.policy.timeout == std::chrono::seconds(3); }},
        TextLine{{"--map-by", "NUMA:PE=2"},
                 binding({.bind_to = BindTo::core, .map_by = MapBy::numa, .cores_per_rank = 2})},
        TextLine{{"--bind-to", "Core", "--rank-by", "NODE"},
                 binding({.bind_to = BindTo::core, .rank_by = RankBy::node})}));

// ---- refused options ----

struct Refusal {
  Words args;
  Words words;  // of the error
};

void PrintTo(const Refusal& refusal, std::ostream* out) { print_words(refusal.args, *out); }

class OpenMpiRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(OpenMpiRefusal, HasMessage) {
  Words args = GetParam().args;
  args.push_back("prog");
  const std::string error = CommandLineFixture{}.error(args);
  for (const std::string& word : GetParam().words) EXPECT_THAT(error, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Values, OpenMpiRefusal,
    testing::Values(
        Refusal{{"-mca", "orte_tag_output", "maybe"}, {"-mca orte_tag_output: invalid flag \"maybe\""}},
        Refusal{{"-mca", "hwloc_base_binding_policy", "l3cache"}, {"-mca hwloc_base_binding_policy:", "\"l3cache\""}},
        Refusal{{"-mca", "", "b"}, {"-mca: invalid value: expected two words: KEY VALUE"}},
        Refusal{{"--bind-to", "core:bogus"}, {"\"bogus\"", "overload-allowed"}},
        Refusal{{"--bind-to", "l3cache"}, {"none, core"}}, Refusal{{"--map-by", "slot:SPAN"}, {"\"span\"", "PE=N"}},
        Refusal{{"--map-by", "slot:PE=0"}, {"\"0\""}}, Refusal{{"--map-by", "ppr:2:socket"}, {"ppr:N:node"}},
        Refusal{{"--map-by", "slot:PE=2", "--bind-to", "none"},
                {"--bind-to none", "conflicts with --map-by slot:pe=2"}},
        Refusal{{"--map-by", "slot:PE=2", "--bind-to", "socket"}, {"--bind-to socket", "--bind-to core"}},
        Refusal{{"-cpus-per-proc", "2", "--bind-to", "numa"}, {"--bind-to numa"}},
        Refusal{{"-cpu-set", "0-3", "--bind-to", "core"}, {"-cpu-set", "--bind-to"}},
        Refusal{{"-cpu-set", "x"}, {"-cpu-set"}},
        Refusal{{"--personality", "x"}, {"openmpi", "hydra", "torchrun", "intel"}},
        Refusal{{"-bycore"}, {"-bycore core requires --bind-to"}},
        Refusal{{"-N", "2", "--map-by", "seq:OVERSUBSCRIBE"}, {"both place the ranks"}},
        Refusal{{"-exec", "x", "-mca", "plm_rsh_agent", "y"}, {"conflicts with -mca plm_rsh_agent"}},
        Refusal{{"--output", "xml"}, {"--output: not supported: xml", "--format jsonl"}},
        Refusal{{"--output", "x"}, {"tag, timestamp"}}, Refusal{{"--output", "file=x:pattern"}, {"{rank}.{host}"}},
        Refusal{{"--output", "proctable"}, {"--report FILE"}}, Refusal{{"--display", "x"}, {"map, map-devel"}},
        Refusal{{"-am", "none"}, {"cannot read /cwd/none"}}, Refusal{{"-prepend-pattern", "%p"}, {"\"%p\"", "%r, %h"}},
        Refusal{{"-launcher", "rsh"}, {"\"rsh\"", "--exec"}}, Refusal{{"-trace"}, {"LD_PRELOAD=libVT.so"}},
        Refusal{{"-aps"}, {"-n 4 aps PROGRAM"}}, Refusal{{"-outfile-pattern", "o.%p"}, {"\"o.%p\"", "%r, %h"}},
        Refusal{{"-errfile-pattern", "e", "--merge-stderr-to-stdout"}, {"-errfile-pattern conflicts with"}},
        Refusal{{"-outfile-pattern", "o", "--output-filename", "d"}, {"conflicts with -outfile-pattern"}},
        Refusal{{"-npersocket", "2"}, {"--map-by socket --bind-to socket"}}, Refusal{{"-xterm", "0"}, {"--ranks"}},
        Refusal{{"-path", "/x"}, {"-x PATH=DIR:$PATH"}},
        Refusal{{"--preload-files", "a,b"}, {"--rank-dir", "--stage FILE,..."}},
        Refusal{{"-s"}, {"--rank-dir", "--stage PROG ./PROG"}},
        Refusal{{"--preload-binary"}, {"--rank-dir", "--stage PROG ./PROG"}},
        Refusal{{"--set-cwd-to-session-dir"}, {"--rank-dir"}},
        Refusal{{"a", ":", "-mca", "orte_tag_output", "1"}, {"-mca orte_tag_output", "whole job"}}));

TEST(OpenMpi, PrintsNotesForMissingOutput) {
  for (const Words& args : {Words{"--display", "topo"}, Words{"-print-all-exitcodes"}, Words{"-exitinfo"},
                            Words{"-topolib", "hwloc"}, Words{"--rtos", "show-progress"}}) {
    Words line = args;
    line.emplace_back("prog");
    EXPECT_THAT(CommandLineFixture{}.options(line).notes, ElementsAre(HasSubstr(args.front())));
  }
  EXPECT_THAT(CommandLineFixture{}.options({"--mem-bind", "none", "prog"}).notes, IsEmpty());
  EXPECT_THAT(CommandLineFixture{}.error({"--mem-bind", "list:0", "prog"}), HasSubstr("--bind-to numa"));
}

/// The options of `mpirun --help all` of Open MPI 4.1, of Open MPI 5 and of Hydra.
constexpr std::string_view kTheirs =
    "allow-run-as-root am app bind-to bind-to-core bind-to-socket bycore bynode byslot c np n cf cartofile continuous "
    "cpu-list cpu-set cpus-per-proc cpus-per-rank d debug-devel debug debug-daemons debug-daemons-file debugger "
    "default-hostfile disable-recovery display-allocation display-devel-allocation display-devel-map "
    "display-diffable-map display-map display-topo do-not-launch do-not-resolve dvm enable-instant-on-support "
    "enable-recovery fwd-mpirun-port get-stack-traces gmca h help H host hnp hostfile index-argv-by-rank launch-agent "
    "leave-session-attached machinefile map-by max-restarts max-vm-size mca merge-stderr-to-stdout N nolocal "
    "nooversubscribe noprefix novm npernode npersocket ompi-server output-filename output-proctable oversubscribe path "
    "pernode personality ppr prefix preload-files q quiet rank-by report-bindings report-child-jobs-separately "
    "report-events report-pid report-state-on-timeout report-uri rf rankfile s preload-binary set-cwd-to-session-dir "
    "show-progress stdin tag-output timeout timestamp-output tune tv use-hwthread-cpus use-regexp v verbose V version "
    "wd wdir x xml xml-file xterm "
    "output output-directory display omca prtemca pmixmca forward-signals runtime-options "
    "genv genvlist genvall genvnone env envlist envall envnone f hosts ppn configfile launcher launcher-exec bootstrap "
    "enable-x disable-x rmk topolib membind demux info print-all-exitcodes iface profile prepend-rank l "
    "prepend-pattern "
    "outfile-pattern errfile-pattern nameserver disable-auto-cleanup disable-hostname-propagation order-nodes "
    "localhost "
    "usize pmi-port skip-launch-node gpus-per-proc output-from";  // words:ok: option names

TEST(OpenMpi, KnowsOrRejectsEveryOption) {
  for (const std::string& name : split(kTheirs, ' ')) {
    const bool known = find_known_option(name).spec != nullptr;
    EXPECT_NE(known, refused_option(name) != nullptr) << name;
  }
}

TEST(OpenMpi, ForeignRowsNameExistingOptions) {
  for (const OptionSpec& spec : foreign_table()) {
    EXPECT_NE(spec.stands_for.empty(), spec.translate == nullptr) << spec.names;
    EXPECT_EQ(refused_option(spec.name()), nullptr) << spec.name();
    for (const std::string& name : split(spec.names, ' ')) EXPECT_EQ(find_known_option(name).spec, &spec) << name;
    if (spec.stands_for.empty()) continue;
    const auto own = find_option(spec.stands_for.substr(0, spec.stands_for.find('='))).spec;
    ASSERT_NE(own, nullptr) << spec.names;
    EXPECT_TRUE(own->set_job || own->set_program) << spec.names;
  }
}

/// The options in the first column of the page's tables, without dashes and values.
std::vector<std::string> options_of_page(const std::string& page) {
  std::vector<std::string> names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const auto spans = split(line.substr(0, line.find(" | ")), '`');
    for (size_t i = 1; i < spans.size(); i += 2) {
      const size_t begin = spans[i].find_first_not_of('-');
      if (begin == 0 || begin == std::string::npos) continue;
      names.push_back(spans[i].substr(begin, spans[i].find_first_of(" =", begin) - begin));
    }
  }
  return names;
}

TEST(OpenMpi, PageListsTheForeignOptionsAndOnlyKnownOptions) {
  std::stringstream page;
  page << std::ifstream(DLAUNCH_DOCS "/migrate/mpirun.md").rdbuf();
  const auto listed = options_of_page(page.str());
  EXPECT_GT(listed.size(), 100U);
  for (const std::string& name : listed) {
    EXPECT_TRUE(find_known_option(name).spec != nullptr || refused_option(name) != nullptr) << name;
  }
  for (const OptionSpec& spec : foreign_table()) {
    const auto names = split(spec.names, ' ');
    EXPECT_TRUE(std::ranges::any_of(names, [&](const std::string& name) {
      return std::ranges::find(listed, name) != listed.end();
    })) << spec.names;
  }
}

// ---- notes, scopes, sources ----

TEST(Mca, PrintsNotesForRuntimeAndUnknownKeys) {
  const Options options = CommandLineFixture{}.options(
      {"-mca", "oob_tcp_if_include", "eth0", "-mca", "foo_bar", "hunter2", "-mca", "foo_bar", "hunter3", "prog"});
  EXPECT_THAT(options.notes,
              ElementsAre("-mca oob_tcp_if_include changes nothing here: the key is for Open MPI's daemons",
                          AllOf(HasSubstr("-mca foo_bar: unknown key, passed on"), HasSubstr("OMPI_MCA_foo_bar"),
                                Not(HasSubstr("hunter")))));
  EXPECT_THAT(variables(app(options)), ElementsAre("OMPI_MCA_foo_bar=hunter2", "OMPI_MCA_foo_bar=hunter3"));
}

TEST(Mca, TranslatesPrteKeysOrPrintsNote) {
  CommandLineFixture fixture;
  const Options options = fixture.options({"--prtemca", "plm_base_verbose", "5", "prog"});
  EXPECT_THAT(options.notes, ElementsAre(HasSubstr("--prtemca plm_base_verbose changes nothing here")));
  EXPECT_THAT(variables(app(options)), IsEmpty());
  EXPECT_THAT(fixture.error({"--prtemca", "hwloc_default_binding_policy", "x", "prog"}),
              AllOf(HasSubstr("--prtemca hwloc_default_binding_policy:"), HasSubstr("\"x\"")));
  fixture.environment = {"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "PRTE_MCA_plm_ssh_agent=rsh"};
  EXPECT_TRUE(fixture.options({"prog"}).request.oversubscribe);
  EXPECT_EQ(fixture.options({"prog"}).exec, "rsh {host}");
  EXPECT_FALSE(fixture.options({"--nooversubscribe", "prog"}).request.oversubscribe);
}

TEST(Mca, ErrorsHideValues) {
  EXPECT_THAT(CommandLineFixture{}.error({"-mca", "foo=hunter2", "x", "p"}), Not(HasSubstr("hunter2")));
  CommandLineFixture fixture;
  fixture.files["/cwd/t"] = "-mca foo\nhunter2";
  EXPECT_THAT(fixture.error({"-tune", "t", "p"}),
              AllOf(HasSubstr("t:1: invalid line: expected -x NAME=VALUE"), Not(HasSubstr("hunter2"))));
  fixture.files["/cwd/t"] = "a = 1\nhunter2";
  EXPECT_THAT(fixture.error({"-am", "t", "p"}),
              AllOf(HasSubstr("t:2: invalid line: expected KEY = VALUE"), Not(HasSubstr("hunter2"))));
}

TEST(Mca, AppliesToOneProgramUnlessGlobal) {
  CommandLineFixture fixture;
  fixture.program_name = "/usr/bin/mpirun";
  const Options options = fixture.options({"-mca", "pml", "ob1", "-gmca", "btl", "self", "-genv", "A", "1", "-x", "B=1",
                                           "-n", "1", "a", ":", "-n", "1", "b"});
  ASSERT_EQ(options.request.apps.size(), 2U);
  EXPECT_THAT(variables(options.request.apps[0]), ElementsAre("OMPI_MCA_btl=self", "A=1", "OMPI_MCA_pml=ob1", "B=1"));
  EXPECT_THAT(variables(options.request.apps[1]), ElementsAre("OMPI_MCA_btl=self", "A=1"));
}

TEST(Mca, IsReadFromAppFile) {
  CommandLineFixture fixture;
  fixture.files["/cwd/apps"] = "-n 1 -mca pml ob1 a\n-n 1 -env A 1 b\n-n 1 -mca foo 1 c\n";
  const Options options = fixture.options({"--app", "apps"});
  EXPECT_THAT(variables(options.request.apps.at(0)), ElementsAre("OMPI_MCA_pml=ob1"));
  EXPECT_THAT(variables(options.request.apps.at(1)), ElementsAre("A=1"));
  EXPECT_THAT(options.notes, ElementsAre(HasSubstr("-mca foo")));
}

TEST(Mca, CommandLineAndDlaunchVariablesOverrideMcaVariables) {
  CommandLineFixture fixture;
  fixture.environment = {"OMPI_MCA_orte_tag_output=1", "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh", "OMPI_MCA_pml=ob1",
                         "OMPI_MCA_rmaps_base_n_pernode=2", "OMPI_MCA_oob_tcp_if_include=eth0"};
  const Options options = fixture.options({"-N", "3", "prog"});
  EXPECT_TRUE(options.output.tag);
  EXPECT_EQ(options.exec, "/etc/mpi/kubexec.sh {host}");
  EXPECT_EQ(options.request.ranks_per_host, 3);
  EXPECT_THAT(options.notes, IsEmpty());
  EXPECT_THAT(variables(app(options)), IsEmpty()) << "ranks get the variables with the environment";
  EXPECT_FALSE(fixture.options({"--tag-output=false", "prog"}).output.tag);
  EXPECT_EQ(fixture.options({"--label", "prog"}).output.tag, false) << "the command line's label wins";
  fixture.environment.emplace_back("DLAUNCH_TAG_OUTPUT=false");
  EXPECT_FALSE(fixture.options({"prog"}).output.tag);
  EXPECT_THAT(fixture.text({"--show-config"}), HasSubstr("OMPI_MCA_plm_rsh_agent"));
  fixture.environment = {"OMPI_MCA_orte_tag_output=x"};
  EXPECT_THAT(fixture.error({"prog"}), HasSubstr("OMPI_MCA_orte_tag_output: invalid flag \"x\""));
}

TEST(Mca, IgnoresVariablesOfOuterJob) {
  CommandLineFixture fixture;
  fixture.environment = {"OMPI_COMM_WORLD_RANK=0", "OMPI_MCA_orte_output_filename=/logs", "OMPI_MCA_orte_tag_output=1"};
  const Options options = fixture.options({"prog"});
  EXPECT_FALSE(options.output.files || options.output.tag);
}

// ---- called as mpirun ----

CommandLineFixture called(const std::string& name) {
  CommandLineFixture fixture;
  fixture.program_name = name;
  return fixture;
}

TEST(Personality, IsChosenByProgramName) {
  for (const char* name : {"mpirun", "/usr/bin/mpiexec", "./orterun", "mpirun.dlaunch"}) {
    EXPECT_TRUE(called(name).options({"prog"}).hosts.slots_are_limits) << name;
    EXPECT_FALSE(called(name).options({"--personality", "dlaunch", "prog"}).hosts.slots_are_limits) << name;
  }
  for (const char* name : {"dlaunch", "/mpirun/dlaunch", "mpirunner", ""}) {
    EXPECT_FALSE(called(name).options({"prog"}).hosts.slots_are_limits) << name;
    EXPECT_TRUE(called(name).options({"--personality", "ompi", "prog"}).hosts.slots_are_limits) << name;
  }
}

TEST(Personality, IsChosenByOptionOfFirstProgram) {
  const auto is_named = [](const Words& words) { return CommandLineFixture{}.options(words).hosts.slots_are_limits; };
  EXPECT_TRUE(is_named({"-n", "2", "--label", "[{rank}]", "-mca", "pml", "ob1", "-personality=ompi", "prog"}));
  EXPECT_TRUE(is_named({"--personality", "dlaunch", "--personality", "ompi", "prog"}));
  EXPECT_TRUE(is_named({"hosts", "--personality", "ompi"}));
  EXPECT_FALSE(is_named({"-n", "2", "prog", "--personality", "ompi"}));
  EXPECT_FALSE(is_named({"-x", "--personality=ompi", "prog"}));
  EXPECT_FALSE(is_named({"--", "--personality", "ompi"}));
}

TEST(Personality, FirstWordOverridesProgramName) {
  for (const char* name : {"accelerate", "/usr/bin/accelerate"}) {
    EXPECT_THAT(called(name).error({"-N", "2", "train.py"}), HasSubstr("write accelerate launch"));
  }
  EXPECT_EQ(called("accelerate").options({"--personality", "dlaunch", "-n", "2", "prog"}).request.apps[0].ranks, 2);
  for (const char* option : {"--as", "--personality", "-as"}) {
    EXPECT_THAT(CommandLineFixture{}.error({option, "accelerate", "launch", "-N", "2", "prog"}),
                HasSubstr("accelerate: unknown option \"-N\""));
  }
}

TEST(Personality, SetsOpenMpiDefaults) {
  const Options options = called("mpirun").options({"prog"});
  EXPECT_TRUE(options.request.bind_by_count);
  EXPECT_TRUE(options.hosts.count_cores);
  EXPECT_EQ(options.hosts.fake_devices, 0);
  EXPECT_EQ(options.policy.timeout_exit_code, 110);
  EXPECT_THAT(options.request.frameworks, ElementsAre(plan::Framework::openmpi));
}

TEST(Personality, OptionsOverrideDefaults) {
  const CommandLineFixture fixture = called("mpirun");
  EXPECT_FALSE(fixture.options({"--bind-to", "none", "prog"}).request.bind_by_count);
  EXPECT_FALSE(fixture.options({"-cpu-set", "0", "prog"}).request.bind_by_count);
  EXPECT_TRUE(fixture.options({"--map-by", "socket", "prog"}).request.bind_by_count);
  EXPECT_FALSE(fixture.options({"--use-hwthread-cpus", "prog"}).hosts.count_cores);
  EXPECT_FALSE(fixture.options({"--map-by", ":HWTCPUS", "prog"}).hosts.count_cores);
  for (const Words& args : {Words{"--devices", "0-3", "prog"}, Words{"--rank-table", "auto", "prog"},
                            Words{"--bind-to", "device", "prog"}, Words{"--visible", "host", "prog"}}) {
    EXPECT_EQ(fixture.options(args).hosts.fake_devices, std::nullopt) << testing::PrintToString(args);
    EXPECT_FALSE(fixture.options(args).hosts.count_cores) << testing::PrintToString(args);
  }
  EXPECT_EQ(fixture.options({"--fake-devices", "2", "prog"}).hosts.fake_devices, 2);
  EXPECT_THAT(fixture.options({"--env-for", "torch", "prog"}).request.frameworks, ElementsAre(plan::Framework::torch));
}

TEST(Personality, LauncherPassesOnTheWholeEnvironment) {
  for (const char* name : {"mpirun", "mpiexec.hydra", "torchrun", "srun"}) {
    EXPECT_TRUE(called(name).options({"prog"}).request.whole_environment) << name;
  }
  EXPECT_FALSE(called("dlaunch").options({"prog"}).request.whole_environment);
  EXPECT_FALSE(called("mpirun").options({"--rank-table", "auto", "prog"}).request.whole_environment);
  const Options none = called("mpiexec.hydra").options({"-genvnone", "prog"});
  EXPECT_TRUE(none.request.no_environment);
  EXPECT_FALSE(none.request.whole_environment);
  EXPECT_FALSE(called("srun").options({"--export=NONE", "prog"}).request.whole_environment);
  EXPECT_THAT(called("dlaunch").error({"--no-env", "--env-all", "prog"}),
              HasSubstr("--no-env conflicts with --env-all"));
}

TEST(Personality, SetsHydraDefaults) {
  for (const char* name : {"mpiexec.hydra", "/opt/mpich/bin/mpiexec.hydra", "mpirun.mpich"}) {
    const Options options = called(name).options({"prog"});
    EXPECT_TRUE(options.request.oversubscribe) << name;
    EXPECT_TRUE(options.request.in_rounds);
    EXPECT_FALSE(options.request.bind_by_count);
    EXPECT_EQ(options.request.binding, plan::BindingRequest{});
    EXPECT_TRUE(options.hosts.one_slot_each);
    EXPECT_FALSE(options.hosts.count_cores);
    EXPECT_EQ(options.hosts.fake_devices, 0);
    EXPECT_EQ(options.policy.timeout_exit_code, 255);
    EXPECT_THAT(options.request.frameworks, ElementsAre(plan::Framework::mpich));
  }
  EXPECT_TRUE(called("dlaunch").options({"--personality", "hydra", "prog"}).request.in_rounds);
  EXPECT_FALSE(called("mpiexec.hydra").options({"--personality", "ompi", "prog"}).request.in_rounds);
  EXPECT_FALSE(called("mpiexec.openmpi").options({"prog"}).request.in_rounds);
  EXPECT_FALSE(called("mpiexec.hydra").options({"--nooversubscribe", "prog"}).request.oversubscribe);
  EXPECT_EQ(called("mpiexec.hydra").options({"--fake-devices", "2", "prog"}).hosts.fake_devices, 2);
  CommandLineFixture fixture = called("mpiexec.hydra");
  fixture.environment = {"HYDRA_HOST_FILE=/h"};
  fixture.files["/h"] = "a:2\nb\n";
  EXPECT_EQ(fixture.options({"prog"}).hosts.default_hostfile.size(), 2U);
  fixture.environment = {"I_MPI_HYDRA_HOST_FILE=/h", "I_MPI_PERHOST=2"};
  EXPECT_EQ(fixture.options({"prog"}).hosts.default_hostfile.size(), 2U);
  EXPECT_EQ(fixture.options({"prog"}).request.ranks_per_host, 2);
  EXPECT_EQ(fixture.options({"-ppn", "1", "prog"}).request.ranks_per_host, 1);
  EXPECT_THAT(fixture.options({"prog"}).remarks, ElementsAre(HasSubstr(" --default-hostfile /h -N 2 prog")));
  for (const char* all : {"all", "allcores"}) {
    fixture.environment = {std::string("I_MPI_PERHOST=") + all};
    EXPECT_THAT(fixture.options({"prog"}).notes, ElementsAre(HasSubstr("I_MPI_PERHOST changes nothing here")));
  }
  fixture.program_name = "dlaunch";
  EXPECT_THAT(fixture.options({"prog"}).hosts.default_hostfile, IsEmpty());
}

TEST(Personality, TreatsCommandNamesAsPrograms) {
  EXPECT_THAT(programs(called("mpiexec.hydra").options({"check", "-n"})), ElementsAre(Words{"check", "-n"}));
  EXPECT_THAT(programs(called("mpirun").options({"check", "-n"})), ElementsAre(Words{"check", "-n"}));
  EXPECT_EQ(called("dlaunch").options({"check"}).verb, Verb::check);
}

TEST(Personality, RejectsNamesOfUnsupportedLaunchers) {
  for (const char* name : {"jsrun", "/opt/bin/aprun", "mpirun_rsh"}) {
    EXPECT_THAT(called(name).error({"-n", "2", "prog"}), HasSubstr("not supported")) << name;
    EXPECT_EQ(called(name).options({"--as", "dlaunch", "-n", "2", "prog"}).verb, Verb::run) << name;
  }
}

TEST(Personality, ReadsTimeoutVariableUnderEveryName) {
  for (const char* name : {"mpirun", "mpiexec.hydra", "dlaunch", "my-launcher"}) {
    CommandLineFixture fixture = called(name);
    fixture.environment = {"MPIEXEC_TIMEOUT=7"};
    EXPECT_EQ(fixture.options({"prog"}).policy.timeout, std::chrono::seconds(7)) << name;
    EXPECT_EQ(fixture.options({"--timeout", "2", "prog"}).policy.timeout, std::chrono::seconds(2));
    EXPECT_EQ(fixture.options({"--timeout", "0", "prog"}).policy.timeout, std::nullopt);
    fixture.environment.emplace_back("DLAUNCH_TIMEOUT=3");
    EXPECT_EQ(fixture.options({"prog"}).policy.timeout, std::chrono::seconds(3));
    fixture.environment.pop_back();
    fixture.files["/c"] = "timeout = 1\n";
    EXPECT_EQ(fixture.options({"--config", "/c", "prog"}).policy.timeout, std::chrono::seconds(7));
    fixture.environment = {"MPIEXEC_TIMEOUT=soon"};
    EXPECT_THAT(fixture.error({"prog"}), HasSubstr("MPIEXEC_TIMEOUT"));
  }
}

/// The equivalent command in the remarks, without "dlaunch".
std::string amounts_to(const Options& made) {
  constexpr const char* kSame = "this command line is the same as: dlaunch ";
  const std::string text = made.remarks.empty() ? "" : made.remarks.front();
  return text.starts_with(kSame) ? text.substr(std::string(kSame).size()) : "nothing: " + text;
}

TEST(MpirunLine, HasEquivalentLine) {
  const std::pair<std::string, Words> lines[] = {
      {"--as ompi -n 4 -x A=b prog -n 5", {"mpirun", "-np", "4", "-x", "A=b", "prog", "-n", "5"}},
      {"--as ompi --bind-to none --map-by ppr:2:node -x OMPI_MCA_pml=ob1 prog",
       {"mpirun", "--map-by", "ppr:2:node", "--bind-to", "none", "-mca", "pml", "ob1", "prog"}},
      {"--as ompi --host a:2,b:2 -n 1 one : --host c:1 -n 2 two",
       {"orterun", "-H", "a:2,b:2", "-n", "1", "one", ":", "-H", "c:1", "-n", "2", "two"}},
      {"--as ompi --map-by :oversubscribe prog", {"mpiexec", "--map-by", ":OVERSUBSCRIBE", "prog"}},
      {"--as hydra -N 2 --bind-to core --cores-per-rank 2 -x A=b -n 4 prog",
       {"mpiexec.hydra", "-ppn", "2", "-bind-to", "core:2", "-genv", "A", "b", "-n", "4", "prog"}},
      {"--as hydra -n 2 prog", {"mpiexec.hydra", "-n", "2", "prog"}}};
  for (const auto& [line, words] : lines) {
    CommandLineFixture foreign;
    foreign.program_name = words.front();
    EXPECT_EQ(amounts_to(foreign.options({words.begin() + 1, words.end()})), line);
    EXPECT_EQ(amounts_to(CommandLineFixture{}.options(split(line, ' '))), line)
        << "the equivalent command is equivalent to itself";
  }
  EXPECT_THAT(CommandLineFixture{}.options({"-n", "4", "prog"}).remarks, IsEmpty());
}

}  // namespace
}  // namespace dlaunch::cli
