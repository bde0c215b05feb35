// Every option's spellings and values, one line each.
#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

struct TextLine {
  Words args;  // "prog" is added
  std::function<bool(const Options&)> holds;
};

void PrintTo(const TextLine& line, std::ostream* out) { print_words(line.args, *out); }

class OptionLine : public testing::TestWithParam<TextLine> {};

TEST_P(OptionLine, Sets) {
  Words args = GetParam().args;
  args.push_back("prog");
  const Options options = CommandLineFixture{}.options(args);
  EXPECT_TRUE(GetParam().holds(options)) << testing::PrintToString(args);
  EXPECT_THAT(programs(options), ElementsAre(Words{"prog"}));
}

const plan::AppRequest& app(const Options& o) { return o.request.apps.front(); }

auto ranks(int n) {
  return [n](const Options& o) { return app(o).ranks == n; };
}
auto hosts(const Words& names) {
  return [names](const Options& o) {
    Words got;
    for (const hosts::HostEntry& entry : o.hosts.list) got.push_back(entry.name);
    return got == names;
  };
}
auto verbosity(int n) {
  return [n](const Options& o) { return o.verbosity == n; };
}
auto label(const std::string& text) {
  return [text](const Options& o) { return o.output.label == text; };
}
auto console_rate(int lines) {
  return [lines](const Options& o) { return o.output.console_rate == lines; };
}

auto groups(output::Groups form) {
  return [form](const Options& o) { return o.output.groups == form; };
}

auto fold(output::Fold level) {
  return [level](const Options& o) { return o.output.fold == level; };
}
auto files(const std::string& target, bool copy, bool job_directory) {
  return [=](const Options& o) {
    const auto& f = o.output.files;
    return f && f->target == target && f->copy == copy && f->job_directory == job_directory;
  };
}
auto stdin_is(plan::StdinTarget target) {
  return [target](const Options& o) { return o.stdin_target == target; };
}
auto grace(int ms) {
  return [ms](const Options& o) { return o.policy.grace == milliseconds(ms); };
}
auto timeout(std::optional<milliseconds> limit) {
  return [limit](const Options& o) { return o.policy.timeout == limit; };
}
auto binding(plan::BindingRequest wanted) {
  return [wanted](const Options& o) { return o.request.binding == wanted; };
}

using plan::BindTo;
using plan::MapBy;
using plan::RankBy;
using Kind = plan::StdinTarget::Kind;

INSTANTIATE_TEST_SUITE_P(
    Start, OptionLine,
    testing::Values(TextLine{{"-n", "4"}, ranks(4)}, TextLine{{"-np", "4"}, ranks(4)},
                    TextLine{{"--np", "4"}, ranks(4)}, TextLine{{"--n", "4"}, ranks(4)},
                    TextLine{{"-c", "4"}, ranks(4)}, TextLine{{"--np=4"}, ranks(4)}, TextLine{{"-np=4"}, ranks(4)},
                    TextLine{{"-n", "010"}, ranks(10)}, TextLine{{"-n", "2", "-np", "3"}, ranks(3)},
                    TextLine{{"-wdir", "d"}, [](const Options& o) { return app(o).wdir == "/cwd/d"; }},
                    TextLine{{"--wd=/d"}, [](const Options& o) { return app(o).wdir == "/d"; }},
                    TextLine{{"-wdir", "a", "--wdir", "b"}, [](const Options& o) { return app(o).wdir == "/cwd/b"; }},
                    TextLine{{"--allow-run-as-root"}, [](const Options&) { return true; }},
                    TextLine{{"--"}, [](const Options& o) { return !app(o).ranks; }}));

INSTANTIATE_TEST_SUITE_P(
    Place, OptionLine,
    testing::Values(
        TextLine{{"--oversubscribe"}, [](const Options& o) { return o.request.oversubscribe; }},
        TextLine{{"-oversubscribe", "--nooversubscribe"}, [](const Options& o) { return !o.request.oversubscribe; }},
        TextLine{{"--nooversubscribe", "-oversubscribe"}, [](const Options& o) { return o.request.oversubscribe; }},
        TextLine{{"-H", "a:8,b"}, hosts({"a", "b"})}, TextLine{{"--host=a"}, hosts({"a"})},
        TextLine{{"-hosts", "a"}, hosts({"a"})}, TextLine{{"-H", "a", "--host", "b,c"}, hosts({"a", "b", "c"})},
        TextLine{{}, hosts({})}, TextLine{{"-N", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2; }},
        TextLine{{"-npernode", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2; }},
        TextLine{{"-ppn", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2 && !app(o).ranks; }},
        TextLine{{"--map-by", "ppr:3:node"}, [](const Options& o) { return o.request.ranks_per_host == 3; }},
        TextLine{{"--map-by", "seq"}, [](const Options& o) { return o.request.in_sequence; }},
        TextLine{{"--max-slots", "4"}, [](const Options& o) { return o.hosts.max_slots == std::vector{4}; }},
        TextLine{{"--max-slots", "4,2"}, [](const Options& o) { return o.hosts.max_slots == std::vector{4, 2}; }},
        TextLine{{"--include", "a:0@b"}, [](const Options& o) { return o.hosts.include == "a:0@b"; }},
        TextLine{{"--exclude", "a"}, [](const Options& o) { return o.hosts.exclude == "a"; }},
        TextLine{{"--ignore-resource-manager"}, [](const Options& o) { return o.hosts.ignore_resource_manager; }},
        TextLine{{"-nolocal"}, [](const Options& o) { return o.hosts.no_local; }},
        TextLine{{"--ssh-port", "2222"}, [](const Options& o) { return o.hosts.ssh_port == 2222; }},
        TextLine{{"--ssh-identity", "k"}, [](const Options& o) { return o.hosts.ssh_identity == "/cwd/k"; }},
        TextLine{{"--cores-per-rank", "share"},
                 [](const Options& o) { return o.request.binding.cores_per_rank == plan::kEqualShare; }},
        TextLine{{"--agent-path", "/opt/a"}, [](const Options& o) { return o.hosts.agent_path == "/opt/a"; }},
        TextLine{{"--fake-devices", "8"}, [](const Options& o) { return o.hosts.fake_devices == 8; }},
        TextLine{{"--fake-devices=0"}, [](const Options& o) { return o.hosts.fake_devices == 0; }}));

INSTANTIATE_TEST_SUITE_P(
    Output, OptionLine,
    testing::Values(
        TextLine{{"--label"}, label("[{rank}] ")}, TextLine{{"--label={rank}: "}, label("{rank}: ")},
        TextLine{{"--label", "[{host}]"}, label("[{host}]")}, TextLine{{"--label=[{rank}]"}, label("[{rank}]")},
        TextLine{{"--fold"}, fold(output::Fold::own)}, TextLine{{"--fold=numbers"}, fold(output::Fold::numbers)},
        TextLine{{"--fold=off"}, fold(output::Fold::off)}, TextLine{{"--fold=exact"}, fold(output::Fold::exact)},
        TextLine{{"--fold=off", "--raw"}, fold(output::Fold::off)},
        TextLine{{"--console-rate", "200", "--output-filename", "d"}, console_rate(200)},
        TextLine{{"--group-output"}, groups(output::Groups::automatic)},
        TextLine{{"--group-output=gitlab"}, groups(output::Groups::gitlab)},
        TextLine{{"--group-output=off", "--raw"}, groups(output::Groups::off)},
        TextLine{{"--console-rate=200/s", "--stdout-file=o:copy", "--stderr-file=e"}, console_rate(200)},
        TextLine{{"-tag-output"}, [](const Options& o) { return o.output.tag && !o.output.timestamp; }},
        TextLine{{"-tag-output", "--timestamp-output"},
                 [](const Options& o) { return o.output.tag && o.output.timestamp; }},
        TextLine{{"-output-filename", "logs"}, files("/cwd/logs", true, true)},
        TextLine{{"--output-filename", "/l:nocopy"}, files("/l", false, true)},
        TextLine{{"--output-filename=/l:NoJobId"}, files("/l", true, false)},
        TextLine{{"--output-filename", "/l:nojobid,nocopy"}, files("/l", false, false)},
        TextLine{{"--output-filename", "/l:nocopy,nojobid"}, files("/l", false, false)},
        TextLine{{"--output-filename", "/l:nocopy:nojobid"}, files("/l", false, false)},
        TextLine{{"--output-filename", "/l:nojobid:nocopy"}, files("/l", false, false)},
        TextLine{{"--output-filename", "/l:12:30:nocopy"}, files("/l:12:30", false, true)},
        TextLine{{"--stdout-file", "{rank}:append:local=0"},
                 [](const Options& o) {
                   const auto& files = *o.output.files;
                   return files.target == "/cwd/{rank}" && files.append && files.local == std::set<int>{0};
                 }},
        TextLine{{"--stdout-file", "a:b:copy::append", "--stderr-file", "b:local=0/o"},
                 [](const Options& o) {
                   const auto& files = *o.output.files;
                   return files.target == "/cwd/a:b:copy" && !files.copy && files.append &&
                          files.err_target == "/cwd/b:local=0/o";
                 }},
        TextLine{{"--ranks", "0", "--stdout-file", "o:copy:append", "--stderr-file", "e"},
                 [](const Options& o) { return o.output.files->copy && o.output.files->append; }},
        TextLine{{"--output-filename", "a:b/"}, files("/cwd/a:b/", true, true)},
        TextLine{{"--output-filename", "l/{host}:{rank}.log"}, files("/cwd/l/{host}:{rank}.log", true, true)},
        TextLine{{"--output-filename", "l/{rank}:nocopy"}, files("/cwd/l/{rank}", false, true)},
        TextLine{{"-merge-stderr-to-stdout"}, [](const Options& o) { return o.output.merge_stderr; }},
        TextLine{{"--ranks", "0,3-5"},
                 [](const Options& o) { return o.output.console_ranks == std::set<int>{0, 3, 4, 5}; }},
        TextLine{{"--raw"}, [](const Options& o) { return o.output.mode == output::Mode::raw; }},
        TextLine{{"--format", "jsonl"}, [](const Options& o) { return o.output.mode == output::Mode::jsonl; }},
        TextLine{{"--format", "text"}, [](const Options& o) { return o.output.mode == output::Mode::lines; }},
        TextLine{{"--label", "--color", "always"},
                 [](const Options& o) { return o.output.color == output::Color::always; }},
        TextLine{{"--color=auto"}, [](const Options& o) { return o.output.color == output::Color::automatic; }},
        TextLine{{"--pty"}, [](const Options& o) { return o.output.pty; }},
        TextLine{{"--on-output-error", "continue"}, [](const Options& o) { return !o.output.abort_on_error; }},
        TextLine{{"--on-output-error", "abort"}, [](const Options& o) { return o.output.abort_on_error; }}));

INSTANTIATE_TEST_SUITE_P(Input, OptionLine,
                         testing::Values(TextLine{{}, stdin_is({Kind::rank, 0})},
                                         TextLine{{"--stdin", "none"}, stdin_is({Kind::none, 0})},
                                         TextLine{{"-stdin", "all"}, stdin_is({Kind::all, 0})},
                                         TextLine{{"--stdin=3"}, stdin_is({Kind::rank, 3})}));

INSTANTIATE_TEST_SUITE_P(Binding, OptionLine,
                         testing::Values(TextLine{{}, binding({})},
                                         TextLine{{"-bind-to", "none", "-map-by", "slot"}, binding({})},
                                         TextLine{{"--map-by", "node"}, binding({.map_by = MapBy::node})},
                                         TextLine{{"--rank-by", "node"}, binding({.rank_by = RankBy::node})},
                                         TextLine{{"--bind-to", "core"}, binding({.bind_to = BindTo::core})},
                                         TextLine{{"--bind-to", "hwthread", "--map-by", "socket", "--rank-by", "core"},
                                                  binding({BindTo::hwthread, MapBy::socket, RankBy::core})},
                                         TextLine{{"--bind-to", "numa", "--report-bindings"},
                                                  binding({.bind_to = BindTo::numa, .report = true})}));

INSTANTIATE_TEST_SUITE_P(
    Ports, OptionLine,
    testing::Values(TextLine{{}, [](const Options& o) { return o.ports == PortRange{}; }},
                    TextLine{{"--port", "5000"}, [](const Options& o) { return o.ports == PortRange{5000, 5000}; }},
                    TextLine{{"--port", "1-65535"}, [](const Options& o) { return o.ports == PortRange{1, 65535}; }}));

INSTANTIATE_TEST_SUITE_P(Ending, OptionLine,
                         testing::Values(TextLine{{}, grace(5000)}, TextLine{{"--grace", "0.5"}, grace(500)},
                                         TextLine{{"--grace", "7"}, grace(7000)}, TextLine{{"--grace", "0"}, grace(0)},
                                         TextLine{{"--grace", "0.0001"}, grace(1)}, TextLine{{}, timeout(std::nullopt)},
                                         TextLine{{"-timeout", "90"}, timeout(milliseconds(90000))},
                                         TextLine{{"--timeout", "0"}, timeout(std::nullopt)},
                                         TextLine{{}, [](const Options& o) { return o.policy.abort_on_failure; }},
                                         TextLine{{"--on-failure", "continue"},
                                                  [](const Options& o) { return !o.policy.abort_on_failure; }}));

INSTANTIATE_TEST_SUITE_P(
    Look, OptionLine,
    testing::Values(TextLine{{"--dry-run"}, [](const Options& o) { return o.dry_run && o.format == Format::text; }},
                    TextLine{{"--dry-run", "--format", "json"},
                             [](const Options& o) { return o.dry_run && o.format == Format::json; }},
                    TextLine{{"--show-env", "3"}, [](const Options& o) { return o.show_env == 3; }},
                    TextLine{{"--report", "r.json"}, [](const Options& o) { return o.report_file == "/cwd/r.json"; }},
                    TextLine{{}, verbosity(0)}, TextLine{{"-v"}, verbosity(1)}, TextLine{{"-vv"}, verbosity(2)},
                    TextLine{{"--verbose", "-v"}, verbosity(2)}, TextLine{{"-vv", "-v"}, verbosity(3)}));

TEST(Options, ReadTheirFiles) {
  CommandLineFixture fixture;
  fixture.files["/cwd/h"] = "a slots=2\n";
  fixture.files["/cwd/r"] = "rank 0=a\n";
  for (const char* spelled : {"--hostfile", "-machinefile", "-f", "--f", "--machine"}) {
    const Options options = fixture.options({spelled, "h", "--rankfile", "r", "prog"});
    ASSERT_EQ(options.hosts.hostfile.size(), 1U) << spelled;
    EXPECT_EQ(options.hosts.hostfile[0].from, "h:1");
    EXPECT_EQ(options.request.rank_places.at(0).host, "a");
  }
  EXPECT_EQ(fixture.options({"--default-hostfile", "h", "prog"}).hosts.default_hostfile.at(0).from, "h:1");
  EXPECT_THAT(fixture.error({"--default-hostfile", "none", "prog"}), testing::HasSubstr("none"));
}

TEST(Options, PassEnvironmentAndDirectoryToTheRequest) {
  const Options options =
      CommandLineFixture{.environment = {"A=1", "B=x=y"}, .cwd = "/w", .files = {}, .program_name = "dlaunch"}.options(
          {"prog"});
  EXPECT_THAT(options.request.environment, ElementsAre("A=1", "B=x=y"));
  EXPECT_EQ(options.request.cwd, "/w");
}

TEST(Options, AreReachableForEachRow) {
  for (const OptionSpec& spec : option_table()) {
    const bool leads_somewhere = spec.set_job || spec.set_program || spec.takes == Arity::show;
    EXPECT_TRUE(leads_somewhere) << spec.name();
    EXPECT_EQ(find_option(spec.name()).spec, &spec) << spec.name();
    EXPECT_EQ(refused_option(spec.name()), nullptr) << spec.name() << " is both an option and refused";
    EXPECT_FALSE(spec.help.empty()) << spec.name();
    EXPECT_FALSE(spec.preference && spec.per_program()) << spec.name();
  }
}

}  // namespace
}  // namespace dlaunch::cli
