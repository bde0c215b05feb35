#include "transport/ssh/resolve.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "sys/io.h"
#include "transport/ssh/thread.h"

namespace dlaunch::transport::ssh {
namespace {

/// Of the thread that asks and the one that waits, whichever leaves last.
struct Question {
  explicit Question(const Target& asked) : target(asked) {}

  void ask(int flags) {
    addrinfo hints{};
    hints.ai_family = target.family == Family::ipv4 ? AF_INET : target.family == Family::ipv6 ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int got = ::getaddrinfo(target.name.c_str(), std::to_string(target.port).c_str(), &hints, &list);
    const int number = errno;
    const std::lock_guard lock(mutex);
    error = got;
    why = got == EAI_SYSTEM ? std::strerror(number) : ::gai_strerror(got);
    if (got == 0) addresses.reset(list);
  }

  const Target target;
  sys::Pipe answered = sys::make_pipe();  // ends when there is an answer
  std::mutex mutex;
  int error = 0;
  std::string why;
  Addresses addresses;
};

WayEnd failed(const Question& question) {
  return {.what = "cannot resolve " + (question.target.renamed ? question.target.name : "its name"),
          .why = question.why,
          .hint = "check how it is spelled, and what `getent hosts " + question.target.name + "` says",
          .retry = WayEnd::Retry::when_up};
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

}  // namespace

tl::expected<Addresses, WayEnd> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                        int ended) {
  const auto question = std::make_shared<Question>(target);
  question->ask(AI_NUMERICHOST);
  if (question->error == 0) return std::move(question->addresses);
  if (question->error == EAI_NONAME) {
    Thread asking;
    const int error = question->answered.read ? asking.start([question] {
      question->ask(AI_ADDRCONFIG);
      question->answered.write.reset();
    })
                                              : errno;
    if (error != 0) return tl::unexpected(WayEnd{"cannot resolve its name", std::strerror(error), ""});
    pollfd waits[] = {{question->answered.read.get(), POLLIN, 0}, {ended, POLLIN, 0}};
    ::poll(waits, 2, milliseconds_until(deadline));
    const std::lock_guard lock(question->mutex);
    if (waits[0].revents == 0) question->why = "no answer came in time";
    if (waits[0].revents != 0 && question->error == 0) return std::move(question->addresses);
    return tl::unexpected(failed(*question));
  }
  return tl::unexpected(failed(*question));
}

}  // namespace dlaunch::transport::ssh
