#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "output/channel.h"
#include "output/record_channel.h"
#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using nlohmann::json;
using ::testing::SizeIs;
using namespace std::string_literals;

class Jsonl : public ::testing::Test {
 protected:
  explicit Jsonl(bool terminal = false) : stage_(settings(), 2, false, true, terminal) {}
  static OutputSettings settings() {
    OutputSettings settings;
    settings.mode = Mode::jsonl;
    return settings;
  }
  std::vector<json> shown() {
    std::vector<json> objects;
    std::istringstream text(stage_.shown());
    for (std::string line; std::getline(text, line);) objects.push_back(json::parse(line));
    return objects;
  }
  OutputFixture stage_;
};

TEST_F(Jsonl, WritesOneObjectPerRecordToStdout) {
  stage_.feed(1, "a \"b\"\n");
  stage_.feed(1, "e\n", Stream::err);
  const auto objects = shown();
  ASSERT_THAT(objects, SizeIs(2));
  EXPECT_EQ(objects[0], (json{{"rank", 1},
                              {"host", "node1"},
                              {"local_rank", 1},
                              {"stream", "stdout"},
                              {"time", "2023-11-14T22:13:20.123456Z"},
                              {"text", "a \"b\""}}));
  EXPECT_EQ(objects[1].at("stream"), "stderr");
  EXPECT_EQ(stage_.shown_on_stderr(), "");
}

TEST_F(Jsonl, EncodesBytesOutsideUtf8AsBase64) {
  stage_.feed(0, "\xff\xfe\n\0ok\n"s);
  const auto objects = shown();
  ASSERT_THAT(objects, SizeIs(2));
  EXPECT_EQ(objects[0].at("base64"), "//4=");
  EXPECT_FALSE(objects[0].contains("text"));
  EXPECT_EQ(objects[1].at("text").get<std::string>(), "\0ok"s);
}

class JsonlOnATerminal : public Jsonl {
 protected:
  JsonlOnATerminal() : Jsonl(true) {}
};

TEST_F(Jsonl, PipeKeepsAPartialLine) {
  stage_.feed(0, "loss 0.");
  stage_.wait_long(std::chrono::seconds(5));
  stage_.feed(0, "31\n10%\r");
  stage_.wait_long(std::chrono::seconds(5));
  stage_.feed(0, "\n");
  const auto objects = shown();
  ASSERT_THAT(objects, SizeIs(2));
  EXPECT_EQ(objects[0].at("text"), "loss 0.31");
  EXPECT_EQ(objects[1].at("text"), "10%\r");
  EXPECT_FALSE(objects[0].contains("eol") || objects[1].contains("eol"));
}

TEST_F(JsonlOnATerminal, MarksPieces) {
  stage_.feed(0, "a\r");
  stage_.feed(0, "b\r\nc");
  stage_.wait(static_cast<int>(kPartialIdle.count()));
  stage_.feed(0, "d\ne");
  stage_.end_all();
  const auto objects = shown();
  std::vector<std::pair<std::string, bool>> got;
  for (const json& o : objects) got.emplace_back(o.at("text"), o.value("eol", true));
  const std::vector<std::pair<std::string, bool>> expected = {
      {"a\r", false}, {"b\r", true}, {"c", false}, {"d", true}, {"e", false}};
  EXPECT_EQ(got, expected);
}

TEST_F(Jsonl, SplitsLongRecordsBetweenCharacters) {
  std::string line;
  while (line.size() < (1 << 20)) line += "ö€😀x";
  line += '\n';
  for (size_t i = 0; i < line.size(); i += 100'000) stage_.feed(0, std::string_view(line).substr(i, 100'000));
  std::string joined;
  for (const json& o : shown()) {
    ASSERT_LE(o.at("text").get<std::string>().size(), kMaxHeld + 100'000);
    joined += o.at("text").get<std::string>() + (o.value("eol", true) ? "\n" : "");
  }
  EXPECT_EQ(joined, line);
}

}  // namespace
}  // namespace dlaunch::output
