#include "transport/command.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

plan::Host host(const std::string& name) {
  plan::Host host;
  host.name = name;
  return host;
}

TEST(ExecCommand, ReplacesEachHostPlaceholder) {
  EXPECT_EQ(exec_command("kubectl exec -i {host} -- ", host("pod-1")), "kubectl exec -i pod-1 -- ");
  EXPECT_EQ(exec_command("a {host} b {host}", host("x y")), "a 'x y' b 'x y'");
  EXPECT_EQ(exec_command("nsenter", host("x")), "nsenter");
}

TEST(ShellThere, UsesTransportOfTheJob) {
  plan::Host there = host("node 1");
  EXPECT_EQ(shell_there("", there), "ssh 'node 1' sh");
  EXPECT_EQ(shell_there("docker exec -i {host}", there), "docker exec -i 'node 1' sh");
  there.reach = {.user = "me", .port = 2222, .identity = "/k", .jump = "gate", .agent = {}};
  EXPECT_EQ(shell_there("", there), "ssh -p 2222 -i /k -J gate -l me 'node 1' sh");
  there.local = true;
  EXPECT_EQ(shell_there("", there), "sh");
}

}  // namespace
}  // namespace dlaunch::transport
