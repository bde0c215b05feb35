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
    EXPECT_EQ(family_of(file(path)), Family::none) << path;
  }
}

TEST(Probe, WhatStartsProgramsMay) {
  for (const char* path : {"/bin/sh", "/usr/bin/env", "/usr/bin/nice", "/usr/bin/timeout"}) {
    ASSERT_NE(file(path), "") << path;
    EXPECT_EQ(family_of(file(path)), Family::unknown) << path;
  }
}

TEST(Probe, WhatIsNotUnderstoodMay) {
  EXPECT_EQ(family_of(""), Family::unknown);
  EXPECT_EQ(family_of("#!/bin/sh\n./a.out\n"), Family::unknown);
  EXPECT_EQ(family_of(std::string(kProbed, '\0')), Family::unknown);
  const std::string whole = file("/usr/bin/true");
  for (const size_t size : {5u, 63u, 64u, 100u, 1000u}) EXPECT_EQ(family_of(whole.substr(0, size)), Family::unknown) << size;
}

}  // namespace
}  // namespace dlaunch::pmi
