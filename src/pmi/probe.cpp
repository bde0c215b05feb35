#include "pmi/probe.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace dlaunch::pmi {
namespace {

using std::string_view;

constexpr std::array<string_view, 9> kRuntime = {
    "libc.so.6",      "libm.so.6",     "libpthread.so.0",      "libdl.so.2",           "librt.so.1",
    "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
constexpr std::array<string_view, 9> kMpich = {"libmpich.so",  "libmpichcxx.so",  "libmpichfort.so",
                                               "libmpi.so.12", "libmpicxx.so.12", "libmpifort.so.12",
                                               "libpmi.so",    "libpmi2.so",      "libpmi_simple.so"};
// Without the inner libraries of Open MPI: mpirun links only the inner libraries, and refuses to run as a rank.
constexpr std::array<string_view, 2> kPmix = {"liboshmem.so", "libpmix.so.2"};
// "libmpi.so.40", and one library per language, with an optional compiler name: "libmpi_mpifh-gfortran.so.40".
constexpr string_view kOpenMpiBegins = "libmpi";
constexpr string_view kOpenMpiEnds = ".so.40";
constexpr std::array<string_view, 16> kStarters = {
    "execve", "execv",   "execvp", "execvpe",     "execl",        "execlp", "execle",  "execveat",
    "system", "fexecve", "popen",  "posix_spawn", "posix_spawnp", "dlopen", "dlmopen", "syscall"};

constexpr size_t kMostEntries = 4096;

string_view part(string_view file, std::uint64_t at, std::uint64_t size) {
  return at > file.size() || size > file.size() - at ? string_view() : file.substr(at, size);
}

/// The entry; zeros if the table is shorter.
template <class Entry>
Entry entry(string_view table, size_t i) {
  Entry entry{};
  const string_view bytes = part(table, i * sizeof entry, sizeof entry);
  if (!bytes.empty()) std::memcpy(&entry, bytes.data(), bytes.size());
  return entry;
}

struct Segments {
  string_view file;
  string_view headers;

  Elf64_Phdr header(size_t i) const { return entry<Elf64_Phdr>(headers, i); }
  size_t count() const { return headers.size() / sizeof(Elf64_Phdr); }
  string_view dynamic() const {
    for (size_t i = 0; i < count(); ++i) {
      if (header(i).p_type == PT_DYNAMIC) return part(file, header(i).p_offset, header(i).p_filesz);
    }
    return {};
  }
  /// The bytes at an address of the running program.
  string_view at(std::uint64_t address, std::uint64_t size) const {
    for (size_t i = 0; i < count(); ++i) {
      const Elf64_Phdr load = header(i);
      if (load.p_type != PT_LOAD || address < load.p_vaddr || address - load.p_vaddr >= load.p_filesz) continue;
      return part(file, load.p_offset + (address - load.p_vaddr), size);
    }
    return {};
  }
};

/// A name that ends with the name of a starter counts, because names share their ends in the table.
bool has_starter(string_view names) {
  while (!names.empty()) {
    const string_view name = names.substr(0, names.find('\0'));
    if (std::ranges::any_of(kStarters, [&](string_view starter) { return name.ends_with(starter); })) return true;
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  return false;
}

/// A name matches itself, and itself with a version after a dot.
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
  const auto header = entry<Elf64_Ehdr>(file, 0);
  const auto* ident = header.e_ident;
  const bool known =
      std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
  if (file.size() >= kProbed || !known) return Family::unknown;
  const Segments parts{file, part(file, header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr))};
  const string_view dynamic = parts.dynamic();
  std::array<std::uint64_t, 64> needed{};
  size_t libraries = 0;
  std::uint64_t table = 0;
  std::uint64_t size = 0;
  for (size_t i = 0; i < std::min(dynamic.size() / sizeof(Elf64_Dyn), kMostEntries); ++i) {
    const auto [tag, value] = entry<Elf64_Dyn>(dynamic, i);
    if (tag == DT_STRTAB) table = value.d_val;
    if (tag == DT_STRSZ) size = value.d_val;
    if (tag != DT_NEEDED) continue;
    if (libraries == needed.size()) return Family::unknown;
    needed[libraries++] = value.d_val;
  }
  const string_view names = parts.at(table, size);
  if (libraries == 0 || names.empty()) return Family::unknown;  // a static program, or unknown layout
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
