#include "transport/ssh/routes.h"

#include <gtest/gtest.h>

namespace dlaunch::transport::ssh {
namespace {

using Retry = Disconnect::Retry;

HostConfig through(const std::string& hops) {
  HostConfig config;
  config.host_name = "node1";
  config.proxy_jump = hops;
  return config;
}

TEST(JumpCommand, NeverPromptsAndChecksKeysAsRequested) {
  EXPECT_EQ(jump_command(through("gate"), plan::HostKey::strict),
            "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -W '[node1]:22' -- ssh://gate");
  EXPECT_NE(jump_command(through("gate"), plan::HostKey::accept_new).find("=accept-new "), std::string::npos);
  EXPECT_NE(jump_command(through("gate"), plan::HostKey::off).find("=no "), std::string::npos);
}

TEST(JumpCommand, AcceptsUsersPortsAndSeveralHops) {
  HostConfig config = through("ann@gate:2222,bob@inner");
  config.port = 2022;
  config.connect_timeout = 3;
  EXPECT_EQ(
      jump_command(config, plan::HostKey::strict),
      "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=3 -J ann@gate:2222 -W '[node1]:2022' -- "
      "ssh://bob@inner");
}

TEST(JumpCommand, QuotesArguments) {
  EXPECT_NE(jump_command(through("-oProxyCommand=x; y"), plan::HostKey::strict).find("-- 'ssh://-oProxyCommand=x; y'"),
            std::string::npos);
}

TEST(BlameCommand, ReportsLastStderrLines) {
  const Disconnect closed{"ssh handshake failed on port 22", "closed", "", Retry::soon};
  EXPECT_EQ(blame_command(closed, " \n").why, "closed");
  const Disconnect refused = blame_command(closed, "a\nb\nssh: connect to host gate port 22: Connection refused\r\n");
  EXPECT_EQ(refused.why, "b; ssh: connect to host gate port 22: Connection refused");
  EXPECT_EQ(refused.retry, Retry::when_up);
  EXPECT_EQ(blame_command(closed, "gate: Permission denied (publickey).").retry, Retry::never);
  EXPECT_EQ(blame_command(closed, "Host key verification failed.").retry, Retry::never);
  EXPECT_EQ(blame_command(closed, "kex_exchange_identification: Connection closed by remote host").retry, Retry::soon);
}

}  // namespace
}  // namespace dlaunch::transport::ssh
