#include "transport/ssh/notes.h"

#include <utility>

namespace dlaunch::transport::ssh {

Notes::Notes(std::function<void(const std::string&)> listener) : listener_(std::move(listener)) {}

void Notes::tell(const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (listener_ && shown_.insert(note).second) listener_(note);
}

void Notes::end() {
  const std::lock_guard lock(mutex_);
  listener_ = nullptr;
}

}  // namespace dlaunch::transport::ssh
