#include "wire/codec.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace dlaunch::wire {
namespace {

MpiWorld world() {
  MpiWorld world;
  world.world = 2;
  world.first = 9;
  world.size = 8;
  world.here = 4;
  world.first_app = 3;
  world.space = "kvs_job-1_2";
  world.pairs = {"PORT", "tag#0$"};
  world.parent = "kvs_job-1_1";
  world.universe = 16;
  world.mapping = "(vector,(0,2,4))";
  world.probe = true;
  world.pmi1 = false;
  world.pmix = true;
  world.personal = true;
  world.no_pmix = "why";
  world.pmix_space = "dlaunch-1";
  world.node = 1;
  world.name = "node2";
  return world;
}

std::vector<Message> one_of_each() {
  return {
      Setup{kVersion, "job-1", 5000, 3000, true, 600000},
      Layout{65536, 1, 2, 3, 8, false, true, 4, true, 2, {0, kNoDevice}, true, true, 20000},
      Program{0, {"sh", "-c", "echo $x"}, {"A=1", "B=", std::string("C=\x01\xff\n", 5)}, "/tmp"},
      Spawn{7,
            0,
            3,
            {"DLAUNCH_RANK=7"},
            StreamMode::pipe,
            StreamMode::file,
            StreamMode::joined,
            "/o",
            "",
            "1:0-2",
            "/w/d7",
            true},
      Stdin{1, std::string("a\0b", 3), true},
      Signal{15, true, {1, 2}},
      WindowSize{24, 80},
      Pause{},
      Finish{},
      Sweep{},
      Ping{1, 0xffffffffffffffff},
      ReadClock{},
      ClockReading{-7},
      Credit{4, 2, 1u << 20},
      Hello{kVersion, "node1", "x86_64", 99, -5, "boot net:[1]"},
      Started{3, 4242, 1'700'000'000'000'000'000, 2, {1, 2}},
      SpawnFailed{2, 2, "cannot execute ./a", 17},
      OutputData{65535, 1, 1, std::string(kMaxOutput, '\0')},
      Ended{9, 139, true, 5, true, true},
      StdinClosed{6},
      Log{3, "text"},
      Clean{{"pid 1 (x)"}},
      TerminationNotice{15, 7},
      SampleStacks{3, {0, 9}, true},
      Stacks{3,
             7,
             {9},
             {42},
             {0},
             {Stacks::kNone},
             {'S'},
             {"futex_do_wait"},
             {12},
             {-1},
             {-9},
             {9},
             {Stacks::kPython},
             {"f (a.py:3)\n"},
             {},
             {"why"}},
      Uncaught{10, {0, 3}},
      WroteError{3, "{\"message\": \"\"}"},
      JobFile{"table.json", "RANK_TABLE_FILE", "{}"},
      world(),
      PmixShared{1, "job:0-3", std::string("\0\1", 2), true, -25},
      PmixModexAsk{1, "job", 3},
      PmixAnswer{2, -46, "data", {"job", "key", "value"}, {4}},
      PmixProgram{"/libexec/dlaunch-pmix",
                  std::string("\x7f"
                              "ELF",
                              4),
                  false, "why"},
      PmixStart{"dlaunch-1", 1, "node2", "/tmp/dlaunch-1/pmix", true},
      PmixWorld{"dlaunch-1-2", 8, 16, {"node3"}, {0, 4, 1, 4}, {8}, "dlaunch-1", 3},
      PmixEvent{-334, "dlaunch-1", 2, 3, std::string("\0\1", 2)},
      PmixCollect{2, "job:*", std::string("\0\1", 2)},
      PmixWant{1, "job", 3},
      PmixModex{1, -25, "data"},
      PmixNames{3, 7, 1, {"key"}, {"value"}, true, true},
      PmixProgramAsk{"x86_64"},
      PmixFailed{"why", "hint"},
      FenceOut{2, {"key", "value"}, true, false},
      NameAnswer{4, true, "tag#0$"},
      SpawnAnswer{4, true, 2, "kvs_job-1_2"},
      FenceIn{2, {"key", "value"}, {3}},
      SpawnAsk{
          1, true, 9, {2, 1}, {2, 1}, {1, 0}, {0, 2}, {"", "/tmp"}, {"a", "b", "c"}, {"A=1"}, {"n0", "n1"}, {"k", "v"}},
      NameAsk{4, 1, "ocean", ""},
      MpiAbort{4, 7, 12},
      QueryHost{"/usr/bin:/bin", {"/data"}, {"python3"}, {"node1", "node2"}, true, false, {"train.py"}, {1}},
      Prepare{{"/w/d0"}, {"/w"}, {"/w/d0/log"}, true, true},
      Stage{std::string("\0\1", 2), true},
      Prepared{"why", "hint"},
      StageCredit{65536},
      HostInfo{5,
               "1.2.3",
               8,
               "affinity mask",
               1,
               {0, 1},
               "/dev/nvidia*",
               1 << 30,
               -1,
               {2},
               {""},
               {"not there"},
               {"10.0.0.1 ::1", ""},
               "no getent",
               {"eth0 10.0.0.1"},
               {"/data/train.py"},
               {13},
               {2}},
      RunCommands{"/usr/bin:/bin", 5000, {"hccn_tool\n-i\n0"}},
      CommandResults{{"ipaddr:10.0.0.1\n", ""}, {0, 127}},
  };
}

std::vector<Message> decode_all(Decoder& decoder) {
  std::vector<Message> messages;
  for (;;) {
    auto next = decoder.next();
    if (!next || !*next) return messages;
    messages.push_back(std::move(**next));
  }
}

TEST(Codec, EveryMessageRoundTrips) {
  ASSERT_EQ(one_of_each().size(), std::variant_size_v<Message>);
  for (const Message& message : one_of_each()) {
    std::string bytes;
    encode(message, bytes);
    Decoder decoder;
    decoder.feed(bytes);
    const auto decoded = decoder.next();
    ASSERT_TRUE(decoded && *decoded) << message.index();
    EXPECT_EQ(**decoded, message);
  }
}

TEST(Codec, AcceptsAStreamCutAtEveryByte) {
  std::string bytes;
  std::vector<Message> messages;
  for (const Message& message : one_of_each()) {
    if (std::holds_alternative<OutputData>(message)) continue;  // 64 KiB of zeros add no bytes here
    messages.push_back(message);
    encode(message, bytes);
  }
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Decoder decoder;
    decoder.feed(std::string_view(bytes).substr(0, cut));
    std::vector<Message> decoded = decode_all(decoder);
    decoder.feed(std::string_view(bytes).substr(cut));
    for (Message& message : decode_all(decoder)) decoded.push_back(std::move(message));
    ASSERT_EQ(decoded, messages) << "cut at " << cut;
  }
}

TEST(Codec, RejectsEveryTruncatedField) {
  for (const Message& message : one_of_each()) {
    std::string whole;
    encode(message, whole);
    if (whole.size() > 4096) continue;
    for (size_t size = 1; size + 4 < whole.size(); ++size) {
      std::string frame = whole.substr(0, 4 + size);
      frame[0] = static_cast<char>(size & 0xff);
      frame[1] = static_cast<char>(size >> 8);
      frame[2] = frame[3] = 0;
      Decoder decoder;
      decoder.feed(frame);
      EXPECT_FALSE(decoder.next()) << "message " << message.index() << " cut to " << size;
    }
  }
}

TEST(Codec, RejectsInvalidLengthsAndTypes) {
  for (const std::string& bad : {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff", 4),
                                 std::string("\1\0\0\0\xfe", 5), std::string("SSH-2.0-OpenSSH\r\n")}) {
    Decoder decoder;
    decoder.feed(bad);
    EXPECT_FALSE(decoder.next());
  }
}

TEST(Codec, RejectsTrailingBytesAndHugeLists) {
  Decoder trailing;
  trailing.feed(std::string("\2\0\0\0\x07X", 6));  // a Pause with an additional byte
  EXPECT_FALSE(trailing.next());
  Decoder huge;
  huge.feed(std::string("\5\0\0\0\x27\xff\xff\xff\x7f", 9));  // a Clean of two billion lines
  EXPECT_FALSE(huge.next());
}

TEST(Codec, RejectsInvalidFieldValues) {
  Decoder flag;
  flag.feed(std::string("\x0a\0\0\0\x04\1\0\0\0\0\0\0\0\2", 14));  // a Stdin with eof 2
  EXPECT_FALSE(flag.next());
  std::string bytes;
  Spawn spawn;
  spawn.in = static_cast<StreamMode>(5);
  encode(spawn, bytes);
  Decoder mode;
  mode.feed(bytes);
  EXPECT_FALSE(mode.next());
}

TEST(Codec, AcceptsAsManyArgumentsAsExecve) {
  // 6 MiB, including pointers and terminators
  const Program program{0, std::vector<std::string>(690'000, "x"), {}, "/"};
  std::string bytes;
  encode(program, bytes);
  Decoder decoder;
  decoder.feed(bytes);
  const auto decoded = decoder.next();
  ASSERT_TRUE(decoded && *decoded);
  EXPECT_EQ(**decoded, Message(program));
}

TEST(Codec, DoesNotEncodeMessagesThatThePeerWouldReject) {
  std::string bytes = "before";
  EXPECT_THROW(encode(Log{0, std::string(kMaxFrame, 'x')}, bytes), std::length_error);
  EXPECT_THROW(encode(Clean{std::vector<std::string>(kMaxListItems + 1)}, bytes), std::length_error);
  EXPECT_TRUE(bytes == "before") << bytes.size();
}

/// Returns whether the decoder rejects a frame by its length and type alone.
bool is_bad(std::uint32_t length, std::uint8_t type, Sender from = Sender::any) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
  Decoder decoder(from);
  decoder.feed(bytes + static_cast<char>(type));
  return !decoder.next();
}

TEST(Codec, EachTypeHasItsOwnLimit) {
  EXPECT_FALSE(is_bad(Log::kMost, Log::kType));
  EXPECT_TRUE(is_bad(Log::kMost + 1, Log::kType));
  EXPECT_TRUE(is_bad(kMaxFrame, Ping::kType));
  EXPECT_FALSE(is_bad(kMaxFrame, Program::kType));
  EXPECT_THROW(encode(Log{0, std::string(Log::kMost, 'x')}, *std::make_unique<std::string>()), std::length_error);
  EXPECT_FALSE(fits(Log{0, std::string(Log::kMost, 'x')}));
  EXPECT_TRUE(fits(Log{0, std::string(Log::kMost - 100, 'x')}));
}

TEST(Codec, RejectsTypesThatOnlyThePeerSends) {
  EXPECT_TRUE(is_bad(1, Finish::kType, Sender::agent));
  EXPECT_TRUE(is_bad(1, Hello::kType, Sender::launcher));
  for (const Sender from : {Sender::agent, Sender::launcher}) {
    for (const std::uint8_t type : {Ping::kType, Credit::kType, PmixEvent::kType}) EXPECT_FALSE(is_bad(9, type, from));
  }
}

TEST(Codec, RejectsTooManyEmptyItems) {
  Program program;
  program.argv.resize(700000);
  EXPECT_TRUE(fits(program));
  std::string bytes;
  program.env.resize(700000);
  encode(program, bytes);
  Decoder decoder;
  decoder.feed(bytes);
  EXPECT_FALSE(decoder.next());
}

TEST(Codec, FreesTheMemoryOfALongFrame) {
  std::string bytes;
  encode(Stdin{0, std::string(8u << 20, 'x'), false}, bytes);
  Decoder decoder;
  decoder.feed(bytes);
  ASSERT_TRUE(decoder.next());
  decoder.feed(std::string_view("\1", 1));
  EXPECT_LT(decoder.capacity(), 1u << 20);
}

}  // namespace
}  // namespace dlaunch::wire
