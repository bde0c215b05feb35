#include "settle/hosts.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "hosts/device_filter.h"
#include "hosts/named.h"

namespace dlaunch::settle {
namespace {

using hosts::Filter;
using hosts::HostEntry;
using hosts::HostRequest;
using hosts::Named;
using hosts::Repeated;

/// The entries that apply; empty if only this machine is used.
Result<Named> named_hosts(const HostRequest& request, const place::Place& place,
                          const std::vector<HostEntry>& of_manager) {
  if (!request.list.empty()) return Named{request.list, Repeated::slots_add_up};
  if (!request.hostfile.empty()) return Named{request.hostfile, Repeated::one_slot_each};
  if (const auto* job = place.job(); job && !request.ignore_resource_manager) {
    auto entries = of_manager;
    if (entries.empty()) entries = TRY(job->hosts());
    return Named{std::move(entries), Repeated::slots_add_up, named(*job)};
  }
  if (place.unlisted && !request.ignore_resource_manager) return fail(*place.unlisted);
  return Named{request.default_hostfile, Repeated::one_slot_each};
}

/// Reads a hostfile as Hydra does: a line without a number adds one slot.
void set_one_slot(Named& named) {
  named.repeated = Repeated::slots_add_up;
  for (HostEntry& entry : named.entries) {
    if (!entry.slots_automatic) entry.slots = entry.slots.value_or(1);
  }
}

/// --fake-devices applies to every host without devices from the user.
void fake_devices(plan::Allocation& allocation, int devices) {
  for (plan::Host& host : allocation.hosts) {
    if (host.local || !host.devices.empty() || devices == 0) continue;
    host.device_kind = plan::DeviceKind::fake;
    host.devices_from = "--fake-devices";
    for (int id = 0; id < devices; ++id) host.devices.push_back(id);
    if (!host.slots_unknown) continue;
    host.slots = devices;
    host.slots_from = host.devices_from;
    host.slots_unknown = false;
  }
}

Settling<void> filter(plan::Allocation& allocation, const HostRequest& request, const Facts& facts) {
  const std::tuple<Filter, const char*, const std::string&> filters[] = {
      {Filter::include, "--include", request.include}, {Filter::exclude, "--exclude", request.exclude}};
  for (const auto& [how, option, text] : filters) {
    if (text.empty()) continue;
    const net::OwnNames own = TRY(known(facts, FindOwnNames{}));
    Names names(facts);
    const net::Resolve resolve = [&names](const std::string& name) { return names.addresses(name); };
    auto ok = hosts::filter_devices(allocation, how, text,
                                    [&](const std::string& name) { return net::is_this_machine(name, own, resolve); });
    TRY(names.complete());
    if (ok) continue;
    ok.error().where = option;
    return fail(ok.error());
  }
  return {};
}

Result<void> use_only(plan::Allocation& allocation, const std::vector<int>& devices) {
  if (devices.empty()) return {};
  auto ok = hosts::use_devices(allocation, devices);
  if (!ok) ok.error().where = "--devices";
  return ok;
}

Result<void> leave_out_local(plan::Allocation& allocation) {
  std::vector<bool> keep;
  for (const plan::Host& host : allocation.hosts) keep.push_back(!host.local);
  if (hosts::keep_only(allocation, keep)) return {};
  return fail({.where = "--nolocal",
               .what = "missing hosts",
               .why = "this machine is the only host",
               .hint = "add hosts with -H or --hostfile"});
}

/// Sets the connection options of hosts without their own options.
void set_reach(plan::Allocation& allocation, const HostRequest& request) {
  for (plan::Host& host : allocation.hosts) {
    if (host.local) continue;
    if (host.reach.agent.empty()) host.reach.agent = request.agent_path;
    if (host.reach.identity.empty()) host.reach.identity = request.ssh_identity;
    if (!host.reach.port) host.reach.port = request.ssh_port;
  }
}

Result<void> limit_slots(plan::Allocation& allocation, const std::vector<int>& most) {
  const size_t hosts = allocation.hosts.size();
  if (most.size() != 1 && most.size() != hosts) {
    return fail({.where = "--max-slots",
                 .what = count(most.size(), "number") + " for " + count(hosts, "host"),
                 .why = "",
                 .hint = "set one number for all hosts, or one number for each host"});
  }
  for (size_t i = 0; i < hosts; ++i) {
    plan::Host& host = allocation.hosts[i];
    const int limit = most.size() == 1 ? most.front() : most[i];
    host.max_slots = std::min(limit, host.max_slots.value_or(limit));
    host.slots = std::min(host.slots, *host.max_slots);
  }
  return {};
}

void fill_in(plan::Allocation& allocation, size_t host, const wire::HostInfo& info) {
  if (!allocation.hosts[host].slots_unknown) return;
  fill_slots(allocation.hosts[host], info);
  for (plan::Pool& pool : allocation.pools) {
    for (size_t i = 0; i < pool.hosts.size(); ++i) {
      const bool unknown = pool.hosts[i] == static_cast<int>(host) && pool.slots[i] == 0;
      if (unknown) pool.slots[i] = allocation.hosts[host].slots;
    }
  }
}

/// The hosts of these entries; `here` is this machine.
Settling<plan::Allocation> hosts_of(const Named& named, const HostRequest& request, const place::Place& place,
                                    bool manager_starts_agents, const plan::Host& here, const Facts& facts) {
  const net::OwnNames own = TRY(known(facts, FindOwnNames{}));
  Names names(facts);
  const net::Resolve resolve = [&names](const std::string& name) { return names.addresses(name); };
  const auto is_here = [&](const std::string& name) { return net::is_this_machine(name, own, resolve); };
  // If this machine is the only host, the job's shell is already in a step on it.
  const bool by_manager =
      named.manager && manager_starts_agents && !std::ranges::all_of(named.entries, is_here, &HostEntry::name);
  const bool none_here = request.fake || (by_manager && place.job()->manager->starts_here_too);
  auto allocation =
      hosts::allocation_of(named, here, [&](const std::string& name) { return !none_here && is_here(name); });
  TRY(names.complete());
  if (!allocation) return fail(allocation.error());
  allocation->manager = named.manager;
  allocation->by_manager = by_manager;
  return *std::move(allocation);
}

}  // namespace

bool names_no_host(const HostRequest& request, const place::Place& place) {
  const bool named = !request.list.empty() || !request.hostfile.empty() || !request.default_hostfile.empty();
  return !named && (request.ignore_resource_manager || !place.job());
}

Settling<plan::Allocation> choose_hosts(const HostRequest& request, const place::Place& place, const OfManager& manager,
                                        const Facts& facts) {
  const auto machine = TRY(known(facts, InspectMachine{request.fake_devices, request.count_cores}));
  plan::Allocation allocation = TRY(machine);
  auto named = TRY(named_hosts(request, place, manager.hosts));
  if (request.one_slot_each) set_one_slot(named);
  if (named.entries.empty() && request.one_slot_each) {
    allocation.hosts.front().slots = 1;
    allocation.hosts.front().slots_from = "default of one slot";
  }
  if (!named.entries.empty()) {
    const plan::Host here = allocation.hosts.front();
    allocation = TRY(hosts_of(named, request, place, manager.starts_agents, here, facts));
  }
  if (request.slots_are_limits) allocation.slots_are_limits = true;
  if (request.fake_devices) fake_devices(allocation, *request.fake_devices);
  if (!request.list.empty() && !request.hostfile.empty()) {
    allocation.notes.emplace_back("the hostfile is not used: -H replaces the hostfile");
  }
  if (request.no_local) {
    TRY(leave_out_local(allocation));
  }
  set_reach(allocation, request);
  TRY(use_only(allocation, request.devices));
  TRY(filter(allocation, request, facts));
  if (!request.max_slots.empty()) TRY(limit_slots(allocation, request.max_slots));
  return allocation;
}

Settling<plan::Allocation> with_slots(plan::Allocation allocation, const HostRequest& request, const Facts& facts) {
  QueryHosts question{.queries = {}, .hosts = allocation.hosts};
  for (const plan::Host& host : allocation.hosts) {
    const QueryHosts::Query query{.count_cores = request.count_cores, .no_devices = request.fake_devices == 0};
    question.queries.push_back(host.slots_unknown ? std::optional(query) : std::nullopt);
  }
  const auto found = TRY(known(facts, std::move(question)));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) fill_in(allocation, i, *found[i]);
  }
  return allocation;
}

plan::DeviceKind device_kind(const wire::HostInfo& info) {
  return info.device_kind > static_cast<std::uint8_t>(plan::DeviceKind::amd)
             ? plan::DeviceKind::none
             : static_cast<plan::DeviceKind>(info.device_kind);
}

void fill_slots(plan::Host& host, const wire::HostInfo& info) {
  if (!host.slots_unknown) return;
  host.slots_unknown = false;
  host.slots = static_cast<int>(std::min(info.cpus, wire::kMostCpus));
  host.slots_from = info.cpus_from + " there";
  if (host.devices.empty() && !info.devices.empty()) {
    host.device_kind = device_kind(info);
    host.devices.assign(info.devices.begin(), info.devices.end());
    host.devices_from = info.devices_from + " there";
  }
  if (!host.devices.empty()) {
    host.slots = static_cast<int>(host.devices.size());
    host.slots_from = host.devices_from;
  }
  if (host.max_slots) host.slots = std::min(host.slots, *host.max_slots);
}

}  // namespace dlaunch::settle
