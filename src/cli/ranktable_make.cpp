#include "cli/ranktable_make.h"

#include <set>

#include "allocate/choose.h"
#include "base/text.h"
#include "cli/files.h"
#include "cli/inquire.h"
#include "cli/job_id.h"
#include "cli/parse.h"
#include "cli/table_hosts.h"
#include "cli/ways.h"
#include "ranktable/device_addresses.h"
#include "ranktable/device_numbers.h"
#include "ranktable/make.h"
#include "ranktable/server_id.h"
#include "sys/interfaces.h"

namespace dlaunch::cli {
namespace {

using ranktable::HostFacts;
using ranktable::Version;

/// The first interface's address, IPv4 before IPv6; a note when there was a choice.
Result<std::string> find_server_ip(std::vector<std::string>& notes) {
  std::vector<ranktable::OwnAddress> own;
  for (const auto& each : sys::interface_addresses()) own.push_back({each.interface, each.address});
  const auto candidates = ranktable::outer_addresses(own);
  if (candidates.empty()) {
    return fail({.where = "--server_ip",
                 .what = "this host has no address that other hosts reach",
                 .why = "",
                 .hint = "give it one, or, for this host alone: --server_ip 127.0.0.1"});
  }
  std::string others;
  for (size_t i = 1; i < candidates.size(); ++i)
    others += (i == 1 ? "" : ", ") + candidates[i].address + " of " + candidates[i].interface;
  if (!others.empty()) {
    notes.push_back("server_id is " + candidates[0].address + ", of " + candidates[0].interface +
                    "; --server_ip chooses another: " + others);
  }
  return candidates[0].address;
}

Result<void> add_addresses(const RanktableMake& command, HostFacts& facts) {
  const auto found = ranktable::read_device_addresses(facts.devices, {.hccn_conf = command.hccn_conf});
  facts.device_ips = found.by_device;
  std::set<int> missing;
  for (const long device : facts.devices) {
    if (!found.by_device.contains(device)) missing.insert(static_cast<int>(device));
  }
  if (missing.empty()) return {};
  const std::string several = missing.size() == 1 ? "device " : "devices ";
  return fail({.where = "ranktable make",
               .what = "no address is known of " + several + fold_ints(missing),
               .why = "hccn_tool: " + found.tool_trouble + "; " + command.hccn_conf + ": " + found.conf_trouble,
               .hint = "choose devices that are there with --device_num, or name the file with --hccn-conf"});
}

Result<void> add_super_pod(const RanktableMake& command, HostFacts& facts) {
  facts.super_pod_id = command.super_pod_id;
  const auto& ids = command.super_device_ids;
  if (!ids.empty() && ids.size() != facts.devices.size()) {
    return fail({.where = "--super_device_ids",
                 .what = std::to_string(ids.size()) + " ids for " + std::to_string(facts.devices.size()) + " devices",
                 .why = "",
                 .hint = "give one for each device, in their order"});
  }
  for (size_t i = 0; i < ids.size(); ++i) facts.super_device_ids[facts.devices[i]] = ids[i];
  return {};
}

Result<void> add_root_info(const RanktableMake& command, HostFacts& facts) {
  const auto text = read_whole_file(command.root_info);
  if (!text) return fail(text.error().error);
  auto json = ranktable::parse_json(*text, command.root_info);
  if (!json) return fail(json.error());
  facts.root_info = *std::move(json);
  return {};
}

/// As if it were a job's.
Result<Options> options_of(const RanktableMake& command, const Surroundings& surroundings) {
  std::vector<std::string> words = {"hosts"};
  words.insert(words.end(), command.job_words.begin(), command.job_words.end());
  auto parsed = parse_command_line(words, surroundings);
  if (!parsed) return fail(parsed.error());
  Options options = std::get<Options>(*std::move(parsed));
  options.request.job_id = make_job_id();
  return options;
}

Result<std::string> read_text(const std::string& path) {
  auto text = read_whole_file(path);
  if (!text) return fail(text.error().error);
  return *std::move(text);
}

Result<void> check_server_ip(const std::string& address) {
  if (ranktable::parse_address(address)) return {};
  return fail({.where = "--server_ip",
               .what = "\"" + address + "\" is no IP address",
               .why = "",
               .hint = "write one such as 10.0.0.1"});
}

}  // namespace

Result<MadeTable> make_on_this_host(const RanktableMake& command) {
  const auto chosen = ranktable::choose_devices(command.device_num, command.visible_devices);
  if (!chosen) return fail(chosen.error());
  MadeTable made;
  auto server_id = command.server_ip.empty() ? find_server_ip(made.notes) : Result<std::string>(command.server_ip);
  if (!server_id) return fail(server_id.error());
  if (auto ok = check_server_ip(*server_id); !ok) return fail(ok.error());
  HostFacts facts{.server_id = *server_id, .devices = chosen->devices};
  if (auto ok = add_super_pod(command, facts); !ok) return fail(ok.error());
  const bool by_root_info = command.version == Version::v2_0;
  if (auto ok = by_root_info ? add_root_info(command, facts) : add_addresses(command, facts); !ok)
    return fail(ok.error());
  auto table = make_table(command.version, command.product.value_or(usual_product(command.version)), {facts});
  if (!table) return fail(table.error());
  made.json = *std::move(table);
  made.name = ranktable::file_name(chosen->numbers, *server_id);
  return made;
}

Result<MadeTable> make_over_hosts(const RanktableMake& command, const Surroundings& surroundings,
                                  output::StandardStreams& streams) {
  const auto options = options_of(command, surroundings);
  if (!options) return fail(options.error());
  const auto chosen = ranktable::choose_devices(command.device_num, command.visible_devices);
  if (!chosen) return fail(chosen.error());
  const auto allocation = allocate::choose_allocation(options->hosts, options->request.environment, read_text);
  if (!allocation) return fail(allocation.error());
  const bool said = command.device_num || command.visible_devices;
  TableQuestion question{.hosts = allocation->hosts,
                         .path = path_in(surroundings.environment),
                         .hccn_conf = command.hccn_conf,
                         .root_info = command.root_info};
  size_t ranks = 0;
  for (const plan::Host& host : question.hosts) {
    const bool own = !said && !host.devices.empty();
    question.devices.push_back(own ? std::vector<long>(host.devices.begin(), host.devices.end()) : chosen->devices);
    ranks += question.devices.back().size();
  }
  Ways ways(*options, streams);
  auto facts = ask_table_hosts(ways, question);
  if (!facts) return fail(facts.error());
  MadeTable made;
  made.name = ranktable::file_name(question.hosts.size(), ranks);
  if (question.hosts.size() == 1) {
    const bool own = question.devices.front() != chosen->devices;
    made.name = ranktable::file_name(own ? question.devices.front() : chosen->numbers, facts->front().server_id);
  }
  auto table = make_table(command.version, command.product.value_or(usual_product(command.version)), *std::move(facts));
  if (!table) return fail(table.error());
  made.json = *std::move(table);
  return made;
}

}  // namespace dlaunch::cli
