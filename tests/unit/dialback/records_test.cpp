// Sealed records: the receiver gets the sent bytes complete and in order, or an error. Statements of nodes.
#include <gtest/gtest.h>

#include <cstring>

#include "dialback/sealed_records.h"
#include "dialback/statement.h"

namespace dlaunch::dialback {
namespace {

Secret key_of(unsigned char byte = 7) {
  Secret key = job_key("a key of sixteen bytes").value();  // initializes libsodium
  std::memset(key.data(), byte, Secret::kSize);
  return key;
}

struct Records : testing::Test {
  Sealer sealer{key_of()};
  Opener opener{key_of()};

  std::string seal(std::string_view payload, bool last = false) {
    std::string out;
    sealer.seal(SealedRecord::Kind::data, payload, out, last);
    return out;
  }
  std::string next() {
    auto record = opener.next();
    if (!record) return "error: " + record.error().why;
    return *record ? (*record)->payload : "nothing yet";
  }
};

TEST_F(Records, ArriveInAnyChunks) {
  std::string bytes = seal("one");
  bytes += seal("");
  bytes += seal(std::string(kMostRecord, 'x'), true);
  std::vector<std::string> got;
  for (const char byte : bytes) {
    opener.feed({&byte, 1});
    for (auto record = opener.next().value(); record; record = opener.next().value()) got.push_back(record->payload);
  }
  EXPECT_EQ(got, (std::vector<std::string>{"one", "", std::string(kMostRecord, 'x')}));
  EXPECT_TRUE(opener.ended());
  EXPECT_EQ(opener.held(), 0u);
}

TEST_F(Records, RefuseAnyChangedByte) {
  const std::string right = seal("words");
  for (size_t i = 0; i < right.size(); ++i) {
    std::string wrong = right;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    Opener hearer(key_of());
    hearer.feed(wrong);
    const auto record = hearer.next();
    EXPECT_TRUE(!record || !*record) << i;
  }
}

TEST_F(Records, RefuseRepeatedMissingOrReordered) {
  const std::string first = seal("first");
  const std::string second = seal("second");
  const std::string third = seal("third");
  for (const std::string& bytes : {first + second + second, first + third, first + third + second}) {
    Opener hearer(key_of());
    hearer.feed(bytes);
    auto record = hearer.next();
    while (record && *record) record = hearer.next();
    EXPECT_FALSE(record);
  }
}

TEST_F(Records, RefuseRecordsOfAnotherConnection) {
  opener = Opener(key_of(8));
  opener.feed(seal("words"));
  EXPECT_EQ(next(), "error: invalid seal: changed data, wrong order, or data of another connection");
}

TEST_F(Records, RefuseDataAfterLastRecord) {
  opener.feed(seal("last", true));
  opener.feed(seal("more"));
  EXPECT_EQ(next(), "last");
  EXPECT_EQ(next(), "error: data after the last record");
}

TEST_F(Records, RefuseWrongLengthWithoutWaiting) {
  opener.feed(std::string(24, 'h') + std::string("\xff\xff\xff\x7f", 4));
  EXPECT_EQ(next(), "error: length 2147483647");
  Opener empty(key_of());
  empty.feed(std::string(24, 'h') + std::string(4, '\0'));
  EXPECT_FALSE(empty.next());
}

Statement statement() { return {"dlaunch 1", 3, 1, "node1", {"-n", "4", "python3", "train.py", ""}}; }

TEST(Statements, RoundTrip) {
  const auto back = statement_in(to_payload(statement())).value();
  EXPECT_EQ(back.version, "dlaunch 1");
  EXPECT_EQ(back.nodes, 3);
  EXPECT_EQ(back.node, 1);
  EXPECT_EQ(back.name, "node1");
  EXPECT_EQ(back.words, statement().words);
}

TEST(Statements, RoundTripWithoutNodeNumber) {
  Statement unnumbered = statement();
  unnumbered.node = kUnnumbered;
  EXPECT_EQ(statement_in(to_payload(unnumbered)).value().node, kUnnumbered);
  EXPECT_EQ(difference_from(statement(), unnumbered), std::nullopt);
}

TEST(Statements, RejectInvalidPayload) {
  using namespace std::string_literals;
  for (const std::string& payload : {""s, "3"s, "3\0001\0v"s, "x\0001\0v\0n"s, "0\0001\0v\0n"s, "3\0-2\0v\0n"s,
                                     "3\0001\0"s + std::string(300, 'v') + "\0n"s}) {
    EXPECT_FALSE(statement_in(payload)) << payload;
  }
}

TEST(Statements, AgreeForTheSameJob) {
  Statement launcher = statement();
  launcher.node = 0;
  launcher.name = "node0";
  EXPECT_EQ(difference_from(launcher, statement()), std::nullopt);
  launcher.words.assign(3, std::string(100'000, 'x'));  // too long for a record
  Statement node = launcher;
  node.node = 2;
  EXPECT_EQ(difference_from(launcher, statement_in(to_payload(node)).value()), std::nullopt);
  node.words[1][5] = 'y';
  EXPECT_NE(difference_from(launcher, statement_in(to_payload(node)).value()), std::nullopt);
}

TEST(Statements, ReportDifferencesOfAnotherJob) {
  const Statement launcher = statement();
  Statement node = statement();
  node.words[3] = "other.py";
  EXPECT_EQ(difference_from(launcher, node),
            "different command lines: \"other.py\" on the node, \"train.py\" on node 0");
  node.words.resize(3);
  EXPECT_EQ(difference_from(launcher, node), "different command lines: nothing on the node, \"train.py\" on node 0");
  node.nodes = 4;
  EXPECT_EQ(difference_from(launcher, node), "different numbers of nodes: 4 on the node, 3 on node 0");
  node.version = "dlaunch\x1b 2";
  EXPECT_EQ(difference_from(launcher, node),
            "different versions of dlaunch: dlaunch\\x1b 2 on the node, dlaunch 1 on node 0");
}

TEST(Statements, WelcomeKeepsItsFields) {
  const auto welcome =
      welcome_in(to_payload(Welcome{"job-5", std::chrono::milliseconds(2500), std::chrono::minutes(10)}));
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->job_id, "job-5");
  EXPECT_EQ(welcome->heartbeat, std::chrono::milliseconds(2500));
  EXPECT_EQ(welcome->pause_limit, std::chrono::minutes(10));
  EXPECT_EQ(welcome_in(to_payload(Welcome{"a\x1b", std::chrono::milliseconds(1), {}}))->job_id, "a\\x1b");
  for (const std::string& invalid :
       {std::string(), std::string("5000"), std::string("5000\0a", 6), std::string("0\0001\0a", 5),
        std::string("x\0001\0a", 5), std::string("1\000x\0a", 5), std::string("60001\0001\0a", 9)}) {
    EXPECT_FALSE(welcome_in(invalid)) << invalid;
  }
}

TEST(DataEnds, RoundTrip) {
  const DataEnd ended = data_end_in(to_payload(DataEnd{true, "no memory"}));
  EXPECT_TRUE(ended.nothing_left);
  EXPECT_EQ(ended.reason, "no memory");
  EXPECT_FALSE(data_end_in(to_payload(DataEnd{false, ""})).nothing_left);
  for (const char* const payload : {"", "2", "x1"}) EXPECT_FALSE(data_end_in(payload).nothing_left) << payload;
  EXPECT_EQ(data_end_in("0a\x1b").reason, "a\\x1b");
}

TEST(Statements, RejectUnexpectedNodeNumber) {
  for (const int number : {0, 3, 99}) {
    Statement node = statement();
    node.node = number;
    EXPECT_NE(difference_from(statement(), node), std::nullopt) << number;
  }
}

}  // namespace
}  // namespace dlaunch::dialback
