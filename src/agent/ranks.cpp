#include "agent/ranks.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <set>

#include "agent/reaper.h"
#include "agent/stdin_feeder.h"
#include "base/end_signals.h"
#include "plan/visible.h"
#include "sys/clock.h"
#include "sys/descendants.h"
#include "sys/fd.h"
#include "sys/inherited.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kLongestReason = 64u << 10;  // why a rank did not start, including its program's name
constexpr size_t kStarts = 4;                 // ranks that are forked and reported together

/// An error without a failed system call, for a frame with a single text.
std::string one_line(const Error& error) {
  return error.what + ": " + error.why + (error.hint.empty() ? "" : " (" + error.hint + ")");
}

}  // namespace

/// A rank of this host with its streams, from its spawn to the end of the job. Passive.
struct RankProcess {
  pid_t pid = 0;  // 0 after the reap, because the pid may then belong to another process
  RankProgram program;
  std::array<std::unique_ptr<link::PipeReader>, 2> readers;
  std::array<std::uint32_t, 2> credit{};  // of its output streams
  std::unique_ptr<StdinFeeder> in;
  sys::Fd terminal;        // kept to set its size
  bool signalled = false;  // with HUP, INT, QUIT or TERM
};

Ranks::Ranks(asio::io_context& io, link::Link& link, Children& children, mpi::MpiService& mpi, const rlimit& open_files,
             JobDirectory& files, const JobCgroup& cgroup, const RankDirs& dirs, std::function<bool()> may_start)
    : io_(io),
      link_(link),
      children_(children),
      mpi_(mpi),
      open_files_(open_files),
      files_(files),
      cgroup_(cgroup),
      dirs_(dirs),
      may_start_(std::move(may_start)) {}
Ranks::~Ranks() = default;

void Ranks::configure(const wire::Layout& layout, bool hand_over) {
  hand_over_ = hand_over;
  report_cpus_ = layout.report_cpus;
  first_credit_ = layout.credit;
  if (layout.error_files) error_files_.offer();
  local_ranks_ = layout.local_ranks;
  oom_ = sys::OomWatch();
  for (const std::string& note : {binding_.configure(layout), unseen_note()}) {
    if (!note.empty()) link_.send(wire::Log{wire::Log::kWarning, note});
  }
}

void Ranks::keep(const wire::JobFile& file) {
  const auto path = files_.keep(file.name, file.bytes);
  if (path) {
    file_variables_.push_back(file.variable + '=' + *path);
  } else {
    not_kept_ = path.error();
  }
}

void Ranks::describe(wire::Program&& program) {
  add_login(program.env);
  for (const std::string& variable : file_variables_) add_unless_there(program.env, variable);
  auto path = program.argv.empty() ? tl::unexpected(Refusal{ENOENT, "missing program"})
                                   : find_program(program.argv[0], program.env, program.wdir);
  const std::uint32_t id = program.app;
  LocalApp app{std::move(program), std::move(path), {}};
  if (app.path) app.mpi = mpi_.serve(absolute(*app.path, app.asked.wdir), app.asked.env);
  apps_.insert_or_assign(id, std::move(app));
}

void Ranks::start(const wire::Spawn& spawn) {
  if (ranks_.contains(spawn.rank) ||
      std::ranges::any_of(prepared_, [&](const auto& start) { return start->rank == spawn.rank; })) {
    return refuse(spawn.rank, {EEXIST, "duplicate start of the rank"});
  }
  const auto found = apps_.find(spawn.app);
  if (found == apps_.end()) return refuse(spawn.rank, {EINVAL, "missing description of the rank's program"});
  const LocalApp& app = found->second;
  auto start = std::make_unique<RankStart>(
      RankStart{.rank = spawn.rank,
                .local_rank = spawn.local_rank,
                .program = {.app = &app, .directory = spawn.dir.empty() ? app.asked.wdir : spawn.dir},
                .env = mpi_.environment(spawn, app.asked, app.mpi)});
  RankProgram& program = start->program;
  const auto dir = dirs_.find(spawn.dir);
  start->directory = dir == dirs_.end() ? -1 : dir->second.directory.fd();
  const int enter = start->directory < 0
                        ? ::access((program.directory + "/.").c_str(), X_OK)  // "/.": ENOTDIR for a file
                        : ::faccessat(start->directory, ".", X_OK, 0);
  if (enter != 0) return refuse(spawn.rank, refusal({SpawnStep::directory, errno}, program));
  // A rank can have removed its directory in an earlier round.
  const auto facts = dir == dirs_.end() ? std::nullopt : dir->second.directory.facts();
  if (facts && facts->st_nlink == 0) return refuse(spawn.rank, refusal({SpawnStep::directory, ENOENT}, program));
  // The local agent gets no node variables; they are in the launcher's environment.
  const auto gpus = plan::task_gpus(node_variables_.empty() ? app.asked.env : node_variables_, spawn.local_rank);
  if (gpus) add_missing(start->env, app.asked.env, {*gpus});
  add_missing(start->env, app.asked.env, node_variables_);
  if (has_variables_of_tasks(app.asked.env)) add_missing(start->env, app.asked.env, step_variables_);
  program.error_file = error_files_.add_to(start->env, app.asked.env, spawn.rank);
  if (not_kept_ && not_kept_->error == ETIMEDOUT) return refuse(spawn.rank, {0, not_kept_->text()});
  if (not_kept_) return refuse(spawn.rank, {not_kept_->error, not_kept_->what});
  auto path = path_of(app, spawn);
  if (!path) return refuse(spawn.rank, path.error());
  program.path = *std::move(path);
  auto affinity = binding_.affinity_of(spawn);
  if (!affinity) return refuse(spawn.rank, {0, one_line(affinity.error())});
  start->affinity = *std::move(affinity);
  auto stdio = open_stdio(spawn, window_);
  if (!stdio) return refuse(spawn.rank, stdio.error());
  start->stdio = *std::move(stdio);
  if (spawn.save_env) {
    start->saved_in = dir == dirs_.end() ? sys::HeldDirectory::open(spawn.dir) : dir->second.directory.copy();
    if (!start->saved_in) return refuse(spawn.rank, refusal({SpawnStep::environment, errno}, program));
  }
  auto mpi = mpi_.connect(spawn, app.mpi);
  if (!mpi) return refuse(spawn.rank, {mpi.error(), "cannot create the rank's MPI connection"});
  start->mpi = *std::move(mpi);
  start->complete(cgroup_.fd(), open_files_, report_cpus_);
  prepared_.push_back(std::move(start));
  if (prepared_.size() == kStarts) return start_prepared();
  if (prepared_.size() == 1) asio::post(io_, lifetime_.guard([this] { start_prepared(); }));
}

std::optional<std::string> Ranks::on(wire::Message& message) {
  if (const auto* file = std::get_if<wire::JobFile>(&message)) {
    keep(*file);
  } else if (auto* program = std::get_if<wire::Program>(&message)) {
    describe(std::move(*program));
  } else if (const auto* spawn = std::get_if<wire::Spawn>(&message)) {
    start(*spawn);
  } else if (const auto* in = std::get_if<wire::Stdin>(&message)) {
    if (!input(*in)) return "protocol error: the launcher sent more stdin than the agent granted";
  } else if (const auto* credit = std::get_if<wire::Credit>(&message)) {
    granted(*credit);
  } else if (const auto* size = std::get_if<wire::WindowSize>(&message)) {
    resize(*size);
  } else {
    if (const auto* sent = std::get_if<wire::Signal>(&message)) signal(*sent);
    return std::nullopt;
  }
  return "";
}

bool Ranks::input(const wire::Stdin& input) {
  const auto rank = ranks_.find(input.rank);
  if (rank == ranks_.end() || !rank->second.in) return true;
  if (input.bytes.size() > wire::kStdinCredit - rank->second.in->waiting()) return false;
  rank->second.in->push(input.bytes, input.eof);
  return true;
}

void Ranks::resize(const wire::WindowSize& size) {
  window_ = size;
  for (auto& [id, rank] : ranks_) {
    if (rank.terminal) resize_terminal(rank.terminal.get(), size);
  }
}

void Ranks::granted(const wire::Credit& credit) {
  const auto rank = ranks_.find(credit.rank);
  if (rank == ranks_.end() || credit.stream < 1 || credit.stream > 2) return;
  const size_t stream = credit.stream - 1u;
  rank->second.credit[stream] += credit.bytes;
  if (rank->second.readers[stream]) rank->second.readers[stream]->resume();
}

/// Forks one rank right after another, because each page written between two forks is copied.
void Ranks::start_prepared() {
  const auto starts = std::exchange(prepared_, {});
  if (starts.empty() || !may_start_()) return;
  std::array<ProcessSpawner::Child, kStarts> children;
  {
    const RankOomScore::Raised raised(oom_score_);
    for (size_t i = 0; i < starts.size(); ++i) children[i] = children_.fork(starts[i]->launch);
  }
  for (size_t i = 0; i < starts.size(); ++i) forked(*starts[i], children[i]);
  link_.flush();
}

void Ranks::forked(RankStart& start, const ProcessSpawner::Child& child) {
  if (child.pid < 0) return refuse(start.rank, refusal({SpawnStep::fork, child.error}, start.program));
  RankProcess& rank = ranks_[start.rank];
  rank.pid = child.pid;
  rank.program = std::move(start.program);
  rank.credit.fill(start.local_rank < local_ranks_ ? first_credit_ : std::min(first_credit_, wire::kLateCredit));
  children_.expect(child, lifetime_.guard([this, id = start.rank](const Children::End& end) { ended(id, end); }));
  if (!start.mpi) mpi_.not_connected(start.rank);
  connect(start.rank, rank, start.stdio);
}

void Ranks::connect(std::uint32_t id, RankProcess& rank, Stdio& stdio) {
  wire::Started started{id, static_cast<std::uint32_t>(rank.pid), sys::wall_ns(), 0, {}};
  if (report_cpus_) started.cpus = sys::affinity_of(rank.pid).value_or(std::vector<std::uint32_t>{});
  if (stdio.terminal) rank.terminal.reset(::fcntl(stdio.out.get(), F_DUPFD_CLOEXEC, 0));
  if (stdio.in) feed(id, rank, stdio);
  std::vector<sys::Fd> handed;
  std::uint8_t stream = 1;
  for (sys::Fd* fd : {&stdio.out, &stdio.err}) {
    if (*fd && hand_over_) {
      started.fds = static_cast<std::uint8_t>(started.fds | stream);
      handed.push_back(std::move(*fd));
    }
    ++stream;
  }
  link_.send(started, std::move(handed));
  stream = 1;
  for (sys::Fd* fd : {&stdio.out, &stdio.err}) {
    if (*fd) carry(id, rank, stream, std::move(*fd));
    ++stream;
  }
}

void Ranks::feed(std::uint32_t id, RankProcess& rank, Stdio& stdio) {
  rank.in = std::make_unique<StdinFeeder>(
      io_, std::move(stdio.in), stdio.terminal,
      StdinFeeder::Handlers{[this, id](std::uint32_t bytes) { link_.send(wire::Credit{id, 0, bytes}); },
                            [this, id] { link_.send(wire::StdinClosed{id}); }});
}

/// Sends an output stream in frames, under the credit that the launcher grants.
void Ranks::carry(std::uint32_t id, RankProcess& rank, std::uint8_t stream, sys::Fd fd) {
  const size_t index = stream - 1u;
  link::PipeReader::Consumer consumer;
  consumer.allowance = [this, &rank, index]() -> size_t {
    if (discarding_) return scratch_.size();
    if (link_.waiting() > link::Link::kHighWater || rank.credit[index] < link::PipeReader::kLeastRead) return 0;
    return std::min<size_t>(rank.credit[index], wire::kMaxOutput);
  };
  consumer.data = [this, id, &rank, index, stream](std::string_view bytes) {
    if (discarding_) return;
    rank.credit[index] -= static_cast<std::uint32_t>(bytes.size());
    link_.send(wire::OutputData{id, stream, sys::wall_ns(), std::string(bytes)});
  };
  consumer.closed = [this, id, stream] { link_.send(wire::OutputData{id, stream, sys::wall_ns(), {}}); };
  rank.readers[index] = std::make_unique<link::PipeReader>(io_, std::move(fd), scratch_, std::move(consumer));
}

void Ranks::resume() {
  for (auto& [id, rank] : ranks_) {
    for (auto& reader : rank.readers) {
      if (reader) reader->resume();
    }
  }
}

void Ranks::refuse(std::uint32_t rank, const Refusal& why) {
  if (!ranks_.contains(rank)) mpi_.ended(rank);
  link_.send(wire::SpawnFailed{rank, static_cast<std::uint32_t>(why.error), why.what.substr(0, kLongestReason),
                               sys::wall_ns()});
}

void Ranks::signal(const wire::Signal& signal) {
  mpi_.settle();
  if (signal.if_caught) return signal_where_caught(signal);
  const int number = static_cast<int>(signal.signal);
  const bool stops = is_end_signal(number);
  for (auto& [id, rank] : ranks_) {
    if (rank.pid <= 1) continue;
    rank.signalled = rank.signalled || stops;
    if (::kill(-rank.pid, number) != 0) ::kill(rank.pid, number);  // if the child does not lead its group yet
  }
}

std::vector<std::pair<std::uint32_t, pid_t>> Ranks::running() const {
  std::vector<std::pair<std::uint32_t, pid_t>> found;
  for (const auto& [id, rank] : ranks_) {
    if (rank.pid > 1) found.emplace_back(id, rank.pid);
  }
  return found;
}

void Ranks::signal_where_caught(const wire::Signal& signal) {
  auto asked = running();
  const std::set<std::uint32_t> only(signal.ranks.begin(), signal.ranks.end());
  if (!only.empty()) std::erase_if(asked, [&](const auto& rank) { return !only.contains(rank.first); });
  link_.send(wire::Uncaught{signal.signal, sys::signal_where_caught(asked, static_cast<int>(signal.signal))});
}

void Ranks::ended(std::uint32_t id, const Children::End& end) {
  const auto found = ranks_.find(id);
  if (found == ranks_.end()) return;  // clear()
  RankProcess& rank = found->second;
  rank.pid = 0;
  rank.in.reset();
  for (auto& reader : rank.readers) {
    if (reader) reader->rank_ended();
  }
  const bool in_mpi = mpi_.ended(id) && !rank.signalled;
  if (end.not_started) return refuse(id, refusal(*end.not_started, rank.program));
  const int status = end.wait_status;
  const bool oom = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !oom_.text().empty();
  const wire::Ended ended{id, static_cast<std::uint32_t>(status), oom, sys::wall_ns(), in_mpi, rank.signalled};
  if (status == 0) return link_.send(ended);
  if (std::string text = ErrorFiles::text_of(rank.program.error_file); !text.empty() && !rank.signalled) {
    link_.send(wire::WroteError{id, std::move(text)});
  }
  mpi_.once_settled([this, ended] { link_.send(ended); });
}

void Ranks::discard() {
  discarding_ = true;
  prepared_.clear();
  resume();
}

void Ranks::clear() { ranks_.clear(); }

}  // namespace dlaunch::agent
