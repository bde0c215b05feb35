// Command lines of torchrun: equivalent dlaunch commands, notes and errors.
#include "grammars/launchers.h"

#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kLogs = "logs/none_00000000/attempt_0/{local_rank}/";

LauncherFixture torchrun() {
  return {"torchrun", "--ignore-resource-manager --oversubscribe --env-all --env-for torchrun --grace 30"};
}

TEST(TorchrunOptions, OwnOptionsMayHaveUnderscores) {
  const Words words = {"--as", "torchrun", "--dry_run", "--on_failure", "continue", "--nproc_per_node", "2", "t.py"};
  const Options options = CommandLineFixture{}.options(words);
  EXPECT_TRUE(options.dry_run);
  EXPECT_FALSE(options.policy.abort_on_failure);
  EXPECT_EQ(options.request.ranks_per_host, 2);
}

class TorchrunLine : public testing::TestWithParam<SameLine> {};

TEST_P(TorchrunLine, HasEquivalentLine) { EXPECT_EQ(torchrun().same(GetParam().args), GetParam().same); }

INSTANTIATE_TEST_SUITE_P(
    Words, TorchrunLine,
    testing::Values(
        SameLine{{"train.py", "-n", "4", ":", "x"}, "-N 1 python3 -u train.py -n 4 : x"},
        SameLine{{"--nproc-per-node=4", "t.py"}, "-N 4 python3 -u t.py"},
        SameLine{{"--nproc_per_node", "4", "t.py"}, "-N 4 python3 -u t.py"},
        SameLine{{"--nproc", "2", "--nnode=1", "t.py"}, "-N 2 python3 -u t.py"},
        SameLine{{"--nproc_per_node", "2", "--nproc-per-node", "3", "t.py"}, "-N 3 python3 -u t.py"},
        SameLine{{"--nproc-per-node=gpu", "t.py"}, "-n devices python3 -u t.py"},
        SameLine{{"--nproc-per-node=auto", "t.py"}, "python3 -u t.py"},
        SameLine{{"--nproc-per-node=cpu", "t.py"}, "--fake-devices 0 python3 -u t.py"},
        SameLine{{"--nnodes", "1:1", "--node-rank", "0", "t.py"}, "-N 1 python3 -u t.py"},
        SameLine{{"t.py", "--", "-x"}, "-N 1 python3 -u t.py -x"},
        SameLine{{"t.py", "a", "--"}, "-N 1 python3 -u t.py a --"},
        SameLine{{"--", "t.py", "--", "x"}, "-N 1 python3 -u t.py -- x"},
        SameLine{{"--", "--odd.py"}, "-N 1 python3 -u --odd.py"},
        SameLine{{"-m", "pkg.train", "-m"}, "-N 1 python3 -u -m pkg.train -m"},
        SameLine{{"--module", "pkg", "x"}, "-N 1 python3 -u -m pkg x"},
        SameLine{{"--no_python", "./prog", "a"}, "-N 1 ./prog a"},
        SameLine{{"--run-path", "/t.py"}, "-N 1 python3 -u /t.py"},
        SameLine{{"--standalone", "--rdzv-id", "7", "t.py"}, "-N 1 python3 -u t.py"},
        SameLine{{"--rdzv_id=7", "--rdzv_backend=c10d", "--rdzv_endpoint=h:29400", "t.py"},
                 "-N 1 -x TORCHELASTIC_RUN_ID=7 python3 -u t.py"},
        SameLine{{"--rdzv_endpoint=[::1]:29401", "t.py"},
                 "-N 1 -x 'MASTER_ADDR=[::1]' -x MASTER_PORT=29401 python3 -u t.py"},
        SameLine{{"--rdzv-endpoint", "localhost:0", "t.py"}, "-N 1 -x MASTER_ADDR=localhost python3 -u t.py"},
        SameLine{{"--master_addr", "h", "--master_port=29511", "t.py"},
                 "-N 1 -x MASTER_ADDR=h -x MASTER_PORT=29511 python3 -u t.py"},
        SameLine{{"--max-restarts=0", "--event-log-handler=null", "t.py"}, "-N 1 python3 -u t.py"},
        SameLine{{"--max-restarts=3", "t.py"}, "-N 1 --restarts 3 python3 -u t.py"},
        SameLine{{"--role", "a{b", "-t1", "--log_dir=logs", "t.py"},
                 "-N 1 --label='[a{{b{local_rank}]:' --stdout-file '" + std::string(kLogs) +
                     "stdout.log:copy' --error-file '" + kLogs + "error.json' -x 'ROLE_NAME=a{b' python3 -u t.py"},
        SameLine{{"-r3", "--log-dir", "logs", "t.py"},
                 "-N 1 --stdout-file '" + std::string(kLogs) + "stdout.log' --stderr-file '" + kLogs +
                     "stderr.log' --error-file '" + kLogs + "error.json' python3 -u t.py"},
        SameLine{{"-r", "0:1,1:2", "--log-dir", "logs", "t.py"},
                 "-N 1 --stdout-file '" + std::string(kLogs) + "stdout.log:local=0' --stderr-file '" + kLogs +
                     "stderr.log:local=1' --error-file '" + kLogs + "error.json' python3 -u t.py"},
        SameLine{{"-t", "0:3", "-r", "3", "--log-dir", "logs", "t.py"},
                 "-N 1 --label='[default{local_rank}]:' --stdout-file '" + std::string(kLogs) +
                     "stdout.log:copy' --stderr-file '" + kLogs + "stderr.log:copy' --error-file '" + kLogs +
                     "error.json' --local-ranks 0 python3 -u t.py"},
        SameLine{{"-t", "0:1,2:1", "--log-dir", "logs", "t.py"},
                 "-N 1 --label='[default{local_rank}]:' --stdout-file '" + std::string(kLogs) +
                     "stdout.log:local=0,2:copy' --error-file '" + kLogs + "error.json' python3 -u t.py"},
        SameLine{{"-r=2", "--rdzv-id=a/b", "t.py"},
                 "-N 1 --stderr-file '/tmp/torchelastic_00000000/a_b_00000000/attempt_0/{local_rank}/stderr.log' "
                 "--error-file '/tmp/torchelastic_00000000/a_b_00000000/attempt_0/{local_rank}/error.json' -x "
                 "TORCHELASTIC_RUN_ID=a/b python3 -u t.py"},  // words:ok: sample of a command
        SameLine{{"--local-ranks-filter=0,2", "--nproc-per-node=4", "t.py"}, "-N 4 --local-ranks 0,2 python3 -u t.py"},
        SameLine{{"--virtual-local-rank", "--numa-binding", "node", "t.py"},
                 "-N 1 --visible rank --bind-to device python3 -u t.py"},
        SameLine{{"--nnodes=4", "--node_rank=2", "--master_addr=h", "--nproc-per-node=8", "-r1", "--log-dir=l", "t.py"},
                 "-N 8 --same-line --rendezvous h:29500 --node-rank 2 --nodes 4 --stdout-file "
                 "'l/none_00000000/{host}/attempt_0/{local_rank}/stdout.log' --error-file "
                 "'l/none_00000000/{host}/attempt_0/{local_rank}/error.json' python3 -u t.py"},
        SameLine{{"--nnodes=2:2", "--rdzv-backend=c10d", "--rdzv-endpoint=h:29400", "--rdzv-conf",
                  "a=b, join_timeout=60", "t.py"},
                 "-N 1 --wait-hosts 60 --same-line --rendezvous h:29400 --nodes 2 python3 -u t.py"},
        SameLine{{"--label", "--grace", "7", "--nproc-per-node=2", "t.py"}, "-N 2 --label --grace 7 python3 -u t.py"}));

TEST(Torchrun, TranslatesLinePrefixTemplateToLabel) {
  LauncherFixture fixture = torchrun();
  fixture.environment.emplace_back("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=${hostname}{${role_name}/${rank}: ");
  EXPECT_EQ(fixture.options({"-t", "3", "--role", "r", "t.py"}).output.label, "{host}{{r/{rank}: ");
  EXPECT_EQ(fixture.options({"-t", "3", "--log-line-prefix-template", "<${local_rank}> ", "t.py"}).output.label,
            "<{local_rank}> ");
}

TEST(Torchrun, ReadsItsVariables) {
  LauncherFixture fixture = torchrun();
  fixture.environment = {"PET_NPROC_PER_NODE=4", "PET_RDZV_ID=9", "PET_MODULE=1", "PET_NO_PYTHON=0", "PET_REDIRECTS=0"};
  EXPECT_EQ(fixture.same({"pkg"}), "-N 4 -x TORCHELASTIC_RUN_ID=9 python3 -u -m pkg");
  EXPECT_EQ(fixture.same({"--nproc-per-node=2", "pkg"}), "-N 2 -x TORCHELASTIC_RUN_ID=9 python3 -u -m pkg");
  fixture.environment = {"PET_STANDALONE=yes"};
  EXPECT_THAT(fixture.error({"t.py"}), HasSubstr("PET_STANDALONE: invalid value: expected 1 or 0"));
}

TEST(Torchrun, SetsDefaultsOfTorchrun) {
  const Options options = torchrun().options({"t.py"});
  EXPECT_TRUE(options.hosts.ignore_resource_manager);
  EXPECT_TRUE(options.request.oversubscribe);
  EXPECT_EQ(options.policy.grace.count(), 30000);
  EXPECT_THAT(options.request.frameworks, ElementsAre(plan::Framework::torchrun));
  LauncherFixture fixture = torchrun();
  fixture.environment = {"DLAUNCH_GRACE=2", "DLAUNCH_DRY_RUN=1", "DLAUNCH_FORMAT=json", "DLAUNCH_FAKE_DEVICES=8"};
  const Options preferred = fixture.options({"t.py"});
  EXPECT_EQ(preferred.policy.grace.count(), 2000);
  EXPECT_TRUE(preferred.dry_run);
  EXPECT_EQ(preferred.format, Format::json);
  EXPECT_EQ(preferred.hosts.fake_devices, 8);
}

TEST(Torchrun, ReadsInterpreterFromPythonExec) {
  LauncherFixture fixture = torchrun();
  fixture.environment = {"PYTHON_EXEC=/opt/py"};
  EXPECT_EQ(programs(fixture.options({"t.py"})).front().front(), "/opt/py");
}

TEST(Torchrun, TorchLaunchPassesLocalRankAsArgument) {
  const CommandLineFixture fixture;
  const auto line = [&](Words words) {
    words.insert(words.begin(), {"--as", "torch.distributed.launch"});
    return words;
  };
  EXPECT_THAT(programs(fixture.options(line({"--nproc_per_node=2", "my train.py", "-x", "a b"}))),
              ElementsAre(Words{"sh", "-c", "exec python3 -u 'my train.py' --local_rank=$LOCAL_RANK \"$@\"", "sh", "-x",
                                "a b"}));
  EXPECT_THAT(programs(fixture.options(line({"--use_env", "t.py", "x"}))),
              ElementsAre(Words{"python3", "-u", "t.py", "x"}));
  EXPECT_THAT(programs(fixture.options(line({"--use-env", "--no_python", "./p"}))), ElementsAre(Words{"./p"}));
  EXPECT_THAT(fixture.error(line({"--no_python", "./p"})), HasSubstr("--no-python requires --use-env"));
  EXPECT_THAT(torchrun().error({"--use_env", "t.py"}), HasSubstr("torchrun: unknown option"));
}

/// Python's string.Template.safe_substitute is the model.
TEST(Torchrun, ReplacesLocalRankInArguments) {
  const LauncherFixture fixture = torchrun();
  EXPECT_THAT(programs(fixture.options({"t.py", "--gpu=${local_rank}", "$local_rank", "it's"})),
              ElementsAre(Words{"sh", "-c",
                                "exec python3 -u t.py --gpu="
                                "\"$LOCAL_RANK\" \"$LOCAL_RANK\" 'it'\\''s'"}));
  EXPECT_THAT(
      programs(fixture.options({"--no-python", "./p", "a$$b", "$local_ranks", "${x}", "$$local_rank", "$", ""})),
      ElementsAre(Words{"./p", "a$b", "$local_ranks", "${x}", "$local_rank", "$", ""}));
}

TEST(Torchrun, PrintsNotesForOptionsWithoutEffect) {
  const Options options = torchrun().options(
      {"--monitor-interval=1", "--start_method", "fork", "--local_addr=h", "--monitor-interval=2", "t.py"});
  EXPECT_THAT(options.notes, ElementsAre(HasSubstr("--start-method changes nothing here"),
                                         HasSubstr("--local-addr changes"), HasSubstr("--monitor-interval changes")));
  EXPECT_THAT(torchrun().options({"--nproc-per-node=2", "t.py"}).notes, IsEmpty());
}

class RefusedTorchrunLine : public testing::TestWithParam<RefusedLine> {};

TEST_P(RefusedTorchrunLine, HasMessage) {
  EXPECT_THAT(torchrun().error(GetParam().args), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedTorchrunLine,
    testing::Values(RefusedLine{{"--nnodes=4:1", "t.py"}, "invalid number of nodes \"4:1\""},
                    RefusedLine{{"--nnodes", "t.py"}, "invalid number of nodes \"t.py\""},
                    RefusedLine{{"--nnodes=100001", "t.py"}, "expected N or MIN:MAX, at most 100000"},
                    RefusedLine{{"--node-rank=1", "t.py"}, "only node 0"},
                    RefusedLine{{"--nproc-per-node=x", "t.py"}, "expected a number, auto, cpu or gpu"},
                    RefusedLine{{"--rdzv-backend=etcd-v2", "t.py"}, "use c10d"},
                    RefusedLine{{"--rdzv-backend=zmq", "t.py"}, "static or c10d"},
                    RefusedLine{{"--rdzv-endpoint=h:x", "t.py"}, "invalid endpoint \"h:x\""},
                    RefusedLine{{"--logs-specs=x", "t.py"}, "--log-dir, -r and -t"},
                    RefusedLine{{"--event-log-handler=mine", "t.py"}, "--report FILE"},
                    RefusedLine{{"-r", "0:1,2", "t.py"}, "invalid streams \"0:1,2\""},
                    RefusedLine{{"-r", "0:1,1:4", "t.py"}, "invalid streams \"0:1,1:4\""},
                    RefusedLine{{"-r", "0:1", "-t", "1:1", "t.py"}, "--tee conflicts with --redirects"},
                    RefusedLine{{"-r", "3", "-t", "1:1", "t.py"}, "only stdout or only stderr of some ranks"},
                    RefusedLine{{"--no-python", "-m", "pkg"}, "--module conflicts with --no-python"},
                    RefusedLine{{"--numa-binding=socket", "t.py"}, "expected node"},
                    RefusedLine{{"--nproc-per-node=2"}, "missing program"},
                    RefusedLine{{"--nproc-per-node"}, "missing value of --nproc-per-node"},
                    RefusedLine{{"--nproc-per-node", "--standalone", "t.py"}, "missing value of --nproc-per-node"},
                    RefusedLine{{"--n", "1", "t.py"}, "ambiguous option"},
                    RefusedLine{{"--nproc-per_node=2", "t.py"}, "torchrun: unknown option \"--nproc-per_node\""},
                    RefusedLine{{"--standalone=1", "t.py"}, "unexpected value"},
                    RefusedLine{{"-mpkg"}, "unknown option \"-p\""},
                    RefusedLine{{"--bogus", "t.py"}, "torchrun: unknown option \"--bogus\""},
                    RefusedLine{{"--nproc-per-node=2", "--label", "t.py"}, "dlaunch --as torchrun --label"},
                    RefusedLine{{"--standalnoe", "t.py"}, "use --standalone"}));

TEST(Torchrun, IsChosenOnlyByTheFirstWord) {
  for (const Words& first :
       {Words{"--as", "torchrun"}, Words{"--personality=torchrun"}, Words{"--as=torch.distributed.run"}}) {
    Words words = first;
    words.insert(words.end(), {"--nproc-per-node", "2", "hosts"});
    LauncherFixture dlaunch = torchrun();
    dlaunch.program_name = "dlaunch";
    EXPECT_EQ(dlaunch.same(words), "-N 2 python3 -u hosts");
  }
  EXPECT_THAT(CommandLineFixture{}.error({"-n", "2", "--as", "torchrun", "t.py"}),
              HasSubstr("must be the first option"));
  EXPECT_THAT(torchrun().error({"--as", "elsewhat", "t.py"}),
              HasSubstr("torchrun, torch.distributed.run, torch.distributed.launch"));
  EXPECT_EQ(torchrun().options({"--as", "dlaunch", "-n", "2", "prog"}).request.apps[0].ranks, 2);
}

TEST(Torchrun, HelpListsItsOptions) {
  EXPECT_THAT(torchrun().text({"--help"}),
              AllOf(HasSubstr("--nproc-per-node N"), HasSubstr("-r, --redirects [L:]0-3")));
  EXPECT_THAT(torchrun().text({"--version"}), HasSubstr("dlaunch"));
}

TEST(Torchrun, PageListsTheOptions) { expect_table_in("migrate/torchrun.md", torchrun_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
