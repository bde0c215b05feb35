#include "pmi/probe.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace dlaunch::pmi {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Probe, WhatStartsAndLoadsNothingCannotUseMpi) {
  for (const char* path : {"/usr/bin/true", "/usr/bin/echo", "/usr/bin/printenv"}) {
    ASSERT_NE(file(path), "") << path;
    EXPECT_FALSE(may_use_mpi(file(path))) << path;
  }
}

TEST(Probe, WhatStartsProgramsMay) {
  for (const char* path : {"/bin/sh", "/usr/bin/env", "/usr/bin/nice", "/usr/bin/timeout"}) {
    ASSERT_NE(file(path), "") << path;
    EXPECT_TRUE(may_use_mpi(file(path))) << path;
  }
}

TEST(Probe, WhatIsNotUnderstoodMay) {
  EXPECT_TRUE(may_use_mpi(""));
  EXPECT_TRUE(may_use_mpi("#!/bin/sh\n./a.out\n"));
  EXPECT_TRUE(may_use_mpi(std::string(kProbed, '\0')));
  const std::string whole = file("/usr/bin/true");
  for (const size_t size : {5u, 63u, 64u, 100u, 1000u}) EXPECT_TRUE(may_use_mpi(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace dlaunch::pmi
