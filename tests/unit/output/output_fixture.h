// A fixture for tests of Output: pipes with a reader and a clock, both controlled by the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "output/channel.h"
#include "output/fd_writer.h"
#include "output/output.h"

namespace dlaunch::output {

/// An empty directory, removed by the destructor.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "dlaunch-output-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A pipe whose reader reads only in read().
class Reader {
 public:
  Reader() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    close_reader();
    close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
  }
  /// Returns the present content of the pipe.
  std::string read() {
    std::string all;
    std::array<char, 65536> some{};
    for (ssize_t n = 0; (n = ::read(ends_[0], some.data(), some.size())) > 0;)
      all.append(some.data(), static_cast<size_t>(n));
    return all;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

inline std::vector<RankFacts> facts_of(int ranks, bool local = true) {
  std::vector<RankFacts> facts;
  for (int rank = 0; rank < ranks; ++rank) {
    facts.push_back({"node1", rank, rank});
    facts.back().local = local;
  }
  return facts;
}

constexpr std::int64_t kWall = 1'700'000'000'123'456'789;  // 2023-11-14T22:13:20.123456789Z

/// Claims and begins the files, and waits for the result.
inline Result<void> begin_files(Output& output, Time now = Clock::now()) {
  if (auto claimed = output.claim(); !claimed) return claimed;
  output.begin(now);
  for (;;) {
    for (FdWriter* writer : output.waiting()) output.flush(*writer, now);
    if (output.event_fd() >= 0) output.handle_writer_events();
    if (const auto begun = output.begun(now)) return *begun;
    pollfd event{output.event_fd(), POLLIN, 0};
    poll(&event, 1, 100);
  }
}

/// An Output with a pipe each for stdout and stderr, or one pipe for both. With `terminal`, the Output treats these
/// pipes as terminals.
class OutputFixture {
 public:
  explicit OutputFixture(const OutputSettings& settings, int ranks, bool one_console = false, bool local = true,
                         bool terminal = false)
      : streams({out.writer(), one_console ? out.writer() : err.writer(), terminal}), ranks_(ranks) {
    signal(SIGPIPE, SIG_IGN);
    auto opened = Output::open(settings, facts_of(ranks, local), streams);
    if (!opened) throw std::runtime_error(to_text(opened.error()));
    output = std::move(*opened);
    if (const auto begun = begin_files(*output, now); !begun) throw std::runtime_error(to_text(begun.error()));
  }

  void feed(int rank, std::string_view bytes, Stream stream = Stream::out) {
    output->feed(rank, stream, bytes, now, kWall);
  }
  /// Ticks every 100 ms, as the launcher does while a deadline is set.
  void wait_long(std::chrono::seconds time) {
    for (auto left = time / kPartialIdle; left > 0; --left) wait(static_cast<int>(kPartialIdle.count()));
  }
  void wait(int milliseconds) {
    now += std::chrono::milliseconds(milliseconds);
    output->tick(now);
  }
  /// Reads and flushes until no bytes wait.
  std::string shown() { return drain(out); }
  std::string shown_on_stderr() { return drain(err); }
  void flush() {
    for (FdWriter* writer : output->waiting()) output->flush(*writer, now);
  }
  /// Lets the disk process write what it got, in most cases.
  void wait_for_disk() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }
  /// Waits until the files contain all output.
  void settle_files() {
    while (!output->files_settled()) {
      flush();
      handle_writer_events();
    }
    handle_writer_events();
  }
  /// Closes the files, checks the files written by ranks, and waits until both are done.
  void finish_files(std::optional<int> failed = {}) {
    output->finish_files(failed);
    settle_files();
  }
  void end_all() {
    for (int rank = 0; rank < ranks_; ++rank) {
      output->end(rank, Stream::out, now);
      output->end(rank, Stream::err, now);
    }
  }

  Reader out;
  Reader err;
  StandardStreams streams;
  Time now{std::chrono::hours(1)};
  std::unique_ptr<Output> output;

 private:
  void handle_writer_events() {
    pollfd news{output->event_fd(), POLLIN, 0};
    if (news.fd >= 0 && poll(&news, 1, 1) > 0) output->handle_writer_events();
  }
  std::string drain(Reader& reader) {
    std::string all = reader.read();
    for (std::string more = "x"; !more.empty(); all += more) {
      flush();
      output->tick(now);
      more = reader.read();
    }
    return all;
  }

  int ranks_;
};

}  // namespace dlaunch::output
