#include "transport/reason_lines.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

TEST(CommandWords, RecognizeLoginClosedBySshd) {
  EXPECT_TRUE(is_dropped_login("Connection closed by 10.0.0.3 port 22"));
  EXPECT_TRUE(is_dropped_login("kex_exchange_identification: read: Connection reset by peer"));
  EXPECT_TRUE(is_dropped_login("ssh_exchange_identification: Connection closed by remote host"));
  EXPECT_FALSE(is_dropped_login("kex_exchange_identification: banner line 0: HTTP/1.1 400 Bad Request"));
  EXPECT_FALSE(is_dropped_login("Permission denied (publickey)."));
}

}  // namespace
}  // namespace dlaunch::transport
