#include "dialback/agent_group.h"

#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "dialback/job_key.h"
#include "place/line_meaning.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/io.h"
#include "sys/randomness.h"

namespace dlaunch::dialback {
namespace {

using Retry = transport::Disconnect::Retry;

constexpr std::chrono::seconds kLookUpLimit{2};  // of an address, or of ports
constexpr std::chrono::milliseconds kCommandCheck{1000};
constexpr size_t kLongestFile = 1u << 20;
constexpr size_t kKeyBytes = 32;
constexpr size_t kMarkBytes = 16;

std::vector<std::string> names_of(const std::vector<AgentGroup::Awaited>& hosts) {
  std::vector<std::string> names;
  for (const AgentGroup::Awaited& each : hosts) names.push_back(each.host.name);
  return names;
}

constexpr std::chrono::seconds kStopLimit{3};

}  // namespace

AgentGroup::AgentGroup(Settings settings, std::vector<Awaited> hosts)
    : settings_(std::move(settings)),
      nonce_(sys::random_hex(kMarkBytes)),
      hosts_(std::move(hosts)),
      starter_(make_starter(request(),
                            [this](const std::string& host, std::string_view bytes) { take_errors(host, bytes); })),
      key_(sys::random_hex(kKeyBytes)) {
  std::tie(stop_, stopped_) = sys::make_socketpair();
}

AgentGroup::~AgentGroup() = default;

void AgentGroup::begin(const std::shared_ptr<AgentGroup>& group, sys::Thread& thread) {
  if (const int error = thread.start([group] { group->run(); }); error != 0) {
    throw std::system_error(error, std::generic_category(), "cannot create the thread that starts agents");
  }
}

void AgentGroup::stop() { ::shutdown(stop_.get(), SHUT_RDWR); }

void AgentGroup::run() {
  if (auto begun = starter_->begin(processes_); !begun) return fail_all(begun.error(), Retry::never);
  send_contact();
  while (wait()) {
  }
  starter_->close();
  if (pending_) pending_->close();
}

AgentStarter::Request AgentGroup::request() const {
  AgentStarter::Request request{settings_.how, {}, nonce_};
  for (const Awaited& each : hosts_) request.hosts.push_back(each.host);
  return request;
}

PortRange AgentGroup::allowed_ports() const {
  const DialIn& how = settings_.how;
  if (how.ports != PortRange{} || !how.ports_in) return how.ports;
  const auto file = sys::read_file(how.ports_file, kLongestFile);
  if (const auto ports = file ? how.ports_in(*file) : std::nullopt) return *ports;
  const auto answer = transport::ask_command(how.ports_command, kLookUpLimit, stopped_.get());
  return how.ports_in(answer.text).value_or(PortRange{});
}

/// Listens while the started commands get ready on the hosts.
void AgentGroup::send_contact() {
  const std::string address = net::address_towards(names_of(hosts_), Clock::now() + kLookUpLimit, stopped_.get());
  auto listener = net::listen_on_address(address, allowed_ports());
  if (!listener) return fail_all(listener.error(), Retry::soon);
  settings_.messages.info("agents of " + fold_names(names_of(hosts_)) + " connect to " + to_string(listener->at));
  const LauncherContact contact{listener->at, key_};
  pending_.emplace(*std::move(listener), job_key(key_).value(),
                   [this](SealedSocket& socket, const std::string& from, const SealedRecord& record) {
                     admit(socket, from, record);
                   });
  if (auto sent = starter_->send_contact(contact_line(contact, nonce_), processes_); !sent)
    fail_all(sent.error(), Retry::never);
}

/// Returns false if the thread must stop.
bool AgentGroup::wait() {
  std::vector<pollfd> polled{{stopped_.get(), POLLIN, 0}};
  starter_->watch(polled);
  const size_t listener = polled.size();
  if (pending_) pending_->watch(polled);
  const bool waits = !all_done() || !starter_->ended();
  ::poll(polled.data(), polled.size(), waits ? static_cast<int>(kCommandCheck.count()) : -1);
  if (polled[0].revents != 0) return false;
  const Time now = Clock::now();
  starter_->turn(polled.data() + 1, now);
  if (pending_) pending_->turn(polled.data() + listener, now);
  check_start_failures();
  check_replaced();
  check_end();
  if (now >= starter_->connect_by() && !all_done()) {
    fail_all({.what = "timed out waiting for the agent to connect to " + to_string(pending_->at()),
              .why = {},
              .hint = {},
              .retry = Retry::soon});
  }
  if (pending_ && all_done()) {
    if (const std::string who = pending_->rejected_text(); !who.empty()) settings_.messages.info(who);
    pending_.reset();
    starter_->settled();
  }
  return !all_done() || std::ranges::any_of(hosts_, &Awaited::in);  // else no host is left to serve
}

void AgentGroup::admit(SealedSocket& socket, const std::string& address, const SealedRecord& record) {
  const auto statement = record.kind == SealedRecord::Kind::statement
                             ? statement_in(record.payload)
                             : fail({"", "protocol error: unexpected first message", "", "", kExitHostLost});
  const auto host =
      std::ranges::find_if(hosts_, [&](const Awaited& each) { return statement && each.host.name == statement->name; });
  if (host == hosts_.end() || host->done) {
    const Error error{address,
                      "unexpected connection: dlaunch does not wait for this host, or the host is already connected",
                      "", "", kExitHostLost};
    socket.send(SealedRecord::Kind::refusal, refusal_payload(error), true);
    socket.flush();
    if (host != hosts_.end() && host->in) end_impersonated(*host, "another agent from " + agent_at(address, *host));
    return;
  }
  host->done = true;
  host->in = true;
  host->address = address;
  socket.send(SealedRecord::Kind::welcome, to_payload(settings_.welcome));
  socket.begin_heartbeats(settings_.welcome.heartbeat);
  socket.flush();
  host->connection->expect_reason(true);
  settings_.pump->add(std::move(socket), host->connection);
}

void AgentGroup::check_start_failures() {
  for (Awaited& host : hosts_) {
    if (host.done) continue;
    auto why = starter_->start_failure(host.host.name);
    if (!why) continue;
    // Only this node failed. A separate command for this node can report the reason.
    if (reason_lines_.last().meaning == place::LineMeaning::refused) why->retry = Retry::soon;
    fail_host(host, *std::move(why));
  }
}

/// Another agent may have used the name of the host and connected last. The port is then closed before the host's own
/// agent can connect. Only an agent without a connection reports this failure.
void AgentGroup::check_replaced() {
  for (const Awaited& host : hosts_) {
    if (!host.in || impersonated_) continue;
    const auto why = starter_->start_failure(host.host.name);
    if (why && why->what.starts_with(kCannotConnect)) {
      return end_impersonated(host, "the host's own agent reports: " + printable(why->what));
    }
  }
}

/// "10.0.0.3 (n3 connected from this address, too)"
std::string AgentGroup::agent_at(const std::string& address, const Awaited& but) const {
  const auto there = std::ranges::find_if(
      hosts_, [&](const Awaited& each) { return each.in && each.address == address && &each != &but; });
  return there == hosts_.end() ? address : address + " (" + there->host.name + " connected from this address, too)";
}

void AgentGroup::end_impersonated(const Awaited& host, const std::string& other) {
  if (std::exchange(impersonated_, true)) return;
  const transport::Disconnect why{.what = "two agents with the name " + host.host.name,
                                  .why = "an agent connected from " + agent_at(host.address, host) + ", and " + other,
                                  .hint = "check these hosts: a process there uses the key of the job's agents"};
  for (Awaited& each : hosts_) {
    if (!each.done) {
      fail_host(each, why);
    } else if (each.in) {
      each.connection->set_reason(why);
      each.connection->end_soon();
    }
  }
  settings_.pump->wake();
}

/// The launcher takes the reason from these bytes, as from a host's own command.
void AgentGroup::take_errors(const std::string& of, std::string_view bytes) {
  reason_lines_.take(bytes, sys::wall_ns(), {});
  const bool ended_step = place::ends_step(reason_lines_.last().meaning);
  for (const Awaited& host : hosts_) {
    if (!of.empty() && host.host.name != of) continue;
    host.connection->add_error_text(bytes);
    if (ended_step) host.connection->expect_reason(false);
  }
  if (ended_step) settings_.pump->wake();
}

/// All agents end together with the command. Then the connections of the hosts end too, after all output of the ranks.
void AgentGroup::check_end() {
  if (!starter_->ended() || std::exchange(end_handled_, true)) return;
  for (const Awaited& host : hosts_) host.connection->end_soon();
  settings_.pump->wake();
}

void AgentGroup::fail_host(Awaited& host, transport::Disconnect why) {
  host.done = true;
  host.connection->set_reason(std::move(why));
  host.connection->close_thread_end();
}

void AgentGroup::fail_all(const transport::Disconnect& why) {
  for (Awaited& host : hosts_) {
    if (!host.done) fail_host(host, why);
  }
}

void AgentGroup::fail_all(const Error& error, Retry retry) {
  fail_all({.what = error.where.empty() ? error.what : error.where + ": " + error.what,
            .why = error.why,
            .hint = error.hint,
            .retry = retry});
}

bool AgentGroup::all_done() const { return std::ranges::all_of(hosts_, &Awaited::done); }

ManagerTransport::ManagerTransport(DialIn how, Welcome welcome, Messages messages,
                                   std::unique_ptr<transport::Transport> again)
    : how_(std::move(how)), welcome_(std::move(welcome)), messages_(std::move(messages)), again_(std::move(again)) {}

ManagerTransport::~ManagerTransport() { close(); }

Result<transport::Connection> ManagerTransport::open(const plan::Host& host) {
  if (again_ && !known_.insert(host.name).second) {
    messages_.info(host.name + ": started by a separate command");
    return again_->open(host);
  }
  asked_.push_back({host, std::make_shared<NodeConnection>()});
  return NodeConnection::connection(asked_.back().connection);
}

void ManagerTransport::open_together() {
  if (asked_.empty()) return;
  if (running_.empty()) pump_.start();
  const bool by_step = how_.command.find("{step}") != std::string::npos && !how_.files_in;
  std::map<std::string, std::vector<AgentGroup::Awaited>> groups;
  for (AgentGroup::Awaited& each : asked_) groups[by_step ? each.host.reach.step : ""].push_back(std::move(each));
  asked_.clear();
  for (auto& [step, hosts] : groups) {
    AgentGroup::Settings settings{how_, welcome_, messages_, pump_.shared()};
    running_.push_back({std::make_shared<AgentGroup>(std::move(settings), std::move(hosts)), {}});
    AgentGroup::begin(running_.back().group, running_.back().thread);
  }
}

/// Agents exit by themselves after the end of the job, and their commands follow.
void ManagerTransport::close() {
  pump_.finish(0);
  const Time deadline = Clock::now() + kStopLimit;
  for (Running& each : running_) {
    each.group->stop();
    if (each.thread.join_until(deadline)) each.group->processes().end(transport::Ending::by_signal, messages_.note);
  }
  running_.clear();
  if (again_) again_->close();
}

}  // namespace dlaunch::dialback
