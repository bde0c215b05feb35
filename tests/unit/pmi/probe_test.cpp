#include "pmi/probe.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <tuple>
#include <vector>

namespace dlaunch::pmi {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Probe, ExcludesMpiForProgramsThatStartAndLoadNothing) {
  for (const char* path : {"/usr/bin/true", "/usr/bin/echo", "/usr/bin/printenv"}) {
    ASSERT_NE(file(path), "") << path;
    EXPECT_EQ(family_of(file(path)), Family::none) << path;
  }
}

TEST(Probe, AllowsMpiForProgramsThatStartPrograms) {
  for (const char* path : {"/bin/sh", "/usr/bin/env", "/usr/bin/nice", "/usr/bin/timeout"}) {
    ASSERT_NE(file(path), "") << path;
    EXPECT_EQ(family_of(file(path)), Family::unknown) << path;
  }
}

/// The smallest file with a dynamic section that lists these libraries.
std::string linked_with(const std::vector<std::string>& libraries) {
  const auto put = [](std::string& into, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) into += static_cast<char>(value >> (8 * i) & 0xff);
  };
  std::string names(1, '\0');
  std::string dynamic;
  for (const std::string& library : libraries) {
    put(dynamic, 1, 8);
    put(dynamic, names.size(), 8);
    names += library + '\0';
  }
  const size_t at = 64 + 2 * 56;
  const size_t size = at + dynamic.size() + 32 + names.size();
  put(dynamic, 5, 8);
  put(dynamic, at + dynamic.size() - 8 + 32, 8);
  put(dynamic, 10, 8);
  put(dynamic, names.size(), 8);
  std::string elf(
      "\x7f"
      "ELF\2\1",
      6);
  elf.resize(32);
  put(elf, 64, 8);
  elf.resize(56);
  put(elf, 2, 2);
  elf.resize(64);
  for (const auto& [type, start, length] :
       {std::tuple<std::uint64_t, size_t, size_t>{1, 0, size}, {2, at, dynamic.size()}}) {
    put(elf, type, 8);
    put(elf, start, 8);
    put(elf, start, 8);
    put(elf, start, 8);
    put(elf, length, 8);
    put(elf, length, 8);
    put(elf, 0, 8);
  }
  return elf + dynamic + names;
}

TEST(Probe, RecognizesTheMpiByItsLibrary) {
  for (const char* name : {"libmpich.so.12", "libmpi.so.12", "libmpicxx.so.12", "libpmi.so.0", "libpmi2.so"}) {
    EXPECT_EQ(family_of(linked_with({"libm.so.6", name, "libc.so.6"})), Family::mpich) << name;
  }
  for (const char* name :
       {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08-gfortran.so.40", "liboshmem.so.40", "libpmix.so.2"}) {
    EXPECT_EQ(family_of(linked_with({name, "libc.so.6"})), Family::pmix) << name;
  }
  EXPECT_EQ(family_of(linked_with({"libmpi.so.40", "libpmi2.so.0"})), Family::unknown);
  EXPECT_EQ(family_of(linked_with({"libmpi.so.400", "libc.so.6"})), Family::unknown);
  EXPECT_EQ(family_of(linked_with({"libopen-rte.so.40", "libopen-pal.so.40", "libc.so.6"})), Family::unknown);
  EXPECT_EQ(family_of(linked_with({"libpython3.11.so.1.0"})), Family::unknown);
  for (const char* loader : {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}) {
    EXPECT_EQ(family_of(linked_with({"libc.so.6", loader})), Family::none) << loader;
  }
}

TEST(Probe, AllowsMpiForUnknownFiles) {
  EXPECT_EQ(family_of(""), Family::unknown);
  EXPECT_EQ(family_of("#!/bin/sh\n./a.out\n"), Family::unknown);
  EXPECT_EQ(family_of(std::string(kProbed, '\0')), Family::unknown);
  const std::string whole = file("/usr/bin/true");
  for (const size_t size : {5u, 63u, 64u, 100u, 1000u})
    EXPECT_EQ(family_of(whole.substr(0, size)), Family::unknown) << size;
}

}  // namespace
}  // namespace dlaunch::pmi
