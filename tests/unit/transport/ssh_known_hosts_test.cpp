#include "transport/ssh/known_hosts.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "temporary.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {
namespace {

using Kind = KeyVerdict::Kind;
using testing::StartsWith;

const std::string kOne = "AAAAC3NzaC1lZDI1NTE5AAAAIOne=";
const std::string kTwo = "AAAAC3NzaC1lZDI1NTE5AAAAITwo=";
const std::string kType = "ssh-ed25519";

KnownHosts parse(const std::string& text) {
  KnownHosts known;
  known.add_file("known", text);
  return known;
}

KeyVerdict look(const std::string& text, const std::string& host, const std::string& key, int port = 22,
                const std::string& alias = "") {
  return verdict_on(find_host(parse(text), known_name(host, port, alias)), kType, key);
}

std::string line(const std::string& names, const std::string& key = kOne) {
  return names + " " + kType + " " + key + "\n";
}

struct Row {
  std::string text;
  std::string host;
  int port;
  Kind kind;
};

class Verdicts : public testing::TestWithParam<Row> {};
TEST_P(Verdicts, EqualVerdictsOfSsh) {
  const Row& row = GetParam();
  EXPECT_EQ(look(row.text, row.host, kOne, row.port).kind, row.kind) << row.text;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Verdicts,
    testing::Values(
        Row{"", "a", 22, Kind::unknown}, Row{line("a"), "a", 22, Kind::known}, Row{line("a,b,c"), "b", 22, Kind::known},
        Row{line("A"), "a", 22, Kind::known}, Row{line("a"), "A", 22, Kind::known},
        Row{line("node_1"), "node_1", 22, Kind::known}, Row{line("fd00::1"), "fd00::1", 22, Kind::known},
        Row{line("a", kTwo), "a", 22, Kind::changed}, Row{line("a", kTwo) + line("a"), "a", 22, Kind::known},
        Row{"a ssh-rsa " + kTwo + "\n", "a", 22, Kind::changed}, Row{line("*.x,!b.x"), "a.x", 22, Kind::known},
        Row{line("*.x,!b.x"), "b.x", 22, Kind::unknown}, Row{line("n?de"), "node", 22, Kind::known},
        Row{line("[a]:2222"), "a", 2222, Kind::known}, Row{line("[a]:2222"), "a", 22, Kind::unknown},
        Row{line("a"), "a", 2222, Kind::known}, Row{line("a", kTwo), "a", 2222, Kind::unknown},
        Row{line("[a]:2222", kTwo), "a", 2222, Kind::changed}, Row{line("[*]:2222"), "a", 2222, Kind::known},
        Row{"@revoked " + line("*"), "a", 22, Kind::revoked}, Row{"@revoked " + line("b"), "a", 22, Kind::unknown},
        Row{line("a") + "@revoked " + line("*"), "a", 22, Kind::revoked},
        Row{line("a") + "@revoked " + line("*", kTwo), "a", 22, Kind::known},
        Row{"@cert-authority " + line("*.x"), "a.x", 22, Kind::authority_only},
        Row{"@cert-authority " + line("*.x") + line("a.x"), "a.x", 22, Kind::known},
        Row{"@odd " + line("a"), "a", 22, Kind::unknown}, Row{"# " + line("a"), "a", 22, Kind::unknown},
        Row{"\n\r\n \t\n" + line("  a"), "a", 22, Kind::known},
        Row{"a ssh-ed25519 " + kOne + " a comment\r\n", "a", 22, Kind::known}, Row{"a\n", "a", 22, Kind::unknown},
        Row{"a ssh-ed25519\n", "a", 22, Kind::unknown}, Row{"a ssh-ed25519 !!!\n", "a", 22, Kind::unknown},
        Row{"a\tssh-ed25519\t" + kOne, "a", 22, Kind::known}, Row{"|1|x|y ssh-ed25519 " + kOne, "a", 22, Kind::unknown},
        Row{"|1||| ssh-ed25519 " + kOne, "a", 22, Kind::unknown}));

TEST(KnownHosts, ReportFileAndLine) {
  const auto verdict = look("# first\n" + line("b") + line("a", kTwo), "a", kOne);
  EXPECT_EQ(verdict.kind, Kind::changed);
  EXPECT_EQ(verdict.line.file, "known");
  EXPECT_EQ(verdict.line.line, 3);
}

TEST(KnownHosts, FindAliasWithoutPort) {
  EXPECT_EQ(look(line("cluster"), "10.0.0.1", kOne, 2222, "Cluster").kind, Kind::known);
  EXPECT_EQ(look(line("10.0.0.1"), "10.0.0.1", kOne, 22, "cluster").kind, Kind::unknown);
}

TEST(KnownHosts, PreferKnownKeyTypes) {
  const auto types = [](const std::string& text, const std::string& allowed = "") {
    return preferred_algorithms(find_host(parse(text), known_name("a", 22, "")), allowed);
  };
  EXPECT_THAT(types(""), StartsWith("ssh-ed25519,ecdsa"));
  EXPECT_THAT(types("a ssh-rsa " + kOne), StartsWith("rsa-sha2-512,rsa-sha2-256,ssh-ed25519"));
  EXPECT_THAT(types("a ecdsa-sha2-nistp256 " + kOne + "\na ssh-rsa " + kTwo),
              StartsWith("ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256,ssh-ed25519"));
  EXPECT_EQ(types("a ssh-rsa " + kOne, "ssh-ed25519,rsa-sha2-256"), "rsa-sha2-256,ssh-ed25519");
  EXPECT_EQ(types("a ecdsa-sha2-nistp256 " + kOne, "ssh-ed25519,rsa-sha2-256"), "ssh-ed25519,rsa-sha2-256");
}

class HashedHosts : public Temporary {};

TEST_F(HashedHosts, FindNamesHashedBySshKeygen) {
  const std::string key = path("host");
  ASSERT_TRUE(shell("ssh-keygen -q -t ed25519 -N '' -f " + key).ok);
  const std::string blob = split(read(key + ".pub").value(), ' ')[1];
  std::string text;
  for (const char* name : {"node1", "[node2]:2222", "10.0.0.3", "[fd00::4]:22022"})
    text += name + (" ssh-ed25519 " + blob) + "\n";
  const std::string file = write("known_hosts", text);
  ASSERT_TRUE(shell("ssh-keygen -q -H -f " + file + " >/dev/null 2>&1").ok);
  const std::string hashed = read(file).value();
  ASSERT_EQ(hashed.find("node1"), std::string::npos);
  EXPECT_EQ(look(hashed, "node1", blob).kind, Kind::known);
  EXPECT_EQ(look(hashed, "NODE1", blob).kind, Kind::known);
  EXPECT_EQ(look(hashed, "node1", kTwo).kind, Kind::changed);
  EXPECT_EQ(look(hashed, "node2", blob, 2222).kind, Kind::known);
  EXPECT_EQ(look(hashed, "node2", blob).kind, Kind::unknown);
  EXPECT_EQ(look(hashed, "10.0.0.3", blob).kind, Kind::known);
  EXPECT_EQ(look(hashed, "fd00::4", blob, 22022).kind, Kind::known);
  EXPECT_EQ(look(hashed, "node3", blob).kind, Kind::unknown);
}

TEST_F(HashedHosts, SshKeygenFindsWrittenLine) {
  const std::string file = write("known_hosts", known_hosts_line(known_name("node_1", 2222, ""), kType, kOne, ""));
  EXPECT_TRUE(shell("ssh-keygen -F '[node_1]:2222' -f " + file + " >/dev/null").ok);
}

TEST_F(HashedHosts, SshKeygenFindsWrittenHashedLineWithoutName) {
  const std::string line = known_hosts_line(known_name("node_1", 2222, ""), kType, kOne, std::string(20, '\x9e'));
  EXPECT_EQ(line.find("node_1"), std::string::npos);
  EXPECT_TRUE(shell("ssh-keygen -F '[node_1]:2222' -f " + write("known_hosts", line) + " >/dev/null").ok);
  EXPECT_FALSE(shell("ssh-keygen -F node_1 -f " + write("known_hosts", line) + " >/dev/null").ok);
}

TEST(Patterns, MatchLikeSsh) {
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("abc", "a*c"));
  EXPECT_TRUE(matches_pattern("abcbc", "a*bc"));
  EXPECT_TRUE(matches_pattern("abc", "***"));
  EXPECT_FALSE(matches_pattern("abc", "a?"));
  EXPECT_FALSE(matches_pattern("", "?"));
  EXPECT_FALSE(matches_pattern("abc", "b*"));
  EXPECT_FALSE(matches_patterns("a", {"!a", "a"}));
  EXPECT_FALSE(matches_patterns("b", {"!a"}));
  EXPECT_TRUE(matches_patterns("b", {"!a", "*"}));
  const std::string long_name(5000, 'a');
  EXPECT_FALSE(matches_pattern(long_name, "*a*a*a*a*b"));
}

}  // namespace
}  // namespace dlaunch::transport::ssh
