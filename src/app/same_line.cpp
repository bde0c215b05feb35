#include "app/same_line.h"

#include <spdlog/logger.h>

#include <csignal>
#include <map>
#include <utility>

#include "app/job_key.h"
#include "base/try.h"
#include "dialback/gathering.h"
#include "dialback/node_service.h"
#include "dlaunch/run.h"
#include "hosts/host_name.h"
#include "net/tcp.h"
#include "report/version.h"
#include "sys/process_state.h"
#include "transport/bootstrap.h"
#include "transport/local.h"

namespace dlaunch::app {
namespace {

constexpr std::chrono::minutes kUsualPatience{10};  // the pods of one job may start that far apart
constexpr size_t kShownHash = 12;                   // digits of the agent's hash
constexpr const char* kMode = "--same-line";

/// This process's role in the job.
struct NodeRole {
  int least = 1;
  int nodes = 1;            ///< at most
  std::optional<int> node;  ///< nullopt: 0 on the machine of `rendezvous`, and numbered by node 0 elsewhere
  std::string rendezvous;   ///< --rendezvous, or the environment's value; empty: unknown
};

tl::unexpected<Error> unknown(const cli::NodeOptions& named, std::string what, std::string hint) {
  return fail({.where = std::string(named.launcher), .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// "--rendezvous HOST:PORT"
std::string address_option(const cli::NodeOptions& named) {
  return std::string(named.address) + ' ' + std::string(named.address_value);
}

Result<NodeRole> role_of(const cli::SameLineRequest& asked, const Result<place::NodePlace>& of_place) {
  const auto place = TRY(of_place);
  const auto nodes = asked.nodes ? asked.nodes : place.nodes;
  const auto node = asked.node ? asked.node : place.node;
  const std::string rank_option(asked.named.rank);
  if (!nodes) return unknown(asked.named, "unknown number of nodes", "add --nodes N");
  if (*nodes < 1) {
    return unknown(asked.named, "invalid number of nodes \"" + std::to_string(*nodes) + "\": expected 1 or more",
                   "add --nodes N");
  }
  const std::string& launcher = asked.rendezvous.empty() ? place.rendezvous : asked.rendezvous;
  if (!node && launcher.empty()) {
    return unknown(asked.named, "missing " + rank_option + " or " + std::string(asked.named.address),
                   "add " + address_option(asked.named) + " (the address of node 0), or " + rank_option +
                       " 0 on the node that runs the job");
  }
  if (node.value_or(0) >= *nodes) {
    return unknown(asked.named,
                   "invalid node number \"" + std::to_string(*node) + "\": expected 0 to " + std::to_string(*nodes - 1),
                   "set " + rank_option + ": nodes are numbered from 0");
  }
  return NodeRole{(asked.nodes ? asked.least : place.least).value_or(*nodes), *nodes, node, launcher};
}

/// The address of node 0. `planned`: a dry run without connections.
Result<Endpoint> endpoint_of(const NodeRole& role, const cli::NodeOptions& named, bool planned) {
  if (role.rendezvous.empty() && (role.node == 0 || planned)) return Endpoint{};  // node 0's own address
  if (role.rendezvous.empty()) return unknown(named, "unknown address of node 0", "add " + address_option(named));
  auto endpoint = parse_endpoint(role.rendezvous);
  if (!endpoint) endpoint.error().where = std::string(named.address);
  return endpoint;
}

/// The arguments that must be equal on all nodes.
std::vector<std::string> common_arguments(const plan::Request& request) {
  std::vector<std::string> words;
  if (request.ranks_per_host) words = {"-N", std::to_string(*request.ranks_per_host)};
  for (const plan::AppRequest& app : request.apps) {
    if (&app != &request.apps.front()) words.emplace_back(":");
    if (app.ranks) words.insert(words.end(), {"-n", std::to_string(*app.ranks)});
    words.insert(words.end(), app.argv.begin(), app.argv.end());
  }
  return words;
}

dialback::Statement statement_of(const NodeRole& role, int node, const cli::Options& options) {
  return {.version = "dlaunch " + report::version() + ", agent " + transport::agent_image().hash.substr(0, kShownHash),
          .nodes = role.nodes,
          .node = node,
          .name = net::own_names(options.request.environment).names.front(),
          .words = common_arguments(options.request)};
}

dialback::Messages messages_to(spdlog::logger& log) {
  return {[&log](const std::string& text) { log.info(text); }, [&log](const std::string& text) { log.warn(text); }};
}

plan::Reach reach_of(std::optional<int> node, std::string address) {
  plan::Reach reach;
  reach.node = node;
  reach.address = std::move(address);
  return reach;
}

/// Unique names: a node's host name, else the address of its connection, else the address with the node's number.
std::vector<hosts::HostEntry> hosts_of(const dialback::Statement& self, const std::string& here,
                                       const std::vector<dialback::JoinedNode>& joined) {
  std::map<std::string, int> times{{self.name, 1}};
  for (const auto& node : joined) {
    ++times[node.statement.name];
    ++times[node.address];
  }
  std::vector<hosts::HostEntry> hosts(1);
  hosts[0] = {.name = self.name, .reach = reach_of({}, here), .from = kMode};
  for (const auto& node : joined) {
    const bool named = times[node.statement.name] == 1 && hosts::check_host_name(node.statement.name).has_value();
    std::string name = named ? node.statement.name : node.address;
    if (!named && times[node.address] > 1) name += '-' + std::to_string(node.statement.node);
    hosts.push_back({.name = std::move(name), .reach = reach_of(node.statement.node, node.address), .from = kMode});
  }
  return hosts;
}

Result<int> serve(const cli::Options& options, const Endpoint& launcher, const dialback::Secret& key,
                  const dialback::Statement& self, Time deadline, dialback::EndSignals& signals, spdlog::logger& log) {
  dialback::ignore_forwarded();
  auto connection = TRY(dialback::meet_launcher(launcher, key, self, deadline, signals, messages_to(log)));
  const sys::ProcessState before;
  // A second signal ends this process at once. With --checkpoint-signal TERM is forwarded each time, because batch
  // systems send TERM twice.
  const bool saves = options.policy.checkpoint.signal != 0;
  transport::Local agents(
      connection.job_id, options.policy.grace, before.open_files(), [&log](const std::string& text) { log.warn(text); },
      options.request.environment);
  agents.end_orphans();
  const dialback::LocalAgent agent{[&agents]() -> Result<sys::Fd> {
                                     transport::Connection opened = TRY(agents.open({}));
                                     return std::move(opened.stream);
                                   },
                                   [&agents, saves, signalled = false](int signal) mutable {
                                     const bool repeated =
                                         signal != SIGUSR1 && signal != SIGUSR2 && std::exchange(signalled, true);
                                     const bool again = repeated && !(saves && signal == SIGTERM);
                                     if (!again) agents.forward(signal);
                                     return !again;
                                   },
                                   [&agents] { agents.close(); }};
  return dialback::NodeService(std::move(connection), agent, signals).run();
}

/// Node 0's socket; nullopt: another node, or a different process of this machine is node 0 already.
Result<std::optional<net::ListeningSocket>> listen_if_node_0(const NodeRole& role, const Endpoint& at,
                                                             const cli::Options& options, Time deadline, int ended) {
  if (role.node == 0) {
    auto listener = TRY(net::listen_for_nodes(at, deadline, ended));
    return std::optional(std::move(listener));
  }
  if (role.node) return std::nullopt;
  return net::listen_if_here(at, net::own_names(options.request.environment), deadline, ended);
}

/// The options of a job with this name on these nodes.
cli::Options on_nodes(cli::Options options, std::string job_id, std::vector<hosts::HostEntry> nodes) {
  options.request.job_id = std::move(job_id);
  options.hosts.list = std::move(nodes);
  return options;
}

Result<End> launch(const cli::Options& options, const NodeRole& role, net::ListeningSocket listener,
                   const dialback::Secret& key, const dialback::Statement& self, Time deadline,
                   std::optional<dialback::EndSignals>& signals, spdlog::logger& log, const RunJob& run) {
  const std::string job_id = make_job_id();
  const std::string here = listener.at.host;
  dialback::Gathering gathering(std::move(listener), {.key = key,
                                                      .self = self,
                                                      .welcome = {job_id, options.heartbeat, options.pause_limit},
                                                      .least = role.least,
                                                      .last_call = options.same_line.last_call,
                                                      .deadline = deadline,
                                                      .messages = messages_to(log)});
  auto joined = TRY(gathering.run(*signals));
  signals.reset();  // the job handles signals itself
  const cli::Options job = on_nodes(options, job_id, hosts_of(self, here, joined));
  dialback::Nodes nodes(std::move(joined));
  auto done = run(job, &nodes);
  nodes.end(done ? done->exit_code : done.error().exit_code);
  return done;
}

Result<End> plan_only(const cli::Options& options, const NodeRole& role, const Endpoint& launcher, const RunJob& run) {
  std::string at = launcher.host.empty() ? net::address_on_the_network() : launcher.host;
  const std::string here = net::own_names(options.request.environment).names.front();
  std::vector<hosts::HostEntry> nodes = {{.name = here, .reach = reach_of({}, std::move(at)), .from = kMode}};
  for (int node = 1; node < role.nodes; ++node) {
    nodes.push_back({.name = "node" + std::to_string(node), .reach = reach_of(node, {}), .from = kMode});
  }
  return run(on_nodes(options, options.request.job_id, std::move(nodes)), nullptr);
}

/// One node runs the job as any job on this machine.
cli::Options without_same_line(cli::Options options) {
  options.same_line = {};
  return options;
}

}  // namespace

Result<End> run_same_line(const cli::Options& options, const place::Place& place, const std::string& key_text,
                          spdlog::logger& log, const RunJob& run) {
  const NodeRole role = TRY(role_of(options.same_line, place.node));
  if (role.nodes == 1) return run(without_same_line(options), nullptr);
  const bool planned = options.dry_run || options.show_env;
  const auto endpoint = TRY(endpoint_of(role, options.same_line.named, planned));
  if (planned) return plan_only(options, role, endpoint, run);
  const auto key = TRY(choose_key(options.same_line.key_file, key_text));
  const bool patient = options.wait_hosts > std::chrono::milliseconds(0);
  const Time deadline = Clock::now() + (patient ? Duration(options.wait_hosts) : Duration(kUsualPatience));
  std::optional<dialback::EndSignals> signals(std::in_place);
  auto listener = TRY(listen_if_node_0(role, endpoint, options, deadline, signals->fd()));
  const int node = listener ? 0 : role.node.value_or(dialback::kUnnumbered);
  const dialback::Statement self = statement_of(role, node, options);
  if (!listener) return serve(options, endpoint, key, self, deadline, *signals, log);
  return launch(options, role, *std::move(listener), key, self, deadline, signals, log, run);
}

}  // namespace dlaunch::app
