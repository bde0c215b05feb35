// Command lines of `accelerate launch`: equivalent dlaunch commands, notes and errors.
#include "grammars/accelerate/accelerate.h"

#include "grammars/yaml_settings.h"
#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDefaults = "--ignore-resource-manager --oversubscribe --env-all --grace 30";
constexpr const char* kUsual =
    " -x ACCELERATE_MIXED_PRECISION=no -x ACCELERATE_DYNAMO_BACKEND=NO -x ACCELERATE_DYNAMO_MODE=default"
    " -x ACCELERATE_DYNAMO_USE_FULLGRAPH=False -x ACCELERATE_DYNAMO_USE_DYNAMIC=False"
    " -x ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION=False";  // words:ok: sample of a command
constexpr const char* kOnTorch = " -x OMP_NUM_THREADS=1 python3 -u ";
constexpr const char* kAlone = " -x ACCELERATE_USE_CPU=False -x OMP_NUM_THREADS=1 ";

LauncherFixture accelerate() {
  LauncherFixture fixture{"accelerate", kDefaults};
  fixture.files["/cwd/gpus.yaml"] =
      "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ndowncast_bf16: 'no'  # of TPUs\n"
      "machine_rank: 0\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\ntpu_env: []\nuse_cpu: false\n";
  fixture.files["/cwd/fsdp.yaml"] =
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_offload_params: true\n  version: 2\nmixed_precision: 'no'\n"
      "num_processes: 2\n";
  fixture.files["/cwd/ds.yaml"] =
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  zero3_init_flag: true\n"
      "mixed_precision: fp16\nnum_processes: 2\n";
  fixture.files["/cwd/one.yaml"] = "distributed_type: 'NO'\n";
  fixture.files["/cwd/hosts"] = "n1 slots=8\nn2 slots=8\n";
  return fixture;
}

std::string same(Words words) {
  words.insert(words.begin(), "launch");
  return accelerate().same(words);
}

class AccelerateLine : public testing::TestWithParam<SameLine> {};

TEST_P(AccelerateLine, HasEquivalentLine) { EXPECT_EQ(" " + same(GetParam().args), GetParam().same); }

INSTANTIATE_TEST_SUITE_P(
    Words, AccelerateLine,
    testing::Values(
        SameLine{
            {"t.py", "--cpu", "0"},
            " --env-for torchrun" + std::string(kUsual) + " -x OMP_NUM_THREADS=1 -n devices python3 -u t.py --cpu 0"},
        SameLine{{"--num_processes=4", "t.py"}, " -N 4 --env-for torchrun" + std::string(kUsual) + kOnTorch + "t.py"},
        SameLine{{"--num-processes", "2", "--main_process_port", "29501", "-m", "pkg.train", "--", "x"},
                 " -N 2 --env-for torchrun" + std::string(kUsual) +
                     " -x OMP_NUM_THREADS=1 -x MASTER_PORT=29501 python3 -u -m pkg.train x"},
        SameLine{{"--num_processes=1", "t.py", "a"}, kUsual + std::string(kAlone) + "-n 1 python3 t.py a"},
        SameLine{{"--config_file", "one.yaml", "-m", "pkg"}, kUsual + std::string(kAlone) + "-n 1 python3 -m pkg"},
        SameLine{{"--num_processes=2", "--no_python", "./run.sh"},
                 " -N 2 --env-for torchrun" + std::string(kUsual) + " -x OMP_NUM_THREADS=1 ./run.sh"}));

TEST(Accelerate, PassesSettingsToScripts) {
  EXPECT_THAT(same({"--num_processes=2", "--mixed_precision=bf16", "--dynamo_backend", "inductor",
                    "--dynamo_use_dynamic", "--num_cpu_threads_per_process=4", "--debug", "t.py"}),
              AllOf(HasSubstr("-x ACCELERATE_MIXED_PRECISION=bf16"), HasSubstr("-x ACCELERATE_DYNAMO_BACKEND=INDUCTOR"),
                    HasSubstr("-x ACCELERATE_DYNAMO_USE_DYNAMIC=True"), HasSubstr("-x OMP_NUM_THREADS=4"),
                    HasSubstr("-x ACCELERATE_DEBUG_MODE=true")));
  EXPECT_THAT(same({"--cpu", "t.py"}),
              AllOf(HasSubstr("-n 1 "), HasSubstr("-x ACCELERATE_USE_CPU=True"), HasSubstr("-x KMP_BLOCKTIME=1"),
                    Not(HasSubstr("OMP_NUM_THREADS")), Not(HasSubstr("env-for"))));
  EXPECT_THAT(same({"--multi_gpu", "--gpu_ids=0,2", "t.py"}),
              AllOf(HasSubstr("--devices 0,2"), HasSubstr("--visible host"), HasSubstr("-n devices")));
  EXPECT_THAT(same({"--num_processes=2", "--mixed_precision=fp8", "--fp8_backend=te",
                    "--fp8_override_linear_precision=true,false,true", "t.py"}),
              AllOf(HasSubstr("-x ACCELERATE_FP8_BACKEND=te"), HasSubstr("-x ACCELERATE_FP8_FORMAT=HYBRID"),
                    HasSubstr("FP8_OVERRIDE_FPROP=True"), HasSubstr("FP8_OVERRIDE_DGRAD=False"),
                    HasSubstr("FP8_OVERRIDE_WGRAD=True")));
}

TEST(Accelerate, PassesSettingsOfPlugins) {
  EXPECT_THAT(same({"--use_fsdp", "--num_processes=2", "--fsdp_offload_params=True", "--fsdp_version=2",
                    "--use_parallelism_config", "--parallelism_config_tp_size=2", "t.py"}),
              AllOf(HasSubstr("-x ACCELERATE_USE_FSDP=true -x FSDP_VERSION=2 -x FSDP_SHARDING_STRATEGY=FULL_SHARD"),
                    HasSubstr("-x FSDP_OFFLOAD_PARAMS=true"), HasSubstr("-x PARALLELISM_CONFIG_TP_SIZE=2")));
  EXPECT_THAT(same({"--use_megatron_lm", "--num_processes=2", "--megatron_lm_tp_degree=2", "t.py"}),
              AllOf(HasSubstr("-x MEGATRON_LM_TP_DEGREE=2"), HasSubstr("-x MEGATRON_LM_GRADIENT_CLIPPING=1.0")));
  EXPECT_THAT(same({"--use_deepspeed", "--num_processes=2", "--zero_stage=3", "t.py"}),
              AllOf(HasSubstr("-x PYTHONPATH=/cwd"), HasSubstr("-x ACCELERATE_USE_DEEPSPEED=true"),
                    HasSubstr("-x ACCELERATE_DEEPSPEED_ZERO_STAGE=3"), Not(HasSubstr("DYNAMO"))));
}

TEST(Accelerate, CommandLineOverridesConfigurationFile) {
  EXPECT_THAT(same({"--config_file=gpus.yaml", "t.py"}),
              AllOf(HasSubstr("-N 4 "), HasSubstr("-x ACCELERATE_MIXED_PRECISION=bf16")));
  EXPECT_THAT(same({"--config-file", "gpus.yaml", "--num_processes=8", "--mixed_precision", "no", "t.py"}),
              AllOf(HasSubstr("-N 8 "), HasSubstr("-x ACCELERATE_MIXED_PRECISION=no")));
  EXPECT_THAT(same({"--config_file=fsdp.yaml", "t.py"}),
              AllOf(HasSubstr("-N 2 "), HasSubstr("-x FSDP_OFFLOAD_PARAMS=true"), HasSubstr("-x FSDP_VERSION=2")));
  EXPECT_THAT(
      same({"--config_file=ds.yaml", "t.py"}),
      AllOf(HasSubstr("-x ACCELERATE_DEEPSPEED_ZERO_STAGE=3"), HasSubstr("-x ACCELERATE_DEEPSPEED_ZERO3_INIT=true"),
            HasSubstr("-x ACCELERATE_CONFIG_DS_FIELDS=zero_stage,zero3_init_flag,mixed_precision")));
  LauncherFixture usual = accelerate();
  usual.files["/home/u/.cache/huggingface/accelerate/default_config.yaml"] = usual.files["/cwd/fsdp.yaml"];
  EXPECT_THAT(usual.same({"launch", "t.py"}), HasSubstr("-x ACCELERATE_USE_FSDP=true"));
  EXPECT_THAT(usual.same({"launch", "--cpu", "t.py"}), Not(HasSubstr("FSDP")));
  usual.environment.emplace_back("HF_HOME=/hf");
  EXPECT_THAT(usual.same({"launch", "t.py"}), HasSubstr("-n devices"));
}

TEST(Accelerate, StartsOnEachOfSeveralMachines) {
  EXPECT_THAT(same({"--num_processes=16", "--num_machines=2", "--machine_rank=1", "--main_process_ip=h",
                    "--main_process_port=1234", "t.py"}),
              AllOf(HasSubstr("-N 8 "), HasSubstr("--same-line"), HasSubstr("--rendezvous h:1234"),
                    HasSubstr("--node-rank 1 --nodes 2")));
  const Words deepspeed = {"launch", "--use_deepspeed", "--num_processes=16", "--num_machines=2",
                           "--main_process_ip=h"};
  Words by_each = deepspeed;
  by_each.emplace_back("t.py");
  EXPECT_THAT(accelerate().same(by_each), AllOf(HasSubstr("--same-line"), HasSubstr("--rendezvous h:29500")));
  Words by_hosts = deepspeed;
  for (const char* word : {"--deepspeed_hostfile=hosts", "t.py"}) by_hosts.emplace_back(word);
  EXPECT_THAT(accelerate().same(by_hosts), AllOf(HasSubstr("--host n1:8,n2:8"), HasSubstr("--env-for deepspeed"),
                                                 HasSubstr("-x MASTER_ADDR=h"), HasSubstr("python3 -u t.py")));
}

TEST(Accelerate, ReadsTorchrunVariablesWithoutAnOption) {
  LauncherFixture fixture = accelerate();
  fixture.environment = {"PET_NPROC_PER_NODE=7", "PET_TEE=3", "PET_LOCAL_RANKS_FILTER=0", "OMP_NUM_THREADS=3"};
  EXPECT_THAT(fixture.same({"launch", "--num_processes=2", "t.py"}),
              AllOf(HasSubstr("-N 2 "), HasSubstr("--local-ranks 0"), Not(HasSubstr("stdout-file")),
                    Not(HasSubstr("OMP_NUM_THREADS"))));
}

TEST(Accelerate, PrintsNotesForOptionsWithoutEffect) {
  EXPECT_THAT(accelerate()
                  .options({"launch", "--num_processes=2", "-q", "--zero_stage=2", "--main_process_ip=h", "t.py"})
                  .notes,
              ElementsAre(HasSubstr("--quiet changes nothing"), HasSubstr("without --use_deepspeed"),
                          HasSubstr("changes nothing on one machine")));
  EXPECT_THAT(accelerate().options({"launch", "--cpu", "--num_processes=4", "t.py"}).notes,
              ElementsAre(HasSubstr("--cpu starts one process")));
}

class AccelerateRefuses : public testing::TestWithParam<RefusedLine> {};

TEST_P(AccelerateRefuses, WithMessage) {
  Words words = GetParam().args;
  words.insert(words.begin(), "launch");
  EXPECT_THAT(accelerate().error(words), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Words, AccelerateRefuses,
    testing::Values(
        RefusedLine{{"--multi_gpu", "--cpu", "t.py"}, "--cpu conflicts with --multi_gpu"},
        RefusedLine{{"--multi_gpu", "--num_processes=1", "t.py"}, "set --num_processes 2"},
        RefusedLine{{"--num_proc=2", "t.py"}, "accelerate: unknown option \"--num_proc\""},
        RefusedLine{{"--mixed_precison", "fp16", "t.py"}, "use --mixed_precision"},
        RefusedLine{{"--mixed_precision=fp32", "t.py"}, "expected no, fp16, bf16 or fp8"},
        RefusedLine{{"--num_machines=2", "t.py"}, "--num_machines requires --num_processes"},
        RefusedLine{{"--num_machines=2", "--num_processes=3", "t.py"}, "invalid number \"3\": expected a multiple"},
        RefusedLine{{"--num_machines=2", "--num_processes=4", "t.py"}, "--num_machines requires --main_process_ip"},
        RefusedLine{{"--use_fsdp", "--use_parallelism_config", "t.py"}, "requires --use_fsdp and --fsdp_version 2"},
        RefusedLine{{"--cpu", "--num_machines=2", "--num_processes=4", "t.py"}, "add --multi_gpu"},
        RefusedLine{{"--tpu", "t.py"}, "run accelerate without dlaunch"},
        RefusedLine{{"--mpirun_hostfile=h", "t.py"}, "dlaunch --as mpirun"},
        RefusedLine{{"--config_file=none.yaml", "t.py"}, "cannot read /cwd/none.yaml"},
        RefusedLine{{"--config_file=c.json", "t.py"}, "write the file as YAML"},
        RefusedLine{{"-m", "--no_python", "t.py"}, "--no_python conflicts with --module"},
        RefusedLine{{"--num_processes=2"}, "missing program"}));

TEST(Accelerate, RejectsOtherCommands) {
  EXPECT_THAT(accelerate().error({"config"}), HasSubstr("dlaunch replaces only accelerate launch"));
  EXPECT_THAT(accelerate().error({"t.py"}), HasSubstr("write accelerate launch"));
  EXPECT_THAT(accelerate().error({}), HasSubstr("not supported: accelerate: "));
}

/// The error for a configuration file.
std::string refused_config(const std::string& text) {
  LauncherFixture fixture = accelerate();
  fixture.files["/cwd/c.yaml"] = text;
  return fixture.error({"launch", "--config_file=c.yaml", "t.py"});
}

TEST(Accelerate, RejectsInvalidConfiguration) {
  const std::string type = "distributed_type: MULTI_GPU\n";
  EXPECT_THAT(refused_config("num_processes: 2\n"), HasSubstr("c.yaml: missing key \"distributed_type\""));
  EXPECT_THAT(refused_config(type + "surprise: 2\n"), HasSubstr("c.yaml:2: unknown key \"surprise\""));
  EXPECT_THAT(refused_config(type + "fsdp_config:\n  a: 1\n"), HasSubstr("unknown key \"a\" in fsdp_config"));
  EXPECT_THAT(refused_config(type + "num_processes: -1\n"), HasSubstr("--num_processes N"));
  EXPECT_THAT(refused_config(type + "tpu_name: x\n"), HasSubstr("a key for TPUs"));
  EXPECT_THAT(refused_config(type + "mixed_precision: no\n"), HasSubstr("quote 'no'"));
  EXPECT_THAT(refused_config("distributed_type: XLA\n"), HasSubstr("not supported: distributed_type XLA"));
  EXPECT_THAT(refused_config("compute_environment: AMAZON_SAGEMAKER\n"), HasSubstr("run accelerate without dlaunch"));
}

class OtherYaml : public testing::TestWithParam<const char*> {};

TEST_P(OtherYaml, IsRefused) {
  const auto settings = parse_yaml_settings(GetParam(), "c.yaml");
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().why, HasSubstr("dlaunch reads KEY: VALUE lines"));
}

INSTANTIATE_TEST_SUITE_P(Texts, OtherYaml,
                         testing::Values("a: &x 1\n", "a: *x\n", "a: !!str 1\n", "a: |\n  b\n", "a: [1, 2]\n",
                                         "a: {b: 1}\n", "- a\n", "a:\n  - b\n", "a: 'b\n", "a: \"\\n\"\n", "a\n",
                                         "a:\n  b: 1\n   c: 2\n", "  a: 1\n", "a:\tb\n", "\ta: 1\n", "? a\n",
                                         "a: b: c\n", "a:b\n", "a-b: c\n", ": a\n"));

TEST(YamlSettings, ReadsScalars) {
  const auto settings = parse_yaml_settings(
      "---\na: 'it''s'\nb: \"x # y\"   # why\nc: True\nd: off\ne: null\nf: {}\ng:\nh: 1e-8\ns:\n    t: ~\n    u: v w\n",
      "c");
  ASSERT_TRUE(settings);
  std::vector<std::string> found;
  for (const YamlSetting& each : *settings) found.push_back(each.section + "." + each.key + "=" + each.value);
  EXPECT_THAT(found, ElementsAre(".a=it's", ".b=x # y", ".c=True", ".d=False", ".h=1e-8", "s.u=v w"));
  EXPECT_EQ(settings->back().where, "c:12");
}

TEST(Accelerate, IsChosenByTheFirstWord) {
  const CommandLineFixture fixture;
  EXPECT_EQ(fixture.options({"--as", "accelerate", "launch", "--num_processes=2", "t.py"}).request.ranks_per_host, 2);
  EXPECT_EQ(fixture.options({"--as=accelerate.commands.launch", "--num_processes=2", "t.py"}).request.ranks_per_host,
            2);
  EXPECT_THAT(accelerate().text({"launch", "--fp8_backend=te", "-h"}), HasSubstr("--num_processes N"));
  EXPECT_THAT(accelerate().text({"--help"}), HasSubstr("dlaunch --as accelerate"));
}

TEST(Accelerate, PageListsTheOptions) { expect_table_in("migrate/others.md", accelerate_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
