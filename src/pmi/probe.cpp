#include "pmi/probe.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace dlaunch::pmi {
namespace {

using std::string_view;

constexpr std::array<string_view, 8> kRuntime = {"libc.so.6",     "libm.so.6",           "libpthread.so.0",
                                                 "libdl.so.2",    "librt.so.1",          "libstdc++.so.6",
                                                 "libgcc_s.so.1", "ld-linux-x86-64.so.2"};
constexpr std::array<string_view, 9> kMpich = {"libmpich.so",  "libmpichcxx.so",  "libmpichfort.so",
                                               "libmpi.so.12", "libmpicxx.so.12", "libmpifort.so.12",
                                               "libpmi.so",    "libpmi2.so",      "libpmi_simple.so"};
// Not Open MPI's inner libraries: its mpirun has them alone, and refuses to run where it takes itself for a rank.
constexpr std::array<string_view, 2> kPmix = {"liboshmem.so", "libpmix.so.2"};
// Of "libmpi.so.40", and one for each language, which may name its compiler: "libmpi_mpifh-gfortran.so.40".
constexpr string_view kOpenMpiBegins = "libmpi";
constexpr string_view kOpenMpiEnds = ".so.40";
constexpr std::array<string_view, 16> kStarters = {
    "execve", "execv",   "execvp", "execvpe",     "execl",        "execlp", "execle",  "execveat",
    "system", "fexecve", "popen",  "posix_spawn", "posix_spawnp", "dlopen", "dlmopen", "syscall"};

// elf(5), of 64 bits and little-endian
constexpr string_view kMagic{
    "\x7f"
    "ELF\2\1",
    6};
constexpr size_t kHeader = 64;
constexpr size_t kProgramHeader = 56;
constexpr std::uint64_t kLoad = 1;
constexpr std::uint64_t kDynamic = 2;
constexpr std::uint64_t kNeeded = 1;
constexpr std::uint64_t kStringTable = 5;
constexpr std::uint64_t kStringSize = 10;
constexpr size_t kMostEntries = 4096;

std::uint64_t number(string_view bytes, size_t at, size_t size) {
  std::uint64_t value = 0;
  if (bytes.size() < size || at > bytes.size() - size) return 0;
  for (size_t i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

string_view part(string_view file, std::uint64_t at, std::uint64_t size) {
  return at > file.size() || size > file.size() - at ? string_view() : file.substr(at, size);
}

struct Segments {
  string_view file;
  string_view headers;

  string_view header(size_t i) const { return part(headers, i * kProgramHeader, kProgramHeader); }
  size_t count() const { return headers.size() / kProgramHeader; }
  string_view dynamic() const {
    for (size_t i = 0; i < count(); ++i) {
      if (number(header(i), 0, 4) == kDynamic) return part(file, number(header(i), 8, 8), number(header(i), 32, 8));
    }
    return {};
  }
  /// What lies at an address of the running program.
  string_view at(std::uint64_t address, std::uint64_t size) const {
    for (size_t i = 0; i < count(); ++i) {
      const std::uint64_t start = number(header(i), 16, 8);
      if (number(header(i), 0, 4) != kLoad || address < start || address - start >= number(header(i), 32, 8)) continue;
      return part(file, number(header(i), 8, 8) + (address - start), size);
    }
    return {};
  }
};

Segments segments(string_view file) {
  const std::uint64_t count = number(file, 56, 2);
  return {file, part(file, number(file, 32, 8), count * kProgramHeader)};
}

/// One that ends as a starter's name does counts: names share their ends in the table.
bool has_starter(string_view names) {
  while (!names.empty()) {
    const string_view name = names.substr(0, names.find('\0'));
    if (std::ranges::any_of(kStarters, [&](string_view starter) { return name.ends_with(starter); })) return true;
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return false;
}

/// A name stands for itself and for all that continues it with a dot: a version.
bool is_one_of(string_view name, std::span<const string_view> names) {
  return std::ranges::any_of(names, [&](string_view one) {
    return name.starts_with(one) && (name.size() == one.size() || name[one.size()] == '.');
  });
}

bool is_open_mpi(string_view name) {
  if (!name.starts_with(kOpenMpiBegins)) return false;
  const size_t ends = name.find(kOpenMpiEnds);
  return ends != string_view::npos && is_one_of(name.substr(ends), std::array{kOpenMpiEnds});
}

}  // namespace

Family family_of(string_view file) {
  if (file.size() >= kProbed || file.size() < kHeader || !file.starts_with(kMagic)) return Family::unknown;
  const Segments parts = segments(file);
  const string_view dynamic = parts.dynamic();
  std::array<std::uint64_t, 64> needed{};
  size_t libraries = 0;
  std::uint64_t table = 0;
  std::uint64_t size = 0;
  for (size_t i = 0; i < std::min(dynamic.size() / 16, kMostEntries); ++i) {
    const std::uint64_t tag = number(dynamic, i * 16, 8);
    const std::uint64_t value = number(dynamic, i * 16 + 8, 8);
    if (tag == kStringTable) table = value;
    if (tag == kStringSize) size = value;
    if (tag != kNeeded) continue;
    if (libraries == needed.size()) return Family::unknown;
    needed[libraries++] = value;
  }
  const string_view names = parts.at(table, size);
  if (libraries == 0 || names.empty()) return Family::unknown;  // a static one, or one that we do not understand
  bool runtime = true;
  bool mpich = false;
  bool pmix = false;
  for (size_t i = 0; i < libraries; ++i) {
    if (needed[i] >= names.size()) return Family::unknown;
    const string_view name = names.substr(needed[i], names.substr(needed[i]).find('\0'));
    runtime = runtime && std::ranges::find(kRuntime, name) != kRuntime.end();
    mpich = mpich || is_one_of(name, kMpich);
    pmix = pmix || is_one_of(name, kPmix) || is_open_mpi(name);
  }
  if (mpich != pmix) return mpich ? Family::mpich : Family::pmix;
  return runtime && !has_starter(names) ? Family::none : Family::unknown;
}

}  // namespace dlaunch::pmi
