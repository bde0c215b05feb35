#include "transport/remote_command.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

plan::Host host(const std::string& name) {
  plan::Host host;
  host.name = name;
  return host;
}

TEST(ExecCommand, PutsTheHostInEveryPlace) {
  EXPECT_EQ(exec_command("kubectl exec -i {host} -- ", host("pod-1")), "kubectl exec -i pod-1 -- ");
  EXPECT_EQ(exec_command("a {host} b {host}", host("x y")), "a 'x y' b 'x y'");
  EXPECT_EQ(exec_command("nsenter", host("x")), "nsenter");
}

}  // namespace
}  // namespace dlaunch::transport
