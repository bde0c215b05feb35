// Which ranks of a host are in MPI, in memory that dlaunch-pmix writes and the agent reads: when a rank is reaped, the
// agent knows without asking. One byte a rank of the job.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "sys/fd.h"

namespace dlaunch::pmix {

enum class State : std::uint8_t { never = 0, in_mpi = 1, left = 2 };

class States {
 public:
  /// Maps `file`, and makes it as long as needed. Invalid when it cannot.
  States(const sys::Fd& file, std::uint32_t ranks) : size_(ranks == 0 ? 1 : ranks) {
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(size_)) != 0) return;
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
  size_t size_;
  std::uint8_t* bytes_ = nullptr;
};

}  // namespace dlaunch::pmix
