// Compares the frames and limits in docs/wire.md with the encoder.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "wire/archive.h"
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

TEST(WireDocument, ShowsTheEncodedFrames) {
  EXPECT_EQ(hex(Ping{3, 2}), "11 00 00 00 10 03 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00");
  EXPECT_EQ(hex(OutputData{3, 1, 1'700'000'000'500'000'000, "hi\n"}),
            "15 00 00 00 23 03 00 00 00 01 00 65 f7 53 fe 9c 97 17 03 00 00 00 68 69 0a");
  const std::string text = document();
  for (const Message& message : std::initializer_list<Message>{
           Ping{3, 2}, Started{3, 4242, 1'700'000'000'000'000'000, 3, {1, 2}},
           OutputData{3, 1, 1'700'000'000'500'000'000, "hi\n"}, Ended{3, 3 << 8, false, 1'700'000'001'000'000'000}}) {
    EXPECT_THAT(text, HasSubstr("| `" + hex(message) + "` |"));
  }
}

TEST(WireDocument, ShowsTheVersionAndTheLimits) {
  const std::string text = document();
  EXPECT_THAT(text, HasSubstr("| version | " + std::to_string(kVersion) + " (`kVersion`) |"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxFrame) + " (`kMaxFrame`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxListItems) + " (`kMaxListItems`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxOutput) + " (`kMaxOutput`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kStageCredit) + " bytes (`kStageCredit`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kLateCredit) + " bytes (`kLateCredit`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxStaged) + " (`kMaxStaged`)"));
  EXPECT_THAT(text, HasSubstr(std::to_string(kMaxStagedName) + " (`kMaxStagedName`)"));
}

template <class T>
std::string heading(const std::string& name) {
  return "**" + std::to_string(T::kType) + ' ' + name + "**";
}

TEST(WireDocument, HasEveryMessageWithItsNumber) {
  const std::string text = document();
  const std::vector<std::string> headings = {heading<wire::Setup>("Setup"),
                                             heading<Program>("Program"),
                                             heading<Sweep>("Sweep"),
                                             heading<Spawn>("Spawn"),
                                             heading<Stdin>("Stdin"),
                                             heading<Signal>("Signal"),
                                             heading<WindowSize>("WindowSize"),
                                             heading<Pause>("Pause"),
                                             heading<Finish>("Finish"),
                                             heading<Layout>("Layout"),
                                             heading<Ping>("Ping"),
                                             heading<Credit>("Credit"),
                                             heading<Hello>("Hello"),
                                             heading<Started>("Started"),
                                             heading<SpawnFailed>("SpawnFailed"),
                                             heading<OutputData>("OutputData"),
                                             heading<Ended>("Ended"),
                                             heading<StdinClosed>("StdinClosed"),
                                             heading<Log>("Log"),
                                             heading<Clean>("Clean"),
                                             heading<QueryHost>("QueryHost"),
                                             heading<HostInfo>("HostInfo"),
                                             heading<Prepare>("Prepare"),
                                             heading<Stage>("Stage"),
                                             heading<Prepared>("Prepared"),
                                             heading<StageCredit>("StageCredit"),
                                             heading<JobFile>("JobFile"),
                                             heading<RunCommands>("RunCommands"),
                                             heading<CommandResults>("CommandResults"),
                                             heading<MpiWorld>("MpiWorld"),
                                             heading<FenceOut>("FenceOut"),
                                             heading<NameAnswer>("NameAnswer"),
                                             heading<FenceIn>("FenceIn"),
                                             heading<NameAsk>("NameAsk"),
                                             heading<SpawnAnswer>("SpawnAnswer"),
                                             heading<SpawnAsk>("SpawnAsk"),
                                             heading<MpiAbort>("MpiAbort"),
                                             heading<PmixShared>("PmixShared"),
                                             heading<PmixModexAsk>("PmixModexAsk"),
                                             heading<PmixAnswer>("PmixAnswer"),
                                             heading<PmixProgram>("PmixProgram"),
                                             heading<PmixStart>("PmixStart"),
                                             heading<PmixWorld>("PmixWorld"),
                                             heading<PmixEvent>("PmixEvent"),
                                             heading<PmixCollect>("PmixCollect"),
                                             heading<PmixWant>("PmixWant"),
                                             heading<PmixModex>("PmixModex"),
                                             heading<PmixNames>("PmixNames"),
                                             heading<PmixProgramAsk>("PmixProgramAsk"),
                                             heading<PmixFailed>("PmixFailed"),
                                             heading<TerminationNotice>("TerminationNotice"),
                                             heading<SampleStacks>("SampleStacks"),
                                             heading<wire::Stacks>("Stacks"),
                                             heading<Uncaught>("Uncaught"),
                                             heading<WroteError>("WroteError"),
                                             heading<ReadClock>("ReadClock"),
                                             heading<ClockReading>("ClockReading")};
  ASSERT_EQ(headings.size(), std::variant_size_v<Message>);
  for (const std::string& each : headings) EXPECT_THAT(text, HasSubstr(each));
}

/// The types of a message's fields, with the names of the document.
struct TypeNames {
  std::vector<std::string> names;

  template <class... T>
  void operator()(T&... fields) {
    (names.push_back(name_of(fields)), ...);
  }
  static std::string name_of(const bool&) { return "bool"; }
  static std::string name_of(const std::uint8_t&) { return "u8"; }
  static std::string name_of(const std::uint16_t&) { return "u16"; }
  static std::string name_of(const std::uint32_t&) { return "u32"; }
  static std::string name_of(const std::uint64_t&) { return "u64"; }
  static std::string name_of(const std::int32_t&) { return "i32"; }
  static std::string name_of(const std::int64_t&) { return "i64"; }
  static std::string name_of(const StreamMode&) { return "mode"; }
  static std::string name_of(const std::string&) { return "string"; }
  template <class T>
  static std::string name_of(const std::vector<T>&) {
    return name_of(T{}) + "[]";
  }
};

/// The second column of the table below the message's heading.
std::vector<std::string> documented_types(const std::string& text, int number) {
  std::vector<std::string> types;
  std::istringstream lines(text.substr(text.find("\n**" + std::to_string(number) + ' ') + 1));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.starts_with("**") && !line.starts_with('#')) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, '|');
    std::getline(cells, cell, '|');
    if (!std::getline(cells, cell, '|')) continue;
    std::erase(cell, ' ');
    if (cell != "type" && !cell.starts_with('-')) types.push_back(cell);
  }
  return types;
}

template <class T>
void expect_documented(const std::string& text) {
  TypeNames actual;
  T message;
  message.fields(actual);
  EXPECT_EQ(documented_types(text, T::kType), actual.names) << "message " << int{T::kType};
}

TEST(WireDocument, HasEveryFieldInOrder) {
  const std::string text = document();
  [&]<class... T>(const std::variant<T...>*) {
    (expect_documented<T>(text), ...);
  }(static_cast<const Message*>(nullptr));
}

}  // namespace
}  // namespace dlaunch::wire
