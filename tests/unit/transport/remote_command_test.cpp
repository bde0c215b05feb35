#include "transport/remote_command.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

plan::Host host(const std::string& name) {
  plan::Host host;
  host.name = name;
  return host;
}

TEST(SshCommand, NeverPromptsAndJudgesKeysAsAsked) {
  EXPECT_EQ(ssh_command(host("node1"), HostKey::strict),
            "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=yes -- node1");
  EXPECT_NE(ssh_command(host("node1"), HostKey::accept_new).find("=accept-new "), std::string::npos);
  EXPECT_NE(ssh_command(host("node1"), HostKey::off).find("=no "), std::string::npos);
}

TEST(SshCommand, TakesWhatTheHostfileSays) {
  plan::Host node = host("node_1");
  node.reach = {"ann", 2222, "~/keys/id with blank", "bob@gate:22", ""};
  EXPECT_EQ(ssh_command(node, HostKey::strict),
            "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=yes -p 2222 -l ann "
            "-o 'IdentityFile=~/keys/id with blank' -J bob@gate:22 -- node_1");
}

TEST(ExecCommand, PutsTheHostInEveryPlace) {
  EXPECT_EQ(exec_command("kubectl exec -i {host} -- ", host("pod-1")), "kubectl exec -i pod-1 -- ");
  EXPECT_EQ(exec_command("a {host} b {host}", host("x y")), "a 'x y' b 'x y'");
  EXPECT_EQ(exec_command("nsenter", host("x")), "nsenter");
}

}  // namespace
}  // namespace dlaunch::transport
