#include "sys/job_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <fstream>

namespace dlaunch::sys {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kNames = "@dlaunch/";  // /proc/net/unix shows the leading NUL of the name as @
constexpr int kBacklog = 64;                      // any user of the machine can take a place in it
constexpr std::size_t kLongestJobId = 64;

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

std::optional<Address> address_of(const AskableJob& job) {
  const std::string name = "dlaunch/" + std::to_string(job.uid) + '/' + job.job_id;
  Address address;
  if (job.job_id.empty() || name.size() + 1 > sizeof address.name.sun_path) return std::nullopt;
  address.name.sun_family = AF_UNIX;
  std::ranges::copy(name, address.name.sun_path + 1);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::optional<uid_t> user_behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

std::optional<AskableJob> job_named(std::string_view name) {
  if (!name.starts_with(kNames)) return std::nullopt;
  name.remove_prefix(kNames.size());
  AskableJob job{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), job.uid);
  const auto used = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || used >= name.size() || name[used] != '/') return std::nullopt;
  job.job_id = name.substr(used + 1);
  const bool plain =
      !job.job_id.empty() && job.job_id.size() <= kLongestJobId && std::ranges::all_of(job.job_id, [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.';
      });
  return plain ? std::optional(job) : std::nullopt;
}

}  // namespace

Fd listen_for_questions(const std::string& job_id) {
  const auto address = address_of({::geteuid(), job_id});
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!address || !listener) return Fd();
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address->name), address->size) != 0) return Fd();
  if (::listen(listener.get(), kBacklog) != 0) return Fd();
  return listener;
}

std::optional<AcceptedClient> accept_caller(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return std::nullopt;
  const auto user = user_behind(socket.get());
  return AcceptedClient{std::move(socket), user == 0u || user == ::geteuid()};
}

std::vector<AskableJob> askable_jobs() {
  std::vector<AskableJob> jobs;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const auto job = job_named(std::string_view(line).substr(std::min(line.rfind(' ') + 1, line.size())));
    const bool known = job && std::ranges::any_of(jobs, [&](const AskableJob& other) {
                         return other.uid == job->uid && other.job_id == job->job_id;
                       });
    if (job && !known && (::geteuid() == 0 || job->uid == ::geteuid())) jobs.push_back(*job);
  }
  return jobs;
}

Fd connect_to(const AskableJob& job, std::chrono::milliseconds patience) {
  const auto address = address_of(job);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!address || !socket) return Fd();
  const auto until = std::chrono::steady_clock::now() + patience;
  do {  // a full backlog blocks connect(2) for SO_SNDTIMEO; the kernel wakes waiting clients in order
    const auto left = std::max(until - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(1ms));
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(left).count();
    const timeval limit{.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) return Fd();
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->name), address->size) == 0) {
      const auto user = user_behind(socket.get());
      if (user == job.uid && (*user == ::geteuid() || ::geteuid() == 0)) return socket;
      errno = EACCES;
      return Fd();
    }
  } while (errno == EINTR);
  if (errno == EAGAIN) errno = ETIMEDOUT;
  return Fd();
}

}  // namespace dlaunch::sys
