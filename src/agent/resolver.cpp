#include "agent/resolver.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <cstring>
#include <utility>

#include "agent/program.h"
#include "base/environment.h"
#include "base/lifetime.h"
#include "base/text.h"
#include "link/timer.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kLongestAnswer = 64u << 10;

}  // namespace

std::string addresses_in(std::string_view printed) {
  std::vector<std::string> addresses;
  std::string text;
  for (const std::string& line : split(printed, '\n')) {
    const std::string address = line.substr(0, line.find_first_of(" \t"));
    if (address.empty() || std::ranges::find(addresses, address) != addresses.end()) continue;
    text += (text.empty() ? "" : " ") + address;
    addresses.push_back(address);
  }
  return text;
}

struct Resolver::Lookup {
  Lookup(asio::io_context& io, size_t its_name, sys::Fd fd) : name(its_name), pipe(io, fd.release()) {}

  size_t name;
  asio::posix::stream_descriptor pipe;
  std::array<char, 4096> buffer{};
  std::string text;
  const Lifetime lifetime;
};

Resolver::Resolver(asio::io_context& io, const rlimit& open_files) : io_(io), open_files_(open_files), deadline_(io) {}
Resolver::~Resolver() = default;

void Resolver::resolve(std::vector<std::string> names, Done done) {
  lookups_.clear();
  names_ = std::move(names);
  done_ = std::move(done);
  next_ = 0;
  answer_ = {};
  answer_.addresses.resize(names_.size());
  const auto getent = find_program("getent", own_environment(), "/");
  if (!getent) return finish("program \"getent\": not found");
  getent_ = *getent;
  deadline_.expires_after(kPatience);
  deadline_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (link::is_due(error, deadline_) && done_)
      finish("timed out after " + std::to_string(kPatience.count()) + " s waiting for getent");
  }));
  start_next();
}

void Resolver::start_next() {
  while (lookups_.size() < kAtOnce && next_ < names_.size() && done_) start(next_++);
  if (lookups_.empty() && done_) finish({});
}

void Resolver::start(size_t name) {
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  sys::Pipe pipe = sys::make_pipe();
  if (!null || !pipe.read || names_[name].starts_with('-'))
    return;  // getent would take such a name for an option; valid names do not start with "-"
  std::string words[] = {"getent", "ahosts", names_[name]};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  Launch launch;
  launch.path = getent_.c_str();
  launch.argv = argv;
  launch.envp = environ;
  launch.wdir = "/";
  launch.in = launch.err = null.get();
  launch.out = pipe.write.get();
  launch.open_files = open_files_;
  if (const auto child = spawner_.spawn(launch); child.pid < 0) {
    return finish(std::string("cannot run getent: ") + std::strerror(child.error));
  }
  lookups_.push_back(std::make_unique<Lookup>(io_, name, std::move(pipe.read)));
  read(*lookups_.back());
}

void Resolver::read(Lookup& lookup) {
  const auto took = [this, &lookup](asio::error_code error, size_t size) {
    if (error == asio::error::operation_aborted) return;
    lookup.text.append(lookup.buffer.data(), size);
    if (!error && lookup.text.size() < kLongestAnswer) return read(lookup);
    answer_.addresses[lookup.name] = addresses_in(lookup.text);
    std::erase_if(lookups_, [&](const auto& each) { return each.get() == &lookup; });
    start_next();
  };
  lookup.pipe.async_read_some(asio::buffer(lookup.buffer), lookup.lifetime.guard(took));
}

/// A getent that still waits for a name server ends by itself, or with the job.
void Resolver::finish(std::string trouble) {
  deadline_.cancel();
  lookups_.clear();
  answer_.trouble = std::move(trouble);
  asio::post(io_,
             lifetime_.guard([done = std::exchange(done_, {}), answer = std::exchange(answer_, {})] { done(answer); }));
}

}  // namespace dlaunch::agent
