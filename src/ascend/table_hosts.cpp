#include "ascend/table_hosts.h"

#include <set>

#include "ascend/tables/address.h"
#include "base/text.h"
#include "net/this_machine.h"
#include "report/log.h"
#include "report/summary.h"

namespace dlaunch::ascend {
namespace {

constexpr std::uint32_t kPatienceMs = 10'000;
constexpr const char* kDriverTools = ":/usr/local/Ascend/driver/tools";

}  // namespace

wire::RunCommands run_commands(const std::string& path, const std::vector<ranktable::Command>& commands) {
  wire::RunCommands request{.path = path + kDriverTools, .patience_ms = kPatienceMs, .commands = {}};
  for (const ranktable::Command& command : commands) {
    std::string& text = request.commands.emplace_back();
    for (const std::string& word : command) text += (text.empty() ? "" : "\n") + word;
  }
  return request;
}

std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands) {
  std::vector<ranktable::Answer> list(commands, {.printed = {}, .code = kExitTimeout});
  if (!host.results) return list;
  for (size_t i = 0; i < commands && i < host.results->printed.size() && i < host.results->codes.size(); ++i) {
    list[i] = {host.results->printed[i], static_cast<int>(host.results->codes[i])};
  }
  return list;
}

namespace {

using ranktable::Answer;
using ranktable::HostFacts;

constexpr size_t kNamesAtOnce = 64;  // each name takes a thread while it is resolved

std::vector<ranktable::Command> commands_for(const TableQuestion& question, size_t host) {
  if (!question.root_info.empty()) return {{"cat", question.root_info}};
  std::vector<ranktable::Command> commands;
  for (const long device : question.devices[host]) commands.push_back(ranktable::address_command(device));
  commands.push_back({"cat", question.hccn_conf});
  return commands;
}

/// Collects Errors; hosts with the same Error share one entry.
class Troubles {
 public:
  void add(const std::string& host, const Error& error) {
    const auto same = std::ranges::find_if(
        found_, [&](const auto& known) { return known.second.what == error.what && known.second.why == error.why; });
    if (same == found_.end()) {
      found_.push_back({{host}, error});
    } else {
      same->first.push_back(host);
    }
  }
  /// Returns the first Error and reports the others.
  std::optional<Error> take(spdlog::logger& log) {
    for (auto& [hosts, error] : found_) error.where = fold_names(hosts);
    for (size_t i = 1; i < found_.size(); ++i) report::complain(log, found_[i].second);
    return found_.empty() ? std::nullopt : std::optional(found_.front().second);
  }

 private:
  std::vector<std::pair<std::vector<std::string>, Error>> found_;
};

std::optional<Error> add_addresses(const TableQuestion& question, const std::vector<long>& devices,
                                   const std::vector<Answer>& given, HostFacts& facts) {
  const Answer& conf = given.back();
  const auto found = ranktable::device_addresses(devices, given, conf.code == 0 ? &conf.printed : nullptr);
  facts.device_ips = found.by_device;
  std::set<int> missing;
  for (const long device : devices) {
    if (!found.by_device.contains(device)) missing.insert(static_cast<int>(device));
  }
  if (missing.empty()) return std::nullopt;
  return Error{
      .where = "",
      .what = std::string("missing address of ") + (missing.size() == 1 ? "device " : "devices ") + fold_ints(missing),
      .why = "hccn_tool: " + found.tool_trouble + "; " + question.hccn_conf + ": " + found.conf_trouble,
      .hint = "check the Ascend driver and the device numbers on the host"};
}

std::optional<Error> add_root_info(const TableQuestion& question, const std::vector<Answer>& given, HostFacts& facts) {
  Error unread{.where = "",
               .what = "cannot read " + question.root_info,
               .why = std::string(trim(given.front().printed)),
               .hint = "check the Ascend driver, which writes this file; or set another file with --rootinfo"};
  if (given.front().code != 0) return unread;
  const auto json = json::parse_json(given.front().printed, question.root_info);
  if (!json) return json.error();
  facts.root_info = given.front().printed;
  return std::nullopt;
}

std::optional<Error> add_server_id(const plan::Host& host, const wire::HostInfo& answer, bool alone,
                                   net::NameResolver& names, HostFacts& facts) {
  ranktable::HostAddresses known{.name = host.name, .own = ranktable::parse_interfaces(answer.interfaces)};
  if (!ranktable::parse_address(host.name)) known.resolved = names.addresses(host.name);
  const auto id = ranktable::server_id_of(known, alone);
  if (!id) {
    return Error{.where = "",
                 .what = "missing address: the host has no address reachable from other hosts",
                 .why = names.trouble(),
                 .hint = "use its address in -H or the hostfile"};
  }
  facts.server_id = *id;
  return std::nullopt;
}

Error not_all_answered() {
  return {.where = "rank table",
          .what = "not all hosts answered",
          .why = "",
          .hint = "run dlaunch check",
          .exit_code = kExitHostLost};
}

}  // namespace

Result<std::vector<HostFacts>> ask_table_hosts(session::HostSession& session, const TableQuestion& question) {
  const auto queried = session::query_all(
      session, question.hosts, [](int) { return wire::QueryHost{}; },
      [&](int host, const launcher::QueriedHost&) {
        return run_commands(question.path, commands_for(question, static_cast<size_t>(host)));
      });
  if (!queried) return fail(queried.error().what.empty() ? not_all_answered() : queried.error());
  net::NameResolver names(session.waiter());
  const auto ask_name = [&](size_t host) {
    if (host < question.hosts.size() && !ranktable::parse_address(question.hosts[host].name)) {
      names.ask(question.hosts[host].name);
    }
  };
  for (size_t i = 0; i < kNamesAtOnce; ++i) ask_name(i);
  std::vector<HostFacts> hosts;
  Troubles troubles;
  for (size_t i = 0; i < question.hosts.size(); ++i) {
    const plan::Host& host = question.hosts[i];
    ask_name(i + kNamesAtOnce);
    HostFacts& facts = hosts.emplace_back(HostFacts{.devices = question.devices[i]});
    const auto given = answers((*queried)[i], commands_for(question, i).size());
    const auto trouble = question.root_info.empty() ? add_addresses(question, facts.devices, given, facts)
                                                    : add_root_info(question, given, facts);
    if (trouble) troubles.add(host.name, *trouble);
    const auto unnamed =
        add_server_id(host, (*queried)[i].facts.value_or(wire::HostInfo{}), question.hosts.size() == 1, names, facts);
    if (unnamed && question.root_info.empty()) troubles.add(host.name, *unnamed);
  }
  if (auto error = troubles.take(session.log())) return fail(*std::move(error));
  return hosts;
}

}  // namespace dlaunch::ascend
