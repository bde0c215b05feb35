#include "report/stacks_file.h"

#include "report/write_file.h"

namespace dlaunch::report {
namespace {

constexpr unsigned kStacksMode = 0600;  // stacks have names of files and functions, and the first bytes of arguments

}  // namespace

StacksFiles::~StacksFiles() {
  for (sys::HelperProcess& writer : writers_) writer.wait(kWait);
}

std::string StacksFiles::write(const std::string& text) {
  if (base_.empty() || written_ == kMost) return {};
  std::string path = base_ + std::to_string(++written_);
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends) { static_cast<void>(write_file_atomically(path, text, {kStacksMode, false})); });
  if (!writer) return {};
  writers_.push_back(*std::move(writer));
  return path;
}

}  // namespace dlaunch::report
