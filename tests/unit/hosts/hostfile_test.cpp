#include "dlaunch/hostfile.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<HostEntry> parse(std::string_view text) {
  auto entries = parse_hostfile(text, "hosts");
  EXPECT_TRUE(entries) << to_text(entries.error());
  return entries.value_or(std::vector<HostEntry>{});
}

std::string error(std::string_view text) { return error_of(parse_hostfile(text, "hosts")); }

TEST(Hostfile, ReadsTheSyntaxOfOpenMpi) {
  const char* text =
      "# hosts\n\n"
      "n1 slots=2\n"
      "  \tn2 slots = 3 # trailing\n"
      "n3 cpu=4\nn4 count=5\n"
      "n5 slots=1 max_slots=2\nn6 max-slots=3\nn7 slots_max=4 slots=1\nn8 slots-max=4\n"
      "// a comment\n/* one\n over lines */ n9 slots=1\n"
      "n10 slots=1// tight\nn11 slots=1/* tight */\nn12 slots=1#tight\n"
      "n13";
  const auto entries = parse(text);
  EXPECT_THAT(short_forms(entries), ElementsAre("n1:2", "n2:3", "n3:4", "n4:5", "n5:1", "n6:3", "n7:1", "n8:4", "n9:1",
                                                "n10:1", "n11:1", "n12:1", "n13"));
  EXPECT_EQ(entries[4].max_slots, 2);
  EXPECT_EQ(entries[5].max_slots, 3);
  EXPECT_EQ(entries[0].from, "hosts:3");
  EXPECT_EQ(entries[8].from, "hosts:13");
}

TEST(Hostfile, ReadsMpichPbsRangesUsersAndIpv6) {
  EXPECT_THAT(short_forms(parse("a:8\nb_c:2\na.x.org\nna\nna\n")), ElementsAre("a:8", "b_c:2", "a.x.org", "na", "na"));
  EXPECT_THAT(short_forms(parse("node[01-03,20] slots=4\n")),
              ElementsAre("node01:4", "node02:4", "node03:4", "node20:4"));
  EXPECT_THAT(short_forms(parse("n[1-2]:3\n::1\n[::1]:4\n[fd00::5] slots=2")),
              ElementsAre("n1:3", "n2:3", "::1", "::1:4", "fd00::5:2"));
  EXPECT_EQ(parse("me@a\n")[0].reach.user, "me");
}

TEST(Hostfile, ReadsEveryKey) {
  const HostEntry entry = parse(
      "a slots=8 devices=2,0,4-5 user=me port=2222 identity=~/.ssh/id_x jump=me@gate:22,[::1] agent=/opt//dl#1/agent "
      "wdir=\"/data dir\" env.IF=eth0 env.URL=http://h/#x env.EMPTY= env.Q=\"a b\"\n")[0];  // words:ok: host file
  EXPECT_THAT(*entry.devices, ElementsAre(2, 0, 4, 5));
  EXPECT_EQ(entry.reach, (plan::Reach{"me", 2222, "~/.ssh/id_x", "me@gate:22,[::1]", "/opt//dl#1/agent"}));
  EXPECT_EQ(entry.wdir, "/data dir");
  EXPECT_THAT(entry.env, ElementsAre("IF=eth0", "URL=http://h/#x", "EMPTY=", "Q=a b"));
  EXPECT_EQ(parse("a username=u\n")[0].reach.user, "u");
}

TEST(Hostfile, ReadsWhichHostsAreSpare) {
  const auto entries = parse("a slots=1\nb[1-2] spare slots=2 # later\nspare slots=3\n");
  EXPECT_THAT(short_forms(entries), ElementsAre("a:1", "b1:2", "b2:2", "spare:3"));
  EXPECT_FALSE(entries[0].replacement);
  EXPECT_TRUE(entries[1].replacement);
  EXPECT_TRUE(entries[2].replacement);
  EXPECT_FALSE(entries[3].replacement);
}

TEST(Hostfile, AcceptsAnyLineEndsAndAByteOrderMark) {
  EXPECT_THAT(short_forms(parse("a slots=1\r\nb slots=2\r\n\r\n")), ElementsAre("a:1", "b:2"));
  EXPECT_THAT(short_forms(parse("\xEF\xBB\xBF"
                                "a slots=1")),
              ElementsAre("a:1"));
}

TEST(Hostfile, ErrorsNameLineColumnAndWord) {
  EXPECT_THAT(error("a\nb slot=2\n"), HasSubstr("hosts:2:3: unknown key \"slot\""));
  EXPECT_THAT(error("b slot=2\n"), HasSubstr("use slots"));
  EXPECT_THAT(error("a prt=2\n"), HasSubstr("use port"));
  EXPECT_THAT(error("a zzzzzzz=2\n"), HasSubstr("use slots"));
  EXPECT_THAT(error("a slots=x\n"), HasSubstr("hosts:1:9: invalid number \"x\""));
  EXPECT_THAT(error("a slots=-1\n"), HasSubstr("\"-1\""));
  EXPECT_THAT(error("a slots=\n"), HasSubstr("hosts:1:3: missing value of slots"));
  EXPECT_THAT(error("a b\n"), HasSubstr("hosts:1:3: unexpected word \"b\""));
  EXPECT_THAT(error("a slots=2 b\n"), HasSubstr("write one host per line"));
  EXPECT_THAT(error("  a,b\n"), HasSubstr("hosts:1:3: invalid host name \"a,b\""));
  EXPECT_THAT(error("/* x */ -a\n"), HasSubstr("hosts:1:9: invalid host name \"-a\""));
  EXPECT_THAT(error("^a\n"), HasSubstr("invalid host name \"^a\""));
  EXPECT_THAT(error("a;reboot\n"), HasSubstr("not a hostfile"));
  EXPECT_THAT(error("a user=-oX\n"), HasSubstr("invalid user name"));
  EXPECT_THAT(error("a jump=-oX\n"), HasSubstr("invalid jump host"));
  EXPECT_THAT(error("a jump=$(x)\n"), HasSubstr("invalid jump host"));
  EXPECT_THAT(error("a port=0\n"), HasSubstr("1 to 65535"));
  EXPECT_THAT(error("a wdir=x\n"), HasSubstr("expected an absolute path"));
  EXPECT_THAT(error("a identity=x\n"), HasSubstr("~/"));
  EXPECT_THAT(error("a devices=x\n"), HasSubstr("4-7 or 0,2"));
  EXPECT_THAT(error("a devices=1,0-2\n"), HasSubstr("duplicate device \"1\""));
  EXPECT_THAT(error("a slots=1 cpu=2\n"), HasSubstr("duplicate key \"cpu\""));
  EXPECT_THAT(error("a:2 slots=2\n"), HasSubstr("duplicate key \"slots\""));
  EXPECT_THAT(error("u@a user=v\n"), HasSubstr("duplicate user"));
  EXPECT_THAT(error("a slots=3 max_slots=2\n"), HasSubstr("slots=3 conflicts with max_slots=2"));
  EXPECT_THAT(error("a =3\n"), HasSubstr("missing key before '='"));
  EXPECT_THAT(error("a wdir=\"/x\n"), HasSubstr("missing closing quote"));
  EXPECT_THAT(error("a /* x\n"), HasSubstr("hosts:1:3: missing end of comment"));
  EXPECT_THAT(error("a:x\n"), HasSubstr("invalid number \"x\""));
}

TEST(Hostfile, RequiresAHost) {
  for (const char* text : {"", "\n", "# a\n", "/* a */", "\r\n \t\r\n"}) {
    EXPECT_THAT(error(text), HasSubstr("hosts: missing host")) << text;
  }
  EXPECT_THAT(error(std::string_view("a\0b", 3)), HasSubstr("NUL"));
}

TEST(Hostfile, RecognizesARankfile) {
  EXPECT_THAT(error("rank 0=a slot=1\n"), HasSubstr("use --rankfile for this file"));
  EXPECT_THAT(error("rank 0 = a\n"), HasSubstr("--rankfile"));
  EXPECT_THAT(short_forms(parse("rank slots=2\n")), ElementsAre("rank:2"));
}

TEST(Hostfile, ErrorsOmitValuesOfVariables) {
  for (const char* text :
       {"a env.A=hunter2 env.A=hunter2\n", "a env.=hunter2\n", "a env.A=hunter2 slot=1\n", "a env.A=\"hunter2\n"}) {
    EXPECT_THAT(error(text), Not(HasSubstr("hunter2"))) << text;
  }
}

}  // namespace
}  // namespace dlaunch::hosts
