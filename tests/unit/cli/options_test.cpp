// Every option's spellings and values, one line each.
#include "front.h"

namespace dlaunch::cli {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

struct Line {
  Words args;  // "prog" is added
  std::function<bool(const Options&)> holds;
};

void PrintTo(const Line& line, std::ostream* out) { print_words(line.args, *out); }

class OptionLine : public testing::TestWithParam<Line> {};

TEST_P(OptionLine, Sets) {
  Words args = GetParam().args;
  args.push_back("prog");
  const Options options = Front{}.options(args);
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
    for (const allocate::HostEntry& entry : o.hosts.list) got.push_back(entry.name);
    return got == names;
  };
}
auto verbosity(int n) {
  return [n](const Options& o) { return o.verbosity == n; };
}
auto label(const std::string& text) {
  return [text](const Options& o) { return o.output.label == text; };
}
auto files(const std::string& target, bool copy, bool job_directory) {
  return [=](const Options& o) {
    const auto& f = o.output.files;
    return f && f->target == target && f->copy == copy && f->job_directory == job_directory;
  };
}
auto stdin_is(StdinTarget target) {
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
using Kind = StdinTarget::Kind;

INSTANTIATE_TEST_SUITE_P(
    Start, OptionLine,
    testing::Values(Line{{"-n", "4"}, ranks(4)}, Line{{"-np", "4"}, ranks(4)}, Line{{"--np", "4"}, ranks(4)},
                    Line{{"--n", "4"}, ranks(4)}, Line{{"-c", "4"}, ranks(4)}, Line{{"--np=4"}, ranks(4)},
                    Line{{"-np=4"}, ranks(4)}, Line{{"-n", "010"}, ranks(10)}, Line{{"-n", "2", "-np", "3"}, ranks(3)},
                    Line{{"-wdir", "d"}, [](const Options& o) { return app(o).wdir == "/cwd/d"; }},
                    Line{{"--wd=/d"}, [](const Options& o) { return app(o).wdir == "/d"; }},
                    Line{{"-wdir", "a", "--wdir", "b"}, [](const Options& o) { return app(o).wdir == "/cwd/b"; }},
                    Line{{"--allow-run-as-root"}, [](const Options&) { return true; }},
                    Line{{"--"}, [](const Options& o) { return !app(o).ranks; }}));

INSTANTIATE_TEST_SUITE_P(
    Place, OptionLine,
    testing::Values(
        Line{{"--oversubscribe"}, [](const Options& o) { return o.request.oversubscribe; }},
        Line{{"-oversubscribe", "--nooversubscribe"}, [](const Options& o) { return !o.request.oversubscribe; }},
        Line{{"--nooversubscribe", "-oversubscribe"}, [](const Options& o) { return o.request.oversubscribe; }},
        Line{{"-H", "a:8,b"}, hosts({"a", "b"})}, Line{{"--host=a"}, hosts({"a"})}, Line{{"-hosts", "a"}, hosts({"a"})},
        Line{{"-H", "a", "--host", "b,c"}, hosts({"a", "b", "c"})}, Line{{}, hosts({})},
        Line{{"-N", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2; }},
        Line{{"-npernode", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2; }},
        Line{{"-ppn", "2"}, [](const Options& o) { return o.request.ranks_per_host == 2 && !app(o).ranks; }},
        Line{{"--map-by", "ppr:3:node"}, [](const Options& o) { return o.request.ranks_per_host == 3; }},
        Line{{"--map-by", "seq"}, [](const Options& o) { return o.request.in_sequence; }},
        Line{{"--max-slots", "4"}, [](const Options& o) { return o.hosts.max_slots == 4; }},
        Line{{"--include", "a:0@b"}, [](const Options& o) { return o.hosts.include == "a:0@b"; }},
        Line{{"--exclude", "a"}, [](const Options& o) { return o.hosts.exclude == "a"; }},
        Line{{"--ignore-resource-manager"}, [](const Options& o) { return o.hosts.ignore_resource_manager; }},
        Line{{"-nolocal"}, [](const Options& o) { return o.hosts.no_local; }},
        Line{{"--agent-path", "/opt/a"}, [](const Options& o) { return o.hosts.agent_path == "/opt/a"; }},
        Line{{"--fake-devices", "8"}, [](const Options& o) { return o.hosts.fake_devices == 8; }},
        Line{{"--fake-devices=0"}, [](const Options& o) { return o.hosts.fake_devices == 0; }}));

INSTANTIATE_TEST_SUITE_P(
    Output, OptionLine,
    testing::Values(Line{{"--label"}, label("[{rank}] ")}, Line{{"--label={rank}: "}, label("{rank}: ")},
                    Line{{"--label", "[{host}]"}, label("[{host}]")}, Line{{"--label=[{rank}]"}, label("[{rank}]")},
                    Line{{"-tag-output"}, [](const Options& o) { return o.output.tag && !o.output.timestamp; }},
                    Line{{"-tag-output", "--timestamp-output"},
                         [](const Options& o) { return o.output.tag && o.output.timestamp; }},
                    Line{{"-output-filename", "logs"}, files("/cwd/logs", true, true)},
                    Line{{"--output-filename", "/l:nocopy"}, files("/l", false, true)},
                    Line{{"--output-filename=/l:NoJobId"}, files("/l", true, false)},
                    Line{{"--output-filename", "/l:nojobid,nocopy"}, files("/l", false, false)},
                    Line{{"--output-filename", "/l:nocopy,nojobid"}, files("/l", false, false)},
                    Line{{"--output-filename", "a:b/"}, files("/cwd/a:b/", true, true)},
                    Line{{"--output-filename", "l/{host}:{rank}.log"}, files("/cwd/l/{host}:{rank}.log", true, true)},
                    Line{{"--output-filename", "l/{rank}:nocopy"}, files("/cwd/l/{rank}", false, true)},
                    Line{{"-merge-stderr-to-stdout"}, [](const Options& o) { return o.output.merge_stderr; }},
                    Line{{"--ranks", "0,3-5"},
                         [](const Options& o) { return o.output.console_ranks == std::set<int>{0, 3, 4, 5}; }},
                    Line{{"--raw"}, [](const Options& o) { return o.output.mode == output::Mode::raw; }},
                    Line{{"--format", "jsonl"}, [](const Options& o) { return o.output.mode == output::Mode::jsonl; }},
                    Line{{"--format", "text"}, [](const Options& o) { return o.output.mode == output::Mode::lines; }},
                    Line{{"--label", "--color", "always"},
                         [](const Options& o) { return o.output.color == output::Color::always; }},
                    Line{{"--color=auto"}, [](const Options& o) { return o.output.color == output::Color::automatic; }},
                    Line{{"--pty"}, [](const Options& o) { return o.output.pty; }},
                    Line{{"--on-output-error", "continue"}, [](const Options& o) { return !o.output.abort_on_error; }},
                    Line{{"--on-output-error", "abort"}, [](const Options& o) { return o.output.abort_on_error; }}));

INSTANTIATE_TEST_SUITE_P(Input, OptionLine,
                         testing::Values(Line{{}, stdin_is({Kind::rank, 0})},
                                         Line{{"--stdin", "none"}, stdin_is({Kind::none, 0})},
                                         Line{{"-stdin", "all"}, stdin_is({Kind::all, 0})},
                                         Line{{"--stdin=3"}, stdin_is({Kind::rank, 3})}));

INSTANTIATE_TEST_SUITE_P(Binding, OptionLine,
                         testing::Values(Line{{}, binding({})},
                                         Line{{"-bind-to", "none", "-map-by", "slot"}, binding({})},
                                         Line{{"--map-by", "node"}, binding({.map_by = MapBy::node})},
                                         Line{{"--rank-by", "node"}, binding({.rank_by = RankBy::node})},
                                         Line{{"--bind-to", "core"}, binding({.bind_to = BindTo::core})},
                                         Line{{"--bind-to", "hwthread", "--map-by", "socket", "--rank-by", "core"},
                                              binding({BindTo::hwthread, MapBy::socket, RankBy::core})},
                                         Line{{"--bind-to", "numa", "--report-bindings"},
                                              binding({.bind_to = BindTo::numa, .report = true})}));

INSTANTIATE_TEST_SUITE_P(
    Ending, OptionLine,
    testing::Values(Line{{}, grace(5000)}, Line{{"--grace", "0.5"}, grace(500)}, Line{{"--grace", "7"}, grace(7000)},
                    Line{{"--grace", "0"}, grace(0)}, Line{{"--grace", "0.0001"}, grace(1)},
                    Line{{}, timeout(std::nullopt)}, Line{{"-timeout", "90"}, timeout(milliseconds(90000))},
                    Line{{"--timeout", "0"}, timeout(std::nullopt)},
                    Line{{}, [](const Options& o) { return o.policy.abort_on_failure; }},
                    Line{{"--on-failure", "continue"}, [](const Options& o) { return !o.policy.abort_on_failure; }}));

INSTANTIATE_TEST_SUITE_P(
    Look, OptionLine,
    testing::Values(Line{{"--dry-run"}, [](const Options& o) { return o.dry_run && o.format == Format::text; }},
                    Line{{"--dry-run", "--format", "json"},
                         [](const Options& o) { return o.dry_run && o.format == Format::json; }},
                    Line{{"--show-env", "3"}, [](const Options& o) { return o.show_env == 3; }},
                    Line{{"--report", "r.json"}, [](const Options& o) { return o.report_file == "/cwd/r.json"; }},
                    Line{{}, verbosity(0)}, Line{{"-v"}, verbosity(1)}, Line{{"-vv"}, verbosity(2)},
                    Line{{"--verbose", "-v"}, verbosity(2)}, Line{{"-vv", "-v"}, verbosity(3)}));

TEST(Options, ReadTheFilesThatTheyName) {
  Front front;
  front.files["/cwd/h"] = "a slots=2\n";
  front.files["/cwd/r"] = "rank 0=a\n";
  for (const char* spelled : {"--hostfile", "-machinefile", "-f", "--f", "--machine"}) {
    const Options options = front.options({spelled, "h", "--rankfile", "r", "prog"});
    ASSERT_EQ(options.hosts.hostfile.size(), 1U) << spelled;
    EXPECT_EQ(options.hosts.hostfile[0].from, "h:1");
    EXPECT_EQ(options.request.rank_places.at(0).host, "a");
  }
  EXPECT_EQ(front.options({"--default-hostfile", "h", "prog"}).hosts.default_hostfile.at(0).from, "h:1");
  EXPECT_THAT(front.error({"--default-hostfile", "none", "prog"}), testing::HasSubstr("none"));
}

TEST(Options, HandOnTheSurroundings) {
  const Options options =
      Front{.environment = {"A=1", "B=x=y"}, .cwd = "/w", .files = {}, .program_name = "dlaunch"}.options({"prog"});
  EXPECT_THAT(options.request.environment, ElementsAre("A=1", "B=x=y"));
  EXPECT_EQ(options.request.cwd, "/w");
}

TEST(Options, OfEachRowAreReachable) {
  for (const OptionSpec& spec : option_table()) {
    const bool leads_somewhere = spec.set_job || spec.set_program || spec.takes == Takes::show;
    EXPECT_TRUE(leads_somewhere) << spec.name();
    EXPECT_EQ(find_option(spec.name()).spec, &spec) << spec.name();
    EXPECT_TRUE(why_refused(spec.name()).empty()) << spec.name() << " is both an option and refused";
    EXPECT_FALSE(spec.help.empty()) << spec.name();
    EXPECT_FALSE(spec.preference && spec.per_program()) << spec.name();
  }
}

}  // namespace
}  // namespace dlaunch::cli
