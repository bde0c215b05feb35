#include "agent/ranks.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/environment.h"
#include "agent/near_devices.h"
#include "agent/program.h"
#include "agent/stdin_feeder.h"
#include "agent/topology.h"
#include "base/try.h"
#include "plan/binding.h"
#include "plan/mpi.h"
#include "plan/slot_list.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::agent {

/// Passive; lives from its spawn to the job's end.
struct Rank {
  pid_t pid = 0;  // 0 once it was reaped: nothing is sent to a pid that may be another's
  std::uint32_t app = 0;
  std::string path;       // of its program
  std::string directory;  // in which it runs
  const SpawnFailure* failure = nullptr;
  std::array<std::unique_ptr<link::PipeReader>, 2> readers;
  std::array<std::uint32_t, 2> credit{};  // of its output streams
  std::unique_ptr<StdinFeeder> in;
  sys::Fd terminal;  // to tell it its size
};

struct Program {
  wire::Program asked;
  tl::expected<std::string, NotFound> path;
  pmi::Family family = pmi::Family::unknown;
  bool mpi = false;   // its ranks get a PMI-1 connection
  bool pmix = false;  // its ranks are told of PMIx
};

/// One rank's way into its program.
struct Start {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  const Program& program;
  std::string path = {};
  std::string directory = {};
  std::vector<std::string> env = {};  // the rank's own
  Stdio stdio = {};
  sys::Fd mpi = {};
  std::vector<unsigned long> affinity = {};
  std::vector<char*> argv = {}, envp = {};
  Launch launch = {};  // of what stands above
};

namespace {

constexpr size_t kLongestReason = 64u << 10;  // why a rank did not start, with the name of its program
constexpr size_t kStarts = 4;                 // forked and reported together

std::vector<char*> pointers(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<char*> list;
  list.reserve(first.size() + second.size() + 1);
  for (const auto* strings : {&first, &second}) {
    for (const std::string& s : *strings) list.push_back(const_cast<char*>(s.c_str()));  // execve does not write
  }
  list.push_back(nullptr);
  return list;
}

/// As sched_setaffinity(2) takes it: bit n of the words is CPU n.
std::vector<unsigned long> affinity_mask(const std::vector<std::uint32_t>& cpus) {
  constexpr std::uint32_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> words;
  for (const std::uint32_t cpu : cpus) {
    if (words.size() <= cpu / kBits) words.resize(cpu / kBits + 1);
    words[cpu / kBits] |= 1ul << (cpu % kBits);
  }
  return words;
}

/// An error that no system call told, for a frame that has room for one text.
std::string one_line(const Error& error) {
  return error.what + ": " + error.why + (error.hint.empty() ? "" : " (" + error.hint + ")");
}

std::string step_text(SpawnStep step, int error, const Start& start) {
  switch (step) {
    case SpawnStep::fork:
      return "cannot make a process for " + start.program.asked.argv[0];
    case SpawnStep::session:
      return "cannot make its session and descriptors";
    case SpawnStep::mpi:
      return "cannot make its MPI connection descriptor " + std::to_string(plan::kPmiFd);
    case SpawnStep::terminal:
      return "cannot make its terminal the controlling one";
    case SpawnStep::limits:
      return "cannot set its limit of open files";
    case SpawnStep::affinity:
      return "cannot bind it to its CPUs";
    case SpawnStep::directory:
      return "cannot change to the working directory " + start.directory;
    case SpawnStep::exec:
      return error == ENOENT ? missing_interpreter(start.path, start.directory) : "cannot execute " + start.path;
  }
  return {};
}

/// A name with a slash means what was staged there.
tl::expected<std::string, NotFound> path_in(const Program& program, const std::string& directory) {
  if (program.asked.argv.empty()) return program.path;
  return find_program(program.asked.argv[0], program.asked.env, directory);
}

/// A library that is loaded before all others may bring MPI into any program.
pmi::Family family_of(const std::string& path, const std::vector<std::string>& env) {
  const pmi::Family family = pmi::family_of(sys::read_file(path, pmi::kProbed).value_or(""));
  const auto preloads = [](const std::string& entry) { return entry.starts_with("LD_PRELOAD="); };
  return family == pmi::Family::none && std::ranges::any_of(env, preloads) ? pmi::Family::unknown : family;
}

}  // namespace

Ranks::Ranks(asio::io_context& io, link::Link& link, const rlimit& open_files, JobDirectory& files,
             const JobCgroup& cgroup)
    : io_(io),
      link_(link),
      open_files_(open_files),
      files_(files),
      cgroup_(cgroup),
      mpi_(io, link),
      pmix_(io, link, files) {}
Ranks::~Ranks() = default;

void Ranks::configure(const wire::Layout& layout, bool hand_over) {
  hand_over_ = hand_over;
  report_cpus_ = layout.report_cpus;
  first_credit_ = layout.credit;
  local_ranks_ = layout.local_ranks;
  oom_kills_ = oom_kills();
  bound_ = bind(layout);
}

/// Topology takes milliseconds to read: only where binding was asked for.
Result<std::vector<std::vector<std::uint32_t>>> Ranks::bind(const wire::Layout& layout) {
  plan::BindingRequest request;
  request.bind_to = static_cast<plan::BindTo>(layout.bind_to);
  request.map_by = static_cast<plan::MapBy>(layout.map_by);
  request.rank_by = static_cast<plan::RankBy>(layout.rank_by);
  request.cores_per_rank = static_cast<int>(layout.cores_per_rank);
  request.if_supported = layout.if_supported;
  if (request.bind_to == plan::BindTo::none || layout.local_ranks == 0) return {};
  const auto topology = TRY(read_topology());
  if (request.bind_to != plan::BindTo::device) {
    return plan::bind_ranks(topology, request, static_cast<int>(layout.local_ranks), layout.oversubscribe);
  }
  NearDevices near = bind_near_devices(topology, layout);
  if (!near.note.empty()) link_.send(wire::Log{wire::Log::kWarning, near.note});
  return std::move(near.cpus);
}

void Ranks::serve_mpi(const wire::MpiWorld& world) {
  mpi_.configure(world);
  pmix_.configure(world);
  world_ranks_ = world.size;
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
  auto path = program.argv.empty() ? tl::unexpected(NotFound{ENOENT, "no program was named"})
                                   : find_program(program.argv[0], program.env, program.wdir);
  const std::uint32_t app = program.app;
  Program made{std::move(program), std::move(path)};
  if (made.path && world_ranks_ > 0) {
    made.family = family_of(absolute(*made.path, made.asked.wdir), made.asked.env);
    made.mpi = mpi_.serves(made.family);
    made.pmix = pmix_.serves(made.family);
  }
  if (made.pmix && !made.mpi) drop_planned_pmi1(made.asked.env, world_ranks_);
  programs_.insert_or_assign(app, std::move(made));
}

void Ranks::start(const wire::Spawn& spawn) {
  if (ranks_.contains(spawn.rank) ||
      std::ranges::any_of(prepared_, [&](const auto& start) { return start->rank == spawn.rank; })) {
    return refuse(spawn.rank, EEXIST, "it was started already");
  }
  const auto program = programs_.find(spawn.app);
  if (program == programs_.end()) return refuse(spawn.rank, EINVAL, "its program was never described");
  auto start = std::make_unique<Start>(Start{.rank = spawn.rank,
                                             .local_rank = spawn.local_rank,
                                             .program = program->second,
                                             .directory = spawn.dir.empty() ? program->second.asked.wdir : spawn.dir,
                                             .env = own_environment(spawn)});
  if (::access((start->directory + "/.").c_str(), X_OK) != 0) {  // "/.": of a file it says ENOTDIR
    const int error = errno;
    return refuse(spawn.rank, error, step_text(SpawnStep::directory, error, *start));
  }
  if (not_kept_) return refuse(spawn.rank, not_kept_->error, not_kept_->what);
  auto path = spawn.dir.empty() ? program->second.path : path_in(program->second, spawn.dir);
  if (!path) return refuse(spawn.rank, path.error().error, path.error().what);
  start->path = *std::move(path);
  const auto cpus = cpus_for(spawn);
  if (!cpus) return refuse(spawn.rank, 0, one_line(cpus.error()));
  start->affinity = affinity_mask(*cpus);
  auto stdio = open_stdio(spawn, window_);
  if (!stdio) return refuse(spawn.rank, stdio.error().error, stdio.error().what);
  start->stdio = *std::move(stdio);
  if (spawn.save_env) {
    const int error = save_environment(spawn.dir, program->second.asked.env, start->env);
    if (error != 0) return refuse(spawn.rank, error, "cannot write " + spawn.dir + '/' + kEnvironmentFile);
  }
  if (program->second.mpi && mpi_.in_world(spawn.rank)) {
    start->mpi = mpi_.connect(spawn.rank, spawn.app);
    if (!start->mpi) return refuse(spawn.rank, errno, "cannot make its MPI connection");
  }
  prepare(std::move(start));
}

/// What the user, or the plan, has chosen already stays.
std::vector<std::string> Ranks::own_environment(const wire::Spawn& spawn) const {
  std::vector<std::string> env = spawn.env;
  const Program& program = programs_.at(spawn.app);
  if (!program.pmix || !pmix_.in_world(spawn.rank)) return env;
  if (!program.mpi) drop_pmi1(env);
  for (std::string& entry : pmix_.environment(spawn, program.family, program.asked.argv.front())) {
    if (!has_name_of(program.asked.env, entry)) add_unless_there(env, entry);
  }
  return env;
}

Result<std::vector<std::uint32_t>> Ranks::cpus_for(const wire::Spawn& spawn) {
  if (!bound_) return fail(bound_.error());
  if (spawn.slots.empty()) {
    return spawn.local_rank < bound_->size() ? (*bound_)[spawn.local_rank] : std::vector<std::uint32_t>{};
  }
  if (!whole_) whole_ = read_whole_topology();
  if (!*whole_) return fail(whole_->error());
  const auto allowed = sys::affinity_of(0).value_or(std::vector<std::uint32_t>{});
  return plan::cpus_of_slots(**whole_, {allowed.begin(), allowed.end()}, spawn.slots);
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

void Ranks::prepare(std::unique_ptr<Start> start) {
  start->argv = pointers(start->program.asked.argv, {});
  start->envp = pointers(start->program.asked.env, start->env);
  start->launch = {.path = start->path.c_str(),
                   .argv = start->argv.data(),
                   .envp = start->envp.data(),
                   .wdir = start->directory.c_str(),
                   .in = start->stdio.child_in.get(),
                   .out = start->stdio.child_out.get(),
                   .err = start->stdio.child_err.get(),
                   .cgroup = cgroup_.fd(),
                   .mpi = start->mpi.get(),
                   .terminal = start->stdio.terminal,
                   .affinity = start->affinity,
                   .open_files = open_files_,
                   .wait = report_cpus_};
  prepared_.push_back(std::move(start));
  if (prepared_.size() == kStarts) return start_prepared();
  if (prepared_.size() == 1) asio::post(io_, [this] { start_prepared(); });
}

/// One fork right after the other: each page that we write between two is copied.
void Ranks::start_prepared() {
  const auto starts = std::exchange(prepared_, {});
  if (starts.empty()) return;
  std::array<ProcessSpawner::Child, kStarts> children;
  {
    const RankOomScore::Raised raised(oom_score_);
    for (size_t i = 0; i < starts.size(); ++i) children[i] = spawner_.spawn(starts[i]->launch);
  }
  for (size_t i = 0; i < starts.size(); ++i) forked(*starts[i], children[i]);
  link_.flush();
}

void Ranks::forked(Start& start, const ProcessSpawner::Child& child) {
  if (child.pid < 0) return refuse(start.rank, child.error, step_text(SpawnStep::fork, child.error, start));
  Rank& rank = ranks_[start.rank];
  rank.pid = child.pid;
  rank.app = start.program.asked.app;
  rank.path = start.path;
  rank.directory = start.directory;
  rank.failure = child.slot;
  rank.credit.fill(start.local_rank < local_ranks_ ? first_credit_ : std::min(first_credit_, wire::kLateCredit));
  rank_of_.emplace(child.pid, start.rank);
  if (!start.mpi) mpi_.ended(start.rank);  // it never comes to a fence
  connect(start.rank, rank, start.stdio);
}

void Ranks::connect(std::uint32_t id, Rank& rank, Stdio& stdio) {
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

void Ranks::feed(std::uint32_t id, Rank& rank, Stdio& stdio) {
  rank.in = std::make_unique<StdinFeeder>(
      io_, std::move(stdio.in), stdio.terminal,
      StdinFeeder::Handlers{[this, id](std::uint32_t bytes) { link_.send(wire::Credit{id, 0, bytes}); },
                            [this, id] { link_.send(wire::StdinClosed{id}); }});
}

/// Carries an output stream in frames, under the credit that the launcher grants.
void Ranks::carry(std::uint32_t id, Rank& rank, std::uint8_t stream, sys::Fd fd) {
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

void Ranks::refuse(std::uint32_t rank, int error, const std::string& what) {
  if (!ranks_.contains(rank)) {
    mpi_.ended(rank);
    pmix_.ended(rank);
  }
  link_.send(
      wire::SpawnFailed{rank, static_cast<std::uint32_t>(error), what.substr(0, kLongestReason), sys::wall_ns()});
}

void Ranks::signal(int signal) {
  told_to_end_ = told_to_end_ || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
  pmix_.settle();
  for (auto& [id, rank] : ranks_) {
    if (rank.pid <= 1) continue;
    if (::kill(-rank.pid, signal) != 0) ::kill(rank.pid, signal);  // it does not lead its group yet
  }
}

void Ranks::reaped(pid_t pid, int wait_status) {
  const auto found = rank_of_.find(pid);
  if (found == rank_of_.end()) return;  // an orphan that we adopted
  const std::uint32_t id = found->second;
  rank_of_.erase(found);
  Rank& rank = ranks_.at(id);
  rank.pid = 0;
  rank.in.reset();
  for (auto& reader : rank.readers) {
    if (reader) reader->rank_ended();
  }
  const bool in_pmix = pmix_.ended(id);
  const bool in_mpi = (mpi_.ended(id) || in_pmix) && !told_to_end_;
  if (const auto failure = ProcessSpawner::failure(rank.failure)) {
    return refuse(id, failure->error,
                  step_text(failure->step, failure->error,
                            {.program = programs_.at(rank.app), .path = rank.path, .directory = rank.directory}));
  }
  const bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  const auto kills = killed ? oom_kills() : oom_kills_;
  const wire::Ended ended{id, static_cast<std::uint32_t>(wait_status), kills > oom_kills_, sys::wall_ns(), in_mpi};
  if (wait_status == 0) return link_.send(ended);
  pmix_.once_settled([this, ended] { link_.send(ended); });
}

void Ranks::discard() {
  discarding_ = true;
  prepared_.clear();
  resume();
}

void Ranks::clear() {
  rank_of_.clear();
  ranks_.clear();
}

}  // namespace dlaunch::agent
