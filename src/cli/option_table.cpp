// Every option, a row each, in the order in which --help shows them. To add one: add its row, and where it was refused
// until now take its name out of refused_options.cpp. docs and tests follow from the row.
#include <array>

#include "allocate/device_filter.h"
#include "allocate/fake_hosts.h"
#include "base/try.h"
#include "cli/name_index.h"
#include "cli/option_spec.h"
#include "cli/progress_pattern.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "plan/frameworks.h"

namespace dlaunch::cli {
namespace {

using plan::AppRequest;
using std::string_view;
using Context = const ProcessContext&;

constexpr std::array<Word<plan::BindTo>, 6> kBindTo{{{"none", plan::BindTo::none},
                                                     {"core", plan::BindTo::core},
                                                     {"hwthread", plan::BindTo::hwthread},
                                                     {"socket", plan::BindTo::socket},
                                                     {"numa", plan::BindTo::numa},
                                                     {"device", plan::BindTo::device}}};
constexpr std::array<Word<plan::RankBy>, 5> kRankBy{{{"slot", plan::RankBy::slot},
                                                     {"fill", plan::RankBy::slot},
                                                     {"node", plan::RankBy::node},
                                                     {"core", plan::RankBy::core},
                                                     {"socket", plan::RankBy::socket}}};
constexpr std::array<Word<job::OnHang>, 3> kOnHang{
    {{"report", job::OnHang::report}, {"end", job::OnHang::end}, {"restart", job::OnHang::restart}}};
constexpr std::array<Word<plan::Visible>, 3> kVisible{
    {{"rank", plan::Visible::rank}, {"host", plan::Visible::host}, {"none", plan::Visible::unchanged}}};
constexpr std::array<Word<plan::Mpi>, 5> kMpi{{{"auto", plan::Mpi::automatic},
                                               {"pmi1", plan::Mpi::pmi1},
                                               {"pmi2", plan::Mpi::pmi2},
                                               {"pmix", plan::Mpi::pmix},
                                               {"none", plan::Mpi::none}}};
constexpr std::array<Word<output::Color>, 3> kColor{
    {{"auto", output::Color::automatic}, {"always", output::Color::always}, {"never", output::Color::never}}};
constexpr std::array<Word<TransportChoice>, 9> kTransport{{{"auto", TransportChoice::automatic},
                                                           {"ssh", TransportChoice::ssh},
                                                           {"exec", TransportChoice::exec},
                                                           {"slurm", TransportChoice::slurm},
                                                           {"sge", TransportChoice::sge},
                                                           {"lsf", TransportChoice::lsf},
                                                           {"pbs", TransportChoice::pbs},
                                                           {"pals", TransportChoice::pals},
                                                           {"flux", TransportChoice::flux}}};

// clang-format off
constexpr OptionSpec kOptions[] = {
    {.names = "n np c", .takes = Arity::value, .value_name = "N", .section = Section::start,
     .standard = "devices, else CPUs", .help = "start N ranks of the program",
     .set_program = set_ranks, .more = "-n devices: one for each device, and none where a host has no device."},
    {.names = "app", .takes = Arity::value, .value_name = "FILE", .section = Section::start,
     .help = "read the programs from FILE, a line each: [-n N] [-x V] [-wdir D] program args", .set_job = no_effect,
     .more = "Quotes and backslashes are read as by a shell, # begins a comment, nothing is expanded."},
    {.names = "wdir wd", .takes = Arity::value, .value_name = "DIR", .section = Section::start, .standard = "here",
     .help = "working directory of the ranks",
     .set_program = [](AppRequest& a, string_view v, Context h) { return put(a.wdir, absolute_path(v, h.cwd)); }},
    {.names = "rank-dir", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::start,
     .help = "run each rank in a directory of its own, made afresh: 'device{rank}'", .set_job = set_rank_dir,
     .more = "It is below the working directory. What an earlier job left in it is removed; a directory that "
             "--rank-dir did not make must be empty. Fields: {rank} {local_rank} {host} {device}. --stage copies files "
             "into it, --save-env writes the rank's environment there."},
    {.names = "stage", .takes = Arity::value, .value_name = "FILE[,FILE...]", .section = Section::start, .joins = true,
     .rare = true, .help = "copy files or directories from here into each rank's directory", .set_job = set_stage,
     .more = "Hosts need not have them. A quoted pattern, as '../*.py', names many."},
    {.names = "save-env", .section = Section::start, .rare = true,
     .help = "write each rank's environment to env.log in its directory",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.save_env, v); }},
    {.names = "personality as", .takes = Arity::value, .value_name = "LAUNCHER", .section = Section::start,
     .rare = true,
     .standard = "by the name it is called by",
     .help = "as first word: read the rest as this launcher's line: torchrun, msrun, ompi, dlaunch, ...",
     .set_job = set_personality,
     .more = "Also torch.distributed.launch and hydra. By a link of the launcher's name it is so without this. "
             "dlaunch's own long options may stand between it and the options of a launcher that has other ones. "
             "docs/launchers.md lists them."},
    {.names = "allow-run-as-root", .section = Section::hidden, .preference = true,
     .help = "accepted for mpirun's sake: root is never refused", .set_job = no_effect},

    {.names = "host H hosts", .takes = Arity::value, .value_name = "LIST", .section = Section::place,
     .also_later = true, .joins = true,
     .standard = "this machine", .help = "run on these hosts: a:8,b:8 or node[1-4]:8",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.list, allocate::parse_host_list(v)); },
     .more = "Without a number a host has 1 slot; given again it has one more; a:* has as many as CPUs. A program of a "
             ": b may have its own."},
    {.names = "fake-hosts", .takes = Arity::value, .value_name = "NxM", .section = Section::place, .rare = true,
     .help = "let this machine play N hosts of M slots, fake1, fake2, ...: to try what a job does on several",
     .set_job = [](Options& o, string_view v, Context) {
       o.hosts.fake = true;
       o.exec = allocate::fake_host_command();
       return put(o.hosts.list, allocate::parse_fake_hosts(v)); },
     .more = "Each has an agent of its own, started as on another host, so links, heartbeats, lost and spare hosts are "
             "real. No ssh, no root, no namespace. docs/hosts.md says more."},
    {.names = "hostfile machinefile machine f", .takes = Arity::value, .value_name = "FILE", .section = Section::place,
     .preference = true, .help = "run on the hosts in FILE, a line each: NAME slots=8", .set_job = set_hostfile,
     .more = "-H comes before it, and it before a resource manager. docs/hosts.md has all that a line may say."},
    {.names = "default-hostfile", .takes = Arity::value, .value_name = "FILE", .section = Section::place,
     .preference = true, .rare = true, .help = "run on the hosts in FILE when nothing else names any",
     .set_job = set_default_hostfile},
    {.names = "nolocal", .section = Section::place, .preference = true, .rare = true,
     .help = "run nothing on this machine",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.hosts.no_local, v); }},
    {.names = "ignore-resource-manager", .section = Section::place, .preference = true, .rare = true,
     .help = "take no hosts from Slurm, Grid Engine, PBS, Cobalt or LSF",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.hosts.ignore_resource_manager, v); }},
    {.names = "N npernode ppn", .takes = Arity::value, .value_name = "N", .section = Section::place,
     .help = "start N ranks on each host; -n caps the whole",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.request.ranks_per_host, whole_number(v, 1, kMaxRanks)); }},
    {.names = "rankfile rf", .takes = Arity::value, .value_name = "FILE", .section = Section::place,
     .help = "place each rank as FILE says: rank 0=node1 slot=0-3", .set_job = set_rankfile},
    {.names = "rank-table", .takes = Arity::value, .value_name = "FILE", .section = Section::place,
     .help = "start the job that Ascend's rank table FILE describes; auto: make one", .set_job = set_rank_table,
     .more = "Ranks find it by RANK_TABLE_FILE, on every host. -H or a hostfile may say how to reach its hosts. "
             "docs/ranktable.md says more."},
    {.names = "product", .takes = Arity::value, .value_name = "NAME", .section = Section::place, .preference = true,
     .rare = true, .standard = "910", .help = "whose rules hold for Ascend devices: 910, a2, a3, 950",
     .set_job = set_product},
    {.names = "max-slots", .takes = Arity::value, .value_name = "N", .section = Section::place, .preference = true,
     .rare = true, .help = "never more than N ranks on a host",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.hosts.max_slots, whole_number(v, 1, kMaxRanks)); }},
    {.names = "devices", .takes = Arity::value, .value_name = "LIST", .section = Section::place,
     .help = "use only these devices of each host: \"[4,8)\", 4-7 or 0,2",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.devices, allocate::parse_devices(v)); }},
    {.names = "include", .takes = Arity::value, .value_name = "HOSTS", .section = Section::place,
     .help = "use only these hosts and devices: host:0,2@host2",
     .set_job = [](Options& o, string_view v, Context) { return set_filter(o.hosts.include, v); }},
    {.names = "exclude", .takes = Arity::value, .value_name = "HOSTS", .section = Section::place,
     .help = "do not use these hosts or devices",
     .set_job = [](Options& o, string_view v, Context) { return set_filter(o.hosts.exclude, v); }},
    {.names = "host-key", .takes = Arity::value, .value_name = "HOW", .section = Section::place, .preference = true,
     .standard = "strict", .help = "judge hosts' ssh keys: strict, accept-new, off", .set_job = set_host_key,
     .more = "Unless it is given, StrictHostKeyChecking of the ssh configuration holds. dlaunch never asks."},
    {.names = "transport", .takes = Arity::value, .value_name = "WAY", .section = Section::place, .preference = true,
     .standard = "auto", .help = "the way to hosts: auto, ssh, exec, slurm, sge, lsf, pbs, pals, flux",
     .set_job = [](Options& o, string_view v, Context) { return put(o.transport, one_of(v, kTransport)); },
     .more = "auto: by the command of --exec where it is given, by srun in a Slurm job, by qrsh in one of "
             "Grid Engine, by blaunch in one of LSF, by aprun, pbs_tmrsh or pbsdsh in one of PBS, by flux exec in an "
             "instance of Flux, else by ssh."},
    {.names = "exec", .takes = Arity::value, .value_name = "COMMAND", .section = Section::place, .preference = true,
     .help = "the command that reaches a host: 'kubectl exec -i {host} --'",
     .set_job = [](Options& o, string_view v, Context) { o.exec = v; return Result<void>{}; }},
    {.names = "rsh-agent", .takes = Arity::value, .value_name = "COMMAND", .section = Section::hidden,
     .help = "Open MPI's plm_rsh_agent: --exec 'COMMAND {host}'",
     .set_job = [](Options& o, string_view v, Context) { o.rsh_agent = v; return Result<void>{}; }},
    {.names = "rsh-args", .takes = Arity::value, .value_name = "WORDS", .section = Section::hidden,
     .help = "Open MPI's plm_rsh_args: what stands between its command and the host",
     .set_job = [](Options& o, string_view v, Context) { o.rsh_args = v; return Result<void>{}; }},
    {.names = "link-proxy", .takes = Arity::value, .value_name = "WORDS", .section = Section::hidden,
     .help = "put before the command that reaches a host: dlaunch chaos breaks links so",
     .set_job = [](Options& o, string_view v, Context) { o.link_proxy = v; return Result<void>{}; }},
    {.names = "hosts-at-once", .takes = Arity::value, .value_name = "N", .section = Section::place, .preference = true,
     .rare = true, .standard = "64", .help = "connect to at most so many hosts at a time",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts_at_once, whole_number(v, 1, 1024)); }},
    {.names = "agent-path", .takes = Arity::value, .value_name = "FILE", .section = Section::place, .preference = true,
     .rare = true, .help = "start the agent installed there on other hosts, send none",
     .set_job = set_agent_path,
     .more = "agent= in a hostfile names it for one host."},
    {.names = "ssh-port", .takes = Arity::value, .value_name = "PORT", .section = Section::place, .preference = true,
     .rare = true, .standard = "the ssh configuration's", .help = "the port of the hosts' sshd",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.ssh_port, whole_number(v, 1, 65535)); },
     .more = "port= in a hostfile names it for one host."},
    {.names = "ssh-identity", .takes = Arity::value, .value_name = "FILE", .section = Section::place,
     .preference = true,
     .rare = true, .standard = "the ssh configuration's", .help = "the private key to log in with",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.hosts.ssh_identity, absolute_path(v, h.cwd)); },
     .more = "identity= in a hostfile names it for one host."},
    {.names = "wait-hosts", .takes = Arity::value, .value_name = "SECONDS", .section = Section::place,
     .preference = true,
     .standard = "0", .help = "keep trying hosts that are not up yet for so long",
     .set_job = [](Options& o, string_view v, Context) { return put(o.wait_hosts, seconds(v)); }},
    {.names = "same-line", .section = Section::place,
     .help = "this same line runs on every node: node 0 launches, the others connect to it",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.same_line.asked, v); },
     .more = "In any order of start, within --wait-hosts or 10 minutes; all end with the job's code. Who is which is "
             "read from torchrun's PET_*, AWS_BATCH_*, JOB_COMPLETION_INDEX or Slurm's variables, or said by the "
             "options below. docs/hosts.md has examples."},
    {.names = "rendezvous", .takes = Arity::value, .value_name = "HOST:PORT", .section = Section::place, .rare = true,
     .help = "with --same-line: where node 0 is, as the other nodes know it",
     .set_job = [](Options& o, string_view v, Context) -> Result<void> { o.same_line.rendezvous = v; return {}; },
     .more = "The port, 29400 where none is named, is open on that one address until the last node is in."},
    {.names = "node-rank", .takes = Arity::value, .value_name = "I", .section = Section::place, .rare = true,
     .help = "with --same-line: this node's number, from 0; else node 0 is where --rendezvous says",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.same_line.node, whole_number(v, 0, kMaxRanks - 1)); }},
    {.names = "nodes", .takes = Arity::value, .value_name = "N|MIN:MAX", .section = Section::place, .rare = true,
     .help = "with --same-line: how many nodes there are",
     .set_job = [](Options& o, string_view v, Context) { return set_nodes(o.same_line, v); },
     .more = "MIN:MAX: the job starts with MAX nodes, or with those that are in when there are MIN and for --last-call no "
             "more have come. Their number is fixed from then on."},
    {.names = "last-call", .takes = Arity::value, .value_name = "SECONDS", .section = Section::place, .rare = true,
     .standard = "30", .help = "with --nodes MIN:MAX: how long to wait for one more node",
     .set_job = [](Options& o, string_view v, Context) { return put(o.same_line.last_call, seconds(v)); }},
    {.names = "port", .takes = Arity::value, .value_name = "PORT|FIRST-LAST", .section = Section::place, .preference = true,
     .rare = true, .standard = "any, or Slurm's SrunPortRange", .help = "where the agents that a resource manager starts connect to",
     .set_job = [](Options& o, string_view v, Context) { return put(o.ports, port_range(v)); },
     .more = "One port serves all agents of a job; it is open until the last of them is in."},
    {.names = "key-file", .takes = Arity::value, .value_name = "FILE", .section = Section::place, .preference = true,
     .rare = true, .standard = "DLAUNCH_KEY", .help = "with --same-line: the job's key, which all its nodes have",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.same_line.key_file, absolute_path(v, h.cwd)); },
     .more = "Its mode must be 0600 or 0400. openssl rand -hex 32 makes a key. Without it the variable DLAUNCH_KEY has "
             "the key."},
    {.names = "oversubscribe !nooversubscribe", .section = Section::place, .preference = true,
     .help = "allow more ranks than devices or slots",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.oversubscribe, v); }},
    {.names = "fake-devices", .takes = Arity::value, .value_name = "N", .section = Section::place, .preference = true,
     .help = "act as if each host had N devices",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.fake_devices, whole_number(v, 0, 4096)); }},

    {.names = "x", .takes = Arity::value, .value_name = "VAR[=VALUE]", .section = Section::environment,
     .help = "set VAR for the ranks, or pass it on; 'PREFIX_*' passes many", .set_program = add_variable},
    {.names = "env-file", .takes = Arity::value, .value_name = "FILE", .section = Section::environment,
     .help = "set the variables in FILE: NAME=VALUE lines", .set_program = add_env_file,
     .more = "A line that begins with # is a comment; a value is all that follows the first =."},
    {.names = "no-env", .section = Section::environment, .rare = true,
     .help = "give the ranks nothing of this environment but what -x names",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.no_environment, v); }},
    {.names = "env-for", .takes = Arity::value, .value_name = "LIST", .section = Section::environment, .joins = true,
     .preference = true,
     .help = "variables of torch deepspeed jax tensorflow mindspore[-dynamic] horovod ... or auto",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.frameworks, plan::parse_frameworks(v)); },
     .more = "Several with commas. What an outer launcher left is removed; -x comes last. auto: torch, deepspeed, jax "
             "and mindspore. Also torchrun (torch, and all else that torchrun sets), openmpi, mpich, slurm. "
             "docs/frameworks.md lists the variables."},
    {.names = "visible", .takes = Arity::value, .value_name = "WHICH", .section = Section::environment,
     .preference = true, .standard = "none",
     .help = "devices a rank sees: rank (its own), host (its host's), none (as is)",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.visible, one_of(v, kVisible)); },
     .more = "By CUDA_VISIBLE_DEVICES, ASCEND_RT_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES, as the host's devices ask."},

    {.names = "mpi", .takes = Arity::value, .value_name = "HOW", .section = Section::environment,
     .preference = true, .rare = true, .standard = "auto",
     .help = "serve MPI to the ranks: auto, pmi1 or pmi2 (MPICH), pmix (Open MPI), none",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.mpi, one_of(v, kMpi)); },
     .more = "docs/mpi.md has what auto decides."},

    {.names = "label", .takes = Arity::maybe_value, .value_name = "TEMPLATE", .section = Section::output,
     .preference = true, .help = "begin each line so: {rank} {local_rank} {host} {device} {stream} {time}",
     .set_job = set_label,
     .more = "Without TEMPLATE it is '[{rank}] '. Write --label=TEMPLATE; a next word is taken as TEMPLATE only when "
             "it has a '{'."},
    {.names = "tag-output", .section = Section::output, .preference = true,
     .help = "begin each line as Open MPI does: [1,0]<stdout>:",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.tag, v); }},
    {.names = "timestamp-output", .section = Section::output, .preference = true, .rare = true,
     .help = "begin each line with the time, as Open MPI does",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.timestamp, v); }},
    {.names = "output-filename", .takes = Arity::value, .value_name = "DIR[:nocopy,nojobid]",
     .section = Section::output, .help = "keep each rank's output in DIR/1/rank.N/stdout and stderr",
     .set_job = set_files,
     .more = "With a '{' it is a template of the file's name, as DIR/{host}/{rank}.log. nocopy: not on the "
             "console too. nojobid: without the 1/."},
    {.names = "keep-logs", .takes = Arity::value, .value_name = "N", .section = Section::output, .preference = true,
     .rare = true, .standard = "0", .help = "keep the directories of the last N jobs' files as DIR.1, DIR.2, …",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.output.keep_logs, whole_number(v, 0, kMaxKeptLogs)); },
     .more = "Before anything is created, the DIR of --output-filename is renamed to DIR.1, an older DIR.1 to DIR.2, "
             "and so on; what was DIR.N is removed."},
    {.names = "stdout-file", .takes = Arity::value, .value_name = "TEMPLATE[:DIRECTIVE...]", .section = Section::output,
     .rare = true, .help = "write each rank's stdout only to this file: DIR/{rank}.out",
     .set_job = [](Options& o, string_view v, Context h) { return set_stream_file(o, output::Stream::out, v, h); },
     .more = "It is on the console, too, with :copy alone; stderr is as before. Before it may stand :local=LIST, for "
             "the ranks with these numbers on their hosts alone, then :append, with which the file keeps what it "
             "holds. The fields are those of --output-filename. Ranks of the same name share the file in whole lines."},
    {.names = "stderr-file", .takes = Arity::value, .value_name = "TEMPLATE[:DIRECTIVE...]", .section = Section::output,
     .rare = true, .help = "write each rank's stderr only to this file: DIR/{rank}.err",
     .set_job = [](Options& o, string_view v, Context h) { return set_stream_file(o, output::Stream::err, v, h); }},
    {.names = "error-file", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::output, .rare = true,
     .help = "tell PyTorch's ranks where to write why they failed: DIR/{rank}.json",
     .set_job = set_error_file,
     .more = "By TORCHELASTIC_ERROR_FILE, for @record of torch.distributed.elastic; the traceback that is there then "
             "is told of the first failure. For ranks on this machine, of which there must be one. The fields are "
             "those of --output-filename."},
    {.names = "merge-stderr-to-stdout", .section = Section::output, .preference = true,
     .help = "join each rank's stderr into its stdout",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.merge_stderr, v); }},
    {.names = "ranks", .takes = Arity::value, .value_name = "LIST", .section = Section::output, .standard = "all",
     .help = "show only these ranks, as 0,3-5; files stay complete",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.console_ranks, rank_list(v)); }},
    {.names = "local-ranks", .takes = Arity::value, .value_name = "LIST", .section = Section::output, .rare = true,
     .standard = "all", .help = "show only the ranks with these numbers on their hosts; files stay complete",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.console_local_ranks, rank_list(v)); }},
    {.names = "raw", .section = Section::output, .preference = true,
     .help = "pass bytes on as they come, not by lines", .set_job = set_raw},
    {.names = "color", .takes = Arity::value, .value_name = "WHEN", .section = Section::output, .preference = true,
     .standard = "auto", .help = "colour labels by rank: auto, always, never",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.color, one_of(v, kColor)); },
     .more = "auto: on a terminal, unless NO_COLOR is set."},
    {.names = "format", .takes = Arity::value, .value_name = "FORMAT", .section = Section::output,
     .by_variable = true, .standard = "text",
     .help = "jsonl: output as JSON lines; json: what --dry-run and the like print", .set_job = set_format},
    {.names = "pty", .section = Section::output, .preference = true, .help = "give the ranks a terminal",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.pty, v); }},
    {.names = "on-output-error", .takes = Arity::value, .value_name = "WHAT", .section = Section::output,
     .preference = true, .rare = true, .standard = "abort", .help = "when output cannot be written: abort or continue",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.abort_on_error, abort_or_continue(v)); }},

    {.names = "stdin", .takes = Arity::value, .value_name = "WHO", .section = Section::input, .preference = true,
     .standard = "0", .help = "who reads the launcher's input: none, all, or a rank",
     .set_job = [](Options& o, string_view v, Context) { return put(o.stdin_target, stdin_target(v)); }},

    {.names = "bind-to", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .standard = "none", .help = "bind each rank: none, core, hwthread, socket, numa, device",
     .set_job = [](Options& o, string_view v, Context) -> Result<void> {
       const auto unit = TRY(bind_unit(o, v));
       return unit.empty() ? Result<void>{} : put(o.request.binding.bind_to, one_of(unit, kBindTo)); },
     .more = "Behind the unit may stand :overload-allowed (ranks may share cores) and :if-supported (none is bound "
             "where cores are too few). device: all cores of the NUMA node that the rank's device is near, as the PCI "
             "bus has it; where that is not known the rank is not bound, and a note says so."},
    {.names = "use-hwthread-cpus", .section = Section::binding, .rare = true,
     .help = "bind to hardware threads where --cores-per-rank or mpirun's defaults bind to cores",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.threads_are_cpus, v); },
     .more = "Called as mpirun, a host has a slot for each hardware thread then; otherwise it has so always."},
    {.names = "cores-per-rank", .takes = Arity::value, .value_name = "N", .section = Section::binding,
     .preference = true, .rare = true, .standard = "1", .help = "bind each rank to N cores, as --map-by slot:PE=N",
     .set_job = [](Options& o, string_view v, Context) { return set_cores_per_rank(o, v); },
     .more = "share: to an equal part of the cores of its host."},
    {.names = "cpu-list", .takes = Arity::value, .value_name = "LIST", .section = Section::binding, .rare = true,
     .help = "let ranks use only these cores of each host: 0-3,7", .set_job = set_cpu_list,
     .more = "As slot= of a rankfile says it. 0-3/4-7: the ranks of a host in turn."},
    {.names = "map-by", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .standard = "slot", .help = "place ranks by: slot, node, block, ppr:N:node, seq, core, socket, numa",
     .set_job = set_map_by,
     .more = "slot fills one host after the other, node deals ranks out one by one, block as many to each host but "
             "numbered host by host, ppr:N:node is -N N, seq starts a rank for each entry of the host list, in its "
             "order. core, hwthread, socket and numa are units within a host, for --bind-to. Behind the unit may stand "
             ":PE=N (N cores for each rank) and :OVERSUBSCRIBE."},
    {.names = "rank-by", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .rare = true,
     .standard = "slot", .help = "number ranks by: slot (or fill), node, core, socket",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.binding.rank_by, one_of(v, kRankBy)); }},
    {.names = "report-bindings", .section = Section::binding, .preference = true, .rare = true,
     .help = "print the CPUs of each rank, read back from it",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.binding.report, v); }},

    {.names = "on-failure", .takes = Arity::value, .value_name = "WHAT", .section = Section::ending,
     .preference = true, .standard = "abort", .help = "when a rank fails: abort (end all) or continue",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.abort_on_failure, abort_or_continue(v)); }},
    {.names = "grace", .takes = Arity::value, .value_name = "SECONDS", .section = Section::ending, .preference = true,
     .standard = "5", .help = "time between TERM and KILL",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.grace, seconds(v)); }},
    {.names = "timeout", .takes = Arity::value, .value_name = "SECONDS", .section = Section::ending,
     .preference = true, .standard = "none", .help = "end the job after this time, exit code 124; 0: never",
     .set_job = set_timeout},
    {.names = "wait-after-first", .takes = Arity::value, .value_name = "SECONDS", .section = Section::ending,
     .preference = true, .rare = true, .standard = "none",
     .help = "end the other ranks so long after the first one has ended; 0: never",
     .set_job = set_wait_after_first,
     .more = "A rank that failed before is the reason of the job's end; without one it is a time-out, exit code 124."},

    {.names = "hang-after", .takes = Arity::value, .value_name = "SECONDS", .section = Section::ending,
     .preference = true, .rare = true, .standard = "1800",
     .help = "tell when no rank has written or made progress for this time; 0: never",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.hang_after, seconds(v)); },
     .more = "What every rank does is shown then: stacks, state and CPU, grouped by what is equal."},
    {.names = "on-hang", .takes = Arity::value, .value_name = "WHAT", .section = Section::ending, .preference = true,
     .rare = true, .standard = "report",
     .help = "then: report (and go on), end (exit code 124) or restart (--restarts)",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.on_hang, one_of(v, kOnHang)); }},
    {.names = "progress", .takes = Arity::value, .value_name = "PATTERN", .section = Section::ending,
     .preference = true, .rare = true, .standard = "none",
     .help = "find the ranks' progress, a number, in the lines that they write: 'step (\\d+)'",
     .set_job = [](Options& o, string_view v, Context) { return put(o.progress, progress_pattern(v)); },
     .more = "A regular expression of RE2's syntax; its group is the number, and the last match of a rank counts. It "
             "stands in the status line, the record and the pictures of stacks; from the first number on, only numbers "
             "that change keep --hang-after from looking at what ranks do."},
    {.names = "progress-lag", .takes = Arity::value, .value_name = "K", .section = Section::ending,
     .preference = true, .rare = true, .standard = "10 times what a rank advances at once",
     .help = "with --progress: tell of a rank that is K behind the median of all; 0: never",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.progress_lag, whole_number(v, 0, kMostProgressLag)); }},
    {.names = "stacks-on", .takes = Arity::value, .value_name = "SIGNAL", .section = Section::ending,
     .preference = true, .rare = true, .standard = "none",
     .help = "show what every rank does when dlaunch gets this signal, and go on: USR1, USR2 or QUIT",
     .set_job = [](Options& o, string_view v, Context) { return put(o.stacks_on, stacks_signal(v)); },
     .more = "The ranks then do not get it."},
    {.names = "restarts", .takes = Arity::value, .value_name = "N", .section = Section::ending, .preference = true,
     .standard = "0", .help = "start all ranks again after a failure, at most N times",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.request.restarts, whole_number(v, 0, kMostRestarts)); },
     .more = "A failed rank or a lost host ends all ranks; then all start again, on the same hosts, with the same "
             "numbers. No restart follows a signal of yours, --timeout, the codes of --no-restart-codes, a first start "
             "that ends with 2, 126 or 127, or three rounds running that fail in the same way within a minute."},
    {.names = "spares", .takes = Arity::value, .value_name = "K", .section = Section::ending, .rare = true,
     .standard = "0", .help = "with --restarts: keep the last K hosts free, in place of lost ones",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.spares, whole_number(v, 0, kMaxRanks)); },
     .more = "They are connected to and get no rank. The first that can takes all ranks of a lost host."},
    {.names = "shrink", .section = Section::ending, .rare = true,
     .help = "with --restarts: go on without a lost host for which no spare one is left",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.policy.shrink, v); },
     .more = "The ranks of the other hosts are numbered anew without gaps, and there are fewer of them."},
    {.names = "no-restart-codes", .takes = Arity::value, .value_name = "LIST", .section = Section::ending,
     .preference = true, .rare = true, .standard = "93", .help = "exit codes of a rank that ask for no restart",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.no_restart_codes, exit_codes(v)); }},

    {.names = "checkpoint-signal", .takes = Arity::value, .value_name = "SIGNAL", .section = Section::ending,
     .preference = true, .rare = true, .standard = "none",
     .help = "have ranks save their state by this signal when the hosts are taken back: USR1",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.checkpoint.signal, checkpoint_signal(v)); },
     .more = "USR1, USR2 and TERM to dlaunch, and TERM to an agent, then mean that the job's hosts are taken back: "
             "ranks that catch the signal get it, and nothing is ended for --preempt-grace."},
    {.names = "preempt-grace", .takes = Arity::value, .value_name = "SECONDS", .section = Section::ending,
     .preference = true, .rare = true, .standard = "25; 60 or the time left under Slurm",
     .help = "with --checkpoint-signal: how long ranks have to save their state",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.checkpoint.grace, seconds(v)); }},
    {.names = "preempted-code", .takes = Arity::value, .value_name = "N", .section = Section::ending,
     .preference = true, .rare = true, .standard = "75",
     .help = "with --checkpoint-signal: the exit code when all ranks have saved their state",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.checkpoint.exit_code, whole_number(v, 0, 255)); }},

    {.names = "dry-run", .section = Section::look, .by_variable = true, .help = "print the plan and start nothing",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.dry_run, v); }},
    {.names = "show-env", .takes = Arity::value, .value_name = "RANK", .section = Section::look,
     .help = "print the environment of RANK and start nothing",
     .set_job = [](Options& o, string_view v, Context) { return put(o.show_env, whole_number(v, 0, kMaxRanks - 1)); }},
    {.names = "show-config", .section = Section::look, .help = "print each option's value and where it came from",
     .set_job = no_effect},
    {.names = "ascend", .section = Section::look, .rare = true,
     .help = "with check: have each Ascend device reach its peer on the next host",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.check_ascend, v); }},
    {.names = "display-map", .section = Section::look, .rare = true, .help = "print the plan, then start it",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.show_map, v); }},
    {.names = "display-allocation", .section = Section::look, .rare = true,
     .help = "print the hosts and their slots, then start", 
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.show_allocation, v); }},
    {.names = "report-pid", .takes = Arity::value, .value_name = "WHERE", .section = Section::look, .rare = true,
     .help = "write dlaunch's pid: - to stdout, + to stderr, else to that file", .set_job = set_report_pid},
    {.names = "quiet q", .section = Section::look, .preference = true, .rare = true, .help = "print no notes",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.quiet, v); }},
    {.names = "report", .takes = Arity::value, .value_name = "FILE", .section = Section::look,
     .help = "write the job's record to FILE, as JSON",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.report_file, absolute_path(v, h.cwd)); }},
    {.names = "verbose v vv", .takes = Arity::count, .section = Section::look, .preference = true, .standard = "0",
     .help = "say what happens; -vv says more",
     .set_job = [](Options& o, string_view v, Context) { return put(o.verbosity, whole_number(v, 0, 9)); }},

    {.names = "config", .takes = Arity::value, .value_name = "FILE", .section = Section::configuration,
     .standard = "~/.config/dlaunch/config.toml", .help = "read defaults from FILE", .set_job = no_effect},
    {.names = "help h", .takes = Arity::show, .section = Section::configuration, .help = "print this"},
    {.names = "version V", .takes = Arity::show, .section = Section::configuration,
     .help = "print the versions of dlaunch and its libraries"},
    {.names = "help-man", .takes = Arity::show, .section = Section::hidden, .help = "print the man page's source"},
};
// clang-format on

constexpr auto kOptionNames = sorted_names<kOptions>();

}  // namespace

std::span<const OptionSpec> option_table() { return kOptions; }
std::span<const FoundOption> option_names() { return kOptionNames; }

}  // namespace dlaunch::cli
