// libpmix, initialized as a server, because most of its functions require the initialization. It starts once in a
// process, because libpmix cannot be initialized again after its end. It serves no client.
#pragma once

#include <gtest/gtest.h>
#include <pmix_server.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "pmix/bridge/registry.h"

namespace dlaunch::pmix {

class LibPmix : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(server().started, PMIX_SUCCESS); }
  static const std::string& directory() { return server().directory; }

 private:
  struct Server {
    Server() {
      if (!::mkdtemp(directory.data())) return;
      ::setenv("PMIX_MCA_gds", "hash", 1);  // as dlaunch-pmix does
      Infos infos;
      infos.add(PMIX_SERVER_NSPACE, "test-server");
      infos.add_rank(PMIX_SERVER_RANK, 0);
      infos.add(PMIX_SERVER_TMPDIR, directory);
      infos.add(PMIX_SYSTEM_TMPDIR, directory);
      infos.add(PMIX_HOSTNAME, "n0");
      started = PMIx_server_init(&module_and_more.calls, infos.data(), infos.size());
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() {
      if (started == PMIX_SUCCESS) PMIx_server_finalize();
      std::error_code ignored;
      std::filesystem::remove_all(directory, ignored);
    }
    /// A libpmix newer than the compiled version reads more callbacks than the module has.
    struct {
      pmix_server_module_t calls;
      void* none[32];
    } module_and_more{};
    std::string directory = testing::TempDir() + "dlaunch-bridge-XXXXXX";
    pmix_status_t started = PMIX_ERROR;
  };
  static const Server& server() {
    static Server once;
    return once;
  }
};

}  // namespace dlaunch::pmix
