#include "stacks/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <span>

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kMostSections = 4096;
constexpr std::uint64_t kMostSymbols = 4u << 20;
constexpr std::size_t kSymbolsAtOnce = 4096;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kMostAliases = 64;     // limit of names of one address
constexpr std::size_t kOfAFile = 96u << 10;  // charged for an open file, so that at most 256 are open

/// The row of code without an entry on arm64, by its instructions. The return from a signal handler, in the kernel's
/// vdso: the registers of the interrupted frame are at the stack pointer, in the order of Registers. A stub that calls
/// a function of a library (PLT): the link register has the address in the caller.
std::optional<CallFrame> row_of_code(const ReadMemory& read, std::uint64_t pc) {
  constexpr std::uint64_t kReturn = 0xd4000001d2801168;  // mov x8, #139 (rt_sigreturn); svc #0
  constexpr std::uint32_t kJump = 0xd61f0220;            // br x17, the last of up to five instructions
  constexpr std::size_t kSaved = 312;  // in rt_sigframe: siginfo (128 bytes), ucontext (176), fault_address (8)
  constexpr bool kIsArm = Registers::kReturnColumn != Registers::kReturnAddress;
  const std::uint64_t at = (pc + 3) & ~3ull;
  CallFrame row{.by_signal = value_at<std::uint64_t>(read, at) == kReturn};
  const auto code = value_at<std::array<std::uint32_t, 5>>(read, at).value_or(std::array<std::uint32_t, 5>{});
  if (!kIsArm || (!row.by_signal && std::ranges::find(code, kJump) == code.end())) return std::nullopt;
  for (std::size_t i = 0; row.by_signal && i < Registers::kCount; ++i)
    row.rules[i] = {RegisterRule::Kind::at_offset, static_cast<std::int64_t>(kSaved + i * sizeof(std::uint64_t))};
  return row;
}

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

namespace {

constexpr std::size_t kOfAnEntry = 128;  // memory of an entry of a map, without texts

std::string hexadecimal(std::uint64_t value) {
  std::string text;
  for (; value != 0; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 0xfu]);
  return "0x" + text;
}

}  // namespace

bool ModuleCache::take(std::size_t bytes) {
  if (bytes > most_ - bytes_) return false;
  bytes_ += bytes;
  return true;
}

KnownModule* ModuleCache::of(const Mapping& mapping, const std::string& beginning) {
  Key key{mapping.path, mapping.file, beginning};
  if (const auto known = known_.find(key); known != known_.end()) return &known->second;
  if (!take(3 * kOfAnEntry + key.path.size() + key.file.size() + key.beginning.size())) return nullptr;
  return &known_[std::move(key)];
}

void ModuleCache::keep(KnownModule& module, std::uint64_t address, const CallFrame& row) {
  std::size_t bytes = kOfAnEntry + sizeof row + row.expression.size();
  for (const RegisterRule& rule : row.rules) bytes += rule.expression.size();
  if (take(bytes)) module.rows.emplace(address, row);
}

void ModuleCache::keep(KnownModule& module, std::uint64_t address, const std::string& name) {
  if (take(kOfAnEntry + name.size())) module.names.emplace(address, name);
}

void ModuleCache::forget_some() {
  if (bytes_ <= most_ / 2) return;
  known_.clear();
  bytes_ = 0;
}

Caller Modules::caller_of(const ReadMemory& stack, const Registers& frame, std::uint64_t pc) {
  Module* module = at(pc);
  if (module == nullptr || !module->readable) return {};
  const std::uint64_t address = pc - module->bias;
  if (module->known != nullptr) {
    const auto known = module->known->rows.find(address);
    if (known != module->known->rows.end()) return stacks::caller_of(stack, known->second, frame);
  }
  auto row = row_at(*module, pc);
  if (!row) row = row_of_code(read_, pc);
  if (!row) return {};  // the budget may have ended the read
  if (module->known != nullptr) cache_.keep(*module->known, address, *row);
  return stacks::caller_of(stack, *row, frame);
}

std::optional<CallFrame> Modules::row_at(Module& module, std::uint64_t pc) {
  if (!module.table) module.table = UnwindTable::at(read_, module.first->start);
  if (module.table) return module.table->row_at(read_, pc);
  if (!module.entries) {
    const FunctionNames* file = names_.of(pid_, *module.first, module.beginning, budget_);
    const auto section = file != nullptr ? file->section(".eh_frame") : std::nullopt;
    module.entries =
        section ? FrameEntries(read_, section->first + module.bias, section->second, budget_) : FrameEntries();
  }
  const auto entry = module.entries->entry_of(pc);
  return entry ? call_frame_at(read_, *entry, pc) : std::nullopt;
}

std::string Modules::function_at(std::uint64_t pc) {
  Module& module = *at(pc);
  const std::uint64_t address = pc - module.bias;
  if (!module.readable) return hexadecimal(address);
  if (module.known != nullptr) {
    const auto known = module.known->names.find(address);
    if (known != module.known->names.end()) return known->second;
  }
  const FunctionNames* names = names_.of(pid_, *module.first, module.beginning, budget_);
  std::string name = names != nullptr ? names->at(address) : "";
  if (name.empty()) name = hexadecimal(address);
  if (names != nullptr && module.known != nullptr) cache_.keep(*module.known, address, name);
  return name;
}

Modules::Module* Modules::at(std::uint64_t pc) {
  const auto next = std::ranges::upper_bound(maps_, pc, {}, &Mapping::start);
  if (next == maps_.begin() || pc >= std::prev(next)->end) return nullptr;
  auto first = std::prev(next);
  if (!first->executable) return nullptr;
  const std::string& path = first->path;
  while (first->offset != 0 && first != maps_.begin()) --first;
  if (first->offset != 0 || first->path != path) return nullptr;
  const auto [found, is_new] = modules_.try_emplace(first->start);
  if (is_new) {
    found->second.first = &*first;
    begin(found->second);
  }
  return &found->second;
}

void Modules::begin(Module& module) const {
  const std::uint64_t start = module.first->start;
  if (!budget_.keep(sizeof(Module) + kOfAnEntry + kBeginning)) return;
  module.beginning = bytes_at(read_, start, kBeginning);
  if (module.beginning.empty()) return;
  const auto file = MappedElf::at(reader_over(module.beginning, start, read_), start);
  if (!file) return;
  module.bias = file->bias();
  module.readable = true;
  module.known = cache_.of(*module.first, module.beginning);
}

}  // namespace dlaunch::stacks
