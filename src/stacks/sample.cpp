#include "stacks/sample.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kOfAnAllocation = 32;  // its header and rounding

/// Without the object itself.
std::size_t bytes_of(const std::string& text) { return text.capacity() + kOfAnAllocation; }

}  // namespace

std::size_t bytes_of(const std::vector<Frame>& frames) {
  std::size_t bytes = frames.capacity() * sizeof(Frame) + kOfAnAllocation;
  for (const Frame& frame : frames) bytes += bytes_of(frame.function) + bytes_of(frame.file);
  return bytes;
}

std::size_t bytes_of(const Sample& sample) {
  std::size_t bytes = sizeof(Sample) + bytes_of(sample.command) + sample.threads.capacity() * sizeof(ThreadStack);
  for (const ThreadStack& thread : sample.threads) {
    bytes += bytes_of(thread.name) + bytes_of(thread.wait) + bytes_of(thread.native) + bytes_of(thread.python);
  }
  for (const std::string& remark : sample.remarks) bytes += sizeof(std::string) + bytes_of(remark);
  return bytes;
}

}  // namespace dlaunch::stacks
