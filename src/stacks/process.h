// Another process: its memory as bytes at addresses, its programs and libraries in memory, and its files in /proc. With
// the limits of a sample. The content is not trusted.
#pragma once

#include <sys/types.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace dlaunch::stacks {

/// The limits of a sample: time, memory, and work. Each reader of a process gets the budget. After that, each read
/// fails: the sampled process cannot exhaust the sampling process.
class Budget {
 public:
  struct Limits {
    std::size_t bytes = 0;   ///< memory at one time
    std::uint64_t work = 0;  ///< bytes that are read or examined
  };

  explicit Budget(Limits limits, Time deadline = Time::max()) : left_(limits), deadline_(deadline) {}
  /// A part of `whole`, which must outlive it. Memory is charged to both.
  Budget(Limits limits, Time deadline, Budget& whole) : left_(limits), deadline_(deadline), whole_(&whole) {}
  /// Gives the memory back to the whole.
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Charges memory. false: over a limit; then this budget is used up.
  [[nodiscard]] bool keep(std::size_t bytes);
  /// Charges work. false: used up.
  [[nodiscard]] bool spend(std::uint64_t work);

  /// Returns true after the deadline, and after a refused charge.
  bool used_up() const { return refused_ || Clock::now() >= deadline_; }
  Time deadline() const { return deadline_; }
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool take(std::size_t bytes);

  Limits left_;
  const Time deadline_;
  Budget* const whole_ = nullptr;
  std::size_t kept_ = 0;
  bool refused_ = false;
  bool out_of_memory_ = false;
};

/// The number that is the whole text.
template <class T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Reads all bytes or returns false. Functions that follow pointers take a ReadMemory, so that a test needs no process.
using ReadMemory = std::function<bool(std::uint64_t address, std::span<char> into)>;

/// The value at the address, or nullopt.
template <class T>
std::optional<T> value_at(const ReadMemory& read, std::uint64_t address) {
  T value{};
  if (!read(address, {reinterpret_cast<char*>(&value), sizeof value})) return std::nullopt;
  return value;
}

/// Empty if a byte is unreadable.
std::string bytes_at(const ReadMemory& read, std::uint64_t address, std::size_t size);

/// Reads ranges inside of `bytes`, the content at `address`, from there, and all other ranges by `read`. Both must
/// outlive the result.
ReadMemory reader_over(const std::string& bytes, std::uint64_t address, const ReadMemory& read);

/// Reads by process_vm_readv, or by /proc/PID/mem if a filter of system calls forbids that. Does not stop the process.
class ProcessMemory {
 public:
  /// After the budget is used up, every read fails. The budget must outlive this object.
  ProcessMemory(pid_t pid, Budget& budget);
  ~ProcessMemory();

  bool read(std::uint64_t address, std::span<char> into);
  /// For functions that take a ReadMemory. This object must outlive the result.
  ReadMemory reader() {
    return [this](std::uint64_t address, std::span<char> into) { return read(address, into); };
  }
  /// EPERM or EACCES: this process may not read the other process.
  int denied() const { return denied_; }

 private:
  struct File;
  pid_t pid_;
  Budget& budget_;
  int denied_ = 0;
  std::unique_ptr<File> file_;  // process_vm_readv was refused
};

// A program or library in the memory of a process: its segments, and its dynamic symbols. Does not open files: the file
// may have been replaced, or be in another mount namespace. Pure over ReadMemory.

/// The ELF file whose header is mapped at an address.
class MappedElf {
 public:
  /// nullopt: not an ELF file of 64 bits, or unreadable.
  static std::optional<MappedElf> at(const ReadMemory& read, std::uint64_t base);

  /// The difference between addresses in memory and in the file.
  std::uint64_t bias() const { return bias_; }
  /// The address of the first segment of a type (PT_*).
  std::optional<std::uint64_t> segment(std::uint32_t type) const;

 private:
  std::uint64_t bias_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments_;  // type and address in the file
};

/// The dynamic symbols of the ELF file whose header is mapped at an address.
class DynamicSymbols {
 public:
  /// nullopt: not an ELF file of 64 bits with a GNU hash table, or unreadable.
  static std::optional<DynamicSymbols> at(const ReadMemory& read, std::uint64_t base);

  /// The address of a symbol that this file defines.
  std::optional<std::uint64_t> find(const ReadMemory& read, std::string_view name) const;

 private:
  std::uint64_t bias_ = 0;  // difference between addresses in memory and in the file
  std::uint64_t symbols_ = 0;
  std::uint64_t names_ = 0;
  std::uint64_t hash_ = 0;
};

// Linux' /proc files of a process: parsers (pure: the text of a file in, values out), the kernel's counters, and the
// reason why a process cannot be read.

/// /proc/PID/stat or /proc/PID/task/TID/stat.
struct Stat {
  std::string name;
  char state = '?';
  std::uint64_t ticks = 0;       ///< CPU time, user and system, with that of reaped children
  std::uint64_t start_time = 0;  ///< start time: a later process may have the same pid
};
std::optional<Stat> parse_stat(std::string_view text);

/// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  bool executable = false;
  std::string path;
  std::string file = {};  ///< device and inode: a later file may have the same path
};
/// Mappings of files, and of the kernel's code ("[vdso]"), ordered by address.
std::vector<Mapping> parse_maps(std::string_view text);

/// The number after "Name:" in /proc/PID/status or /proc/PID/io.
std::optional<std::int64_t> number_of(std::string_view text, std::string_view name);

/// /proc/PID/cmdline for a person: the beginning, with blanks between the words. Without arguments, the process' name.
std::string command_of(std::string_view cmdline, std::string_view name);

/// A file of /proc/PID; empty: unreadable.
std::string read_proc(pid_t pid, const std::string& file, std::size_t limit = 64u << 10);

/// CPU time with that of reaped children, in milliseconds.
std::int64_t cpu_of(const Stat& stat);
/// 0: the process does not exist.
std::int64_t cpu_of(pid_t pid);

/// rchar + wchar; nullopt: unknown.
std::optional<std::int64_t> io_of(pid_t pid);

/// The reason why a process cannot be read, and the next step. For a process whose memory this process may not read.
std::string why_denied(pid_t pid);

}  // namespace dlaunch::stacks
