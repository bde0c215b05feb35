#include "stacks/budget.h"

namespace dlaunch::stacks {

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
