#include "stacks/memory.h"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "sys/fd.h"

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

}  // namespace dlaunch::stacks
