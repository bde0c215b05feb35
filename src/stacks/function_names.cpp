#include "stacks/function_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kMostSections = 4096;
constexpr std::uint64_t kMostSymbols = 4u << 20;
constexpr std::size_t kSymbolsAtOnce = 4096;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kMostAliases = 64;     // limit of names of one address
constexpr std::size_t kOfAFile = 96u << 10;  // charged for an open file, so that at most 256 are open

bool read_at(const sys::Fd& file, std::uint64_t offset, std::span<char> into) {
  return offset <= INT64_MAX &&
         std::cmp_equal(::pread(file.get(), into.data(), into.size(), static_cast<off_t>(offset)), into.size());
}

template <class T>
std::optional<T> value_of(const sys::Fd& file, std::uint64_t offset) {
  T value{};
  if (!read_at(file, offset, {reinterpret_cast<char*>(&value), sizeof value})) return std::nullopt;
  return value;
}

struct Tables {
  Elf64_Shdr symbols;
  Elf64_Shdr names;
};

std::optional<Elf64_Ehdr> known_header(const sys::Fd& file) {
  const auto header = value_of<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > kMostSections) return std::nullopt;
  return header;
}

std::optional<Elf64_Shdr> section_at(const sys::Fd& file, const Elf64_Ehdr& header, std::uint64_t index) {
  return value_of<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
}

std::optional<Tables> find_tables(const sys::Fd& file) {
  const auto header = known_header(file);
  if (!header) return std::nullopt;
  const auto section = [&](std::uint64_t index) { return section_at(file, *header, index); };
  std::optional<Elf64_Shdr> symbols;
  for (std::uint32_t i = 0; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one) return std::nullopt;
    if (one->sh_type == SHT_SYMTAB || (one->sh_type == SHT_DYNSYM && !symbols)) symbols = one;
  }
  if (!symbols || symbols->sh_entsize != sizeof(Elf64_Sym) || symbols->sh_link >= header->e_shnum) return std::nullopt;
  const auto names = section(symbols->sh_link);
  if (!names) return std::nullopt;
  return Tables{*symbols, *names};
}

bool is_function(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
}

/// Device and inode as in /proc/PID/maps.
std::string device_of(const struct stat& facts) {
  char text[32];
  std::snprintf(text, sizeof text, "%02x:%02x ", major(facts.st_dev), minor(facts.st_dev));
  return text;
}

/// On some file systems (overlay, btrfs), maps shows another device and inode than stat. These have devices without a
/// driver.
bool is_mapped_file(const struct stat& facts, const Mapping& mapping) {
  if (!S_ISREG(facts.st_mode)) return false;
  const std::string device = device_of(facts);
  if (!mapping.file.starts_with(device)) return major(facts.st_dev) == 0;
  return mapping.file == device + std::to_string(facts.st_ino);
}

/// The program may have been removed or replaced: /proc still has it. The process chooses the path, and an open of a
/// device or FIFO has effects, so the file is opened after its kind is known.
sys::Fd open_file(pid_t pid, const Mapping& mapping) {
  const std::string proc = "/proc/" + std::to_string(pid);
  char link[4096];
  const ssize_t size = ::readlink((proc + "/exe").c_str(), link, sizeof link);
  const bool program = size > 0 && mapping.path == std::string_view(link, static_cast<std::size_t>(size));
  const std::string path = program ? proc + "/exe" : proc + "/root" + mapping.path;
  const sys::Fd found(::open(path.c_str(), O_PATH | O_CLOEXEC | (program ? 0 : O_NOFOLLOW)));
  struct stat facts{};
  if (!found || ::fstat(found.get(), &facts) != 0) return {};
  if (program ? !S_ISREG(facts.st_mode) : !is_mapped_file(facts, mapping)) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  return sys::Fd(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

}  // namespace

FunctionNames::FunctionNames(sys::Fd file, Budget& memory, Budget& time) : file_(std::move(file)) {
  const auto tables = find_tables(file_);
  if (!tables) return;
  names_ = tables->names.sh_offset;
  const std::uint64_t count = std::min(tables->symbols.sh_size / sizeof(Elf64_Sym), kMostSymbols);
  functions_.reserve(count);  // untouched pages use no memory
  if (!read_functions(tables->symbols.sh_offset, count, memory, time)) functions_ = {};
  std::ranges::sort(functions_, {}, &Function::address);
}

bool FunctionNames::read_functions(std::uint64_t offset, std::uint64_t count, Budget& memory, Budget& time) {
  std::vector<Elf64_Sym> some(kSymbolsAtOnce);
  for (std::uint64_t i = 0; i < count; i += some.size()) {
    some.resize(std::min<std::uint64_t>(some.size(), count - i));
    const std::span<char> bytes{reinterpret_cast<char*>(some.data()), some.size() * sizeof(Elf64_Sym)};
    if (!time.spend(bytes.size())) return false;
    if (!read_at(file_, offset + i * sizeof(Elf64_Sym), bytes)) break;
    const auto functions = static_cast<std::size_t>(std::ranges::count_if(some, is_function));
    if (!memory.keep(functions * sizeof(Function))) return false;
    for (const Elf64_Sym& symbol : some) {
      if (!is_function(symbol)) continue;
      const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX));
      functions_.push_back({symbol.st_value, size, symbol.st_name});
    }
  }
  return true;
}

std::string FunctionNames::name_at(std::uint64_t offset) const {
  char name[kLongestName];
  const ssize_t size = ::pread(file_.get(), name, sizeof name, static_cast<off_t>(names_ + offset));
  return size <= 0 ? "" : std::string(name, ::strnlen(name, static_cast<std::size_t>(size)));
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> FunctionNames::section(std::string_view name) const {
  const auto header = known_header(file_);
  if (!header) return std::nullopt;
  const auto names = section_at(file_, *header, header->e_shstrndx);
  for (std::uint32_t i = 0; names && i < header->e_shnum; ++i) {
    const auto one = section_at(file_, *header, i);
    std::string found(name.size() + 1, '\xff');
    if (!one || !read_at(file_, names->sh_offset + one->sh_name, found)) continue;
    if ((one->sh_flags & SHF_ALLOC) != 0 && found == std::string(name) + '\0')
      return std::pair(one->sh_addr, one->sh_size);
  }
  return std::nullopt;
}

/// The shortest of several names of one address is used: MPI_Recv instead of PMPI_Recv.
std::string FunctionNames::at(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(functions_, address, {}, &Function::address);
  if (behind == functions_.begin()) return {};
  const std::uint64_t start = std::prev(behind)->address;
  std::string best;
  auto one = std::ranges::lower_bound(functions_, start, {}, &Function::address);
  for (std::size_t i = 0; i < kMostAliases && one != behind; ++i, ++one) {
    if (address - start >= std::max<std::uint32_t>(one->size, 1)) continue;
    const std::string name = name_at(one->name);
    const bool better = std::pair(name.size(), std::string_view(name)) < std::pair(best.size(), std::string_view(best));
    if (best.empty() || better) best = name;
  }
  return best;
}

const FunctionNames* ModuleNames::of(pid_t pid, const Mapping& mapping, const std::string& beginning, Budget& time) {
  const auto key = std::pair(mapping.path, beginning);
  if (const auto known = known_.find(key); known != known_.end()) return known->second ? &*known->second : nullptr;
  if (!memory_.keep(kOfAFile + mapping.path.size() + beginning.size())) return nullptr;
  sys::Fd file = open_file(pid, mapping);
  std::string of_file(kBeginning, '\0');
  const bool same = file && read_at(file, 0, of_file) && of_file == beginning;
  std::optional<FunctionNames> names;
  if (same) names.emplace(std::move(file), memory_, time);
  if (time.used_up()) return nullptr;  // the table may be incomplete
  const auto known = known_.emplace(key, std::move(names)).first;
  return known->second ? &*known->second : nullptr;
}

}  // namespace dlaunch::stacks
