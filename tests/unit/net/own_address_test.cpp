#include "net/this_machine.h"

#include <gmock/gmock.h>

#include <map>

namespace dlaunch::net {
namespace {

using testing::HasSubstr;

struct Network {
  std::map<std::string, std::vector<std::string>> names;
  std::map<std::string, std::string> sources;

  std::string address(const std::string& own, const std::vector<std::string>& others) const {
    const auto found = address_for_others(
        own, others,
        [&](const std::string& name) {
          const auto at = names.find(name);
          return at == names.end() ? std::vector<std::string>{} : at->second;
        },
        [&](const std::string& address) {
          const auto at = sources.find(address);
          return at == sources.end() ? std::optional<std::string>() : at->second;
        });
    return found ? *found : to_text(found.error());
  }
};

const Network kNetwork = {.names = {{"head", {"10.0.0.1"}},
                                    {"debian", {"127.0.1.1"}},
                                    {"localhost", {"127.0.0.1", "::1"}},
                                    {"node2", {"10.0.0.2"}},
                                    {"mirror", {"127.0.0.1"}}},
                          .sources = {{"10.0.0.2", "10.0.0.9"}, {"127.0.0.1", "127.0.0.1"}}};

TEST(OwnAddress, UsesTheNameInTheListIfOthersCanUseIt) { EXPECT_EQ(kNetwork.address("head", {"node2"}), "head"); }

TEST(OwnAddress, UsesTheSourceAddressOfTheRoute) {
  for (const char* own : {"debian", "localhost", "unknown"}) {
    EXPECT_EQ(kNetwork.address(own, {"alias-of-ssh", "mirror", "node2"}), "10.0.0.9") << own;
  }
}

TEST(OwnAddress, RejectsAmbiguousAddresses) {
  EXPECT_THAT(kNetwork.address("debian", {"alias-of-ssh"}), HasSubstr("write this machine in -H"));
}

TEST(OwnAddress, AsksTheKernel) {
  EXPECT_EQ(source_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(source_towards("no address"), std::nullopt);
}

}  // namespace
}  // namespace dlaunch::net
