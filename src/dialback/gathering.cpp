#include "dialback/gathering.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "link/heartbeat.h"
#include "net/tcp.h"
#include "sys/io.h"

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kNoteInterval{30};  // interval of the notes about missing nodes
constexpr std::chrono::seconds kFarewell{2};       // time to send the nodes the reason of a failure
constexpr std::chrono::milliseconds kCheckInterval{1000};

std::string title(const Statement& statement, const std::string& address) {
  const std::string who = escaped(statement.name) + ", " + address;
  return statement.node == kUnnumbered ? "a node (" + who + ")"
                                       : "node " + std::to_string(statement.node) + " (" + who + ")";
}

using std::chrono::milliseconds;

constexpr milliseconds kConnectLimit{5000};
constexpr milliseconds kFirstPause{100};  // doubled after each attempt
constexpr milliseconds kLongestPause{2000};

/// One attempt.
AttemptResult<LauncherConnection> meet_at(const Endpoint& where, const Secret& key, const Statement& self,
                                          milliseconds limit, int ended) {
  auto connected = net::connect_to({.name = where.host, .port = where.port}, limit, ended);
  if (!connected) {
    return tl::unexpected<AttemptFailure>(
        {{"", std::move(connected.error().what), std::move(connected.error().why), "", kExitHostLost}, false});
  }
  const std::string address = to_string({connected->address, where.port});
  return introduce(std::move(connected->socket), address, key, self, ended);
}

}  // namespace

Gathering::Gathering(net::ListeningSocket listener, Settings settings)
    : settings_(std::move(settings)),
      deadline_(settings_.deadline),
      pending_(std::move(listener), settings_.key,
               [this](SealedSocket& socket, const std::string& address, const SealedRecord& record) {
                 check_node(socket, address, record);
               }),
      next_check_(Clock::now() + kCheckInterval),
      next_note_(Clock::now() + kNoteInterval),
      changed_(Clock::now()) {}

Result<std::vector<JoinedNode>> Gathering::run(EndSignals& signals) {
  settings_.messages.info("waiting for " + count(settings_.self.nodes - 1, "other node") + " at " +
                          to_string(pending_.at()));
  while (!complete(Clock::now())) {
    if (Clock::now() >= deadline_) return give_up(too_late());
    wait(signals.fd());
    if (const auto signal = signals.came()) return give_up(interrupted_by(*signal));
    if (mismatch_) return give_up(*mismatch_);
  }
  pending_.close();
  if (const std::string who = pending_.rejected_text(); !who.empty()) {
    pending_.wrong_keys() > 0 ? settings_.messages.note(who) : settings_.messages.info(who);
  }
  number_nodes();
  std::vector<JoinedNode> all;
  for (auto& [node, joined] : joined_) {
    all.push_back(std::move(joined));
    all.back().statement.node = static_cast<int>(all.size());  // if fewer nodes suffice, node numbers may have gaps
  }
  return all;
}

bool Gathering::complete(Time now) const {
  if (joined_.size() + 1 == static_cast<size_t>(settings_.self.nodes)) return true;
  return enough() && (now >= changed_ + settings_.last_call || now >= deadline_);
}

void Gathering::wait(int ended) {
  std::vector<pollfd> polled{{ended, POLLIN, 0}};
  pending_.watch(polled);
  const Time planned = Clock::now() + kCheckInterval;
  ::poll(polled.data(), polled.size(), static_cast<int>(kCheckInterval.count()));
  const Time now = Clock::now();
  const Duration stopped = link::lateness(planned, now, kCheckInterval);
  deadline_ += stopped;
  changed_ += stopped;
  pending_.turn(&polled[1], now);
  if (now >= next_check_) check_joined(now);
  if (now < next_note_) return;
  next_note_ = now + kNoteInterval;
  if (!enough()) settings_.messages.note("still waiting for " + missing() + " at " + to_string(pending_.at()));
}

void Gathering::check_node(SealedSocket& socket, const std::string& address, const SealedRecord& record) {
  auto statement = record.kind == SealedRecord::Kind::statement
                       ? statement_in(record.payload)
                       : fail({"", "protocol error: unexpected first message", "", "", kExitHostLost});
  const Statement& self = settings_.self;
  const std::string who = statement ? title(*statement, address) : address;
  const auto why = statement ? difference_from(self, *statement) : std::optional(statement.error().what);
  if (why) {
    mismatch_ = Error{who, *why, "", "start the same command on every node, with the same version of dlaunch"};
    return refuse(socket, *mismatch_);
  }
  const auto there = joined_.find(statement->node);
  if (statement->node == kUnnumbered || there == joined_.end()) return admit(socket, address, *statement);
  const Error twice{who,
                    "duplicate node number \"" + std::to_string(statement->node) +
                        "\": already connected: " + title(there->second.statement, there->second.address),
                    "", "give each node its own number"};
  settings_.messages.note(who + " was refused: " + twice.what);
  refuse(socket, twice);
}

void Gathering::admit(SealedSocket& socket, const std::string& address, const Statement& statement) {
  socket.send(SealedRecord::Kind::welcome, to_payload(settings_.welcome));
  socket.begin_heartbeats(settings_.welcome.heartbeat);
  socket.flush();
  settings_.messages.info("connected: " + title(statement, address));
  const int key = statement.node == kUnnumbered ? next_unnumbered_++ : statement.node;
  joined_.emplace(key, JoinedNode{statement, address, std::move(socket)});
  changed_ = Clock::now();
}

/// All received bytes were read, so close() does not discard the bytes sent to the node.
void Gathering::refuse(SealedSocket& socket, const Error& error) const {
  socket.send(SealedRecord::Kind::refusal, refusal_payload(error), true);
  socket.flush();
}

void Gathering::check_joined(Time now) {
  next_check_ = now + kCheckInterval;
  for (auto each = joined_.begin(); each != joined_.end();) {
    SealedSocket& socket = each->second.socket;
    socket.receive();
    while (socket.next()) {
    }
    socket.beat(now);
    socket.flush();
    if (!socket.over() && !socket.silent(now)) {
      ++each;
      continue;
    }
    settings_.messages.note("lost " + title(each->second.statement, each->second.address) + ": " +
                            (socket.over() ? socket.why() : "the node stopped sending heartbeats"));
    each = joined_.erase(each);
    changed_ = now;
  }
}

tl::unexpected<Error> Gathering::give_up(Error error) {
  pending_.close();
  std::vector<SealedSocket*> sockets;
  for (auto& [node, joined] : joined_) {
    joined.socket.send(SealedRecord::Kind::refusal, refusal_payload(error), true);
    sockets.push_back(&joined.socket);
  }
  send_last_records(std::move(sockets), Clock::now() + kFarewell);
  return fail(std::move(error));
}

Error Gathering::too_late() const {
  const std::string at = to_string(pending_.at());
  return {"--same-line", "timed out waiting for " + missing() + " at " + at, pending_.rejected_text(),
          "start the same command on the missing nodes, with the same key; check the firewall for " + at,
          kExitHostLost};
}

void Gathering::number_nodes() {
  std::vector<JoinedNode> unnumbered;
  for (auto each = joined_.lower_bound(settings_.self.nodes); each != joined_.end(); each = joined_.erase(each)) {
    unnumbered.push_back(std::move(each->second));
  }
  std::ranges::sort(unnumbered, {},
                    [](const JoinedNode& each) { return std::pair(each.statement.name, each.address); });
  int number = 1;
  for (JoinedNode& each : unnumbered) {
    while (joined_.contains(number)) ++number;
    each.statement.node = number;
    joined_.emplace(number, std::move(each));
  }
}

std::string Gathering::missing() const {
  if (joined_.lower_bound(settings_.self.nodes) != joined_.end()) {
    return count(static_cast<size_t>(settings_.self.nodes) - 1 - joined_.size(), "other node");
  }
  std::set<int> numbers;
  for (int node = 1; node < settings_.self.nodes; ++node) {
    if (!joined_.contains(node)) numbers.insert(node);
  }
  return (numbers.size() == 1 ? "node " : "nodes ") + fold_ints(numbers);
}

Nodes::Nodes(std::vector<JoinedNode> joined) {
  for (JoinedNode& each : joined) {
    connections_.push_back(std::make_shared<NodeConnection>());
    pump_->add(std::move(each.socket), connections_.back());
  }
  pump_.start();
}

Nodes::~Nodes() { pump_.stop(); }

Result<transport::Connection> Nodes::open(const plan::Host& host) {
  const auto& connection = connections_.at(static_cast<size_t>(host.reach.node.value()) - 1);
  if (!connection->taken()) return NodeConnection::connection(connection);
  if (connection->reason().nothing_left) {  // a stream at its end, with the reason
    return transport::Connection{.stream = sys::make_socketpair().first,
                                 .disconnect = [connection] { return connection->reason(); }};
  }
  return fail({host.name, "cannot connect to the node again", "node 0 cannot open a connection to another node", "",
               kExitHostLost});
}

void Nodes::end(int exit_code) { pump_.finish(exit_code); }

Result<LauncherConnection> meet_launcher(const Endpoint& where, const Secret& key, const Statement& self, Time deadline,
                                         EndSignals& signals, const Messages& messages) {
  std::string reported;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const milliseconds left(std::max(1, milliseconds_until(deadline)));
    auto connection = meet_at(where, key, self, std::min(kConnectLimit, left), signals.fd());
    if (connection) {
      messages.info("connected to node 0 at " + connection->address);
      return *std::move(connection);
    }
    if (const auto signal = signals.came()) return fail(interrupted_by(*signal));
    Error error = std::move(connection.error().error);
    if (error.where.empty()) error.where = to_string(where);
    if (connection.error().fatal) return fail(std::move(error));
    if (Clock::now() + pause >= deadline) {
      error.what = "timed out waiting for node 0: " + error.what;
      error.hint = "start the same command on node 0; check the connection to " + to_string(where);
      return fail(std::move(error));
    }
    const std::string text = what_and_why(error);
    if (std::exchange(reported, text) != text) messages.info(to_string(where) + ": " + text + "; trying again");
    readable(-1, signals.fd(), Clock::now() + pause);
  }
}

}  // namespace dlaunch::dialback
