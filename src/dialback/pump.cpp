#include "dialback/pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <tuple>
#include <utility>

#include "dialback/statement.h"

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kOutcomeLimit{2};
constexpr std::chrono::milliseconds kReasonWait{1000};
constexpr std::chrono::seconds kEndsAfterRequest{3};
constexpr std::chrono::seconds kLongestWait{5};

}  // namespace

struct Pump::Carried {
  Carried(Carrier its_carrier, std::shared_ptr<NodeConnection> its_connection)
      : carrier(std::move(its_carrier)), connection(std::move(its_connection)) {}
  Carrier carrier;
  std::shared_ptr<NodeConnection> connection;
  bool end_sent = false;             // the node was notified that the launcher has closed its link
  std::optional<Time> reason_until;  // deadline for a better reason after the connection has ended
  std::optional<Time> ends_by;       // deadline for the end of the connection
  bool over = false;
};

Pump::Pump() { std::tie(order_, orders_) = sys::make_socketpair(); }
Pump::~Pump() = default;

void Pump::add(SealedSocket socket, std::shared_ptr<NodeConnection> connection) {
  NodeConnection& target = *connection;
  auto added = std::make_unique<Carried>(
      Carrier(std::move(socket), [&target](const SealedRecord& record) { take_record(target, record); }),
      std::move(connection));
  added->carrier.attach(added->connection->take_thread_end());
  const std::lock_guard lock(mutex_);
  added_.push_back(std::move(added));
  wake();
}

void Pump::wake() const {
  const char any = 0;
  ::send(order_.get(), &any, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Pump::finish(int exit_code) {
  const std::lock_guard lock(mutex_);
  outcome_ = exit_code;
  wake();
}

void Pump::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  wake();
}

void Pump::take_record(NodeConnection& connection, const SealedRecord& record) {
  if (record.kind != SealedRecord::Kind::data_end || record.payload.empty()) return;
  transport::Disconnect why;
  auto [nothing_left, reason] = data_end_in(record.payload);
  why.nothing_left = nothing_left;
  why.what = std::move(reason);
  connection.set_reason(std::move(why));
}

void Pump::run() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign(1, {orders_.get(), POLLIN, 0});
    for (const auto& each : carried_) each->carrier.watch(polled);
    ::poll(polled.data(), polled.size(), static_cast<int>(until_next_check().count()));
    for (size_t i = 0; i < carried_.size(); ++i) turn(*carried_[i], &polled[1 + i * Carrier::kPolled]);
    if (polled[0].revents != 0 && !take_orders()) return;
  }
}

bool Pump::take_orders() {
  std::array<char, 64> wakes;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  const std::lock_guard lock(mutex_);
  ::recv(orders_.get(), wakes.data(), wakes.size(), MSG_DONTWAIT);
  for (auto& each : added_) carried_.push_back(std::move(each));
  added_.clear();
  if (outcome_) send_outcome(*outcome_);
  return !outcome_ && !stopped_;
}

void Pump::turn(Carried& each, const pollfd* polled) {
  if (each.over) return;
  each.connection->set_idle(false);
  each.carrier.socket().beat(Clock::now());
  each.carrier.turn(polled);
  if (!each.ends_by && each.connection->is_ending()) each.ends_by = Clock::now() + kReasonWait;
  if (each.ends_by && Clock::now() >= *each.ends_by && !each.carrier.local_ended()) each.carrier.detach();
  if (each.carrier.local_ended() && !std::exchange(each.end_sent, true)) {
    each.carrier.socket().send(SealedRecord::Kind::data_end);
    each.carrier.socket().flush();
  }
  if (each.carrier.finished()) finish_if_over(each);
  each.connection->set_idle(each.carrier.idle());
}

void Pump::finish_if_over(Carried& each) {
  if (!each.reason_until) each.reason_until = Clock::now() + kReasonWait;
  if (each.connection->expects_reason() && Clock::now() < *each.reason_until) return;
  each.over = true;
  transport::Disconnect why;
  why.what = "the connection closed";
  why.why = each.carrier.socket().why();
  each.connection->set_reason(std::move(why));
  each.carrier.detach();
}

std::chrono::milliseconds Pump::until_next_check() const {
  Time next = Clock::now() + kLongestWait;
  for (const auto& each : carried_) {
    if (each->over) continue;
    next = std::min(next, each->reason_until.value_or(each->carrier.socket().next_beat()));
    if (each->ends_by && !each->end_sent) next = std::min(next, *each->ends_by);
  }
  return std::chrono::milliseconds(milliseconds_until(next));
}

void Pump::send_outcome(int exit_code) {
  std::vector<SealedSocket*> sockets;
  for (const auto& each : carried_) {
    each->carrier.detach();
    each->carrier.socket().send(SealedRecord::Kind::outcome, std::to_string(exit_code), true);
    sockets.push_back(&each->carrier.socket());
  }
  send_last_records(std::move(sockets), Clock::now() + kOutcomeLimit);
}

void PumpThread::start() {
  if (const int error = thread_.start([pump = pump_] { pump->run(); }); error != 0) {
    throw std::system_error(error, std::generic_category(), "cannot create the thread for the other nodes");
  }
}

void PumpThread::finish(int exit_code) {
  pump_->finish(exit_code);
  thread_.join_until(Clock::now() + kEndsAfterRequest);
}

void PumpThread::stop() {
  pump_->stop();
  thread_.join_until(Clock::now() + kEndsAfterRequest);
}

NodeConnection::NodeConnection() {
  std::tie(stream_, local_) = sys::make_socketpair();
  copy_.reset(::fcntl(local_.get(), F_DUPFD_CLOEXEC, 3));
  errors_ = sys::make_pipe();
  if (errors_.write) sys::set_nonblocking(errors_.write.get());
}

transport::Connection NodeConnection::connection(const std::shared_ptr<NodeConnection>& connection) {
  return {.stream = std::move(connection->stream_),
          .errors = std::move(connection->errors_.read),
          .disconnect = [connection] { return connection->reason(); },
          .passed_on_by = [connection](Time deadline) { return connection->passed_on_by(deadline); }};
}

/// A copy of the descriptor is open, but the launcher must see the end of the stream.
void NodeConnection::close_thread_end() {
  ::shutdown(local_.get(), SHUT_RDWR);
  local_.reset();
}

void NodeConnection::set_reason(transport::Disconnect why) {
  const std::lock_guard lock(mutex_);
  if (disconnect_.what.empty() && !disconnect_.nothing_left) disconnect_ = std::move(why);
}

transport::Disconnect NodeConnection::reason() const {
  const std::lock_guard lock(mutex_);
  return disconnect_;
}

void NodeConnection::add_error_text(std::string_view bytes) const {
  [[maybe_unused]] const ssize_t taken = ::write(errors_.write.get(), bytes.data(), bytes.size());
}

void NodeConnection::expect_reason(bool expected) {
  const std::lock_guard lock(mutex_);
  expects_reason_ = expected;
}

void NodeConnection::end_soon() {
  const std::lock_guard lock(mutex_);
  expects_reason_ = false;
  ends_soon_ = true;
}

bool NodeConnection::expects_reason() const {
  const std::lock_guard lock(mutex_);
  return expects_reason_;
}

bool NodeConnection::is_ending() const {
  const std::lock_guard lock(mutex_);
  return ends_soon_;
}

bool NodeConnection::passed_on_by(Time deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait(lock, deadline, [this] {
    int unread = 0;
    return idle_.now() && ::ioctl(copy_.get(), FIONREAD, &unread) == 0 && unread == 0;
  });
}

}  // namespace dlaunch::dialback
