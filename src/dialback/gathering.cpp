#include "dialback/gathering.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kTellEvery{30};  // who is missing
constexpr std::chrono::seconds kFarewell{2};    // for nodes to hear why there is no job
constexpr std::chrono::milliseconds kLookEvery{1000};

std::string title(const Statement& statement, const std::string& address) {
  const std::string who = escaped(statement.name) + ", " + address;
  return statement.node == kUnnumbered ? "a node (" + who + ")"
                                       : "node " + std::to_string(statement.node) + " (" + who + ")";
}

}  // namespace

Gathering::Gathering(Door door, Settings settings)
    : settings_(std::move(settings)),
      callers_(std::move(door), settings_.key,
               [this](SealedSocket& socket, const std::string& address, const SealedRecord& record) {
                 judge(socket, address, record);
               }),
      next_look_(Clock::now() + kLookEvery),
      next_told_(Clock::now() + kTellEvery),
      changed_(Clock::now()) {}

Result<std::vector<Arrived>> Gathering::run(EndSignals& signals) {
  settings_.tell.info("waiting for " + count(settings_.self.nodes - 1, "other node") + " at " +
                      to_string(callers_.at()));
  while (!complete(Clock::now())) {
    if (Clock::now() >= settings_.deadline) return give_up(too_late());
    wait(signals.fd());
    if (const auto signal = signals.came()) return give_up(interrupted_by(*signal));
    if (mismatch_) return give_up(*mismatch_);
  }
  callers_.close();
  if (const std::string who = callers_.strangers(); !who.empty()) {
    callers_.wrong_keys() > 0 ? settings_.tell.note(who) : settings_.tell.info(who);
  }
  number_nodes();
  std::vector<Arrived> all;
  for (auto& [node, arrived] : arrived_) {
    all.push_back(std::move(arrived));
    all.back().statement.node = static_cast<int>(all.size());  // where fewer will do, numbers may be left out
  }
  return all;
}

bool Gathering::complete(Time now) const {
  if (arrived_.size() + 1 == static_cast<size_t>(settings_.self.nodes)) return true;
  return enough() && (now >= changed_ + settings_.last_call || now >= settings_.deadline);
}

void Gathering::wait(int ended) {
  std::vector<pollfd> polled{{ended, POLLIN, 0}};
  callers_.watch(polled);
  ::poll(polled.data(), polled.size(), static_cast<int>(kLookEvery.count()));
  const Time now = Clock::now();
  callers_.turn(&polled[1], now);
  if (now >= next_look_) look_at_arrived(now);
  if (now < next_told_) return;
  next_told_ = now + kTellEvery;
  if (!enough()) settings_.tell.note("still waiting for " + missing() + " at " + to_string(callers_.at()));
}

void Gathering::judge(SealedSocket& socket, const std::string& address, const SealedRecord& record) {
  auto statement = record.kind == SealedRecord::Kind::statement
                       ? statement_in(record.payload)
                       : fail({"", "it says something else than what it was started for", "", "", kExitHostLost});
  const Statement& self = settings_.self;
  const std::string who = statement ? title(*statement, address) : address;
  const auto why = statement ? refusal(self, *statement) : std::optional(statement.error().what);
  if (why) {
    mismatch_ = Error{who, *why, "", "start the same line on every node, by the same dlaunch"};
    return refuse(socket, *mismatch_);
  }
  const auto there = arrived_.find(statement->node);
  if (statement->node == kUnnumbered || there == arrived_.end()) return admit(socket, address, *statement);
  const Error twice{who,
                    "node " + std::to_string(statement->node) +
                        " is in already: " + title(there->second.statement, there->second.address),
                    "", "give each node a number of its own"};
  settings_.tell.note(who + " was refused: " + twice.what);
  refuse(socket, twice);
}

void Gathering::admit(SealedSocket& socket, const std::string& address, const Statement& statement) {
  socket.send(SealedRecord::Kind::welcome, settings_.job_id);
  socket.flush();
  settings_.tell.info(title(statement, address) + " is in");
  const int key = statement.node == kUnnumbered ? next_unnumbered_++ : statement.node;
  arrived_.emplace(key, Arrived{statement, address, std::move(socket)});
  changed_ = Clock::now();
}

/// All that it said was read, so closing does not take back what we say.
void Gathering::refuse(SealedSocket& socket, const Error& error) const {
  socket.send(SealedRecord::Kind::refusal, refusal_payload(error), true);
  socket.flush();
}

void Gathering::look_at_arrived(Time now) {
  next_look_ = now + kLookEvery;
  for (auto each = arrived_.begin(); each != arrived_.end();) {
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
    settings_.tell.note(title(each->second.statement, each->second.address) +
                        " has left: " + (socket.over() ? socket.why() : "it fell silent"));
    each = arrived_.erase(each);
    changed_ = now;
  }
}

tl::unexpected<Error> Gathering::give_up(Error error) {
  callers_.close();
  std::vector<SealedSocket*> sockets;
  for (auto& [node, arrived] : arrived_) {
    arrived.socket.send(SealedRecord::Kind::refusal, refusal_payload(error), true);
    sockets.push_back(&arrived.socket);
  }
  say_farewell(std::move(sockets), Clock::now() + kFarewell);
  return fail(std::move(error));
}

Error Gathering::too_late() const {
  const std::string at = to_string(callers_.at());
  return {"--same-line", missing() + " did not come to " + at + " in time", callers_.strangers(),
          "start the same line there, with the same key; a firewall must let it connect to " + at, kExitHostLost};
}

void Gathering::number_nodes() {
  std::vector<Arrived> unnumbered;
  for (auto each = arrived_.lower_bound(settings_.self.nodes); each != arrived_.end(); each = arrived_.erase(each)) {
    unnumbered.push_back(std::move(each->second));
  }
  std::ranges::sort(unnumbered, {}, [](const Arrived& each) { return std::pair(each.statement.name, each.address); });
  int number = 1;
  for (Arrived& each : unnumbered) {
    while (arrived_.contains(number)) ++number;
    each.statement.node = number;
    arrived_.emplace(number, std::move(each));
  }
}

std::string Gathering::missing() const {
  if (arrived_.lower_bound(settings_.self.nodes) != arrived_.end()) {
    return count(static_cast<size_t>(settings_.self.nodes) - 1 - arrived_.size(), "other node");
  }
  std::set<int> numbers;
  for (int node = 1; node < settings_.self.nodes; ++node) {
    if (!arrived_.contains(node)) numbers.insert(node);
  }
  return (numbers.size() == 1 ? "node " : "nodes ") + fold_ints(numbers);
}

}  // namespace dlaunch::dialback
