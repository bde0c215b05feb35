#include "settle/hosts.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/text.h"
#include "base/try.h"
#include "hosts/device_filter.h"
#include "hosts/named.h"
#include "machine/local.h"
#include "net/this_machine.h"

namespace dlaunch::hosts {
namespace {

/// The entries that apply; empty if only this machine is used.
Result<Named> named_hosts(const HostRequest& request, const place::Place& place) {
  if (!request.list.empty()) return Named{request.list, Repeated::slots_add_up};
  if (!request.hostfile.empty()) return Named{request.hostfile, Repeated::one_slot_each};
  if (const auto* job = place.job(); job && !request.ignore_resource_manager) {
    auto entries = request.of_manager;
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

Result<void> filter(plan::Allocation& allocation, const HostRequest& request,
                    const std::vector<std::string>& environment, const net::Resolve& resolve) {
  const std::tuple<Filter, const char*, const std::string&> filters[] = {
      {Filter::include, "--include", request.include}, {Filter::exclude, "--exclude", request.exclude}};
  for (const auto& [how, option, text] : filters) {
    if (text.empty()) continue;
    const net::OwnNames own = net::own_names(environment);
    auto ok = filter_devices(allocation, how, text,
                             [&](const std::string& name) { return net::is_this_machine(name, own, resolve); });
    if (ok) continue;
    ok.error().where = option;
    return ok;
  }
  return {};
}

Result<void> use_only(plan::Allocation& allocation, const std::vector<int>& devices) {
  if (devices.empty()) return {};
  auto ok = use_devices(allocation, devices);
  if (!ok) ok.error().where = "--devices";
  return ok;
}

Result<void> leave_out_local(plan::Allocation& allocation) {
  std::vector<bool> keep;
  for (const plan::Host& host : allocation.hosts) keep.push_back(!host.local);
  if (keep_only(allocation, keep)) return {};
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

}  // namespace

bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment) {
  return names_no_host(request, place::read_place(environment, {}));
}

bool names_no_host(const HostRequest& request, const place::Place& place) {
  const bool named = !request.list.empty() || !request.hostfile.empty() || !request.default_hostfile.empty();
  return !named && (request.ignore_resource_manager || !place.job());
}

Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file) {
  return choose_allocation(request, place::read_place(environment, read_file), environment);
}

Result<plan::Allocation> choose_allocation(const HostRequest& request, const place::Place& place,
                                           const std::vector<std::string>& environment) {
  auto allocation = machine::local_allocation(environment, request.fake_devices,
                                              request.count_cores ? machine::Count::cores : machine::Count::cpus);
  if (!allocation) return allocation;
  net::NameResolver names;
  const net::Resolve resolve = [&names](const std::string& name) { return names.addresses(name); };
  auto named = TRY(named_hosts(request, place));
  if (request.one_slot_each) set_one_slot(named);
  if (named.entries.empty() && request.one_slot_each) {
    allocation->hosts.front().slots = 1;
    allocation->hosts.front().slots_from = "default of one slot";
  }
  if (!named.entries.empty()) {
    const net::OwnNames own = net::own_names(environment);
    const auto is_here = [&](const std::string& name) { return net::is_this_machine(name, own, resolve); };
    // If this machine is the only host, the job's shell is already in a step on it.
    const bool by_manager =
        named.manager && request.by_manager && !std::ranges::all_of(named.entries, is_here, &HostEntry::name);
    const bool none_here = request.fake || (by_manager && place.job()->manager->starts_here_too);
    allocation = allocation_of(named, plan::Host(allocation->hosts.front()),
                               [&](const std::string& name) { return !none_here && is_here(name); });
    if (!allocation) return allocation;
    allocation->manager = named.manager;
    allocation->by_manager = by_manager;
  }
  if (request.slots_are_limits) allocation->slots_are_limits = true;
  if (request.fake_devices) fake_devices(*allocation, *request.fake_devices);
  if (!request.list.empty() && !request.hostfile.empty()) {
    allocation->notes.emplace_back("the hostfile is not used: -H replaces the hostfile");
  }
  if (request.no_local) {
    TRY(leave_out_local(*allocation));
  }
  set_reach(*allocation, request);
  TRY(use_only(*allocation, request.devices));
  TRY(filter(*allocation, request, environment, resolve));
  if (!request.max_slots.empty()) TRY(limit_slots(*allocation, request.max_slots));
  return allocation;
}

}  // namespace dlaunch::hosts
