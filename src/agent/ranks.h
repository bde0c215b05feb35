// The ranks of this host: starts the ranks, forwards their streams under the launcher's credit, and reports their ends.
// Owned by the Agent; link, loop, children and the MpiService must outlive this object.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/binding.h"
#include "agent/children.h"
#include "agent/environment.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "agent/rank_dirs.h"
#include "agent/rank_start.h"
#include "agent/task.h"
#include "base/lifetime.h"
#include "link/link.h"
#include "link/pipe_reader.h"
#include "mpi/mpi_service.h"
#include "sys/oom_kills.h"
#include "wire/message.h"

namespace dlaunch::agent {

struct RankProcess;  // a rank and its streams

class Ranks final : public Task {
 public:
  /// `open_files`: the ranks' limit. `files` and `cgroup` must outlive this object. `may_start` is called right before
  /// ranks are forked; if it returns false, these ranks are dropped without an answer.
  Ranks(asio::io_context& io, link::Link& link, Children& children, mpi::MpiService& mpi, const rlimit& open_files,
        JobDirectory& files, const JobCgroup& cgroup, const RankDirs& dirs, std::function<bool()> may_start);
  ~Ranks() override;

  /// Call first: sets the binding of ranks and the first credit of their streams.
  void configure(const wire::Layout& layout, bool hand_over);
  /// Answers Spawn with SpawnFailed or Started, at the latest in start_prepared(). The loop calls start_prepared(),
  /// too.
  std::optional<std::string> on(wire::Message& message) override;
  /// Forks the prepared ranks, a few at a time; call before any other request.
  void start_prepared();
  /// The running ranks with their processes.
  std::vector<std::pair<std::uint32_t, pid_t>> running() const;
  /// The text of OomWatch, since configure().
  std::string oom() const { return oom_.text(); }
  /// The link takes bytes again.
  void resume();
  /// From now on prepared ranks do not start. Output is read and dropped, so that ranks can write their last lines and
  /// end.
  void discard();
  /// Forgets all ranks.
  void clear();

 private:
  /// Keeps the file, and passes its path to programs that start from now on.
  void keep(const wire::JobFile& file);
  void describe(wire::Program&& program);
  void start(const wire::Spawn& spawn);
  /// Returns false if the launcher sent more than was granted.
  bool input(const wire::Stdin& input);
  void granted(const wire::Credit& credit);
  void resize(const wire::WindowSize& size);
  void signal(const wire::Signal& signal);
  /// Signals only ranks with a handler (sys/descendants.h). Answers Uncaught.
  void signal_where_caught(const wire::Signal& signal);
  void forked(RankStart& start, const ProcessSpawner::Child& child);
  /// Sends Ended, or SpawnFailed if the exec failed.
  void ended(std::uint32_t id, const Children::End& end);
  void connect(std::uint32_t id, RankProcess& rank, Stdio& stdio);
  void feed(std::uint32_t id, RankProcess& rank, Stdio& stdio);
  void carry(std::uint32_t id, RankProcess& rank, std::uint8_t stream, sys::Fd fd);
  void refuse(std::uint32_t rank, const Refusal& why);

  asio::io_context& io_;
  link::Link& link_;
  Children& children_;
  mpi::MpiService& mpi_;
  const rlimit open_files_;
  JobDirectory& files_;
  const JobCgroup& cgroup_;
  const RankDirs& dirs_;
  const std::function<bool()> may_start_;
  const std::vector<std::string> node_variables_ = node_variables();
  const std::vector<std::string> step_variables_ = step_variables();
  const RankOomScore oom_score_;
  RankBinding binding_;
  std::uint32_t local_ranks_ = 0;  // ranks counted by Layout
  bool hand_over_ = false;
  bool report_cpus_ = false;
  std::uint32_t first_credit_ = 0;
  wire::WindowSize window_;
  ErrorFiles error_files_{files_};
  std::vector<std::string> file_variables_;        // NAME=path, for programs without NAME
  std::optional<JobDirectory::Failure> not_kept_;  // set: ranks do not start
  sys::OomWatch oom_;
  std::array<char, wire::kMaxOutput> scratch_;  // a fork does not copy pages that are still unused
  std::map<std::uint32_t, LocalApp> apps_;
  std::map<std::uint32_t, RankProcess> ranks_;
  std::vector<std::unique_ptr<RankStart>> prepared_;  // not forked yet
  const Lifetime lifetime_;
  bool discarding_ = false;
};

}  // namespace dlaunch::agent
