// The ssh configuration, against `ssh -G` where it says what we need to know.
#include "transport/ssh/config.h"

#include <glob.h>
#include <gmock/gmock.h>
#include <pwd.h>
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
  Surroundings here() const {
    Surroundings here;
    const passwd* user = ::getpwuid(::getuid());
    here.home = user->pw_dir;
    here.user = user->pw_name;
    here.user_id = std::to_string(::getuid());
    here.host_name = "here.example.org";
    here.read_file = read;
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

  Result<HostConfig> resolve(const std::string& text, const std::string& host, const ssh::Said& said = {}) const {
    auto config = Config::read({write("config", text)}, here());
    if (!config) return fail(config.error());
    return config->resolve(host, said, here());
  }

  /// What `ssh -G` prints of the keywords that we heed, a value each.
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

/// ssh -G prints identity files as written; those that nobody named are ours to choose.
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

std::string family(Family family) { return family == Family::any ? "any" : family == Family::ipv4 ? "inet" : "inet6"; }

/// As `ssh -G` tells it. A host key that is to be asked about is, without anybody to ask, strict.
HostKey host_key(const std::string& value) {
  if (value == "accept-new") return HostKey::accept_new;
  return value == "false" || value == "off" || value == "no" ? HostKey::off : HostKey::strict;
}

const std::vector<std::string> kHosts = {"node1", "node_2", "gate.example.org", "GATE", "10.0.0.7", "fd00::5", "x"};

const std::vector<std::string> kTexts = {
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

TEST_F(Configs, MeanWhatTheyMeanToSsh) {
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
      EXPECT_EQ(got->host_key.value_or(HostKey::strict), host_key(want["stricthostkeychecking"]));
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

TEST_F(Configs, ThatIncludeThemselvesAreRefused) {
  const auto got = resolve("Include " + path("config") + "\n", "x");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().why, HasSubstr("deep"));
}

TEST_F(Configs, ComeAfterTheHostList) {
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
  const Surroundings around = here();
  EXPECT_THAT(got->identity_files,
              ElementsAre(around.home + "/.ssh/x.org-ann-x-7-%", "/keys/" + around.user, around.home + "/k"));
  EXPECT_EQ(got->proxy_command, "nc x.org 7 ann here");
  EXPECT_THAT(got->user_known_hosts, ElementsAre(around.home + "/.ssh/known_x"));
}

TEST_F(Configs, JumpOverHostsNamedByTokens) {
  EXPECT_EQ(resolve("User ann\nProxyJump %r@gate-%h:2%%2,%n\n", "node1")->proxy_jump, "ann@gate-node1:2%2,node1");
}

TEST_F(Configs, ATimeoutOfZeroIsNone) { EXPECT_FALSE(resolve("ConnectTimeout 0\n", "node1")->connect_timeout); }

TEST_F(Configs, SayWhatTheyDoNotHeed) {
  const std::pair<std::string, std::string> kRows[] = {
      {"CertificateFile ~/.ssh/cert", "config:1: certificatefile is not supported"},
      {"Match exec true\nUser a", "config:1: match exec is not supported"},
      {"Host node*\nCiphers aes256-ctr", "config:2: ciphers is not supported"},
      {"PreferredAuthentications gssapi-with-mic", "preferredauthentications"},
      {"RevokedHostKeys /etc/ssh/revoked", "revokedhostkeys"},
      {"IdentityFile /k/%C", "%C"},
  };
  for (const auto& [text, note] : kRows) {
    const auto got = resolve(text, "node1");
    ASSERT_TRUE(got) << text;
    EXPECT_THAT(got->notes, ElementsAre(HasSubstr(note))) << text;
  }
  EXPECT_THAT(resolve("Host other\nCiphers aes256-ctr", "node1")->notes, IsEmpty());
}

TEST_F(Configs, ThatSshRefusesAreRefused) {
  for (const std::string text : {"Port 0", "Port x", "User \"open", "StrictHostKeyChecking maybe", "AddressFamily ipv9",
                                 "Match nonsense", "Match host", "IdentitiesOnly perhaps", "User", "ConnectTimeout 5x",
                                 "ConnectTimeout m", "ConnectTimeout 1m-3"}) {
    const auto got = resolve("\n" + text + "\n", "x");
    ASSERT_FALSE(got) << text;
    EXPECT_THAT(to_text(got.error()), HasSubstr("config:2")) << text;
    EXPECT_FALSE(shell("ssh -G -F " + path("config") + " x >/dev/null 2>&1").ok) << text;
  }
}

}  // namespace
}  // namespace dlaunch::transport::ssh
