#include "launcher/stdin_source.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "launcher/components.h"
#include "launcher/escape_keys.h"
#include "launcher/frames.h"
#include "sys/raw_terminal.h"
#include "wire/message.h"

namespace dlaunch::launcher {
namespace {

constexpr size_t kReadSize = 64u << 10;
constexpr std::chrono::milliseconds kForegroundPoll{250};  // `fg` does not send a signal to a running job

bool readable_now(int fd) {
  pollfd now{fd, POLLIN, 0};
  return ::poll(&now, 1, 0) > 0;
}

}  // namespace

StdinSource::StdinSource(asio::io_context& io, int fd, int ranks, Handlers handlers)
    : io_(io),
      fd_(fd),
      ranks_(static_cast<size_t>(ranks)),
      handlers_(std::move(handlers)),
      readiness_(io, fd, Readiness::For::reading),
      foreground_timer_(io) {}

void StdinSource::add(int rank) {
  credit_[rank] = wire::kStdinCredit;
  seen_.insert(rank);
  wait();
}

bool StdinSource::granted(int rank, std::uint32_t bytes) {
  const auto found = credit_.find(rank);
  if (found == credit_.end()) return true;
  if (bytes > wire::kStdinCredit - found->second) return false;
  found->second += bytes;
  wait();
  return true;
}

void StdinSource::remove(int rank) {
  credit_.erase(rank);
  seen_.insert(rank);
  if (credit_.empty() && seen_.size() >= ranks_) return stop();
  wait();
}

void StdinSource::stop() {
  done_ = true;
  foreground_timer_.cancel();
  readiness_.close();
}

size_t StdinSource::allowance() const {
  size_t least = kReadSize;
  for (const auto& [rank, credit] : credit_) least = std::min<size_t>(least, credit);
  // EscapeKeys may add a key that it held back before.
  return handlers_.typed && least > 0 ? least - 1 : least;
}

bool StdinSource::in_background() const { return ::isatty(fd_) == 1 && ::tcgetpgrp(fd_) != ::getpgrp(); }

void StdinSource::wait() {
  if (seen_.size() < ranks_ || credit_.empty() || done_ || waiting_ || allowance() == 0) return;
  if (in_background()) return await_foreground();
  waiting_ = true;
  auto ready = lifetime_.guard([this] {
    waiting_ = false;
    if (!done_) read();
  });
  if (readiness_.watchable()) {
    readiness_.wait(std::move(ready));
  } else {
    asio::post(io_, std::move(ready));
  }
}

void StdinSource::await_foreground() {
  foreground_timer_.expires_after(kForegroundPoll);
  foreground_timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) wait();
  }));
}

void StdinSource::read() {
  if (in_background()) return await_foreground();
  if (readiness_.watchable() && !readable_now(fd_)) return wait();
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadSize);
  const ssize_t got = ::read(fd_, buffer.get(), allowance());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return wait();
  if (const int error = got < 0 ? errno : 0; error != 0 && error != EBADF && !hung_up()) return fail(error);
  if (got <= 0) return finish();
  typed_ = typed_ || ::isatty(fd_) == 1;
  const std::string_view all(buffer.get(), static_cast<size_t>(got));
  const std::string bytes = handlers_.typed ? handlers_.typed(all) : std::string(all);
  for (auto& [rank, credit] : credit_) {
    credit -= static_cast<std::uint32_t>(bytes.size());
    if (!bytes.empty()) handlers_.send(rank, bytes, false);
  }
  wait();
}

bool StdinSource::hung_up() const { return ::isatty(fd_) == 0 && errno == EIO; }

/// The loss of a terminal is not an error: SIGHUP ends the job, or the user ignores SIGHUP to keep the job.
void StdinSource::finish() {
  if (hung_up()) handlers_.hung_up();
  for (const auto& [rank, credit] : credit_) handlers_.send(rank, {}, true);
  stop();
}

void StdinSource::fail(int error) {
  stop();
  handlers_.failed(error);
}

namespace {

/// Passes this process's stdin to the ranks of --stdin. With JobOptions::keys, the terminal is in raw mode from the
/// start of all ranks that read from it until the last such rank has ended and all output is printed.
class StdinComponent final : public Component {
 public:
  explicit StdinComponent(const Context& context)
      : context_(context),
        terminal_(STDIN_FILENO),
        escapes_(context.options.escape),
        source_(context.io, STDIN_FILENO, receivers(context),
                {.send = [this](int rank, std::string bytes, bool eof) { send(rank, std::move(bytes), eof); },
                 .failed = [this](int error) { failed(error); },
                 .hung_up = [this] { context_.log.warn("stdin ended: the terminal was closed"); },
                 .typed = reader_of_keys()}) {}
  ~StdinComponent() override { restore(); }

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    if (const auto* started = std::get_if<wire::Started>(&message)) {
      const int rank = static_cast<int>(started->rank);
      if (!receives(rank)) return false;
      source_.add(rank);
      enter_raw_mode();
      return false;
    }
    if (const auto* credit = std::get_if<wire::Credit>(&message)) {
      if (!source_.granted(static_cast<int>(credit->rank), credit->bytes))
        context_.broken(host, "protocol error: the agent granted more stdin than the launcher sent");
      return true;
    }
    const auto* const closed = std::get_if<wire::StdinClosed>(&message);
    if (closed) rank_ended(static_cast<int>(closed->rank));
    return closed != nullptr;
  }

  /// The rank accepts no more stdin, or never did.
  void rank_ended(int rank) override {
    if (receives(rank)) source_.remove(rank);
  }

  void perform(const job::Action& action) override {
    if (std::holds_alternative<job::Finished>(action)) source_.stop();
    if (std::holds_alternative<job::StopSelf>(action)) restore();
  }

  bool on_signal(int signal) override {
    if (signal != SIGCONT) return false;
    enter_raw_mode();
    source_.continued();
    return false;
  }

  /// A shell that takes this process to the foreground sends no signal if this process runs already. After the last
  /// rank that reads, the terminal stays raw until all output is printed.
  void tick(job::Progress& progress) override {
    enter_raw_mode();
    progress.typed = terminal_.is_raw() || source_.typed();
    if (source_.stopped() && context_.output.all_taken()) restore();
  }
  void ended(job::Outcome&) override { restore(); }

 private:
  static int receivers(const Context& context) {
    return context.options.stdin_target.kind == plan::StdinTarget::Kind::all ? ranks_at_start(context.plan) : 1;
  }

  bool receives(int rank) const {
    return rank < static_cast<int>(context_.plan.ranks.size()) &&
           takes_stdin(context_.options.stdin_target, context_.plan, rank);
  }

  /// With one shown rank, its bytes go to the terminal unchanged. Lines of several ranks end with "\r\n" in any mode.
  /// If stdout is a pipe, its reader may write to the terminal: `| less`.
  bool is_output_raw() const {
    const auto& shown = context_.options.output.console_ranks;
    if (!context_.output.streams().is_terminal(output::Stream::out)) return false;
    return (shown ? static_cast<int>(shown->size()) : ranks_at_start(context_.plan)) == 1;
  }

  void enter_raw_mode() {
    if (!context_.options.keys || !source_.reads() || !terminal_.enter(is_output_raw())) return;
    context_.output.streams().set_raw_terminal(is_output_raw());
  }

  void restore() {
    if (!terminal_.is_raw()) return;
    context_.output.streams().set_raw_terminal(false);
    terminal_.restore();
  }

  std::function<std::string(std::string_view)> reader_of_keys() {
    if (!context_.options.keys) return {};
    return [this](std::string_view bytes) { return typed(bytes); };
  }

  std::string typed(std::string_view bytes) {
    if (!terminal_.is_raw()) return std::string(bytes);
    EscapeKeys::Typed typed = escapes_.feed(bytes);
    for (const EscapeKeys::Command command : typed.commands) {
      if (command == EscapeKeys::Command::help) {
        context_.output.streams().say(output::StandardStreams::Importance::needed, escapes_.help());
      } else if (command == EscapeKeys::Command::end) {
        context_.signalled(SIGHUP);  // as if the terminal was closed: interactive programs ignore other signals
      } else {
        ::kill(0, SIGTSTP);  // the foreground group, as the kernel does for Ctrl-Z: a script or pipeline around dlaunch
      }
    }
    return std::move(typed.bytes);
  }

  void send(int rank, std::string bytes, bool eof) const {
    context_.hosts.send(context_.plan.rank(rank).host,
                        wire::Stdin{static_cast<std::uint32_t>(rank), std::move(bytes), eof});
  }

  void failed(int error) const {
    context_.happened(job::InputFailed{std::string("cannot read stdin: ") + std::strerror(error) +
                                       "\nuse another file, or --stdin none if no rank reads stdin"});
  }

  const Context& context_;
  sys::RawTerminal terminal_;
  EscapeKeys escapes_;
  StdinSource source_;
};

}  // namespace

std::unique_ptr<Component> make_stdin(const Context& context) { return std::make_unique<StdinComponent>(context); }

}  // namespace dlaunch::launcher
