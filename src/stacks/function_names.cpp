#include "stacks/function_names.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kMostSections = 4096;
constexpr std::uint64_t kMostSymbols = 4u << 20;
constexpr std::size_t kSymbolsAtOnce = 4096;
constexpr std::size_t kLongestName = 1024;

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

/// The program may have been removed or replaced: /proc still has it.
sys::Fd open_file(pid_t pid, const std::string& path) {
  const std::string proc = "/proc/" + std::to_string(pid);
  char link[4096];
  const ssize_t size = ::readlink((proc + "/exe").c_str(), link, sizeof link);
  const bool program = size > 0 && path == std::string_view(link, static_cast<std::size_t>(size));
  return sys::Fd(::open((program ? proc + "/exe" : proc + "/root" + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace

FunctionNames::FunctionNames(sys::Fd file) : file_(std::move(file)) {
  const auto tables = find_tables(file_);
  if (!tables) return;
  names_ = tables->names.sh_offset;
  const std::uint64_t count = std::min(tables->symbols.sh_size / sizeof(Elf64_Sym), kMostSymbols);
  std::vector<Elf64_Sym> some(kSymbolsAtOnce);
  for (std::uint64_t i = 0; i < count; i += some.size()) {
    some.resize(std::min<std::uint64_t>(some.size(), count - i));
    const std::span<char> bytes{reinterpret_cast<char*>(some.data()), some.size() * sizeof(Elf64_Sym)};
    if (!read_at(file_, tables->symbols.sh_offset + i * sizeof(Elf64_Sym), bytes)) break;
    for (const Elf64_Sym& symbol : some) {
      if (!is_function(symbol)) continue;
      const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(symbol.st_size, UINT32_MAX));
      functions_.push_back({symbol.st_value, size, symbol.st_name});
    }
  }
  std::ranges::sort(functions_, {}, &Function::address);
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
  for (auto one = std::ranges::lower_bound(functions_, start, {}, &Function::address); one != behind; ++one) {
    if (address - start >= std::max<std::uint32_t>(one->size, 1)) continue;
    const std::string name = name_at(one->name);
    const bool better = std::pair(name.size(), std::string_view(name)) < std::pair(best.size(), std::string_view(best));
    if (best.empty() || better) best = name;
  }
  return best;
}

const FunctionNames* ModuleNames::of(pid_t pid, const Mapping& mapping, const std::string& beginning) {
  const auto [known, is_new] = known_.try_emplace(std::pair(mapping.path, beginning));
  if (is_new) {
    sys::Fd file = open_file(pid, mapping.path);
    std::string of_file(kBeginning, '\0');
    const bool same = file && read_at(file, 0, of_file) && of_file == beginning;
    if (same) known->second.emplace(std::move(file));
  }
  return known->second ? &*known->second : nullptr;
}

}  // namespace dlaunch::stacks
