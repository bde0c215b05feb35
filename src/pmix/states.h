// The MPI state of each rank of a host, in shared memory: dlaunch-pmix writes, the agent reads. So the agent knows the
// state when it reaps a rank. One byte per rank of the job.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "sys/fd.h"

namespace dlaunch::pmix {

enum class State : std::uint8_t { never = 0, in_mpi = 1, left = 2 };

class States {
 public:
  /// Makes `file` as long as needed. Empty (see operator bool) on failure.
  States(const sys::Fd& file, std::uint32_t ranks) : States(resized(file, ranks)) {}
  /// Maps the whole file. Empty on failure.
  explicit States(const sys::Fd& file) {
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0 || info.st_size <= 0) return;
    size_ = static_cast<size_t>(info.st_size);
    void* page = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (page != MAP_FAILED) bytes_ = static_cast<std::uint8_t*>(page);
  }
  States(const States&) = delete;
  States& operator=(const States&) = delete;
  ~States() {
    if (bytes_) ::munmap(bytes_, size_);
  }

  explicit operator bool() const { return bytes_ != nullptr; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }
  void set(std::uint32_t rank, State state) {
    if (rank < size_) std::atomic_ref(bytes_[rank]).store(static_cast<std::uint8_t>(state));
  }
  State of(std::uint32_t rank) const {
    return rank < size_ ? static_cast<State>(std::atomic_ref(bytes_[rank]).load()) : State::never;
  }

 private:
  static const sys::Fd& resized(const sys::Fd& file, std::uint32_t ranks) {
    static const sys::Fd none;
    return ::ftruncate(file.get(), static_cast<off_t>(ranks)) == 0 ? file : none;
  }

  size_t size_ = 0;
  std::uint8_t* bytes_ = nullptr;
};

}  // namespace dlaunch::pmix
