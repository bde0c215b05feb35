#include "output/disk.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/time.h"
#include "sys/held_directory.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::output {
namespace {

constexpr std::chrono::milliseconds kKillWait{50};
constexpr std::chrono::milliseconds kExitWait{1000};  // after the last command

tl::unexpected<Error> cannot_start(int error) {
  return fail({.where = "",
               .what = "cannot start the process that writes the ranks' files",
               .why = sys::why_not_opened(error),
               .hint = "set higher limits of processes and open files: ulimit -u, ulimit -n"});
}

}  // namespace

Disk::Disk(sys::HelperProcess process, Progress progress)
    : process_(std::move(process)), progress_(std::move(progress)), writer_(FdWriter::pipe(process_.in().get())) {}

/// A stopped process removes its files when the disk responds.
Disk::~Disk() {
  if (stopped_ && !process_.wait(std::chrono::milliseconds(0))) process_.leave();
}

Result<std::unique_ptr<Disk>> Disk::start(const FileSettings& files) {
  Progress progress = Progress::make();
  if (!progress) return cannot_start(errno);
  using Inherited = sys::HelperProcess::Inherited;
  const bool is_named = sys::named_descriptor(files.target) || sys::named_descriptor(files.err_target);
  auto process = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { run_disk_process(ends, *progress); },
                                           is_named ? Inherited::kept : Inherited::closed);
  if (!process) return cannot_start(errno);
  sys::set_nonblocking(process->in().get());
  sys::set_nonblocking(process->out().get());
  return std::unique_ptr<Disk>(new Disk(*std::move(process), std::move(progress)));
}

void Disk::ask(DiskCommand::Kind kind, std::uint32_t file, const std::string& path) {
  if (ended_) return;
  const DiskCommand command{kind, file, static_cast<std::uint32_t>(path.size())};
  const std::string_view head(reinterpret_cast<const char*>(&command), sizeof command);
  writer_.write(std::array{head, std::string_view(path)});
}

void Disk::write(std::uint32_t file, std::span<const std::string_view> parts) {
  DiskCommand command{DiskCommand::Kind::write, file, 0};
  std::array<std::string_view, Writer::kMaxWritten + 1> all;
  std::ranges::copy(parts, all.begin() + 1);
  for (const std::string_view part : parts) command.size += static_cast<std::uint32_t>(part.size());
  all[0] = {reinterpret_cast<const char*>(&command), sizeof command};
  given_ += command.size;
  if (given_to_.size() <= file) given_to_.resize(file + 1u);
  given_to_[file] = given_;
  if (ended_) return;
  writer_.write(std::span(all).first(parts.size() + 1));
}

void Disk::finish() {
  finishing_ = true;
  flushed();
}

void Disk::flushed() {
  if (finishing_ && pending() == 0) process_.close_in();
}

std::vector<Disk::Event> Disk::events() {
  std::vector<Event> all;
  std::array<char, 16 * 1024> some{};
  while (!ended_) {
    const ssize_t got = sys::receive_some(process_.out().get(), some, fds_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    ended_ = got <= 0;
    if (got > 0) received_.append(some.data(), static_cast<std::size_t>(got));
    while (auto event = next_event()) {
      if (event->kind == WriterEvent::Kind::failed) ++failed_;
      all.push_back(*std::move(event));
    }
  }
  if (ended_) process_.wait(kExitWait);
  return all;
}

std::optional<Disk::Event> Disk::next_event() {
  Event event;
  if (received_.size() < sizeof(WriterEvent)) return std::nullopt;
  std::memcpy(static_cast<WriterEvent*>(&event), received_.data(), sizeof(WriterEvent));
  if (received_.size() < sizeof(WriterEvent) + event.text) return std::nullopt;
  event.tail = received_.substr(sizeof(WriterEvent), event.text);
  received_.erase(0, sizeof(WriterEvent) + event.text);
  if (event.has_fd != 0 && !fds_.empty()) {
    event.fd = std::move(fds_.front());
    fds_.erase(fds_.begin());
  }
  return event;
}

std::vector<Disk::Event> Disk::wait_events(std::chrono::milliseconds longest, const sys::Wait& wait) {
  const Time until = Clock::now() + longest;
  for (;;) {
    writer_.flush();
    auto all = events();
    if (!all.empty() || ended_) return all;
    std::array<pollfd, 2> ready{pollfd{process_.out().get(), POLLIN, 0}, pollfd{process_.in().get(), POLLOUT, 0}};
    if (wait(std::span(ready).first(writer_.pending() > 0 ? 2 : 1), until) <= 0) return {};
  }
}

std::vector<std::uint32_t> Disk::unwritten_files() const {
  std::vector<std::uint32_t> files;
  for (std::uint32_t file = 0; file < given_to_.size(); ++file) {
    if (lacks(file)) files.push_back(file);
  }
  return files;
}

std::uint64_t Disk::settled() const {
  const std::uint64_t taken = progress_->taken;
  return progress_->failed == failed_ ? taken : 0;
}

bool Disk::has_all() const {
  using Kind = DiskCommand::Kind;
  const Kind now = at();
  return unwritten() == 0 && (now == Kind::get_size || now == Kind::get_size_tail || now == Kind::sync ||
                              now == Kind::rank_ended || now == Kind::look);
}

void Disk::give_up() {
  process_.kill();
  process_.wait(kKillWait);
  process_.close_in();
  ended_ = true;
}

void Disk::stop() {
  stopped_ = true;
  process_.close_in();
  ended_ = true;
}

bool Disk::cancel() {
  stop();
  return process_.wait(kExitWait);
}

}  // namespace dlaunch::output
