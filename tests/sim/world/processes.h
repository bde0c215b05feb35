// The processes of all hosts and the rules of the kernel: parents, subreapers, death signals, zombies, stops. A worker
// and a guardian run the product's code on a fiber; a rank is a model. Owned by World.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "world/process.h"

namespace sim {

class World;

class Processes {
 public:
  explicit Processes(World& world) : world_(world) {}
  ~Processes();

  /// A guardian without a parent, or a worker, whose code is `run`.
  Process& start(Process::Kind kind, int host, int agent, int parent, std::function<void()> run);
  /// A rank of the worker. The descriptors are copied. `mpi`: a PMI-1 connection, or -1.
  Process& start_rank(Process& worker, int rank, int in, int out, int err, int mpi);

  /// The process that prepares the directories of ranks (agent/workdir_setup.h): reads all frames, then exits.
  Process& start_preparer(Process& worker, int in, int out);

  /// Does nothing without a PMI-1 connection. `while_it_waits`: by another thread, also before an answer.
  void call_mpi_abort(Process* rank, bool while_it_waits);

  Process* find(int pid);
  /// The process whose code runs; nullptr: the launcher.
  Process* current() const { return current_; }
  std::map<int, Process>& all() { return all_; }
  const std::map<int, Process>& all() const { return all_; }
  std::vector<Process*> descendants(int pid);
  /// The living ranks of the job and their daemons on the host.
  std::vector<Process*> of_job(int host);

  /// kill(2) by a process of the host or by the kernel. Returns false if no such process lives.
  bool signal(int pid, int signal, Process::End reason);
  /// Sends the signal if the rank has a handler: then it saves its state and exits with 0.
  bool signal_if_caught(int pid, int signal);
  void end(Process& process, int wait_status, Process::End reason);
  /// wait4(2) of the process: > 0: a pid, 0: nothing yet, -1: no child.
  pid_t wait(Process& parent, pid_t pid, int* status, int options);
  /// Lets the process run until it waits.
  void run(Process& process);
  /// The process may run now: its host and the process itself are neither frozen nor stopped.
  bool may_run(const Process& process) const;
  void poke(Process& process) { process.poked = true; }

 private:
  Process& add(Process::Kind kind, int host, int agent, int parent);
  void stop(Process& process, int signal);
  void go_on(Process& process);
  void terminate(Process& rank, int signal);
  void told_parent(Process& process);
  void leave_children(Process& process);
  int reaper_of(const Process& process);
  void write_line(int pid);
  void read_input(int pid);
  void call_mpi(int pid);
  void end_by_itself(int pid, int wait_status);
  void prepare(int pid);

  World& world_;
  std::map<int, Process> all_;
  Process* current_ = nullptr;
  int next_pid_ = 1000;
};

}  // namespace sim
