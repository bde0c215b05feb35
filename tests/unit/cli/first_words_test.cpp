// Words that new users type first: dlaunch accepts them, or the error has the option to use.
#include "base/text.h"
#include "command_line_fixture.h"
#include "grammars/launchers.h"
#include "mpirun/arguments.h"

namespace dlaunch::cli {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const plan::AppRequest& app(const Options& options) { return options.request.apps.front(); }

TEST(FirstWords, AcceptsNumbersAttachedToShortNames) {
  for (const Words& words :
       {Words{"-n2"}, Words{"-np2"}, Words{"-n=2"}, Words{"-np=2"}, Words{"-c2"}, Words{"--np=2"}}) {
    Words line = words;
    line.emplace_back("prog");
    EXPECT_EQ(app(CommandLineFixture{}.options(line)).ranks, 2) << words.front();
  }
  for (const char* word : {"-N3", "-npernode3", "-ppn3", "-N=3"}) {
    EXPECT_EQ(CommandLineFixture{}.options({word, "prog"}).request.ranks_per_host, 3) << word;
  }
}

TEST(FirstWords, RejectsOtherAttachedText) {
  EXPECT_THAT(CommandLineFixture{}.error({"-n0", "p"}), HasSubstr("-n: invalid number \"0\": expected 1 to 1048576"));
  EXPECT_THAT(CommandLineFixture{}.error({"-n2=3", "p"}), testing::StartsWith("dlaunch: -n2: unexpected value\n"));
  EXPECT_THAT(CommandLineFixture{}.error({"-nx", "p"}), HasSubstr("unknown option \"-nx\""));
  EXPECT_THAT(CommandLineFixture{}.error({"-H2", "p"}), HasSubstr("unknown option \"-H2\""));
  EXPECT_THAT(CommandLineFixture{}.error({"--np4", "p"}), HasSubstr("write --np 4"));
}

TEST(FirstWords, AcceptsDurationsWithUnits) {
  const std::pair<const char*, int> durations[] = {
      {"90", 90'000}, {"90s", 90'000}, {"5m", 300'000}, {"1h30m", 5'400'000}, {"00:05:00", 300'000}};
  for (const auto& [text, ms] : durations) {
    const Options options = CommandLineFixture{}.options(
        {"--timeout", text, "--grace", text, "--hang-after", text, "--wait-hosts", text, "prog"});
    EXPECT_EQ(options.policy.timeout, milliseconds(ms)) << text;
    EXPECT_EQ(options.policy.grace, milliseconds(ms)) << text;
    EXPECT_EQ(options.policy.hang_after, milliseconds(ms)) << text;
    EXPECT_EQ(options.wait_hosts, milliseconds(ms)) << text;
  }
  EXPECT_THAT(CommandLineFixture{}.error({"--timeout", "5 m", "p"}),
              HasSubstr("--timeout: invalid duration \"5 m\": expected 90, 0.5, 90s, 5m, 1h30m or 00:05:00"));
}

TEST(FirstWords, AcceptsOptionsOfOtherLaunchersWithOneMeaning) {
  for (const char* name : {"--ntasks", "--num-processes", "--num_processes", "--num-proc", "--worker_num", "-ntasks"}) {
    EXPECT_EQ(app(CommandLineFixture{}.options({name, "4", "prog"})).ranks, 4) << name;
  }
  for (const char* name : {"--nproc-per-node", "--nproc_per_node", "--ntasks-per-node", "--tasks-per-node",
                           "--local_worker_num", "-ppn"}) {
    EXPECT_EQ(CommandLineFixture{}.options({name, "4", "prog"}).request.ranks_per_host, 4) << name;
  }
  EXPECT_EQ(CommandLineFixture{}.options({"--nproc-per-node=4", "prog"}).request.ranks_per_host, 4);
  EXPECT_EQ(CommandLineFixture{}.options({"--cpus-per-task", "3", "prog"}).request.binding.cores_per_rank, 3);
  EXPECT_EQ(CommandLineFixture{}.options({"--nodelist", "node[1-3]", "prog"}).hosts.list.size(), 3U);
  EXPECT_EQ(CommandLineFixture{}.options({"--same-line", "--node_rank", "1", "prog"}).same_line.node, 1);
  EXPECT_EQ(CommandLineFixture{}.options({"--same-line", "--machine_rank", "1", "prog"}).same_line.node, 1);
  const auto files = CommandLineFixture{}.options({"--log_dir", "logs", "prog"}).output.files;
  EXPECT_TRUE(files && files->target == "/cwd/logs");
  EXPECT_EQ(CommandLineFixture{}.options({"--on_failure", "continue", "prog"}).policy.abort_on_failure, false);
}

TEST(FirstWords, NamesTheOptionToUseInstead) {
  const std::pair<Words, const char*> cases[] = {{{"--nnodes", "2", "p"}, "use --same-line --nodes N"},
                                                 {{"--gpus", "4", "p"}, "use -n N"},
                                                 {{"--gpus-per-node=4", "p"}, "-N N for N ranks per host"},
                                                 {{"--master-addr", "h", "p"}, "--rendezvous HOST:PORT"},
                                                 {{"--master_port=1", "p"}, "--rendezvous HOST:PORT"},
                                                 {{"--time", "5", "p"}, "use --timeout"},
                                                 {{"--standalone", "p"}, "dlaunch --as torchrun"}};
  for (const auto& [words, hint] : cases) {
    const std::string error = CommandLineFixture{}.error(words);
    EXPECT_THAT(error, HasSubstr(": not supported")) << words.front();
    EXPECT_THAT(error, HasSubstr(hint)) << words.front();
  }
}

TEST(FirstWords, EveryOptionOfALauncherIsKnownOrHasAHint) {
  int count = 0;
  for (const std::string& launcher : grammar_names()) {
    const LauncherSpec* spec = launcher_of(*grammar_named(launcher));
    for (const LauncherOption& option : spec ? spec->options : std::span<const LauncherOption>{}) {
      for (const std::string& name : split(option.row.names, ' ')) {
        if (find_typed_option(name.substr(name.starts_with('-') ? 1 : 0)).spec) continue;
        const std::string error = CommandLineFixture{}.error({name.starts_with('-') ? name : dashed(name), "p"});
        EXPECT_THAT(error, testing::AnyOf(HasSubstr(": not supported"), HasSubstr("run dlaunch --as "))) << name;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 300);
}

TEST(FirstWords, NamesTheLaunchersThatHaveTheOption) {
  const std::pair<Words, const char*> cases[] = {
      {{"--role", "r", "p"}, "run dlaunch --as torchrun … or dlaunch --as accelerate …"},
      {{"--use-env", "p"}, "run dlaunch --as torch.distributed.launch …"},
      {{"--sim_level=1", "p"}, "run dlaunch --as msrun …"},
      {{"--tres-per-task=cpu=2", "p"}, "run dlaunch --as srun …"},
      {{"-p", "debug", "p"}, "run dlaunch --as srun … or dlaunch --as horovodrun …"},
      {{"-prefix-timestamp", "p"}, "run dlaunch --as horovodrun …"},
      {{"--mem=4G", "p"}, "ranks share all resources of the job on their node"},
      {{"--mem=4G", "p"}, "remove the option, or run dlaunch --as srun …"},
      {{"--partition", "debug", "p"}, "the nodes come from salloc, sbatch or dlaunch's -H"},
      {{"--partition", "debug", "p"}, "dlaunch:   remove the option\n"},
      {{"--prolog=x", "p"}, "use a wrapper script around the program"}};
  for (const auto& [words, hint] : cases) {
    EXPECT_THAT(CommandLineFixture{}.error(words), HasSubstr(hint)) << words.front();
  }
  EXPECT_THAT(CommandLineFixture{}.error({"--prolog=x", "p"}), testing::Not(HasSubstr("--as srun")));
}

TEST(FirstWords, OptionsOfLaunchersPrecedeSimilarNames) {
  const std::pair<const char*, const char*> cases[] = {{"--export=ALL", "use --port"},
                                                       {"--ntasks-per-socket", "use --ntasks-per-node"},
                                                       {"--cpus-per-gpu", "use --cpus-per-task"},
                                                       {"--tres-per-task", "use --cpus-per-task"}};
  for (const auto& [word, wrong] : cases) {
    EXPECT_THAT(CommandLineFixture{}.error({word, "2", "p"}), testing::Not(HasSubstr(wrong))) << word;
  }
}

TEST(FirstWords, SuggestsTheFullNameOfAnAbbreviation) {
  EXPECT_THAT(CommandLineFixture{}.error({"--hang", "5", "p"}), HasSubstr("use --hang-after\n"));
  EXPECT_THAT(CommandLineFixture{}.error({"--dry", "p"}), HasSubstr("use --dry-run\n"));
  EXPECT_THAT(CommandLineFixture{}.error({"--wait-", "p"}), HasSubstr("use --wait-hosts or --wait-after-first\n"));
  EXPECT_THAT(CommandLineFixture{}.error({"--st", "p"}), testing::Not(HasSubstr(" or --")));
}

TEST(FirstWords, SuggestsTheMostSimilarOption) {
  EXPECT_THAT(CommandLineFixture{}.error({"--nproc-per-nod", "2", "p"}), HasSubstr("use --nproc-per-node"));
  EXPECT_THAT(CommandLineFixture{}.error({"--hostfle", "h", "p"}), HasSubstr("use --hostfile"));
}

TEST(FirstWords, SuggestsFieldsForVariablesAndPercentSigns) {
  for (const Words& words : {Words{"--label", "[%r]", "p"}, Words{"--label=[$RANK_ID]", "p"},
                             Words{"--label=${RANK}", "p"}, Words{"--output-filename", "log-%r", "p"},
                             Words{"--output-filename", "log-$RANK_ID", "p"}, Words{"--stdout-file", "log.%r", "p"},
                             Words{"--error-file", "e-%r", "p"}, Words{"--error-file", "e-$RANK_ID", "p"}}) {
    EXPECT_THAT(CommandLineFixture{}.error(words), HasSubstr("use {rank}")) << words[1];
  }
  EXPECT_EQ(CommandLineFixture{}.options({"--label", "[100%]{rank}", "p"}).output.label, "[100%]{rank}");
}

TEST(FirstWords, RejectsFieldsInPathsThatAllRanksShare) {
  for (const std::string field : {"%r", "$RANK_ID", "${RANK}"}) {
    EXPECT_THAT(CommandLineFixture{}.error({"--wdir", "/tmp/" + field, "p"}), HasSubstr("use --rank-dir 'DIR{rank}'"));
    EXPECT_THAT(CommandLineFixture{}.error({"p", ":", "-wd", "/tmp/" + field, "p"}), HasSubstr("use --rank-dir"));
    EXPECT_THAT(CommandLineFixture{}.error({"--report", "r-" + field + ".json", "p"}), HasSubstr("use one file"));
    EXPECT_THAT(CommandLineFixture{}.error({"--report-pid", "p-" + field, "p"}), HasSubstr("use one file"));
  }
  EXPECT_EQ(app(CommandLineFixture{}.options({"--wdir", "/a%b", "p"})).wdir, "/a%b");
}

TEST(FirstWords, AcceptsEscapesOfOtherLaunchers) {
  EXPECT_EQ(CommandLineFixture{}.options({"--as", "hydra", "-prepend-pattern", "%%r ", "p"}).output.label, "%r ");
  EXPECT_EQ(CommandLineFixture{}.options({"-prepend-pattern", "%%r ", "p"}).output.label, "%r ");
  for (const char* name : {"o-%%h", "o-$HOSTNAME"})
    EXPECT_TRUE(CommandLineFixture{}.options({"--as", "srun", "-n1", "-o", name, "p"}).output.files) << name;
  const Options options = CommandLineFixture{}.options({"--as", "mpirun", "--output-filename", "/x/of$HOSTNAME", "p"});
  EXPECT_TRUE(options.output.files && options.output.files->target == "/x/of$HOSTNAME");
}

TEST(FirstWords, NamesAFileThatIsNotAHostFile) {
  CommandLineFixture fixture;
  fixture.files["/etc/passwd"] = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n";
  EXPECT_THAT(fixture.error({"--hostfile", "/etc/passwd", "p"}),
              HasSubstr("dlaunch: /etc/passwd:1:1: not a hostfile: expected lines NAME slots=N\n"));
  fixture.files["/cwd/h"] = "[::1]:4\nuser@::1\nnode[1-2]:4\n";
  EXPECT_EQ(fixture.options({"--hostfile", "h", "p"}).hosts.hostfile.size(), 4U);
}

TEST(FirstWords, AcceptNamesOfMpiLibraries) {
  EXPECT_EQ(grammar_named("openmpi"), Grammar::open_mpi);
  for (const char* name : {"intel", "intelmpi", "impi", "mpich"})
    EXPECT_EQ(grammar_named(name), Grammar::hydra) << name;
  const std::string error = CommandLineFixture{}.error({"--as", "bogus", "prog"});
  for (const std::string& name : grammar_names()) EXPECT_THAT(error, HasSubstr(name));
}

TEST(FirstWords, HintAtSubcommandsOnlyInTheOwnGrammarWithoutDashes) {
  const Words all{"hosts", "check", "stacks", "ranktable", "chaos", "completion", "help"};
  EXPECT_EQ(CommandLineFixture{}.options({"-n", "2", "hosts"}).subcommands, all);
  EXPECT_EQ(CommandLineFixture{}.options({"prog", "--", "x"}).subcommands, all);
  for (const Words& words :
       {Words{"--", "hosts"}, Words{"-n", "2", "--", "hosts"}, Words{"-n", "1", "p", ":", "--", "hosts"},
        Words{"--as", "mpirun", "hosts"}, Words{"--as", "torchrun", "--no-python", "hosts"}}) {
    EXPECT_THAT(CommandLineFixture{}.options(words).subcommands, testing::IsEmpty()) << testing::PrintToString(words);
  }
}

TEST(FirstWords, NoteALauncherAsTheOnlyProgram) {
  const auto notes_of = [](const Words& words) { return CommandLineFixture{}.options(words).notes; };
  for (const std::string name : {"mpirun", "mpiexec", "torchrun", "srun", "msrun", "deepspeed", "horovodrun"}) {
    EXPECT_THAT(notes_of({"/usr/bin/" + name, "-np", "2", "prog"}),
                testing::ElementsAre("each rank would run " + name + ", which starts more ranks: use dlaunch --as " +
                                     name + " …"));
  }
  EXPECT_THAT(notes_of({"accelerate", "launch", "x.py"}), testing::Contains(HasSubstr("use dlaunch --as accelerate")));
  for (const Words& words :
       {Words{"accelerate", "env"}, Words{"accelerate"}, Words{"mpirun", "--help"}, Words{"torchrun", "-h"},
        Words{"srun", "--version"}, Words{"prog", "mpirun"}, Words{"mpirun.sh"}, Words{"mpirun", ":", "prog"},
        Words{"--as", "mpirun", "mpirun"}, Words{"--as", "torchrun", "--no-python", "mpirun"}}) {
    EXPECT_THAT(notes_of(words), testing::Not(testing::Contains(HasSubstr("starts its own ranks"))));
  }
}

}  // namespace
}  // namespace dlaunch::cli
