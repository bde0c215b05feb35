// The memory of another process, as bytes at addresses. Nothing in it is trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/time.h"

namespace dlaunch::stacks {

/// Reads all bytes or returns false. Whatever follows pointers in it takes this, so that a test needs no process.
using ReadMemory = std::function<bool(std::uint64_t address, std::span<char> into)>;

/// The value at the address, or nullopt.
template <class T>
std::optional<T> value_at(const ReadMemory& read, std::uint64_t address) {
  T value{};
  if (!read(address, {reinterpret_cast<char*>(&value), sizeof value})) return std::nullopt;
  return value;
}

/// Empty when not all of them can be read.
std::string bytes_at(const ReadMemory& read, std::uint64_t address, std::size_t size);

/// Takes from `bytes`, which are those at `address`, what is wholly in them, and all else by `read`. Both must outlive
/// it.
ReadMemory reader_over(const std::string& bytes, std::uint64_t address, const ReadMemory& read);

/// Reads by process_vm_readv, or through /proc/PID/mem where a filter of system calls forbids that. The process is not
/// stopped.
class ProcessMemory {
 public:
  /// After the deadline every read fails.
  ProcessMemory(pid_t pid, Time deadline);
  ~ProcessMemory();

  bool read(std::uint64_t address, std::span<char> into);
  /// For the functions that take a ReadMemory; this must outlive it.
  ReadMemory reader() {
    return [this](std::uint64_t address, std::span<char> into) { return read(address, into); };
  }
  /// EPERM or EACCES: this process may not be looked into.
  int denied() const { return denied_; }

 private:
  struct File;
  pid_t pid_;
  Time deadline_;
  int denied_ = 0;
  std::unique_ptr<File> file_;  // once process_vm_readv was refused
};

}  // namespace dlaunch::stacks
