// Prepares the ranks' working directories: creates and empties them, and adds the files of --stage. A separate process
// (a second agent with --prepare) does all of this: a disk may be slow or never answer, and heartbeats must continue.
// The process receives Prepare and every Stage through a pipe, under the credit granted here. The process reports
// through a socket: the descriptors of each prepared directory and its marker, the path that the next system call uses,
// and a failure. A job that is refused changes nothing: the process takes all directories, and empties them only when
// the first Stage shows that all hosts have agreed. Owned by the Agent; link, loop, children and directories must
// outlive this object.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "agent/children.h"
#include "agent/rank_dirs.h"
#include "agent/stdin_feeder.h"
#include "agent/task.h"
#include "base/lifetime.h"
#include "dlaunch/error.h"
#include "link/link.h"
#include "sys/fd.h"
#include "sys/oom_kills.h"
#include "wire/message.h"

namespace dlaunch::agent {

class WorkdirSetup final : public Task {
 public:
  static constexpr std::chrono::seconds kPatience{120};  ///< for the next Stage; also for the work after the last

  /// `job`: the job's id, known before the first message.
  WorkdirSetup(asio::io_context& io, link::Link& link, Children& children, RankDirs& dirs, const std::string& job)
      : io_(io), link_(link), children_(children), dirs_(dirs), job_(job), timer_(io) {}

  /// Answers Prepare with Prepared when the directories are taken, and the last Stage when they are filled. A failure
  /// is the last answer.
  std::optional<std::string> on(wire::Message& message) override;
  /// Ends the child, and sends no more answers.
  void stop() override;
  /// `process`: a line of sys::describe(). For the child, the line gets the path that the child waits for.
  std::string explained(std::string process) const;

 private:
  struct Sent {
    size_t frame;         // number of bytes in the pipe
    std::uint32_t files;  // number of granted bytes of files
  };

  void prepare(wire::Prepare&& asked);
  void keep_filled(wire::Prepare& asked);
  bool stage(const wire::Stage& stage);
  bool start();
  void wait_reports();
  bool read_reports();
  void process_ended(const Children::End& end);
  void push(const wire::Message& message, std::uint32_t files);
  void took(size_t bytes);
  void wait();
  void answer(std::string why, std::string hint);

  asio::io_context& io_;
  link::Link& link_;
  Children& children_;
  RankDirs& dirs_;
  const std::string& job_;
  asio::steady_timer timer_;
  std::optional<sys::OomWatch> oom_;  // since the start of the process
  pid_t pid_ = 0;
  bool filling_ = false;  // the child has got a Stage, so it may have emptied a directory
  std::unique_ptr<StdinFeeder> in_;
  std::unique_ptr<asio::posix::stream_descriptor> reports_;
  std::deque<std::string> not_taken_;  // directories that the child has not reported
  std::string at_;                     // path of the child's current work
  std::string failure_text_;
  std::deque<Sent> sent_;  // not yet completely written
  size_t files_ = 0;       // bytes of files in sent_
  size_t taken_ = 0;       // bytes of the first entry of sent_
  const Lifetime lifetime_;
};

/// The main function of `dlaunch-agent --prepare JOB`. Returns the exit code. stdin is the pipe, stdout the socket.
int prepare_main(const std::string& job);

}  // namespace dlaunch::agent
