// Every option: one row each, in the order of --help-all. To add an option, add a row, remove the name from
// refused_options.cpp, and add the name to a page of help_pages.cpp. Then regenerate docs/options.md with
// `dlaunch --help-markdown > docs/options.md`.
#include <array>

#include "base/most_nodes.h"
#include "base/try.h"
#include "cli/grammar.h"
#include "cli/option_spec.h"
#include "cli/setters.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "hosts/device_filter.h"
#include "hosts/named.h"
#include "output/label.h"
#include "plan/frameworks.h"

namespace dlaunch::cli {
namespace {

using plan::AppRequest;
using std::string_view;
using Context = const ProcessContext&;
using namespace std::chrono_literals;

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
constexpr std::array<Word<output::Groups>, 4> kGroups{{{"auto", output::Groups::automatic},
                                                       {"github", output::Groups::github},
                                                       {"gitlab", output::Groups::gitlab},
                                                       {"off", output::Groups::off}}};
constexpr std::array<Word<bool>, 2> kSummary{{{"failure", false}, {"table", true}}};
constexpr std::array<Word<plan::HostKey>, 3> kHostKeys{
    {{"strict", plan::HostKey::strict}, {"accept-new", plan::HostKey::accept_new}, {"off", plan::HostKey::off}}};
constexpr std::array<Word<bool>, 2> kAbortOrContinue{{{"abort", true}, {"continue", false}}};
constexpr std::array<Word<output::Color>, 3> kColor{
    {{"auto", output::Color::automatic}, {"always", output::Color::always}, {"never", output::Color::never}}};
// clang-format off
constexpr OptionSpec kOptions[] = {
    {.names = "n np c", .takes = Arity::value, .value_name = "N", .section = Section::start,
     .common = true, .standard = "one per slot, device or CPU",
     .help = "start N ranks of the program",
     .set_program = set_ranks,
     .more = "-n devices starts one rank per device. Hosts without devices get no ranks."},
    {.names = "app", .takes = Arity::value, .value_name = "FILE", .section = Section::start,
     .help = "read the programs from FILE, one per line: [-n N] [-x VAR] [--wdir DIR] program args",
     .set_job = no_effect,
     .more = "Quotes and backslashes work as in a shell. # begins a comment. Variables and patterns are not expanded."},
    {.names = "wdir wd", .takes = Arity::value, .value_name = "DIR", .section = Section::start,
     .common = true, .standard = "the current directory",
     .help = "set the working directory of the ranks",
     .set_program = [](AppRequest& a, string_view v, Context h) { return put(a.wdir, absolute_path(v, h.cwd)); }},
    {.names = "rank-dir", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::start,
     .help = "run each rank in a separate directory, for example 'device{rank}'",
     .set_job = set_rank_dir,
     .more = "The directory is below the working directory. dlaunch removes the files that an earlier job left in the"
             " directory. A directory that --rank-dir did not create must be empty. Fields: {rank} {local_rank} "
             "{host} {device}. --stage copies files into the directory; --save-env writes the rank's environment "
             "there."},
    {.names = "stage", .takes = Arity::value, .value_name = "FILE[,FILE...]", .section = Section::start, .joins = true,
     .help = "copy local files or directories into the directory of each rank",
     .set_job = set_stage,
     .more = "dlaunch sends the files to the hosts. A quoted pattern such as '../*.py' selects several files."},
    {.names = "save-env", .section = Section::start,
     .help = "write each rank's environment to env.log in the rank's directory",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.save_env, v); }},
    {.names = "personality as", .takes = Arity::value, .value_name = "LAUNCHER", .section = Section::start,
     .common = true, .shown = "as", .standard = "from the name of the command",
     .help = "read the options of another launcher: torchrun, mpirun, srun, ...", .choices = grammar_names,
     .set_job = set_personality,
     .more = "Put --as before all other options. Launchers: torchrun, torch.distributed.launch, mpirun (ompi), hydra, "
             "msrun, deepspeed, horovodrun, srun, accelerate, dlaunch. A link to dlaunch with the launcher's name has "
             "the same effect. dlaunch's long options may come between --as LAUNCHER and the launcher's own options. "
             "docs/migrate/ has a page for each launcher."},
    {.names = "allow-run-as-root", .section = Section::hidden, .preference = true,
     .help = "no effect: unlike mpirun, dlaunch always allows the user root",
     .set_job = no_effect},

    {.names = "host H hosts", .takes = Arity::value, .value_name = "LIST", .section = Section::hosts,
     .also_later = true, .joins = true,
     .common = true, .standard = "this machine",
     .help = "run on these hosts: a:8,b:8 or node[1-4]:8",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.list, hosts::parse_host_list(v)); },
     .more = "node1:8 gives the host node1 8 slots. A host without a number has 1 slot; each repetition of the host adds one slot. "
             "node1:* gives the host one slot per CPU. Each of several programs (a : b) may have its own list."},
    {.names = "fake-hosts", .takes = Arity::value, .value_name = "NxM", .section = Section::hosts,
     .common = true,
     .help = "simulate N hosts with M slots each on this machine",
     .set_job = [](Options& o, string_view v, Context) {
       o.hosts.fake = true;
       o.exec = hosts::fake_host_command();
       return put(o.hosts.list, hosts::parse_fake_hosts(v)); },
     .more = "The hosts are named fake1, fake2, ... Each fake host has its own agent, like a remote host. "
             "Therefore, dlaunch handles connections, heartbeats, lost hosts and spare hosts as on real hosts. ssh, root and "
             "namespaces are not needed."},
    {.names = "hostfile machinefile machine f", .takes = Arity::value, .value_name = "FILE", .section = Section::hosts,
     .preference = true, .common = true,
     .help = "run on the hosts in FILE, one per line: NAME slots=8",
     .set_job = set_hostfile,
     .more = "-H overrides the hostfile; the hostfile overrides the hosts of the batch system. "
             "docs/hostfile.md lists the keys of a line."},
    {.names = "default-hostfile", .takes = Arity::value, .value_name = "FILE", .section = Section::hosts,
     .preference = true,
     .help = "run on the hosts in FILE if no other option or batch system lists hosts",
     .set_job = set_default_hostfile},
    {.names = "nolocal", .section = Section::hosts, .preference = true,
     .help = "start no ranks on this machine",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.hosts.no_local, v); }},
    {.names = "ignore-resource-manager", .section = Section::hosts, .preference = true,
     .help = "ignore the hosts of the batch system",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.hosts.ignore_resource_manager, v); }},
    {.names = "N npernode ppn", .takes = Arity::value, .value_name = "N", .section = Section::hosts,
     .common = true,
     .help = "start N ranks per host; -n limits the total",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.request.ranks_per_host, whole_number(v, 1, kMaxRanks)); }},
    {.names = "rankfile rf", .takes = Arity::value, .value_name = "FILE", .section = Section::hosts,
     .help = "read the host and the cores of each rank from FILE: rank 0=node1 slot=0-3",
     .set_job = set_rankfile},
    {.names = "rank-table", .takes = Arity::value, .value_name = "FILE", .section = Section::devices,
     .help = "start the job that the Ascend rank table FILE describes; auto: generate a table",
     .set_job = set_rank_table,
     .more = "The variable RANK_TABLE_FILE of each rank contains the path of the table on the rank's host. To set "
             "user, port or key of the hosts, add -H or a hostfile. docs/rank-tables.md has the details."},
    {.names = "product", .takes = Arity::value, .value_name = "NAME", .section = Section::devices, .preference = true,
     .standard = "910",
     .help = "check Ascend devices by the rules of this product: 910, a2, a3, 950", .choices = product_names,
     .set_job = set_product},
    {.names = "max-slots", .takes = Arity::value, .value_name = "N[,N...]", .section = Section::hosts, .preference = true,
     .help = "start at most N ranks per host; a list has one number for each host",
     .set_job = set_max_slots},
    {.names = "devices", .takes = Arity::value, .value_name = "LIST", .section = Section::devices,
     .common = true,
     .help = "use only these devices of each host: \"[4,8)\", 4-7 or 0,2",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.devices, hosts::parse_devices(v)); }},
    {.names = "include", .takes = Arity::value, .value_name = "HOSTS", .section = Section::hosts,
     .help = "use only these hosts and devices: host1:0,2@host2",
     .set_job = [](Options& o, string_view v, Context) { return set_filter(o.hosts.include, v); },
     .more = "'@' separates the hosts. The example means devices 0 and 2 of host1, and all devices of host2."},
    {.names = "exclude", .takes = Arity::value, .value_name = "HOSTS", .section = Section::hosts,
     .help = "do not use these hosts or devices: host1:0,2@host2",
     .set_job = [](Options& o, string_view v, Context) { return set_filter(o.hosts.exclude, v); },
     .more = "'@' separates the hosts. The example means devices 0 and 2 of host1, and all devices of host2."},
    {.names = "host-key", .takes = Arity::value, .value_name = "MODE", .section = Section::connections,
     .preference = true, .standard = "strict",
     .help = "check ssh host keys: strict (must be known), accept-new, off", .choices = words_of<kHostKeys>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.host_key, one_of<kHostKeys>(v)); },
     .more = "StrictHostKeyChecking in the ssh configuration overrides the default. dlaunch never prompts."},
    {.names = "transport", .takes = Arity::value, .value_name = "NAME", .section = Section::connections,
     .preference = true, .standard = "auto",
     .help = "start agents on the hosts by:", .choices = transport_names,
     .set_job = [](Options& o, string_view v, Context) { return set_transport(o, v); },
     .more = "auto uses the command of --exec, if --exec is set. Otherwise the batch system decides: srun (Slurm), "
             "qrsh (Grid Engine), blaunch (LSF), aprun, pbs_tmrsh or pbsdsh (PBS), flux exec (Flux). In all other "
             "cases auto uses ssh."},
    {.names = "exec", .takes = Arity::value, .value_name = "COMMAND", .section = Section::connections,
     .preference = true,
     .help = "connect to each host with COMMAND: 'kubectl exec -i {host} --'",
     .set_job = [](Options& o, string_view v, Context) { o.exec = v; return Result<void>{}; }},
    {.names = "rsh-agent", .takes = Arity::value, .value_name = "COMMAND", .section = Section::hidden,
     .help = "Open MPI's plm_rsh_agent; as --exec 'COMMAND {host}'",
     .set_job = [](Options& o, string_view v, Context) { o.rsh_agent = v; return Result<void>{}; }},
    {.names = "rsh-args", .takes = Arity::value, .value_name = "WORDS", .section = Section::hidden,
     .help = "Open MPI's plm_rsh_args: words between the command and the host",
     .set_job = [](Options& o, string_view v, Context) { o.rsh_args = v; return Result<void>{}; }},
    {.names = "link-proxy", .takes = Arity::value, .value_name = "WORDS", .section = Section::hidden,
     .help = "put WORDS before the command that reaches a host; dlaunch chaos breaks links this way",
     .set_job = [](Options& o, string_view v, Context) { o.link_proxy = v; return Result<void>{}; }},
    {.names = "hosts-at-once", .takes = Arity::value, .value_name = "N", .section = Section::connections,
     .preference = true, .standard = "64",
     .help = "connect to at most N hosts at a time",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts_at_once, whole_number(v, 1, 1024)); }},
    {.names = "agent-path", .takes = Arity::value, .value_name = "FILE", .section = Section::connections,
     .preference = true,
     .help = "run the agent installed as FILE on each host; do not copy an agent to the hosts",
     .set_job = set_agent_path,
     .more = "{machine} in FILE becomes the machine type of the host, as printed by uname -m. agent= in a hostfile sets "
             "the path for one host."},
    {.names = "ssh-port", .takes = Arity::value, .value_name = "PORT", .section = Section::connections,
     .preference = true, .standard = "from the ssh configuration",
     .help = "connect to this port of the hosts' sshd",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.ssh_port, whole_number(v, 1, 65535)); },
     .more = "port= in a hostfile sets the port of one host."},
    {.names = "ssh-identity", .takes = Arity::value, .value_name = "FILE", .section = Section::connections,
     .preference = true, .standard = "from the ssh configuration",
     .help = "log in with this private key",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.hosts.ssh_identity, absolute_path(v, h.cwd)); },
     .more = "identity= in a hostfile sets the key for one host."},
    {.names = "wait-hosts", .takes = Arity::value, .value_name = "TIME", .section = Section::connections,
     .preference = true, .standard = "0",
     .help = "retry unreachable hosts for TIME before giving up",
     .set_job = [](Options& o, string_view v, Context) { return put(o.wait_hosts, seconds(v)); }},
    {.names = "heartbeat", .takes = Arity::value, .value_name = "TIME", .section = Section::connections,
     .preference = true, .standard = "5",
     .help = "interval of the heartbeats between dlaunch and its agents: 2 s to 60 s",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.heartbeat, seconds_within(v, 2s, 60s, "2 s to 60 s")); },
     .more = "dlaunch treats a host as lost after three to four intervals without a heartbeat. With a short "
             "interval, dlaunch detects a loss sooner, but also treats a network failure of a few seconds as a loss."},
    {.names = "pause-limit", .takes = Arity::value, .value_name = "TIME", .section = Section::connections,
     .preference = true, .standard = "10m",
     .help = "let ranks continue for TIME while dlaunch is stopped: 10 s to 7 days",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.pause_limit, seconds_within(v, 10s, 7 * 24h, "10 s to 7 days")); },
     .more = "dlaunch is stopped after Ctrl-Z, and while its machine sleeps. If the connection to an agent ends "
             "during the stop, the agent ends its ranks immediately. With --same-line, the other nodes also wait up to "
             "TIME if dlaunch on node 0 is stopped before the ranks start. A node stops waiting if the machine of "
             "node 0 does not respond."},
    {.names = "same-line", .section = Section::nodes,
     .common = true,
     .help = "you start this command on every node; node 0 runs the job",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.same_line.asked, v); },
     .more = "The other nodes connect to node 0, in any order. Each node waits 10 minutes for the others; --wait-hosts "
             "sets another limit. All nodes exit with the job's exit code. docs/without-ssh.md has examples."},
    {.names = "rendezvous", .takes = Arity::value, .value_name = "HOST:PORT", .section = Section::nodes,
     .help = "with --same-line: address of node 0 for the other nodes",
     .set_job = [](Options& o, string_view v, Context) -> Result<void> { o.same_line.rendezvous = v; return {}; },
     .more = "The default port is 29400. Node 0 listens on this address until the last node has connected."},
    {.names = "node-rank", .takes = Arity::value, .value_name = "I", .section = Section::nodes,
     .help = "with --same-line: number of this node, from 0",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.same_line.node, whole_number(v, 0, kMostNodes - 1)); },
     .more = "Without this option, the number comes from torchrun's PET_*, AWS_BATCH_*, JOB_COMPLETION_INDEX or "
             "Slurm's variables. Without these variables, node 0 is the node with the address of --rendezvous."},
    {.names = "nodes", .takes = Arity::value, .value_name = "N|MIN:MAX", .section = Section::nodes,
     .help = "with --same-line: number of nodes",
     .set_job = [](Options& o, string_view v, Context) { return set_nodes(o.same_line, v); },
     .more = "With MIN:MAX, the job starts when MAX nodes have connected. The job also starts when at least MIN nodes "
             "have connected and no other node connects within --last-call. The number of nodes does not change "
             "later."},
    {.names = "last-call", .takes = Arity::value, .value_name = "TIME", .section = Section::nodes,
     .standard = "30",
     .help = "with --nodes MIN:MAX: wait TIME for one more node",
     .set_job = [](Options& o, string_view v, Context) { return put(o.same_line.last_call, seconds(v)); }},
    {.names = "port", .takes = Arity::value, .value_name = "PORT|FIRST-LAST", .section = Section::connections,
     .preference = true, .standard = "any, or Slurm's SrunPortRange",
     .help = "listen on these ports for the agents that a batch system starts",
     .set_job = [](Options& o, string_view v, Context) { return put(o.ports, port_range(v)); },
     .more = "One port serves all agents of a job. The port is open until the last agent has connected."},
    {.names = "key-file", .takes = Arity::value, .value_name = "FILE", .section = Section::nodes, .preference = true,
     .standard = "DLAUNCH_KEY",
     .help = "with --same-line: file with the job's key, the same on all nodes",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.same_line.key_file, absolute_path(v, h.cwd)); },
     .more = "The mode of the file must be 0600 or 0400. To make a key, run openssl rand -hex 32. Without this option, "
             "dlaunch reads the key from the variable DLAUNCH_KEY."},
    {.names = "oversubscribe !nooversubscribe", .section = Section::hosts, .preference = true,
     .common = true,
     .help = "allow more ranks than devices or slots",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.oversubscribe, v); }},
    {.names = "fake-devices", .takes = Arity::value, .value_name = "N", .section = Section::devices, .preference = true,
     .help = "simulate N devices per host",
     .set_job = [](Options& o, string_view v, Context) { return put(o.hosts.fake_devices, whole_number(v, 0, 4096)); }},

    {.names = "x", .takes = Arity::value, .value_name = "VAR[=VALUE]", .section = Section::environment,
     .common = true,
     .help = "set VAR, or pass it on; 'PREFIX_*': all variables with this prefix",
     .set_program = add_variable},
    {.names = "env-file", .takes = Arity::value, .value_name = "FILE", .section = Section::environment,
     .help = "set the variables in FILE: NAME=VALUE lines",
     .set_program = add_env_file,
     .more = "A line that begins with # is a comment. The value is all text after the first =."},
    {.names = "no-env", .section = Section::environment,
     .help = "do not pass dlaunch's environment to the ranks, except the variables that -x names",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.no_environment, v); },
     .more = "With --env-for slurm, ranks keep SLURM_* and SPANK_*, as with srun."},
    {.names = "env-all", .section = Section::environment,
     .help = "pass all variables to the ranks, as srun does, including RANK, MASTER_ADDR, HOME and DISPLAY",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.whole_environment, v); },
     .more = "Ranks get all variables of dlaunch's environment. --env-for does not remove or replace these variables, as "
             "with -x. dlaunch still sets SLURM_*. In a job of a batch system, ranks on other hosts "
             "also get HOME, DISPLAY and similar variables."},
    {.names = "env-for", .takes = Arity::value, .value_name = "LIST", .section = Section::environment, .joins = true,
     .preference = true, .common = true,
     .help = "set the variables of a framework: torch, jax, mindspore, ..., auto", .choices = plan::framework_names,
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.frameworks, plan::parse_frameworks(v)); },
     .more = "Separate several frameworks with commas. Frameworks: torch, torchrun, deepspeed, jax, tensorflow, "
             "mindspore, mindspore-dynamic, horovod, openmpi, mpich, slurm. The value auto selects torch, deepspeed, "
             "jax and mindspore. The value torchrun selects torch and all other variables of torchrun. dlaunch removes "
             "the variables of an outer launcher. -x overrides --env-for. docs/environment.md lists the variables."},
    {.names = "visible", .takes = Arity::value, .value_name = "SCOPE", .section = Section::devices, .preference = true,
     .common = true, .standard = "none",
     .help = "devices that a rank sees: rank (its own), host (all), none (no change)", .choices = words_of<kVisible>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.visible, one_of<kVisible>(v)); },
     .more = "Sets CUDA_VISIBLE_DEVICES, ASCEND_RT_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES, depending on the kind of "
             "the host's devices."},

    {.names = "mpi", .takes = Arity::value, .value_name = "KIND", .section = Section::environment, .preference = true,
     .standard = "auto",
     .help = "serve MPI to the ranks: auto, pmi1 or pmi2 (MPICH), pmix (Open MPI), none", .choices = words_of<kMpi>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.mpi, one_of<kMpi>(v)); },
     .more = "docs/mpi.md explains how auto chooses."},

    {.names = "label", .takes = Arity::maybe_value, .value_name = "TEMPLATE", .section = Section::output,
     .preference = true, .common = true, .bare = output::kDefaultLabel,
     .help = "begin each line with TEMPLATE, by default with '[{rank}] '",
     .set_job = set_label,
     .more = "Fields: {rank} {local_rank} {host} {device} {stream} {time}. Write --label=TEMPLATE. After a space, "
             "dlaunch reads the next word as TEMPLATE only if the word contains '{'. Any other word is the program."},
    {.names = "fold", .takes = Arity::maybe_value, .value_name = "LEVEL", .section = Section::output,
     .preference = true, .standard = "own if the output is a terminal and the job has more than 8 ranks", .bare = "own",
     .help = "print equal lines of several ranks once, with the numbers of these ranks; levels:",
     .choices = fold_levels,
     .set_job = set_fold,
     .more = "With exact, folded lines are equal. With own, folded lines may differ in the time, and in the numbers "
             "and names of their ranks. With numbers, folded lines may differ in all numbers."},
    {.names = "console-rate", .takes = Arity::value, .value_name = "LINES/s", .section = Section::output,
     .preference = true,
     .help = "print at most LINES lines per second of stdout, and of stderr; hide further lines",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.console_rate, console_rate(v)); },
     .more = "The option requires log files with all lines: --output-filename, or --stdout-file and --stderr-file with "
             ":copy. dlaunch prints the number of hidden lines, and the path of the log files."},
    {.names = "group-output", .takes = Arity::maybe_value, .value_name = "KIND", .section = Section::output,
     .preference = true, .standard = "off", .bare = "auto",
     .help = "in CI, print the lines of each rank as a group: auto, github, gitlab, off", .choices = words_of<kGroups>,
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.output.groups, one_of<kGroups>(v.empty() ? "auto" : v == "false" ? "off" : v));
     },
     .more = "The log viewers of GitHub Actions and GitLab fold each group. A group is printed at the end of the rank, "
             "after 60 s, or after 256 KiB. In a group, GitHub shows workflow commands as text, and does not run them. "
             "Outside of CI, auto has no effect."},
    {.names = "tag-output", .section = Section::output, .preference = true,
     .help = "begin each line with '[1,0]<stdout>:', as Open MPI does",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.tag, v); }},
    {.names = "timestamp-output", .section = Section::output, .preference = true,
     .help = "begin each line with the time, as Open MPI does",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.timestamp, v); }},
    {.names = "output-filename", .takes = Arity::value, .value_name = "DIR", .section = Section::output,
     .common = true,
     .help = "keep the output of each rank in DIR/1/rank.N/stdout and stderr",
     .set_job = set_files,
     .more = "Append :nocopy to print nothing on the console, and :nojobid to omit the directory 1: "
             "DIR:nocopy:nojobid does both. A value with a '{' is a template of the file's name: "
             "DIR/{host}/{rank}.log. Fields: {rank} {local_rank} {host} {device} {stream} {job} {round} {attempt}."},
    {.names = "keep-logs", .takes = Arity::value, .value_name = "N", .section = Section::output, .preference = true,
     .standard = "0",
     .help = "keep the log directories of the last N jobs as DIR.1, DIR.2, ...",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.output.keep_logs, whole_number(v, 0, kMaxKeptLogs)); },
     .more = "Before the job creates files, dlaunch renames the DIR of --output-filename to DIR.1, DIR.1 to DIR.2, "
             "and so on. dlaunch removes the old DIR.N."},
    {.names = "stdout-file", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::output,
     .common = true,
     .help = "write each rank's stdout to a file (DIR/{rank}.out), not to the console",
     .set_job = [](Options& o, string_view v, Context h) { return set_stream_file(o, output::Stream::out, v, h); },
     .more = "TEMPLATE may end with suffixes: :local=LIST (only for ranks with these local numbers), :append (keep "
             "the old content of the file), :copy (print stdout on the console too). The fields are those of "
             "--output-filename. If several ranks have the same file name, dlaunch writes whole lines to the file. "
             "The option does not change stderr."},
    {.names = "stderr-file", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::output,
     .help = "write each rank's stderr to a file (DIR/{rank}.err), not to the console",
     .set_job = [](Options& o, string_view v, Context h) { return set_stream_file(o, output::Stream::err, v, h); }},
    {.names = "error-file", .takes = Arity::value, .value_name = "TEMPLATE", .section = Section::output,
     .help = "let PyTorch write the error of each rank to a file: DIR/{rank}.json",
     .set_job = set_error_file,
     .more = "Sets TORCHELASTIC_ERROR_FILE for the ranks on this machine. PyTorch's @record writes the error of a rank "
             "to this file. At least one rank must be on this machine. After a failure, dlaunch prints the traceback "
             "from the file of the first failed rank. The fields are those of --output-filename."},
    {.names = "merge-stderr-to-stdout", .section = Section::output, .preference = true,
     .help = "merge each rank's stderr into its stdout",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.merge_stderr, v); }},
    {.names = "ranks", .takes = Arity::value, .value_name = "LIST", .section = Section::output,
     .standard = "all",
     .help = "print only the output of these ranks: 0,3-5; output files contain the output of all ranks",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.console_ranks, rank_list(v)); }},
    {.names = "local-ranks", .takes = Arity::value, .value_name = "LIST", .section = Section::output,
     .standard = "all",
     .help = "print only the output of these local ranks (numbers on each host, from 0): 0,3-5; "
             "output files contain the output of all ranks",
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.console_local_ranks, rank_list(v)); }},
    {.names = "raw", .section = Section::output, .preference = true,
     .help = "print bytes as they arrive, not line by line",
     .set_job = set_raw},
    {.names = "color", .takes = Arity::value, .value_name = "WHEN", .section = Section::output, .preference = true,
     .standard = "auto",
     .help = "color labels by rank:", .choices = words_of<kColor>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.color, one_of<kColor>(v)); },
     .more = "With auto, dlaunch colors labels on a terminal unless NO_COLOR is set."},
    {.names = "format", .takes = Arity::value, .value_name = "FORMAT", .section = Section::output, .by_variable = true,
     .standard = "text",
     .help = "jsonl: print the ranks' output as JSON lines; json: print --dry-run, --show-env or --show-config as JSON",
     .choices = format_names,
     .set_job = set_format,
     .more = "json is also a format of the subcommands hosts and check."},
    {.names = "pty", .section = Section::output, .preference = true,
     .help = "give each rank a terminal; if stdin is a terminal, send each key immediately to the rank of --stdin",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.output.pty, v); }},
    {.names = "on-output-error", .takes = Arity::value, .value_name = "ACTION", .section = Section::output,
     .preference = true, .standard = "abort",
     .help = "if output cannot be written: abort or continue", .choices = words_of<kAbortOrContinue>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.output.abort_on_error, one_of<kAbortOrContinue>(v)); }},

    {.names = "stdin", .takes = Arity::value, .value_name = "TARGET", .section = Section::output, .preference = true,
     .standard = "0",
     .help = "send dlaunch's stdin to: none, all, or a rank", .choices = words_of<kStdinWords>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.stdin_target, stdin_target(v)); }},
    {.names = "escape", .takes = Arity::value, .value_name = "CHAR", .section = Section::output, .preference = true,
     .standard = "~",
     .help = "with --pty: after Enter, this key begins a command to dlaunch; none: no commands",
     .set_job = [](Options& o, string_view v, Context) { return put(o.escape, escape_key(v)); },
     .more = "~. ends the job, ~^Z suspends dlaunch, and ~? lists the commands, as in ssh. ~~ sends one ~."},

    {.names = "bind-to", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .common = true, .standard = "none",
     .help = "bind each rank to a unit:", .choices = words_of<kBindTo>,
     .set_job = [](Options& o, string_view v, Context) -> Result<void> {
       const auto unit = TRY(bind_unit(o, v));
       return unit.empty() ? Result<void>{} : put(o.request.binding.bind_to, one_of<kBindTo>(unit)); },
     .more = "Append :overload-allowed to let ranks share cores. Append :if-supported to leave the ranks of a host "
             "unbound if the host has too few cores. With --bind-to device, a rank gets all cores of the NUMA node that "
             "is closest to its device. If this NUMA node is unknown, dlaunch does not bind the rank and prints a note."},
    {.names = "use-hwthread-cpus", .section = Section::binding,
     .help = "with --cores-per-rank: bind to hardware threads instead of cores",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.threads_are_cpus, v); },
     .more = "With --as mpirun, this option also binds ranks to hardware threads by default, and gives a host one slot "
             "per hardware thread, not one per core. Without --as mpirun, a host always has one slot per hardware "
             "thread."},
    {.names = "cores-per-rank", .takes = Arity::value, .value_name = "N|share", .section = Section::binding,
     .preference = true, .standard = "1",
     .help = "bind each rank to N cores, as --map-by slot:PE=N",
     .set_job = [](Options& o, string_view v, Context) { return set_cores_per_rank(o, v); },
     .more = "share gives each rank an equal part of the host's cores."},
    {.names = "cpu-list", .takes = Arity::value, .value_name = "LIST", .section = Section::binding,
     .help = "run ranks only on these cores of each host: 0-3,7",
     .set_job = set_cpu_list,
     .more = "LIST has the syntax of slot= in a rankfile. A / separates the lists for the ranks of a host: with "
             "0-3/4-7, the first rank gets 0-3, the second rank 4-7, and the third rank 0-3 again."},
    {.names = "map-by", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .standard = "slot",
     .help = "place ranks by: slot, node, block, ppr:N:node, seq, core, socket, numa", .choices = map_by_names,
     .set_job = set_map_by,
     .more = "With slot, ranks fill one host after the other. With node, each host gets one rank in turn. With block, "
             "each host gets as many ranks as with node, but with consecutive numbers. The value ppr:N:node equals -N "
             "N. With seq, each entry of the host list gets one rank, in order. With core, hwthread, socket or numa, "
             "ranks fill one host after the other. With --bind-to, the next rank on a host gets cores of the next "
             "unit, for example of the next socket. Append :PE=N to give each rank N cores. Append :OVERSUBSCRIBE "
             "to allow more ranks than slots."},
    {.names = "rank-by", .takes = Arity::value, .value_name = "UNIT", .section = Section::binding, .preference = true,
     .standard = "slot",
     .help = "number ranks by: slot (or fill), node, core, socket", .choices = words_of<kRankBy>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.binding.rank_by, one_of<kRankBy>(v)); }},
    {.names = "report-bindings", .section = Section::binding, .preference = true,
     .help = "print the CPUs that each running rank may use",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.request.binding.report, v); }},

    {.names = "on-failure", .takes = Arity::value, .value_name = "ACTION", .section = Section::failures,
     .preference = true, .common = true, .standard = "abort",
     .help = "if a rank fails: abort (stop all ranks) or continue", .choices = words_of<kAbortOrContinue>,
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.abort_on_failure, one_of<kAbortOrContinue>(v)); }},
    {.names = "grace", .takes = Arity::value, .value_name = "TIME", .section = Section::failures, .preference = true,
     .standard = "5",
     .help = "wait TIME between SIGTERM and SIGKILL",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.grace, seconds(v)); }},
    {.names = "timeout", .takes = Arity::value, .value_name = "TIME", .section = Section::failures, .preference = true,
     .common = true, .standard = "none",
     .help = "stop the job after TIME with exit code 124; 0: never",
     .set_job = set_timeout},
    {.names = "wait-after-first", .takes = Arity::value, .value_name = "TIME", .section = Section::failures,
     .preference = true, .standard = "none",
     .help = "stop the other ranks TIME after the first rank ended; 0: never",
     .set_job = set_wait_after_first,
     .more = "If a rank has failed, the exit code is the code of the first failed rank. Otherwise the exit code is "
             "124."},

    {.names = "hang-after", .takes = Arity::value, .value_name = "TIME", .section = Section::failures,
     .preference = true, .common = true, .standard = "1800",
     .help = "report a hang if no rank writes or progresses for TIME; 0: never",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.hang_after, seconds(v)); },
     .more = "The report shows the stacks, state and CPU use of all ranks. Ranks with equal stacks share an entry."},
    {.names = "on-hang", .takes = Arity::value, .value_name = "ACTION", .section = Section::failures,
     .preference = true, .standard = "report",
     .help = "after a hang: report (and continue), end (exit code 124), restart (see --restarts)",
     .choices = words_of<kOnHang>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.on_hang, one_of<kOnHang>(v)); }},
    {.names = "progress", .takes = Arity::value, .value_name = "PATTERN", .section = Section::failures,
     .preference = true, .common = true, .standard = "none",
     .help = "find each rank's step number in its output by PATTERN: 'step (\\d+)'",
     .set_job = [](Options& o, string_view v, Context) { return put(o.progress, progress_pattern(v)); },
     .more = "PATTERN is a regular expression (RE2) with one group for the number. dlaunch uses the last match in "
             "a rank's output. The status line, the record of --report and the stack reports show the number. After "
             "the first number, only a changed number resets the timer of --hang-after."},
    {.names = "progress-lag", .takes = Arity::value, .value_name = "K", .section = Section::failures,
     .preference = true, .standard = "10 times a rank's usual step",
     .help = "with --progress: report a rank that is K steps behind the median of all ranks; 0: never",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.progress_lag, whole_number(v, 0, kMostProgressLag)); }},
    {.names = "stacks-on", .takes = Arity::value, .value_name = "SIGNAL", .section = Section::failures,
     .preference = true, .standard = "none",
     .help = "on SIGNAL (USR1, USR2 or QUIT), print the stacks of all ranks and continue",
     .choices = words_of<kStacksSignals>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.stacks_on, stacks_signal(v)); },
     .more = "dlaunch does not pass this signal on to the ranks."},
    {.names = "restarts", .takes = Arity::value, .value_name = "N", .section = Section::restarts, .preference = true,
     .common = true, .standard = "0",
     .help = "restart all ranks after a failure, at most N times",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.request.restarts, whole_number(v, 0, kMostRestarts)); },
     .more = "A failed rank or a lost host ends all ranks. Then all ranks start again with the same numbers, on the "
             "same hosts. After a signal from you, after --timeout, or after an exit code in --no-restart-codes, "
             "dlaunch does not restart the ranks. Exit codes 2, 126 and 127 of the first start also end the job. The "
             "job also ends after three consecutive rounds of less than 60 s with the same exit code or signal, and "
             "the same last line of output. The numbers in this line may differ."},
    {.names = "spares", .takes = Arity::value, .value_name = "K", .section = Section::restarts,
     .standard = "0",
     .help = "with --restarts: reserve the last K hosts to replace lost hosts",
     .set_job = [](Options& o, string_view v, Context) { return put(o.request.spares, whole_number(v, 0, kMaxRanks)); },
     .more = "dlaunch connects to spare hosts and starts no ranks there. The first suitable spare host takes all "
             "ranks of a lost host."},
    {.names = "shrink", .section = Section::restarts,
     .help = "with --restarts: continue without a lost host if no spare host is left",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.policy.shrink, v); },
     .more = "The job then has fewer ranks. The remaining ranks get new numbers without gaps."},
    {.names = "no-restart-codes", .takes = Arity::value, .value_name = "LIST", .section = Section::restarts,
     .preference = true, .standard = "93",
     .help = "do not restart after these exit codes of a rank",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.no_restart_codes, exit_codes(v)); }},

    {.names = "checkpoint-signal", .takes = Arity::value, .value_name = "SIGNAL", .section = Section::restarts,
     .preference = true, .standard = "none",
     .help = "on preemption, send SIGNAL, such as USR1, to the ranks to request a checkpoint",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.checkpoint.signal, checkpoint_signal(v)); },
     .more = "Preemption means that the batch system takes the hosts back. The batch system first sends USR1, USR2 or "
             "TERM to dlaunch, or TERM to an agent. Only ranks with a handler for SIGNAL receive SIGNAL. dlaunch does "
             "not stop ranks before the end of --preempt-grace."},
    {.names = "preempt-grace", .takes = Arity::value, .value_name = "TIME", .section = Section::restarts,
     .preference = true, .standard = "25 s; another value in Slurm and Grid Engine",
     .help = "with --checkpoint-signal: give ranks TIME to save their state",
     .set_job = [](Options& o, string_view v, Context) { return put(o.policy.checkpoint.grace, seconds(v)); },
     .more = "docs/preemption.md describes the default in Slurm and Grid Engine."},
    {.names = "preempted-code", .takes = Arity::value, .value_name = "N", .section = Section::restarts,
     .preference = true, .standard = "75",
     .help = "with --checkpoint-signal: exit code after all ranks saved their state",
     .set_job = [](Options& o, string_view v, Context) {
       return put(o.policy.checkpoint.exit_code, whole_number(v, 0, 255)); }},

    {.names = "dry-run", .section = Section::inspect, .by_variable = true,
     .common = true,
     .help = "print the plan and start nothing",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.dry_run, v); }},
    {.names = "show-env", .takes = Arity::value, .value_name = "RANK", .section = Section::inspect,
     .help = "print the environment of RANK and start nothing",
     .set_job = [](Options& o, string_view v, Context) { return put(o.show_env, whole_number(v, 0, kMaxRanks - 1)); }},
    {.names = "show-config", .section = Section::inspect,
     .help = "print the value and the source of each option",
     .set_job = no_effect},
    {.names = "ascend", .section = Section::inspect,
     .help = "with check: test the network from each Ascend device to the next host",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.check_ascend, v); }},
    {.names = "display-map", .section = Section::inspect,
     .help = "print the plan, then start the job",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.show_map, v); }},
    {.names = "display-allocation", .section = Section::inspect,
     .help = "print the hosts and their slots, then start the job",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.show_allocation, v); }},
    {.names = "report-pid", .takes = Arity::value, .value_name = "FILE", .section = Section::inspect,
     .help = "write dlaunch's process id to FILE, to stdout (-) or to stderr (+)",
     .set_job = set_report_pid},
    {.names = "quiet q", .section = Section::inspect, .preference = true,
     .help = "print no notes",
     .set_job = [](Options& o, string_view v, Context) { return put_flag(o.quiet, v); }},
    {.names = "report", .takes = Arity::value, .value_name = "FILE", .section = Section::inspect,
     .common = true,
     .help = "write the record of the job to FILE as JSON",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.report_file, absolute_path(v, h.cwd)); }},
    {.names = "junit", .takes = Arity::value, .value_name = "FILE", .section = Section::inspect,
     .help = "write the result of each rank to FILE in the XML format of JUnit",
     .set_job = [](Options& o, string_view v, Context h) { return put(o.junit_file, absolute_path(v, h.cwd)); },
     .more = "CI systems can show this file. A rank that dlaunch stopped after another failure counts as skipped."},
    {.names = "summary", .takes = Arity::value, .value_name = "KIND", .section = Section::inspect, .preference = true,
     .standard = "failure",
     .help = "print at the end: failure (the first failure), or table (the failure and all ranks)",
     .choices = words_of<kSummary>,
     .set_job = [](Options& o, string_view v, Context) { return put(o.results_table, one_of<kSummary>(v)); },
     .more = "The table has the host, the end, the time and the last line of each rank."},
    {.names = "status", .takes = Arity::value, .value_name = "WHEN", .section = Section::inspect, .preference = true,
     .standard = "2",
     .help = "show a status line after a time without output: on, off, SECONDS",
     .choices = [] { return std::vector<std::string>{"on", "off"}; },
     .set_job = [](Options& o, string_view v, Context) { return put(o.status, status_patience(v)); },
     .more = "dlaunch draws the line only on a terminal, and erases the line before other output. The line shows the "
             "running ranks, the time, progress numbers, and hosts, ranks or disks that dlaunch waits for. During a "
             "slow start or end, dlaunch draws the line even if ranks write output. With TERM=dumb, dlaunch draws no "
             "line. After you typed input for the ranks, dlaunch draws no line about running ranks."},
    {.names = "verbose v vv", .takes = Arity::count, .section = Section::inspect, .preference = true,
     .common = true, .standard = "0",
     .help = "print progress; -vv prints more",
     .set_job = [](Options& o, string_view v, Context) { return put(o.verbosity, whole_number(v, 0, 9)); }},

    {.names = "config", .takes = Arity::value, .value_name = "FILE", .section = Section::configuration,
     .standard = "~/.config/dlaunch/config.toml",
     .help = "read defaults from FILE",
     .set_job = no_effect},
    {.names = "help h", .takes = Arity::show, .section = Section::configuration,
     .help = "print the common options"},
    {.names = "help-all", .takes = Arity::show, .section = Section::configuration, .help = "print all options"},
    {.names = "version V", .takes = Arity::show, .section = Section::configuration,
     .help = "print the versions of dlaunch and its libraries"},
    {.names = "help-man", .takes = Arity::show, .section = Section::hidden,
     .help = "print the source of the man page"},
    {.names = "help-markdown", .takes = Arity::show, .section = Section::hidden, .help = "print docs/options.md"},
};
// clang-format on

constexpr auto kOptionNames = sorted_names<kOptions>();

}  // namespace

std::span<const OptionSpec> option_table() { return kOptions; }
std::span<const FoundOption> option_names() { return kOptionNames; }

}  // namespace dlaunch::cli
