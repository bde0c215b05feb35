// Command lines of msrun: equivalent dlaunch commands, notes and errors.
#include "grammars/launchers.h"

#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const LauncherFixture kMsrun{"msrun",
                             "--ignore-resource-manager --oversubscribe --env-all --env-for mindspore-dynamic"};

class MsrunLine : public testing::TestWithParam<SameLine> {};

TEST_P(MsrunLine, HasEquivalentLine) { EXPECT_EQ(kMsrun.same(GetParam().args), GetParam().same); }

INSTANTIATE_TEST_SUITE_P(
    Words, MsrunLine,
    testing::Values(
        SameLine{{"t.py", "-n", ":"},
                 "-N 8 --output-filename 'worker_{rank}.log:nocopy' -x MS_TOPO_TIMEOUT=600 python t.py -n :"},
        SameLine{{"--worker_num=2", "--local_worker_num", "2", "--join=True", "python3", "t.py"},
                 "-N 2 --output-filename 'worker_{rank}.log' -x MS_TOPO_TIMEOUT=600 python3 t.py"},
        SameLine{{"--worker_num", "4", "--join=True", "pytest", "-s", "t.py"},
                 "-N 4 --output-filename 'worker_{rank}.log' -x MS_TOPO_TIMEOUT=600 pytest -s t.py"},
        SameLine{{"--worker_n=2", "--master_port=9989", "--master_addr", "127.0.0.1", "--log_dir=l{1",
                  "--cluster_time_out=300", "--join", "True", "t.py"},
                 "-N 2 --output-filename 'l{{1/worker_{rank}.log' -x MS_TOPO_TIMEOUT=300 -x MS_SCHED_HOST=127.0.0.1 "
                 "-x MS_SCHED_PORT=9989 python t.py"},
        SameLine{{"--bind_core=True", "--log_dir", "l", "--join=True", "--tail_worker_log=0,2,9", "t.py"},
                 "-N 8 --output-filename 'l/worker_{rank}.log' --ranks 0,2 --bind-to device -x MS_TOPO_TIMEOUT=600 "
                 "python t.py"},
        SameLine{{"--join=True", "--tail_worker_log=8", "--bind_core", "False", "t.py"},
                 "-N 8 --output-filename 'worker_{rank}.log:nocopy' -x MS_TOPO_TIMEOUT=600 python t.py"},
        SameLine{{"--join=True", "--worker_log_name=a_{hostname}_{b", "--rank_table_file=r.json", "t.py"},
                 "-N 8 --output-filename 'a_{host}_{{b_{rank}.log' -x MS_TOPO_TIMEOUT=600 -x RANK_TABLE_FILE=r.json "
                 "python t.py"},
        SameLine{
            {"--worker_num=16", "--master_addr=h", "--node_rank=1", "--join=True", "--cluster_time_out=60", "t.py"},
            "-N 8 --wait-hosts 60 --same-line --rendezvous h:8118 --node-rank 1 --nodes 2 --output-filename "
            "'worker_{rank}.log' -x MS_TOPO_TIMEOUT=60 python t.py"},
        SameLine{{"--worker_num=6", "--local_worker_num=2", "--master_addr=h", "--master_port=9000", "--join=True",
                  "--cluster_time_out=-1", "t.py"},
                 "-N 2 --same-line --rendezvous h:9000 --nodes 3 --output-filename 'worker_{rank}.log' -x "
                 "MS_TOPO_TIMEOUT=-1 python t.py"}));

TEST(Msrun, SimulationStartsWithoutScheduler) {
  const LauncherFixture simulated{"msrun", "--ignore-resource-manager --oversubscribe --env-all --env-for mindspore"};
  EXPECT_EQ(simulated.same({"--worker_num=4", "--sim_level=1", "--join=True", "t.py"}),
            "-N 4 --output-filename 'worker_{rank}.log' -x MS_SIMULATION_LEVEL=1 python t.py");
  EXPECT_EQ(
      simulated.same({"--worker_num=1024", "--sim_level=0", "--sim_rank_id=9", "--join=True", "t.py"}),
      "-N 1 --output-filename 'worker_{rank}.log' -x MS_SIMULATION_LEVEL=0 -x RANK_ID=9 -x RANK_SIZE=1024 python t.py");
  EXPECT_EQ(
      simulated.same({"--worker_num=256", "--local_worker_num=256", "--sim_level=3", "--join=True", "t.py"}),
      "-N 1 --output-filename 'worker_{rank}.log' -x MS_SIMULATION_LEVEL=3 -x RANK_ID=0 -x RANK_SIZE=256 python t.py");
  LauncherFixture by_variable = simulated;
  by_variable.environment.emplace_back("MS_SIMULATION_LEVEL=2");
  EXPECT_THAT(by_variable.same({"--join=True", "t.py"}), HasSubstr("-x MS_SIMULATION_LEVEL=2"));
}

TEST(Msrun, PrintsNotesForDifferences) {
  EXPECT_THAT(kMsrun.options({"t.py"}).notes, ElementsAre(HasSubstr("dlaunch waits for the ranks")));
  EXPECT_THAT(kMsrun.options({"--join=False", "--node_rank=3", "--worker_log_name={ip}", "t.py"}).notes,
              ElementsAre(HasSubstr("--node_rank changes nothing here"), HasSubstr("{ip} of --worker_log_name"),
                          HasSubstr("--join False: msrun would return at once")));
  EXPECT_THAT(kMsrun.options({"--join=True", "--node_rank=0", "t.py"}).notes, IsEmpty());
}

TEST(Msrun, UsesTheInstalledInterpreter) { EXPECT_EQ(programs(kMsrun.options({"t.py"})).front().front(), "python"); }

class RefusedMsrunLine : public testing::TestWithParam<RefusedLine> {};

TEST_P(RefusedMsrunLine, HasMessage) { EXPECT_THAT(kMsrun.error(GetParam().args), HasSubstr(GetParam().message)); }

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedMsrunLine,
    testing::Values(
        RefusedLine{{"--worker-num=2", "t.py"}, "use --worker_num"},
        RefusedLine{{"--worker_num=2", "--local_worker_num=4", "t.py"}, "set --worker_num 4"},
        RefusedLine{{"--worker_num=12", "--master_addr=h", "t.py"}, "expected a multiple of --local_worker_num 8"},
        RefusedLine{{"--worker_num=0", "t.py"}, "expected 1 to 1048576"},
        RefusedLine{{"--worker_num=100001", "--local_worker_num=1", "--master_addr=h", "t.py"},
                    "--worker_num: too many nodes: 100001 requested, the limit is 100000"},
        RefusedLine{{"--join=true", "t.py"}, "expected True or False"},
        RefusedLine{{"--bind_core", "{\"device0\":[\"0-10\"]}", "t.py"}, "--rankfile FILE"},
        RefusedLine{{"--sim_rank_id=1", "t.py"}, "add --sim_level"},
        RefusedLine{{"--sim_level=4", "t.py"}, "expected 0 to 3"},
        RefusedLine{{"--sim_level=1", "--worker_num=16", "t.py"}, "--sim_rank_id R"},
        RefusedLine{{"--sim_level=1", "--local_worker_num=4", "t.py"}, "--sim_rank_id R"},
        RefusedLine{{"--tail_worker_log=x", "t.py"}, "expected -1 for all"},
        RefusedLine{{"--cluster_time_out=x", "t.py"}, "invalid number of seconds \"x\""},
        RefusedLine{{"--master_port=99999", "t.py"}, "expected 1 to 65535"},
        RefusedLine{{"--worker", "2", "t.py"}, "ambiguous option \"--worker\": --worker_num, --worker_log_name"},
        RefusedLine{{"--worker_num=2"}, "missing program"}));

TEST(Msrun, IsChosenByTheFirstWord) {
  EXPECT_EQ(CommandLineFixture{}.options({"--as", "msrun", "--worker_num=2", "t.py"}).request.ranks_per_host, 2);
  EXPECT_THAT(kMsrun.text({"--help"}), AllOf(HasSubstr("--local_worker_num L"), HasSubstr("dlaunch --as msrun")));
}

TEST(Msrun, PageListsTheOptions) { expect_table_in("migrate/others.md", msrun_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
