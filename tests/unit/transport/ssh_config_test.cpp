// The ssh configuration, compared with the output of `ssh -G` for the settings that `ssh -G` prints.
#include "transport/ssh/config.h"

#include <glob.h>
#include <gmock/gmock.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "temporary.h"

namespace dlaunch::transport::ssh {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Configs : public Temporary {
 protected:
  SshContext here() const {
    SshContext here;
    const passwd* user = ::getpwuid(::getuid());
    here.home = user->pw_dir;
    here.user = user->pw_name;
    here.user_id = ::getuid();
    here.host_name = "here.example.org";
    here.read_file = [](const std::string& path) -> std::optional<File> {
      const auto text = read(path);
      struct stat status{};
      if (!text || ::stat(path.c_str(), &status) != 0) return std::nullopt;
      return File{*text, status.st_uid, status.st_mode & 07777};
    };
    here.glob = [](const std::string& pattern) {
      glob_t found{};
      std::vector<std::string> paths;
      if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
      ::globfree(&found);
      return paths;
    };
    here.variable = [](const std::string& name) {
      return name == "KEYS" ? std::optional<std::string>("/keys") : std::nullopt;
    };
    return here;
  }

  Result<HostConfig> resolve(const std::string& text, const std::string& host,
                             const ssh::HostOverrides& said = {}) const {
    auto config = Config::read({{write("config", text)}}, here());
    if (!config) return fail(config.error());
    return config->resolve(host, said, here());
  }

  /// The output of `ssh -G` for the supported keywords, with a value each.
  std::map<std::string, std::string> reference(const std::string& text, const std::string& host) const {
    const auto said = shell("KEYS=/keys ssh -G -F " + write("config", text) + " -- " + host + " 2>&1");
    EXPECT_TRUE(said.ok) << text << said.text;
    std::map<std::string, std::string> values;
    for (const std::string& line : split(said.text, '\n')) {
      const size_t blank = std::min(line.find(' '), line.size());
      std::string& value = values[line.substr(0, blank)];
      value += (value.empty() ? "" : "\n") + line.substr(std::min(blank + 1, line.size()));
    }
    return values;
  }
};

/// ssh -G prints identity files as written; dlaunch chooses its own default files.
std::string identities(const HostConfig& config) {
  std::string text;
  for (const std::string& file : config.identity_files) text += (text.empty() ? "" : "\n") + file;
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string family(AddressFamily family) {
  return family == AddressFamily::any ? "any" : family == AddressFamily::inet ? "inet" : "inet6";
}

/// As printed by `ssh -G`. StrictHostKeyChecking ask counts as strict, because dlaunch never prompts.
plan::HostKey host_key(const std::string& value) {
  if (value == "accept-new") return plan::HostKey::accept_new;
  return value == "false" || value == "off" || value == "no" ? plan::HostKey::off : plan::HostKey::strict;
}

const std::vector<std::string> kHosts = {"node1", "node_2", "gate.example.org", "GATE", "10.0.0.7", "fd00::5", "x"};

const std::vector<std::string> kTexts = {
    "Host *\n=\n= Port 2222\n== User nobody\n=#x\n=AddressFamily=inet\nUser form\f\n",
    "",
    "HostName %h.example.org\nUser ann\nPort 2222\n",
    "User first\nUser second\nPort 1\nPort 2\n",
    "Host node1\n  User one\nHost *\n  User all\n  Port 23\n",
    "Host node* !node_2\n User nodes\n",
    "Host !node1 *\n User others\n",
    "Host gate gate.*\nHostName 10.1.2.3\nHost *\nHostName %h.local\n",
    "Host n?de1\nUser q\n",
    "host=node1\n user=eq\n PORT = 24\n",
    "Host \"node1\" 'x'\n User \"with blank\"\n",
    "  # comment\n\n\tUser tab # trailing\n",
    "User crlf\r\nPort 25\r\n",
    "Match host node1\n User m\nMatch all\n Port 26\n",
    "HostName node1\nMatch host node1\n User by-hostname\nMatch originalhost x\n Port 27\n",
    "User ann\nMatch user ann\n Port 28\nMatch user bob\n Port 29\n",
    "Match !host node1,gate* user *\n Port 30\n",
    "Match host node1,node_2 originalhost node_2\n Port 31\n",
    "Match host=node1\n Port 32\n",
    "Match host *.example.org\n User suffix\nHost x\n User x\n",
    "Match localuser nobody-of-that-name\n User no\n",
    "Match canonical\n User canonical\n",
    "Match !canonical\n User first\nMatch canonical\n User again\n",
    "Match final all\n User last\n Port 40\nHost node*\n User before\n",
    "Match final host *.org\n Port 41\nHost node1\n HostName %h.org\n",
    "Match !final\n Port 42\nMatch final\n Port 43\n HostName never\n",
    "Match canonical\n Port 44\nMatch host nowhere final\n User x\n",
    "Host node1\nMatch final\n IdentityFile /final\nHost *\nIdentityFile /k\n",
    "ProxyJump bastion\n",
    "ProxyJump ann@bastion:2222,bob@inner\n",
    "ProxyJump none\nProxyJump bastion\n",
    "ProxyCommand nc %h %p\nProxyJump bastion\n",
    "ProxyJump bastion\nProxyCommand nc %h %p\n",
    "ProxyCommand none\n",
    "ProxyCommand sh -c 'exec nc \"%h\" %p' # no comment here\n",
    "ConnectTimeout 7\nConnectTimeout 8\n",
    "ConnectTimeout none\n",
    "ConnectTimeout 1m\n",
    "ConnectTimeout 1H30M5\n",
    "StrictHostKeyChecking no\n",
    "StrictHostKeyChecking accept-new\n",
    "StrictHostKeyChecking ask\n",
    "StrictHostKeyChecking off\n",
    "UserKnownHostsFile /a /b\nGlobalKnownHostsFile /c\n",
    "UserKnownHostsFile /dev/null\nUserKnownHostsFile /b\n",
    "HostKeyAlias cluster\n",
    "HashKnownHosts yes\n",
    "AddressFamily inet\n",
    "AddressFamily inet6\nAddressFamily inet\n",
    "IdentitiesOnly yes\nIdentityFile /k1\nIdentityFile /k2\nIdentityFile /k1\n",
    "Host node1\nIdentityFile /k1\nHost *\nIdentityFile /k2\n",
    "IdentityAgent none\n",
    "IdentityAgent /run/agent\n",
    "Host *\nForwardX11 yes\nControlMaster auto\nSendEnv LANG\nServerAliveInterval 5\nLogLevel QUIET\n",
    "Host a b\\ c\n User odd\nHost *\n User \"a\\\"b\"\n",
};

TEST_F(Configs, GiveSameSettingsAsSsh) {
  int compared = 0;
  for (const std::string& text : kTexts) {
    for (const std::string& host : kHosts) {
      SCOPED_TRACE(testing::Message() << "host " << host << " of:\n" << text);
      const auto got = resolve(text, host);
      ASSERT_TRUE(got) << to_text(got.error());
      auto want = reference(text, host);
      EXPECT_EQ(got->host_name, want["hostname"]);
      EXPECT_EQ(got->user, want["user"]);
      EXPECT_EQ(std::to_string(got->port), want["port"]);
      EXPECT_EQ(family(got->family), want["addressfamily"]);
      EXPECT_EQ(got->identities_only, want["identitiesonly"] == "yes");
      EXPECT_EQ(got->connect_timeout ? std::to_string(*got->connect_timeout) : "none", want["connecttimeout"]);
      EXPECT_EQ(got->host_key.value_or(plan::HostKey::strict), host_key(want["stricthostkeychecking"]));
      EXPECT_EQ(got->host_key_alias, want["hostkeyalias"]);
      EXPECT_EQ(got->proxy_jump, want["proxyjump"]);
      EXPECT_EQ(got->hash_known_hosts, want["hashknownhosts"] == "yes");
      if (text.find("UserKnownHosts") != std::string::npos) {
        EXPECT_EQ(joined(got->user_known_hosts), want["userknownhostsfile"]);
      }
      if (text.find("GlobalKnownHosts") != std::string::npos) {
        EXPECT_EQ(joined(got->global_known_hosts), want["globalknownhostsfile"]);
      }
      if (got->identity_files_named) {
        EXPECT_EQ(identities(*got), want["identityfile"]);
      }
      EXPECT_EQ(got->identity_agent.value_or(""), want["identityagent"]);
      if (want["proxycommand"].find('%') == std::string::npos) {
        EXPECT_EQ(got->proxy_command, want["proxycommand"]);
      }
      EXPECT_THAT(got->notes, IsEmpty());
      ++compared;
    }
  }
  EXPECT_EQ(compared, static_cast<int>(kTexts.size() * kHosts.size()));
}

TEST_F(Configs, IncludeOtherFiles) {
  write("a.conf", "User from-a\nHost node1\nPort 1001\nHost *\n IdentityFile /a\n");
  write("b.conf", "Port 1002\n");
  for (const std::string& text : {"Include " + path("*.conf") + "\nUser late\n",
                                  "Host x\n Include " + path("a.conf") + "\nHost *\n User all\n Port 1003\n",
                                  "Host node1\nInclude " + path("b.conf") + " " + path("a.conf") + "\n User late\n",
                                  "Include " + path("missing") + "\nUser here\n"}) {
    for (const std::string& host : kHosts) {
      SCOPED_TRACE(testing::Message() << "host " << host << " of:\n" << text);
      const auto got = resolve(text, host);
      ASSERT_TRUE(got) << to_text(got.error());
      auto want = reference(text, host);
      EXPECT_EQ(got->user, want["user"]);
      EXPECT_EQ(std::to_string(got->port), want["port"]);
      if (got->identity_files_named) {
        EXPECT_EQ(identities(*got), want["identityfile"]);
      }
    }
  }
}

TEST_F(Configs, RefuseTooManyIncludedFiles) {
  for (int i = 1; i < 15; ++i) {
    const std::string next = "Include " + path("f" + std::to_string(i + 1)) + "\n";
    write("f" + std::to_string(i), next + next + next + next);
  }
  write("f15", "Port 2\n");
  const auto got = resolve("Include " + path("f1") + "\n", "x");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().why, HasSubstr("more than 4096 files"));
}

TEST_F(Configs, RefuseRecursiveIncludes) {
  const auto got = resolve("Include " + path("config") + "\n", "x");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().why, HasSubstr("more than 16 nested files"));
}

TEST_F(Configs, YieldToHostList) {
  const auto got =
      resolve("User config\nPort 1\nIdentityFile /config\nProxyCommand nc\nMatch user said\nHostKeyAlias hit\n", "x",
              {"said", 2, "/said", "gate"});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->user, "said");
  EXPECT_EQ(got->port, 2);
  EXPECT_EQ(got->proxy_jump, "gate");
  EXPECT_EQ(got->proxy_command, "");
  EXPECT_EQ(got->host_key_alias, "hit");
  EXPECT_THAT(got->identity_files, ElementsAre("/said", "/config"));
}

TEST_F(Configs, ExpandTokensAndVariables) {
  const auto got = resolve(
      "HostName %h.org\nUser ann\nPort 7\nIdentityFile ~/.ssh/%h-%r-%n-%p-%%\nIdentityFile ${KEYS}/%u\n"
      "IdentityFile %d/k\nProxyCommand nc %h %p %r %L\nUserKnownHostsFile ~/.ssh/known_%k\n",
      "x");
  ASSERT_TRUE(got);
  const SshContext around = here();
  EXPECT_THAT(got->identity_files,
              ElementsAre(around.home + "/.ssh/x.org-ann-x-7-%", "/keys/" + around.user, around.home + "/k"));
  EXPECT_EQ(got->proxy_command, "nc x.org 7 ann here");
  EXPECT_THAT(got->user_known_hosts, ElementsAre(around.home + "/.ssh/known_x"));
}

TEST_F(Configs, JumpOverHostsNamedByTokens) {
  EXPECT_EQ(resolve("User ann\nProxyJump %r@gate-%h:2%%2,%n\n", "node1")->proxy_jump, "ann@gate-node1:2%2,node1");
}

TEST_F(Configs, TimeoutOfZeroMeansUnset) { EXPECT_FALSE(resolve("ConnectTimeout 0\n", "node1")->connect_timeout); }

TEST_F(Configs, NoteUnsupportedSettings) {
  const std::pair<std::string, std::string> kRows[] = {
      {"PKCS11Provider /lib/p.so", "config:1: not supported: pkcs11provider"},
      {"Host node*\nKnownHostsCommand /bin/known %h", "config:2: not supported: knownhostscommand"},
  };
  for (const auto& [text, note] : kRows) {
    const auto got = resolve(text, "node1");
    ASSERT_TRUE(got) << text;
    EXPECT_THAT(got->notes, ElementsAre(HasSubstr(note))) << text;
  }
  EXPECT_THAT(resolve("Host other\nPKCS11Provider /lib/p.so", "node1")->notes, IsEmpty());
}

TEST_F(Configs, SkipSettingsWithUnknownConditions) {
  for (const std::string match : {"exec true", "!exec false", "!exec true", "host node1 !exec false",
                                  "exec true user *", "!localnetwork 10.0.0.0/8", "final !exec false"}) {
    const auto got = resolve("Match " + match + "\n User a\n", "node1");
    ASSERT_TRUE(got) << match;
    EXPECT_NE(got->user, "a") << match;
    EXPECT_THAT(got->unread.what, ElementsAre(HasSubstr("config:1: match "))) << match;
  }
  for (const std::string match : {"host node2 exec true", "exec true host node2", "!host node1 !exec false"}) {
    EXPECT_THAT(resolve("Match " + match + "\n User a\n", "node1")->unread.what, IsEmpty()) << match;
  }
}

TEST_F(Configs, ReportPartsThatOnlySshCanEvaluate) {
  EXPECT_THAT(resolve("CanonicalizeHostname yes\n", "a")->unread.what,
              ElementsAre(HasSubstr(":1: canonicalizehostname")));
  EXPECT_THAT(resolve("Host b\nOddKeyword 1\n", "a")->unread.what, ElementsAre(HasSubstr(":2: oddkeyword")));
  EXPECT_THAT(resolve("CanonicalizeHostname no\n", "a")->unread.what, IsEmpty());
}

TEST_F(Configs, ShareAnswerOfSsh) {
  const auto shared = [&](const std::string& text, const std::string& host) {
    return resolve(text, host)->unread.shared;
  };
  const std::string plain = "Match exec true\n User a\nHost node*\n Port 1\n";
  EXPECT_TRUE(shared(plain, "node1"));
  EXPECT_EQ(shared(plain, "node1"), shared(plain, "node2"));
  EXPECT_NE(shared(plain, "node1"), shared(plain, "other"));
  EXPECT_FALSE(shared("Match exec \"test %h\"\n User a\n", "node1"));
  EXPECT_FALSE(shared("Match exec true\n HostName %h.org\n", "node1"));
  EXPECT_FALSE(shared("Match exec true\n User a\nHost *\n HostName %h.org\n", "node1"));
  EXPECT_FALSE(shared("CanonicalizeHostname yes\n", "node1"));
}

TEST_F(Configs, ReadAnswerOfSsh) {
  const std::string text =
      "Match exec true\n User ann\n ProxyJump gate:23\n IdentityFile \"~/a b\"\n CertificateFile /c\nHost *\n Port 7\n"
      "RekeyLimit 1G 1h\n";
  const std::string file = write("config", text);
  const auto answer = shell("ssh -G -F " + file + " -- node1");
  ASSERT_TRUE(answer.ok);
  const auto got = Config::of_answer(answer.text, false).resolve("node1", {}, here());
  ASSERT_TRUE(got) << to_text(got.error());
  EXPECT_EQ(got->host_name, "node1");
  EXPECT_EQ(got->user, "ann");
  EXPECT_EQ(got->port, 7);
  EXPECT_EQ(got->proxy_jump, "gate:23");
  EXPECT_EQ(got->proxy_command, "");
  EXPECT_THAT(got->identity_files, ElementsAre(here().home + "/a b"));
  EXPECT_TRUE(got->identity_files_named);
  EXPECT_THAT(got->certificate_files, ElementsAre("/c"));
  EXPECT_EQ(got->algorithms.rekey_bytes, 1u << 30);
  EXPECT_EQ(got->algorithms.rekey_seconds, 3600);
  EXPECT_THAT(got->notes, IsEmpty());
  EXPECT_THAT(got->unread.what, IsEmpty());
  EXPECT_EQ(Config::of_answer(answer.text, true).resolve("node2", {}, here())->host_name, "node2");
}

TEST_F(Configs, TreatDefaultIdentitiesInAnswerOfSshAsUnnamed) {
  const auto answer = shell("ssh -G -F none -- node1");
  ASSERT_TRUE(answer.ok);
  const auto got = Config::of_answer(answer.text, false).resolve("node1", {}, here());
  ASSERT_TRUE(got) << to_text(got.error());
  EXPECT_FALSE(got->identity_files_named);
  EXPECT_THAT(got->notes, IsEmpty());
}

/// ssh -G does not check these values, ssh exits with an error.
TEST_F(Configs, RefuseUnknownTokens) {
  for (const std::string text : {"IdentityFile /k/%Q", "IdentityFile ${NOT_SET_AT_ALL}/k", "IdentityFile /k/%"}) {
    const auto got = resolve(text + "\n", "x");
    ASSERT_FALSE(got) << text;
    EXPECT_THAT(to_text(got.error()), HasSubstr(text.substr(text.find(' ') + 1)));
  }
}

/// Like ssh: a user with write access to the user's own file or an included file could change trusted keys.
TEST_F(Configs, RefuseFilesWritableByOthers) {
  const auto config = write("config", "User a\nInclude " + path("included") + "\n");
  const auto included = write("included", "Port 7\n");
  const auto read_it = [&](bool users) { return Config::read({{config, users}}, here()); };
  EXPECT_TRUE(read_it(true));
  for (const auto& [file, users_only] : {std::pair(config, true), std::pair(included, false)}) {
    ASSERT_EQ(::chmod(file.c_str(), 0602), 0);
    const auto got = read_it(true);
    ASSERT_FALSE(got) << file;
    EXPECT_THAT(to_text(got.error()), HasSubstr(file + ": bad owner or permissions"));
    EXPECT_EQ(!read_it(false), !users_only);
    ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
    EXPECT_TRUE(read_it(true));
  }
}

/// Debian's ssh accepts a file writable by its owner's own group; other versions refuse such files.
TEST_F(Configs, LeaveGroupWritableFilesToSsh) {
  const auto config = write("config", "User a\nInclude " + path("included") + "\n");
  for (const std::string& file : {config, write("included", "Port 7\n")}) {
    ASSERT_EQ(::chmod(file.c_str(), 0620), 0);
    const auto got = Config::read({{config, true}}, here())->resolve("x", {}, here());
    ASSERT_TRUE(got);
    EXPECT_THAT(got->unread.what, ElementsAre(file + ": writable by its group"));
    ASSERT_TRUE(got->unread.refusal);
    EXPECT_THAT(to_text(*got->unread.refusal), HasSubstr(file + ": bad owner or permissions"));
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  }
}

TEST_F(Configs, RefuseFilesOfOtherUsers) {
  if (::getuid() != 0) GTEST_SKIP() << "giving a file away needs root";
  const auto config = write("config", "User a\n");
  ASSERT_EQ(::chown(config.c_str(), 12345, 0), 0);
  EXPECT_FALSE(Config::read({{config, true}}, here()));
  auto theirs = here();
  theirs.user_id = 12345;
  EXPECT_TRUE(Config::read({{config, true}}, theirs));
  ASSERT_EQ(::chown(config.c_str(), 0, 0), 0);
  EXPECT_TRUE(Config::read({{config, true}}, theirs)) << "root's own";
}

TEST_F(Configs, AllowOnlyAlgorithmsOfSsh) {
  for (const std::string text :
       {"Ciphers aes256-ctr,aes128-ctr", "Ciphers -*cbc,*gcm*", "MACs hmac-sha2-512", "MACs -hmac-sha2-256*",
        "KexAlgorithms ^ecdh-sha2-nistp384", "KexAlgorithms -*nistp*,curve*", "HostKeyAlgorithms rsa-sha2-*",
        "PubkeyAcceptedAlgorithms -*ed25519*", "Ciphers +aes256-cbc", "MACs +hmac-sha1",
        "HostKeyAlgorithms ^rsa-sha2-512"}) {
    const auto got = resolve(text + "\n", "node1");
    ASSERT_TRUE(got) << text << to_text(got.error());
    auto want = reference(text + "\n", "node1");
    const auto& a = got->algorithms;
    int checked = 0;
    for (const auto& [list, keyword] :
         {std::pair(a.ciphers, "ciphers"), std::pair(a.macs, "macs"), std::pair(a.key_exchange, "kexalgorithms"),
          std::pair(a.host_keys, "hostkeyalgorithms"), std::pair(a.public_keys, "pubkeyacceptedalgorithms")}) {
      if (list.empty()) continue;
      const auto allowed = split(want[keyword], ',');
      for (const std::string& name : split(list, ',')) EXPECT_THAT(allowed, testing::Contains(name)) << text;
      ++checked;
    }
    EXPECT_EQ(checked, 1) << text;
  }
  EXPECT_EQ(resolve("Ciphers aes256-ctr,aes128-ctr\n", "a")->algorithms.ciphers, "aes256-ctr,aes128-ctr");
  EXPECT_TRUE(resolve("KexAlgorithms ^ecdh-sha2-nistp384\n", "a")
                  ->algorithms.key_exchange.starts_with("ecdh-sha2-nistp384,curve"));
  const auto none = resolve("KexAlgorithms sntrup761x25519-sha512@openssh.com\n", "a");
  ASSERT_FALSE(none);
  EXPECT_THAT(to_text(none.error()), testing::AllOf(HasSubstr("config:1: kexalgorithms"), HasSubstr("--exec 'ssh")));
}

/// The configuration of Red Hat, in an included file under Match final.
TEST_F(Configs, FollowCryptoPolicyOfSystem) {
  const auto policy = write("policy",
                            "Ciphers aes256-gcm@openssh.com,aes256-ctr\nRequiredRSASize 3072\n"
                            "CASignatureAlgorithms rsa-sha2-512\nRekeyLimit 512M none\n");
  const auto system = write("system", "Match final all\n Include " + policy + "\n");
  const auto users = write("users", "Host strict\n Ciphers aes128-ctr\n");
  const auto config = Config::read({{users, true}, {system, false}}, here());
  ASSERT_TRUE(config) << to_text(config.error());
  const auto got = config->resolve("node1", {}, here());
  ASSERT_TRUE(got) << to_text(got.error());
  EXPECT_EQ(got->algorithms.ciphers, "aes256-gcm@openssh.com,aes256-ctr");
  EXPECT_EQ(got->algorithms.least_rsa_bits, 3072);
  EXPECT_EQ(got->algorithms.rekey_bytes, 512u << 20);
  EXPECT_THAT(got->notes, IsEmpty());
  EXPECT_THAT(got->unread.what, IsEmpty());
  EXPECT_EQ(config->resolve("strict", {}, here())->algorithms.ciphers, "aes128-ctr");
}

TEST_F(Configs, RefuseLinesThatSshRefuses) {
  for (const std::string text : {"Port 0", "Port x", "User \"open", "StrictHostKeyChecking maybe", "AddressFamily ipv9",
                                 "Match nonsense", "Match host", "IdentitiesOnly perhaps", "User", "ConnectTimeout 5x",
                                 "ConnectTimeout m", "ConnectTimeout 1m-3", "RequiredRSASize x", "RekeyLimit 5X"}) {
    const auto got = resolve("\n" + text + "\n", "x");
    ASSERT_FALSE(got) << text;
    EXPECT_THAT(to_text(got.error()), HasSubstr("config:2")) << text;
    EXPECT_FALSE(shell("ssh -G -F " + path("config") + " x >/dev/null 2>&1").ok) << text;
  }
}

}  // namespace
}  // namespace dlaunch::transport::ssh
