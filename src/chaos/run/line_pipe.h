// Forwards the job's stdout to ours, and reports each line. Never takes more than our reader. Owned by ChaosJob.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace dlaunch::chaos {

class LinePipe {
 public:
  using OnLine = std::function<void(std::string_view)>;

  LinePipe(sys::Fd from, int to, OnLine on_line) : from_(std::move(from)), to_(to), on_line_(std::move(on_line)) {}

  /// For poll; -1: not now.
  int reads() const { return waiting_.empty() && !ended_ ? from_.get() : -1; }
  int writes() const { return waiting_.empty() ? -1 : to_; }
  void read();
  void write();
  /// The job's end of the pipe is closed, and every byte was forwarded.
  bool is_over() const { return ended_ && waiting_.empty(); }

 private:
  void split(std::string_view bytes);

  sys::Fd from_;
  const int to_;
  const OnLine on_line_;
  std::string waiting_;
  std::string line_;  // start of an unfinished line
  bool ended_ = false;
};

}  // namespace dlaunch::chaos
