#include "ascend/ranktable_arguments.h"

#include <gmock/gmock.h>

#include "cli/files.h"
#include "grammars/command_line.h"

namespace dlaunch::ascend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Words = std::vector<std::string>;

std::string error(const Words& words) {
  const auto command = parse_ranktable(words);
  EXPECT_FALSE(command);
  if (command) return "";
  EXPECT_EQ(command.error().exit_code, kExitRefused);
  return to_text(command.error());
}

TEST(RanktableArguments, ParseMake) {
  for (const Words& words :
       {Words{"make", "--device_num", "[4,8)", "--server_ip", "10.0.0.1", "--visible_devices", "4,5", "-o", "x.json"},
        Words{"make", "--device-num=[4,8)", "-server-ip=10.0.0.1", "--visible-devices=4,5", "--output=x.json"}}) {
    const auto command = parse_ranktable(words);
    ASSERT_TRUE(command) << to_text(command.error());
    const auto& make = std::get<RanktableMake>(*command);
    EXPECT_EQ(make.device_num, "[4,8)");
    EXPECT_EQ(make.visible_devices, "4,5");
    EXPECT_EQ(make.server_ip, "10.0.0.1");
    EXPECT_EQ(make.output, "x.json");
    EXPECT_EQ(make.version, ranktable::Version::v1_0);
    EXPECT_EQ(make.hccn_conf, "/etc/hccn.conf");
  }
}

TEST(RanktableArguments, ParseCheckAndMerge) {
  const auto check = parse_ranktable({"check", "a", "--product", "a2", "b"});
  ASSERT_TRUE(check);
  EXPECT_THAT(std::get<RanktableCheck>(*check).files, ElementsAre("a", "b"));
  EXPECT_EQ(std::get<RanktableCheck>(*check).product, ranktable::Product::a2);
  const auto merge = parse_ranktable({"merge", "a", "b", "-o", "dir"});
  ASSERT_TRUE(merge);
  EXPECT_THAT(std::get<RanktableMerge>(*merge).files, ElementsAre("a", "b"));
  EXPECT_EQ(std::get<RanktableMerge>(*merge).output, "dir");
}

TEST(RanktableArguments, PrintHelp) {
  for (const Words& words : {Words{"--help"}, Words{"make", "-h"}, Words{"check", "x", "--help"}}) {
    const auto command = parse_ranktable(words);
    ASSERT_TRUE(command);
    EXPECT_TRUE(std::holds_alternative<RanktableHelp>(*command));
  }
}

TEST(RanktableArguments, HelpSubcommandPrintsTheHelpOfACommand) {
  for (const auto& [words, usage] :
       {std::pair{Words{"help", "ranktable"}, "Usage: dlaunch ranktable make|"},
        std::pair{Words{"help", "ranktable", "check"}, "Usage: dlaunch ranktable check"}}) {
    const auto line = cli::read_command_line("dlaunch", words);
    ASSERT_TRUE(line && line->verb == cli::Verb::ranktable);
    const std::string text = std::get<RanktableHelp>(*parse_ranktable(line->words)).text;
    EXPECT_THAT(text, testing::AllOf(testing::StartsWith(usage), HasSubstr("Exit codes:")));
    for (const cli::TextLine& each : cli::lines_of(text, "")) EXPECT_LE(each.text.size(), 100u) << each.text;
  }
  const auto line = cli::read_command_line("dlaunch", {"help", "ranktable", "bogus"});
  ASSERT_TRUE(line && line->verb == cli::Verb::ranktable);
  EXPECT_THAT(error(line->words), HasSubstr("unknown command \"bogus\""));
}

TEST(RanktableArguments, HelpDescribesTheGivenCommand) {
  const auto of_make = std::get<RanktableHelp>(*parse_ranktable({"make", "--help"})).text;
  EXPECT_THAT(of_make, testing::StartsWith("Usage: dlaunch ranktable make [options]\n"));
  EXPECT_THAT(of_make, HasSubstr("--server_ip IP"));
  const auto of_all = std::get<RanktableHelp>(*parse_ranktable({"-h"})).text;
  EXPECT_THAT(of_all, testing::AllOf(HasSubstr("dlaunch ranktable check FILE..."), HasSubstr("--server_ip IP")));
}

TEST(RanktableArguments, EndAtTwoDashes) {
  const auto check = parse_ranktable({"check", "-", "--", "--product"});
  ASSERT_TRUE(check);
  EXPECT_THAT(std::get<RanktableCheck>(*check).files, ElementsAre("-", "--product"));
}

TEST(RanktableArguments, RejectInvalidArguments) {
  EXPECT_THAT(error({"merge", "f", "--outptu", "x"}), HasSubstr("use --output"));
  EXPECT_THAT(error({}), HasSubstr("missing command"));
  EXPECT_THAT(error({"chekc"}), HasSubstr("unknown command \"chekc\""));
  EXPECT_THAT(error({"check"}), HasSubstr("missing FILE"));
  EXPECT_THAT(error({"merge"}), HasSubstr("missing FILE"));
  EXPECT_THAT(error({"check", "-o", "x"}), HasSubstr("ranktable check: unknown option \"-o\""));
  EXPECT_THAT(error({"make", "file"}), HasSubstr("unexpected word \"file\""));
  EXPECT_THAT(error({"make", "--server_ip"}), HasSubstr("missing value"));
  EXPECT_THAT(error({"make", "--server_ip="}), HasSubstr("missing value"));
  EXPECT_THAT(error({"make", "--version", "1.1"}), HasSubstr("invalid value \"1.1\": expected 1.0, 1.2 or 2.0"));
  EXPECT_THAT(error({"check", "f", "--product", "911"}),
              HasSubstr("invalid value \"911\": expected 910, a2, a3 or 950"));
  EXPECT_THAT(error({"make", "--version", "2.0"}), HasSubstr("--rootinfo /etc/hccl_rootinfo.json"));
  EXPECT_THAT(error({"make", "--rootinfo", "x"}), HasSubstr("--version 2.0"));
  EXPECT_THAT(error({"make", "--super_pod_id", "0"}), HasSubstr("--version 1.2"));
  EXPECT_THAT(error({"make", "--version", "1.2", "--super_pod_id", "0"}), HasSubstr("--super_device_ids"));
  EXPECT_THAT(error({"make", "--version", "1.2", "--super_device_ids", "0,x"}), HasSubstr("invalid list \"0,x\""));
}

}  // namespace
}  // namespace dlaunch::ascend
