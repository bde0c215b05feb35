// The memory of another process, as bytes at addresses. The content is not trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "stacks/budget.h"

namespace dlaunch::stacks {

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

}  // namespace dlaunch::stacks
