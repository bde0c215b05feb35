// Tests each promise of run() to its caller (dlaunch/run.h), and prints the broken promises.
#include <dlaunch/hostfile.h>
#include <dlaunch/run.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace {

using namespace dlaunch;

int broken = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  ++broken;
  std::fprintf(stderr, "broken: %s\n", what);
}

plan::Plan plan_of(std::vector<std::string> argv, int ranks = 2) {
  plan::Request request{.job_id = make_job_id(), .environment = {"PATH=/usr/bin:/bin"}, .cwd = "/"};
  request.apps.push_back({.argv = std::move(argv), .ranks = ranks});
  request.oversubscribe = true;
  const auto allocation = hosts::choose_allocation({}, {}, {});
  return plan::make_plan(request, *allocation).value();
}

bool is_gone(int pid) {
  for (int i = 0; i < 100 && ::kill(pid, 0) == 0; ++i) ::usleep(100'000);
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

void own_handler(int) {}

void process_state_is_restored() {
  struct sigaction mine{};
  mine.sa_handler = own_handler;
  ::sigaction(SIGTERM, &mine, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = 500;
  ::setrlimit(RLIMIT_NOFILE, &files);
  plan::Plan plan = plan_of({"true"});
  Listener listener;
  for (int i = 0; i < 2; ++i) {
    const auto outcome = run(plan, {}, listener);
    check(outcome && outcome->cause == job::Cause::success, "two jobs run, one after the other");
  }
  struct sigaction now{};
  ::sigaction(SIGTERM, nullptr, &now);
  check(now.sa_handler == own_handler, "the handler of the program is restored");
  ::sigaction(SIGPIPE, nullptr, &now);
  check(now.sa_handler == SIG_DFL, "the action of SIGPIPE is restored");
  ::sigaction(SIGCHLD, nullptr, &now);
  check(now.sa_handler == SIG_DFL, "the action of SIGCHLD is restored");
  int subreaper = 1;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  check(subreaper == 0, "the process is not a subreaper any more");
  ::getrlimit(RLIMIT_NOFILE, &files);
  check(files.rlim_cur == 500, "the limit of open files is restored");
}

struct Thrower : Listener {
  std::vector<int> pids;
  int late = 0;
  void all_started(const job::Outcome& outcome) override {
    for (const job::RankRecord& rank : outcome.ranks) pids.push_back(rank.pid);
    throw std::runtime_error("enough");
  }
  void line(int, output::Stream, std::string_view) override { late += pids.empty() ? 0 : 1; }
};

void exception_of_a_listener_ends_the_job() {
  plan::Plan plan = plan_of({"sleep", "1000"});
  Thrower thrower;
  std::string what;
  try {
    (void)run(plan, {}, thrower);
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  check(what == "enough", "run() throws the exception of a listener");
  check(thrower.pids.size() == 2 && is_gone(thrower.pids[0]) && is_gone(thrower.pids[1]),
        "an exception of a listener ends the ranks");
  check(thrower.late == 0, "a listener is not called after its exception");
}

struct Nested : Listener {
  bool refused = false;
  void all_started(const job::Outcome&) override {
    plan::Plan plan = plan_of({"true"});
    Listener silent;
    const auto second = run(plan, {}, silent);
    refused = !second && second.error().what == "this process is already running a job";
  }
};

void second_job_is_rejected() {
  plan::Plan plan = plan_of({"sleep", "0.2"});
  Nested nested;
  check(run(plan, {}, nested)->exit_code == 0 && nested.refused, "a second job at the same time is rejected");
}

struct Interrupter : Listener {
  std::thread thread;
  void all_started(const job::Outcome&) override {
    thread = std::thread([] { ::kill(::getpid(), SIGTERM); });
  }
};

void signal_from_a_thread_ends_the_job() {
  plan::Plan plan = plan_of({"sleep", "1000"});
  Interrupter interrupter;
  const auto outcome = run(plan, {}, interrupter);
  interrupter.thread.join();
  check(outcome->cause == job::Cause::interrupted && outcome->signal == SIGTERM, "a signal from a thread ends the job");
}

void stdin_is_left_to_the_program() {
  int ends[2];
  if (::pipe(ends) != 0 || ::dup2(ends[0], 0) != 0 || ::write(ends[1], "x", 1) != 1) return check(false, "a pipe");
  ::close(ends[1]);
  plan::Plan plan = plan_of({"cat"});
  Listener listener;
  check(run(plan, {}, listener)->exit_code == 0, "ranks have an empty stdin");
  char byte = 0;
  check(::read(0, &byte, 1) == 1 && byte == 'x', "run() does not read stdin");
}

struct Teller : Listener {
  std::string text;
  void said(Level level, std::string_view lines) override {
    if (level == Level::error) text += lines;
  }
};

void failure_is_reported_to_the_listener() {
  plan::Plan plan = plan_of({"sh", "-c", "echo broken >&2; exit 3"}, 1);
  Teller teller;
  check(run(plan, {}, teller)->exit_code == 3, "the exit code is the code of the first failed rank");
  check(teller.text.find("exited with code 3") != std::string::npos, "a failure is reported to the listener");
  JobOptions options;
  options.report_file = "/nowhere/job.json";
  check(!run(plan, options, teller), "an unusable option is an Error before the start");
}

void slots_of_hosts_are_found() {
  const hosts::HostRequest asked{.list = {{.name = "fake1"}}, .fake = true};
  const auto allocation = hosts::choose_allocation(asked, {}, {});
  check(allocation && allocation->hosts[0].slots_unknown, "the slots of a fake host are unknown before a query");
  if (!allocation) return;
  Listener listener;
  JobOptions options;
  options.exec = "env";  // runs the agent on this machine
  const auto found = find_slots(*allocation, asked, options, listener);
  check(found && !found->hosts[0].slots_unknown && found->hosts[0].slots > 0, "a query finds the slots of a host");
}

}  // namespace

int main() {
  process_state_is_restored();
  exception_of_a_listener_ends_the_job();
  second_job_is_rejected();
  signal_from_a_thread_ends_the_job();
  stdin_is_left_to_the_program();
  failure_is_reported_to_the_listener();
  slots_of_hosts_are_found();
  return broken;
}
