#include "stacks/process.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/printable.h"
#include "sys/fd.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

constexpr std::uint64_t kWorkOfARead = 256;  // a system call is as expensive as the copy of some bytes

}  // namespace

std::string bytes_at(const ReadMemory& read, std::uint64_t address, std::size_t size) {
  std::string bytes(size, '\0');
  if (!read(address, bytes)) bytes.clear();
  return bytes;
}

ReadMemory reader_over(const std::string& bytes, std::uint64_t address, const ReadMemory& read) {
  return [&bytes, address, &read](std::uint64_t at, std::span<char> into) {
    const std::uint64_t offset = at - address;
    if (at < address || offset > bytes.size() || into.size() > bytes.size() - offset) return read(at, into);
    std::ranges::copy(std::string_view(bytes).substr(offset, into.size()), into.begin());
    return true;
  };
}

struct ProcessMemory::File {
  sys::Fd fd;
};

ProcessMemory::ProcessMemory(pid_t pid, Budget& budget) : pid_(pid), budget_(budget) {}
ProcessMemory::~ProcessMemory() = default;

bool ProcessMemory::read(std::uint64_t address, std::span<char> into) {
  if (denied_ != 0 || !budget_.spend(kWorkOfARead + into.size())) return false;
  if (!file_) {
    const iovec local{into.data(), into.size()};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's interface
    const iovec remote{reinterpret_cast<void*>(address), into.size()};
    const ssize_t taken = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (std::cmp_equal(taken, into.size())) return true;
    if (taken >= 0 || (errno != EPERM && errno != ENOSYS)) return false;
    const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
    file_ = std::make_unique<File>(File{sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC))});
    if (!file_->fd && (errno == EPERM || errno == EACCES)) denied_ = errno;
  }
  if (address > static_cast<std::uint64_t>(INT64_MAX)) return false;
  return std::cmp_equal(::pread(file_->fd.get(), into.data(), into.size(), static_cast<off_t>(address)), into.size());
}

Budget::~Budget() {
  if (whole_ == nullptr) return;
  whole_->left_.bytes += kept_;
  whole_->kept_ -= kept_;
}

/// A refused charge of a part does not use up the whole.
bool Budget::take(std::size_t bytes) {
  if (bytes > left_.bytes || (whole_ != nullptr && !whole_->take(bytes))) return false;
  left_.bytes -= bytes;
  kept_ += bytes;
  return true;
}

bool Budget::keep(std::size_t bytes) {
  if (take(bytes)) return true;
  refused_ = true;
  out_of_memory_ = true;
  return false;
}

bool Budget::spend(std::uint64_t work) {
  if (used_up()) return false;
  refused_ = work > left_.work;
  left_.work -= refused_ ? 0 : work;
  return !refused_;
}

namespace {

constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostDynamic = 256;
constexpr std::uint32_t kMostChained = 4096;  // limit of symbols in one bucket

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

bool is_known(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= kMostSegments;
}

struct HashHeader {
  std::uint32_t buckets;
  std::uint32_t first;  // index of the first hashed symbol
  std::uint32_t bloom_words;
  std::uint32_t shift;
};

}  // namespace

std::optional<MappedElf> MappedElf::at(const ReadMemory& read, std::uint64_t base) {
  const auto header = value_at<Elf64_Ehdr>(read, base);
  if (!header || !is_known(*header)) return std::nullopt;
  MappedElf file;
  file.bias_ = base;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = value_at<Elf64_Phdr>(read, base + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type == PT_LOAD && segment->p_offset == 0) file.bias_ = base - segment->p_vaddr;
    file.segments_.emplace_back(segment->p_type, segment->p_vaddr);
  }
  return file;
}

std::optional<std::uint64_t> MappedElf::segment(std::uint32_t type) const {
  const auto found = std::ranges::find(segments_, type, &std::pair<std::uint32_t, std::uint64_t>::first);
  if (found == segments_.end()) return std::nullopt;
  return bias_ + found->second;
}

std::optional<DynamicSymbols> DynamicSymbols::at(const ReadMemory& read, std::uint64_t base) {
  const auto file = MappedElf::at(read, base);
  const auto dynamic = file ? file->segment(PT_DYNAMIC) : std::nullopt;
  if (!dynamic) return std::nullopt;
  DynamicSymbols symbols;
  symbols.bias_ = file->bias();
  // glibc's loader replaces the addresses of the file by addresses of the process; other loaders do not.
  const auto relocated = [&](std::uint64_t address) { return address < base ? address + symbols.bias_ : address; };
  for (std::size_t i = 0; i < kMostDynamic; ++i) {
    const auto entry = value_at<Elf64_Dyn>(read, *dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SYMTAB) symbols.symbols_ = relocated(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) symbols.names_ = relocated(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) symbols.hash_ = relocated(entry->d_un.d_ptr);
  }
  if (symbols.symbols_ == 0 || symbols.names_ == 0 || symbols.hash_ == 0) return std::nullopt;
  return symbols;
}

std::optional<std::uint64_t> DynamicSymbols::find(const ReadMemory& read, std::string_view name) const {
  const auto header = value_at<HashHeader>(read, hash_);
  if (!header || header->buckets == 0) return std::nullopt;
  const std::uint32_t wanted = gnu_hash(name);
  const std::uint64_t buckets = hash_ + sizeof(HashHeader) + std::uint64_t{header->bloom_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  const auto bucket = value_at<std::uint32_t>(read, buckets + std::uint64_t{wanted % header->buckets} * 4);
  if (!bucket || *bucket < header->first) return std::nullopt;
  for (std::uint32_t i = 0; i < kMostChained; ++i) {
    const std::uint64_t index = std::uint64_t{*bucket} + i;
    const auto hash = value_at<std::uint32_t>(read, chains + (index - header->first) * 4);
    if (!hash) return std::nullopt;
    if ((*hash | 1) == (wanted | 1)) {
      const auto symbol = value_at<Elf64_Sym>(read, symbols_ + index * sizeof(Elf64_Sym));
      if (!symbol) return std::nullopt;
      const std::string found = bytes_at(read, names_ + symbol->st_name, name.size() + 1);
      if (symbol->st_shndx != SHN_UNDEF && found == std::string(name) + '\0') return bias_ + symbol->st_value;
    }
    if ((*hash & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

namespace {

using std::string_view;

constexpr std::size_t kLongestCommand = 120;

/// Takes the next word; words are separated by blanks.
string_view next_word(string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

std::optional<Mapping> parse_mapping(string_view line) {
  const string_view range = next_word(line);
  const size_t dash = std::min(range.find('-'), range.size());
  const auto start = whole_number<std::uint64_t>(range.substr(0, dash), 16);
  const auto end = whole_number<std::uint64_t>(range.substr(std::min(dash + 1, range.size())), 16);
  const string_view rights = next_word(line);
  const auto offset = whole_number<std::uint64_t>(next_word(line), 16);
  const string_view device = next_word(line);
  const string_view inode = next_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!start || !end || !offset || *start >= *end || !(line.starts_with('/') || line == "[vdso]")) return std::nullopt;
  return Mapping{.start = *start,
                 .end = *end,
                 .offset = *offset,
                 .executable = rights.find('x') != string_view::npos,
                 .path = std::string(line),
                 .file = std::string(device) + ' ' + std::string(inode)};
}

}  // namespace

/// The name in parentheses may contain any character, so fields are counted after the last ')'.
std::optional<Stat> parse_stat(string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == string_view::npos || close == string_view::npos || close < open) return std::nullopt;
  Stat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  string_view rest = text.substr(close + 1);
  // proc(5): field 3 is the state, 14 to 17 are utime, stime, cutime and cstime, 22 is starttime.
  for (int field = 3; field <= 22; ++field) {
    const string_view word = next_word(rest);
    if (field == 3 && word.size() == 1) stat.state = word.front();
    if (field >= 14 && field <= 17) {
      const auto ticks = whole_number<std::uint64_t>(word);
      if (!ticks) return std::nullopt;
      stat.ticks += *ticks;
    }
    if (field != 22) continue;
    const auto start = whole_number<std::uint64_t>(word);
    if (!start) return std::nullopt;
    stat.start_time = *start;
  }
  return stat;
}

std::vector<Mapping> parse_maps(string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto mapping = parse_mapping(line)) mappings.push_back(*std::move(mapping));
  }
  return mappings;
}

std::optional<std::int64_t> number_of(string_view text, string_view name) {
  while (!text.empty()) {
    string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size()).empty() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    return whole_number<std::int64_t>(next_word(line));
  }
  return std::nullopt;
}

std::string command_of(string_view cmdline, string_view name) {
  std::string words(cmdline.substr(0, kLongestCommand));
  while (words.ends_with('\0')) words.pop_back();
  std::ranges::replace(words, '\0', ' ');
  if (words.empty()) return escaped(name);
  return escaped(words) + (cmdline.size() > kLongestCommand ? "…" : "");
}

std::string read_proc(pid_t pid, const std::string& file, std::size_t limit) {
  return sys::read_file("/proc/" + std::to_string(pid) + '/' + file, limit).value_or("");
}

std::int64_t cpu_of(const Stat& stat) {
  static const auto kTicksPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::int64_t>(stat.ticks * 1000 / kTicksPerSecond);
}

std::int64_t cpu_of(pid_t pid) {
  const auto stat = parse_stat(read_proc(pid, "stat"));
  return stat ? cpu_of(*stat) : 0;
}

std::optional<std::int64_t> io_of(pid_t pid) {
  const std::string text = read_proc(pid, "io");
  const auto read = number_of(text, "rchar");
  const auto written = number_of(text, "wchar");
  if (!read || !written) return std::nullopt;
  return *read + *written;
}

std::string why_denied(pid_t pid) {
  const auto status = sys::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const auto uid = number_of(status, "Uid");
  if (uid && *uid != static_cast<std::int64_t>(::geteuid())) {
    return "the process belongs to user " + std::to_string(*uid) + ": run this command as that user or as root";
  }
  const auto yama = sys::read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (yama.starts_with('1')) {
    return "this machine allows only parent processes to trace a process: run sysctl kernel.yama.ptrace_scope=0 as "
           "root, or start the program with dlaunch";
  }
  if (!yama.starts_with('0')) {
    return "this machine allows only root to trace a process: run sysctl kernel.yama.ptrace_scope=1 as root";
  }
  return "the process is not dumpable, or has more capabilities than dlaunch: run this command as root";
}

}  // namespace dlaunch::stacks
