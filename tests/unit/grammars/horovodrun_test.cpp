// Command lines of horovodrun: equivalent dlaunch commands, notes and errors.
#include "grammars/horovodrun/horovodrun.h"

#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kGloo =
    "--ignore-resource-manager --oversubscribe --env-all --env-for horovod --label='[{rank}]<{stream}>:'";
constexpr const char* kMpi = "--ignore-resource-manager --oversubscribe --env-all --env-for openmpi --tag-output";

LauncherFixture horovodrun(const std::string& defaults = kGloo) {
  LauncherFixture fixture{"horovodrun", defaults};
  fixture.files["/cwd/hosts"] = "n1 slots=4\nn2 slots=4\n";
  return fixture;
}

class HorovodrunLine : public testing::TestWithParam<SameLine> {};

TEST_P(HorovodrunLine, HasEquivalentLine) { EXPECT_EQ(horovodrun().same(GetParam().args), GetParam().same); }

INSTANTIATE_TEST_SUITE_P(
    Words, HorovodrunLine,
    testing::Values(
        SameLine{{"-np", "4", "python", "t.py", "-n", ":"}, "-n 4 python t.py -n :"},
        SameLine{{"-np=2", "x"}, "-n 2 x"}, SameLine{{"--num-proc=2", "x"}, "-n 2 x"},
        SameLine{{"-n", "2", "x"}, "-n 2 x"},
        SameLine{{"-np", "1", "numactl", "--interleave=all", "--", "python", "m.py"},
                 "-n 1 numactl --interleave=all -- python m.py"},
        SameLine{{"-np", "8", "-H", "a:4, b_1.c:4", "x"}, "--host a:4,b_1.c:4 -n 8 x"},
        SameLine{{"-np", "3", "--hosts=a:4", "x"}, "--host a:4 -n 3 x"},
        SameLine{{"-np", "3", "-Ha:4", "x"}, "--host a:4 -n 3 x"},
        SameLine{{"-np", "6", "-hostfile", "hosts", "x"}, "--host n1:4,n2:4 -n 6 x"},
        SameLine{{"-np", "6", "--hostfile=hosts", "--start-timeout", "60", "-p", "2222", "-i", "/key", "x"},
                 "--host n1:4,n2:4 --ssh-port 2222 --ssh-identity /key --wait-hosts 60 -n 6 x"},
        SameLine{{"-np", "2", "-p2222", "x"}, "--ssh-port 2222 -n 2 x"},
        SameLine{{"-np", "2", "--gloo", "--network-interface", "eth1", "--network-interfaces=eth0,eth1", "x"},
                 "-n 2 -x NCCL_SOCKET_IFNAME=eth1,eth0 -x HOROVOD_GLOO_IFACE=eth1 x"},
        SameLine{{"-np", "4", "--output-filename", "d", "x"}, "--output-filename d:nojobid -n 4 x"},
        SameLine{{"-np", "4", "--output-filename", "d:e", "x"}, "--output-filename d:e/:nojobid -n 4 x"},
        SameLine{{"-np", "10", "--output-filename", "d{", "x"}, "--output-filename 'd{{/rank.{rank}/{stream}' -n 10 x"},
        SameLine{{"-np", "2", "-prefix-timestamp", "x"}, "--label='{time}[{rank}]<{stream}>:' -n 2 x"},
        SameLine{
            {"-np", "2", "--fusion-threshold-mb", "32", "--cycle-time-ms=3.5", "--cache-capacity", "0", "--tcp", "x"},
            "-x NCCL_IB_DISABLE=1 -n 2 -x HOROVOD_FUSION_THRESHOLD=33554432 -x HOROVOD_CYCLE_TIME=3.5 -x "
            "HOROVOD_CACHE_CAPACITY=0 x"},
        SameLine{{"-np", "2", "--hierarchical-allreduce", "--no-hierarchical-allgather", "--torus-allreduce", "x"},
                 "-n 2 -x HOROVOD_HIERARCHICAL_ALLREDUCE=1 -x HOROVOD_HIERARCHICAL_ALLGATHER=0 -x "
                 "HOROVOD_TORUS_ALLREDUCE=1 x"},
        SameLine{{"-np", "2", "--autotune", "--autotune-log-file", "l", "--autotune-warmup-samples=3",
                  "--autotune-gaussian-process-noise", "0.5", "x"},
                 "-n 2 -x HOROVOD_AUTOTUNE=1 -x HOROVOD_AUTOTUNE_LOG=l -x HOROVOD_AUTOTUNE_WARMUP_SAMPLES=3 -x "
                 "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.5 x"},
        SameLine{
            {"-np", "2", "--timeline-filename", "/t.json", "--timeline-mark-cycles", "--no-stall-check", "x"},
            "-n 2 -x HOROVOD_TIMELINE=/t.json -x HOROVOD_TIMELINE_MARK_CYCLES=1 -x HOROVOD_STALL_CHECK_DISABLE=1 x"},
        SameLine{{"-np", "2", "--stall-check-warning-time-seconds=5", "--stall-check-shut=6", "--thread-affinity=1",
                  "--num-nccl-streams=2", "--mpi-threads-disable", "--gloo-timeout-seconds=9", "x"},
                 "-n 2 -x HOROVOD_STALL_CHECK_TIME_SECONDS=5 -x HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=6 -x "
                 "HOROVOD_THREAD_AFFINITY=1 -x HOROVOD_NUM_NCCL_STREAMS=2 -x HOROVOD_MPI_THREADS_DISABLE=1 -x "
                 "HOROVOD_GLOO_TIMEOUT_SECONDS=9 x"},
        SameLine{{"-np", "2", "--log-level", "DEBUG", "--log-hide-timestamp", "x"},
                 "-n 2 -x HOROVOD_LOG_LEVEL=DEBUG -x HOROVOD_LOG_HIDE_TIME=1 x"},
        SameLine{{"-np", "2", "--log-without-timestamp", "x"}, "-n 2 -x HOROVOD_LOG_HIDE_TIME=1 x"},
        SameLine{{"-np", "2", "--log-with-timestamp", "x"}, "-n 2 -x HOROVOD_LOG_HIDE_TIME=0 x"}));

TEST(Horovodrun, TranslatesMpiToMpirun) {
  const LauncherFixture mpi = horovodrun(kMpi);
  EXPECT_EQ(mpi.same({"-np", "2", "--mpi", "x"}), "-n 2 x");
  EXPECT_EQ(mpi.same({"-np", "2", "--mpi-args=--oversubscribe -x 'A=b c' --bind-to core", "x"}),
            "--bind-to core -n 2 -x 'A=b c' x");
  EXPECT_EQ(mpi.same({"-np", "2", "--binding-args", "--map-by node", "--output-filename=d",
                      "--prefix-output-with-timestamp", "x"}),
            "--timestamp-output --output-filename d --map-by node -n 2 x");
  EXPECT_EQ(mpi.same({"-np", "2", "--mpi-args=", "x"}), "-n 2 x");
  EXPECT_THAT(horovodrun().options({"-np", "2", "--gloo", "--mpi-args=-v", "x"}).notes,
              ElementsAre(HasSubstr("--mpi-args changes nothing with --gloo")));
}

TEST(Horovodrun, UsesHostsOfLsf) {
  LauncherFixture fixture = horovodrun();
  fixture.environment.emplace_back("LSB_JOBID=7");
  EXPECT_FALSE(fixture.options({"-np", "2", "x"}).hosts.ignore_resource_manager);
  EXPECT_FALSE(fixture.options({"x"}).request.apps[0].ranks);
  EXPECT_TRUE(fixture.options({"-np", "2", "-Ha:2", "x"}).hosts.ignore_resource_manager);
}

TEST(Horovodrun, PrintsNotesForOptionsWithoutEffect) {
  const Options options = horovodrun().options(
      {"-np", "2", "--disable-cache", "--autotune-log-file=l", "--no-timeline-mark-cycles", "--verbose", "x"});
  EXPECT_THAT(options.notes, ElementsAre(HasSubstr("--disable-cache changes nothing here"),
                                         HasSubstr("--autotune-log-file changes nothing without --autotune"),
                                         HasSubstr("without --timeline-filename")));
  EXPECT_EQ(options.verbosity, 1);
  EXPECT_THAT(horovodrun().options({"-np", "2", "x"}).notes, IsEmpty());
  LauncherFixture fixture = horovodrun();
  fixture.environment.emplace_back("HOROVOD_START_TIMEOUT=90");
  EXPECT_THAT(fixture.same({"-np", "2", "-Ha:2", "x"}), HasSubstr("--wait-hosts 90"));
  EXPECT_THAT(fixture.same({"-np", "2", "x"}), Not(HasSubstr("--wait-hosts")));
}

class RefusedHorovodrunLine : public testing::TestWithParam<RefusedLine> {};

TEST_P(RefusedHorovodrunLine, HasMessage) {
  EXPECT_THAT(horovodrun().error(GetParam().args), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedHorovodrunLine,
    testing::Values(RefusedLine{{"x"}, "horovodrun: missing -np"},
                    RefusedLine{{"-np", "0", "x"}, "expected 1 to 1048576"},
                    RefusedLine{{"-np", "9", "-hostfile", "hosts", "x"}, "not enough slots: 9 ranks, 8 slots"},
                    RefusedLine{{"-np", "2", "-H", "a", "x"}, "invalid host list \"a\""},
                    RefusedLine{{"-np", "2", "-H", "a:2", "-hostfile", "hosts", "x"},
                                "--hostfile conflicts with --hosts"},
                    RefusedLine{{"-np", "2", "-hostfile", "none", "x"}, "cannot read /cwd/none"},
                    RefusedLine{{"-np", "2", "--min-np", "2", "x"}, "--min-np: not supported: dlaunch does not add"},
                    RefusedLine{{"-np", "2", "--host-discovery-script=s", "x"}, "not supported: dlaunch does not add"},
                    RefusedLine{{"-np", "2", "--blacklist-cooldown-range", "60", "300", "x"},
                                "not supported: dlaunch does not add"},
                    RefusedLine{{"-np", "2", "--config-file=c.yaml", "x"}, "cannot read /cwd/c.yaml"},
                    RefusedLine{{"-cb"}, "run horovodrun --check-build"},
                    RefusedLine{{"--jsrun", "-np", "2", "x"}, "--jsrun: not supported"},
                    RefusedLine{{"-np", "2", "--gloo", "--mpi", "x"}, "--mpi conflicts with --gloo"},
                    RefusedLine{{"-np", "2", "--mpi-args=-gpu", "x"}, "--mpi-args"},
                    RefusedLine{{"-np", "2", "--mpi-args=-n 2 prog", "x"}, "expected only options of mpirun"},
                    RefusedLine{{"-np", "2", "--cycle-time-ms=x", "x"}, "expected a number from 0"},
                    RefusedLine{{"-np", "2", "--cache-capacity=-1", "x"}, "expected a whole number from 0"},
                    RefusedLine{{"-np", "2", "--autotune-gaussian-process-noise=2", "x"}, "from 0 to 1"},
                    RefusedLine{{"-np", "2", "--log-level=LOUD", "x"}, "TRACE, DEBUG"},
                    RefusedLine{{"-np", "2", "--num_proc=2", "x"}, "use --num-proc"},
                    RefusedLine{{"-np", "2", "-pr", "x"}, "ambiguous option"},
                    RefusedLine{{"--np", "2", "x"}, "missing -np"}, RefusedLine{{"-np", "2"}, "missing program"}));

/// The example of Horovod's documentation.
constexpr const char* kConfig =
    "controller: gloo\n\nparams:\n  fusion_threshold_mb: 32\n  cycle_time_ms: 3.5\n  hierarchical_allreduce: true\n\n"
    "autotune:\n  enabled: true\n  log_file: 'l.txt'\n  warmup_samples: 5\n\n"
    "timeline:\n  filename: 't.json'\n  mark_cycles: false\n\n"
    "stall_check:\n  enabled: false\n  warning_time_seconds: 120\n\n"
    "library_options:\n  mpi_threads_disable: true\n  gloo_timeout_seconds: 60\n\n"
    "logging:\n  level: INFO\n  with_timestamp: false\n";

LauncherFixture with_config(const std::string& text, const std::string& defaults = kGloo) {
  LauncherFixture fixture = horovodrun(defaults);
  fixture.files["/cwd/c.yaml"] = text;
  return fixture;
}

TEST(HorovodrunConfig, CommandLineOverridesFile) {
  const Words line = {"-np", "2", "--config-file", "c.yaml"};
  const auto of = [&](const std::string& text, Words more) {
    more.insert(more.begin(), line.begin(), line.end());
    more.emplace_back("x");
    return with_config(text).same(more);
  };
  EXPECT_EQ(of(kConfig, {}),
            "-n 2 -x HOROVOD_FUSION_THRESHOLD=33554432 -x HOROVOD_CYCLE_TIME=3.5 -x HOROVOD_HIERARCHICAL_ALLREDUCE=1 "
            "-x HOROVOD_AUTOTUNE=1 -x HOROVOD_AUTOTUNE_LOG=l.txt -x HOROVOD_AUTOTUNE_WARMUP_SAMPLES=5 "
            "-x HOROVOD_TIMELINE=t.json -x HOROVOD_TIMELINE_MARK_CYCLES=0 -x HOROVOD_STALL_CHECK_DISABLE=1 "
            "-x HOROVOD_STALL_CHECK_TIME_SECONDS=120 -x HOROVOD_MPI_THREADS_DISABLE=1 "
            "-x HOROVOD_GLOO_TIMEOUT_SECONDS=60 -x HOROVOD_LOG_LEVEL=INFO -x HOROVOD_LOG_HIDE_TIME=1 x");
  EXPECT_EQ(of("params:\n  cycle_time_ms: 3\n  hierarchical_allreduce: true\n",
               {"--no-hierarchical-allreduce", "--cycle-time-ms=4"}),
            "-n 2 -x HOROVOD_HIERARCHICAL_ALLREDUCE=0 -x HOROVOD_CYCLE_TIME=4 x");
  EXPECT_EQ(of("autotune:\n  enabled: true\n  log_file: l\n", {"--no-autotune"}), "-n 2 x");
  EXPECT_EQ(of("autotune:\n  enabled: false\n  log_file: l\n", {"--autotune"}),
            "-n 2 -x HOROVOD_AUTOTUNE_LOG=l -x HOROVOD_AUTOTUNE=1 x");
  EXPECT_EQ(of("logging:\n  with_timestamp: true\n", {"--log-hide-timestamp"}), "-n 2 -x HOROVOD_LOG_HIDE_TIME=1 x");
  EXPECT_EQ(of("stall_check:\n  shutdown_time_seconds: 9\n", {}),
            "-n 2 -x HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=9 -x HOROVOD_STALL_CHECK_DISABLE=0 x");
  EXPECT_EQ(of("params:\ntimeline: {}\n", {}), "-n 2 x");
}

TEST(HorovodrunConfig, ChoosesTheController) {
  const Words line = {"-np", "2", "--config-file=c.yaml", "x"};
  EXPECT_EQ(with_config("controller: MPI\n", kMpi).same(line), "-n 2 x");
  EXPECT_EQ(with_config("controller: mpi\n").same({"--gloo", "-np", "2", "--config-file=c.yaml", "x"}), "-n 2 x");
}

TEST(HorovodrunConfig, PrintsNoNoteForDisabledSettings) {
  const Words line = {"-np", "2", "--config-file=c.yaml", "x"};
  EXPECT_THAT(with_config("autotune:\n  enabled: false\n  log_file: l\n").options(line).notes, IsEmpty());
  EXPECT_THAT(with_config("logging:\n  hide_timestamp: true\n").options(line).notes,
              ElementsAre(HasSubstr("c.yaml:2: hide_timestamp changes nothing, as in horovodrun")));
}

TEST(HorovodrunConfig, ErrorNamesKeyAndLine) {
  const auto refused = [](const std::string& text) {
    return with_config(text).error({"-np", "2", "--config-file=c.yaml", "x"});
  };
  EXPECT_THAT(refused("params:\n  surprise: 1\n"), HasSubstr("c.yaml:2: unknown key \"surprise\" in params"));
  EXPECT_THAT(refused("verbose: true\n"), HasSubstr("c.yaml:1: unknown key \"verbose\""));
  EXPECT_THAT(refused("params: 3\n"), HasSubstr("c.yaml:1: unknown key \"params\""));
  EXPECT_THAT(refused("stall-check:\n  enabled: true\n"), HasSubstr("c.yaml:1: invalid key \"stall-check\""));
  EXPECT_THAT(refused("controller: nccl\n"),
              HasSubstr("c.yaml:1: controller: invalid value \"nccl\": expected gloo or mpi"));
  EXPECT_THAT(refused("autotune:\n  enabled: 'true'\n"),
              HasSubstr("c.yaml:2: enabled: invalid value \"true\": expected true or false"));
  EXPECT_THAT(refused("\nparams:\n  cache_capacity: many\n"),
              HasSubstr("c.yaml:3: cache_capacity: invalid number \"many\": expected a whole"));
  EXPECT_THAT(refused("params: [1]\n"), HasSubstr("dlaunch reads KEY: VALUE lines"));
}

TEST(Horovodrun, IsChosenByTheFirstWord) {
  EXPECT_EQ(CommandLineFixture{}.options({"--as", "horovodrun", "-np", "2", "x"}).request.apps[0].ranks, 2);
  EXPECT_THAT(horovodrun().text({"-h"}), HasSubstr("-np, --num-proc N"));
  EXPECT_THAT(horovodrun().text({"-v"}), HasSubstr("dlaunch"));
}

TEST(Horovodrun, PageListsTheOptions) { expect_table_in("migrate/others.md", horovodrun_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
