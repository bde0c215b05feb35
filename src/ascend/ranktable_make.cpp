#include "ascend/ranktable_make.h"

#include <set>

#include "allocate/choose.h"
#include "ascend/device_addresses.h"
#include "ascend/table_hosts.h"
#include "ascend/tables/address.h"
#include "ascend/tables/device_numbers.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "dlaunch/run.h"
#include "grammars/parse.h"
#include "report/log.h"
#include "session/host_session.h"
#include "sys/interfaces.h"

namespace dlaunch::ascend {
namespace {

using ranktable::HostFacts;
using ranktable::Version;

/// The first interface's address, IPv4 before IPv6, with a note if there was a choice.
Result<std::string> find_server_ip(std::vector<std::string>& notes) {
  std::vector<ranktable::OwnAddress> own;
  for (const auto& each : sys::interface_addresses()) own.push_back({each.interface, each.address});
  const auto candidates = ranktable::outer_addresses(own);
  if (candidates.empty()) {
    return fail({.where = "--server_ip",
                 .what = "missing address: this host has no address reachable from other hosts",
                 .why = "",
                 .hint = "set --server_ip ADDRESS; for a table of this host alone, use 127.0.0.1"});
  }
  std::string others;
  for (size_t i = 1; i < candidates.size(); ++i)
    others += (i == 1 ? "" : ", ") + candidates[i].address + " of " + candidates[i].interface;
  if (!others.empty()) {
    notes.push_back("server_id is " + candidates[0].address + ", of " + candidates[0].interface +
                    "; set --server_ip to use another address: " + others);
  }
  return candidates[0].address;
}

Result<void> add_addresses(const RanktableMake& command, HostFacts& facts) {
  const auto found = read_device_addresses(facts.devices, {.hccn_conf = command.hccn_conf});
  facts.device_ips = found.by_device;
  std::set<int> missing;
  for (const long device : facts.devices) {
    if (!found.by_device.contains(device)) missing.insert(static_cast<int>(device));
  }
  if (missing.empty()) return {};
  const std::string several = missing.size() == 1 ? "device " : "devices ";
  return fail({.where = "ranktable make",
               .what = "missing address of " + several + fold_ints(missing),
               .why = "hccn_tool: " + found.tool_trouble + "; " + command.hccn_conf + ": " + found.conf_trouble,
               .hint = "set devices of this host with --device_num, or another file with --hccn-conf"});
}

Result<void> add_super_pod(const RanktableMake& command, HostFacts& facts) {
  facts.super_pod_id = command.super_pod_id;
  const auto& ids = command.super_device_ids;
  if (!ids.empty() && ids.size() != facts.devices.size()) {
    return fail({.where = "--super_device_ids",
                 .what = std::to_string(ids.size()) + " IDs for " + std::to_string(facts.devices.size()) + " devices",
                 .why = "",
                 .hint = "write one ID per device, in the order of the devices"});
  }
  for (size_t i = 0; i < ids.size(); ++i) facts.super_device_ids[facts.devices[i]] = ids[i];
  return {};
}

Result<void> add_root_info(const RanktableMake& command, HostFacts& facts) {
  facts.root_info = TRY(cli::read_text(command.root_info));
  TRY(json::parse_json(facts.root_info, command.root_info));
  return {};
}

/// Parses the arguments like a job's options.
Result<cli::Options> options_of(const RanktableMake& command, const cli::ProcessContext& context) {
  auto parsed = TRY(cli::parse_command_line({.verb = cli::Verb::hosts, .words = command.job_words}, context));
  cli::Options options = std::get<cli::Options>(std::move(parsed));
  options.request.job_id = make_job_id();
  return options;
}

Result<void> check_server_ip(const std::string& address) {
  if (ranktable::parse_address(address)) return {};
  return fail({.where = "--server_ip",
               .what = "invalid IP address \"" + address + "\"",
               .why = "",
               .hint = "write an address such as 10.0.0.1"});
}

}  // namespace

Result<MadeTable> make_on_this_host(const RanktableMake& command) {
  const auto chosen = TRY(ranktable::choose_devices(command.device_num, command.visible_devices));
  MadeTable made;
  auto server_id = TRY(command.server_ip.empty() ? find_server_ip(made.notes) : Result<std::string>(command.server_ip));
  TRY(check_server_ip(server_id));
  HostFacts facts{.server_id = server_id, .devices = chosen.devices};
  TRY(add_super_pod(command, facts));
  const bool by_root_info = command.version == Version::v2_0;
  TRY(by_root_info ? add_root_info(command, facts) : add_addresses(command, facts));
  auto table = TRY(make_rank_table(command.version, command.product.value_or(usual_product(command.version)), {facts}));
  made.text = std::move(table);
  made.name = ranktable::file_name(chosen.numbers, server_id);
  return made;
}

Result<MadeTable> make_over_hosts(const RanktableMake& command, const cli::ProcessContext& context, Listener& listener,
                                  output::StandardStreams& streams, spdlog::logger& log) {
  const auto options = TRY(options_of(command, context));
  const auto chosen = TRY(ranktable::choose_devices(command.device_num, command.visible_devices));
  const auto allocation =
      TRY(hosts::choose_allocation(options.hosts, options.manager, options.request.environment, cli::read_text));
  const bool devices_given = command.device_num || command.visible_devices;
  TableQuestion question{.hosts = allocation.hosts,
                         .path = search_path(context.environment),
                         .hccn_conf = command.hccn_conf,
                         .root_info = command.root_info};
  size_t ranks = 0;
  for (const plan::Host& host : question.hosts) {
    const bool own = !devices_given && !host.devices.empty();
    question.devices.push_back(own ? std::vector<long>(host.devices.begin(), host.devices.end()) : chosen.devices);
    ranks += question.devices.back().size();
  }
  report::set_verbosity(log, options.verbosity, options.quiet);
  session::HostSession session(options.request.job_id, options.of_job(), streams, log, listener);
  auto facts = TRY(ask_table_hosts(session, question));
  MadeTable made;
  made.name = ranktable::file_name(question.hosts.size(), ranks);
  if (question.hosts.size() == 1) {
    const bool own = question.devices.front() != chosen.devices;
    made.name = ranktable::file_name(own ? question.devices.front() : chosen.numbers, facts.front().server_id);
  }
  auto table =
      TRY(make_rank_table(command.version, command.product.value_or(usual_product(command.version)), std::move(facts)));
  made.text = std::move(table);
  return made;
}

}  // namespace dlaunch::ascend
