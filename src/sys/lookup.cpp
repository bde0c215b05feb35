#include "sys/lookup.h"

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/time.h"
#include "sys/io.h"
#include "sys/thread.h"

namespace dlaunch::sys {
namespace {

LookedUp look_up(const Name& name, int flags) {
  addrinfo hints{};
  hints.ai_family = name.family;
  hints.ai_socktype = SOCK_STREAM;  // one type of socket, so that each address appears once
  hints.ai_flags = name.flags | flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(name.name.c_str(), std::to_string(name.port).c_str(), &hints, &list);
  const int number = errno;
  LookedUp found;
  found.addresses.reset(error == 0 ? list : nullptr);
  found.error = error;
  if (error != 0) found.why = error == EAI_SYSTEM ? std::strerror(number) : ::gai_strerror(error);
  return found;
}

}  // namespace

LookedUp look_up_numeric(const Name& name) { return look_up(name, AI_NUMERICHOST); }

/// Shared by the resolver thread and the waiting thread; the last user frees it.
struct Lookup::Question {
  Name name;
  Fd answer;  // closed when the answer has arrived
  std::mutex mutex;
  LookedUp found;
};

Lookup::Lookup(Name name) : question_(std::make_shared<Question>()) {
  question_->name = std::move(name);
  Pipe pipe = make_pipe();
  int error = pipe.read ? 0 : errno;
  answered_ = std::move(pipe.read);
  question_->answer = std::move(pipe.write);
  Thread asking;
  if (error == 0) {
    error = asking.start([question = question_] {
      LookedUp found = look_up(question->name, 0);
      const std::lock_guard lock(question->mutex);
      question->found = std::move(found);
      question->answer.reset();
    });
  }
  if (error == 0) return;
  question_->found = {{}, EAI_SYSTEM, std::strerror(error)};
  question_->answer.reset();
}

bool Lookup::is_answered() const {
  pollfd wait{answered_.get(), POLLIN, 0};
  return !answered_ || ::poll(&wait, 1, 0) != 0;
}

LookedUp Lookup::take() {
  const std::lock_guard lock(question_->mutex);
  return std::move(question_->found);
}

void wait_readable(const Fd& fd, std::chrono::steady_clock::time_point deadline) {
  pollfd wait{fd.get(), POLLIN, 0};
  ::poll(&wait, 1, milliseconds_until(deadline));
}

}  // namespace dlaunch::sys
