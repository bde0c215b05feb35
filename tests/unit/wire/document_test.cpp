// docs/wire.md against the code: the frames and caps that it shows are what the encoder makes.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "wire/codec.h"

namespace dlaunch::wire {
namespace {

using testing::HasSubstr;

std::string document() {
  std::ifstream in(DLAUNCH_DOCS "/wire.md");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string hex(const Message& message) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string bytes;
  encode(message, bytes);
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (!text.empty()) text += ' ';
    text += {kDigits[value >> 4], kDigits[value & 0xf]};
  }
  return text;
}

TEST(WireDocument, ShowsTheFramesAsTheyAre) {
  EXPECT_EQ(hex(Ping{}), "01 00 00 00 10");
  EXPECT_EQ(hex(Output{3, 1, 1'700'000'000'500'000'000, "hi\n"}),
            "15 00 00 00 23 03 00 00 00 01 00 65 f7 53 fe 9c 97 17 03 00 00 00 68 69 0a");
  const std::string text = document();
  for (const Message& message : std::initializer_list<Message>{
           Ping{}, Started{3, 4242, 1'700'000'000'000'000'000, 3, {1, 2}},
           Output{3, 1, 1'700'000'000'500'000'000, "hi\n"}, Ended{3, 3 << 8, false, 1'700'000'001'000'000'000}}) {
    EXPECT_THAT(text, HasSubstr("| `" + hex(message) + "` |"));
  }
}

TEST(WireDocument, ShowsTheCaps) {
  const std::string text = document();
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxFrame) + " (`kMaxFrame`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxListItems) + " (`kMaxListItems`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxOutput) + " (`kMaxOutput`)"));
}

template <class T>
std::string heading(const std::string& name) {
  return "**" + std::to_string(T::kType) + ' ' + name + "**";
}

TEST(WireDocument, HasEveryMessageWithItsNumber) {
  const std::string text = document();
  const std::vector<std::string> headings = {heading<wire::Setup>("Setup"),
                                             heading<Program>("Program"),
                                             heading<Spawn>("Spawn"),
                                             heading<Stdin>("Stdin"),
                                             heading<Signal>("Signal"),
                                             heading<WindowSize>("WindowSize"),
                                             heading<Pause>("Pause"),
                                             heading<Finish>("Finish"),
                                             heading<Ping>("Ping"),
                                             heading<Credit>("Credit"),
                                             heading<Hello>("Hello"),
                                             heading<Started>("Started"),
                                             heading<NotStarted>("NotStarted"),
                                             heading<Output>("Output"),
                                             heading<Ended>("Ended"),
                                             heading<StdinClosed>("StdinClosed"),
                                             heading<Log>("Log"),
                                             heading<Clean>("Clean")};
  ASSERT_EQ(headings.size(), std::variant_size_v<Message>);
  for (const std::string& each : headings) EXPECT_THAT(text, HasSubstr(each));
}

}  // namespace
}  // namespace dlaunch::wire
