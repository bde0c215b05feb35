#include "ascend/job_table.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ascend/table_hosts.h"
#include "ascend/tables/rules.h"
#include "ascend/tables/table.h"
#include "base/environment.h"
#include "base/index_cast.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "net/this_machine.h"
#include "plan/environment.h"

namespace dlaunch::ascend {
namespace {

using hosts::HostEntry;
using ranktable::TableAssignment;
using ranktable::TableHost;
using Notes = std::vector<std::string>;

constexpr const char* kOption = "--rank-table";
constexpr size_t kLargest = 8U << 20U;  // the launcher sends a table in one frame

tl::unexpected<Error> refused(std::string what, std::string why, std::string hint) {
  return fail({.where = kOption, .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

/// Rejects options that the table replaces: hosts of ranks, and devices.
Result<void> check_alone(const cli::Options& options) {
  const plan::Request& request = options.request;
  const auto& hosts = options.hosts;
  const bool own_hosts = std::ranges::any_of(request.apps, [](const plan::AppRequest& app) { return app.pool != 0; });
  const std::pair<bool, const char*> rows[] = {{!hosts.devices.empty(), "--devices"},
                                               {!hosts.include.empty(), "--include"},
                                               {!hosts.exclude.empty(), "--exclude"},
                                               {hosts.fake_devices.has_value(), "--fake-devices"},
                                               {!request.rank_places.empty(), "--rankfile"},
                                               {request.ranks_per_host.has_value(), "-N"},
                                               {request.in_sequence, "--map-by seq"},
                                               {request.binding.map_by == plan::MapBy::node, "--map-by node"},
                                               {own_hosts, "-H of one program"}};
  for (const auto& [given, name] : rows) {
    if (given) return fail(conflict(kOption, name, "the table places the ranks"));
  }
  return {};
}

Result<TableAssignment> read_assignment(const cli::Options& options) {
  const cli::RankTableRequest& request = *options.rank_table;
  if (request.text.size() > kLargest) {
    return refused("file too large: " + request.name, "the limit is " + std::to_string(kLargest >> 20U) + " MiB", "");
  }
  const auto json = TRY(json::parse_json(request.text, request.name));
  ranktable::Reading reading = ranktable::read_table(json);
  auto findings = std::move(reading.findings);
  const auto add = [&](const std::vector<ranktable::TableFinding>& more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  if (reading.table) {
    add(check_rules(*reading.table, options.product.value_or(usual_product(reading.table->version))));
  }
  add(ranktable::check_file_name(request.path.substr(request.path.rfind('/') + 1), nullptr));
  const auto broken = std::ranges::find(findings, false, &ranktable::TableFinding::note);
  if (broken != findings.end()) {
    const std::string place =
        broken->line > 0 ? ":" + std::to_string(broken->line) + ":" + std::to_string(broken->column) : "";
    return fail({.where = request.name + place,
                 .what = broken->path.empty() ? broken->what : broken->path + ": " + broken->what,
                 .why = "",
                 .hint = "run dlaunch ranktable check " + shell_quote(request.name) + " for all errors"});
  }
  auto assignment = assignment_of(*reading.table);
  if (!assignment) assignment.error().where = request.name;
  return assignment;
}

Result<void> check_ranks(const cli::Options& options, size_t ranks) {
  const auto& apps = options.request.apps;
  const bool open = std::ranges::any_of(apps, [](const plan::AppRequest& app) { return !app.ranks; });
  const long asked = std::accumulate(apps.begin(), apps.end(), 0L,
                                     [](long sum, const plan::AppRequest& app) { return sum + app.ranks.value_or(0); });
  const long there = static_cast<long>(ranks);
  if (open ? asked < there || apps.empty() : asked == there || apps.empty()) return {};
  return fail(conflict(kOption, "-n", "the table has " + count(ranks, "rank") + ", -n sets " + std::to_string(asked),
                       "remove -n"));
}

/// A host of the user's list: the host's first entry, and the sum of the slots in all entries with its name.
struct Listed {
  HostEntry entry;
  int slots = 0;
  bool taken = false;
};

std::vector<Listed> listed_hosts(const hosts::HostRequest& request) {
  std::vector<Listed> hosts;
  for (const HostEntry& entry : request.list.empty() ? request.hostfile : request.list) {
    const auto same = std::ranges::find_if(hosts, [&](const Listed& known) { return known.entry.name == entry.name; });
    Listed& host = same == hosts.end() ? hosts.emplace_back(Listed{entry}) : *same;
    host.slots += entry.slots.value_or(0);
  }
  return hosts;
}

class Matching {
 public:
  Matching(const TableAssignment& assignment, std::vector<Listed> listed, const SameHost& same_host, std::string table)
      : assignment_(assignment), listed_(std::move(listed)), same_host_(same_host), table_(std::move(table)) {}

  /// Returns one entry per host of the table, in the table's order.
  Result<std::vector<HostEntry>> entries() {
    if (assignment_.hosts.front().name.empty() && listed_.size() != assignment_.hosts.size()) {
      if (assignment_.hosts.size() > 1 || !listed_.empty()) return fail(nameless());
    }
    std::vector<HostEntry> entries;
    for (size_t i = 0; i < assignment_.hosts.size(); ++i) {
      const auto entry = TRY(entry_for(i));
      entries.push_back(entry);
    }
    for (const Listed& host : listed_) {
      if (host.taken) continue;
      return fail({.where = host.entry.from,
                   .what = "unknown host \"" + host.entry.name + '"',
                   .why = table_ + " has " + fold_names(table_names()),
                   .hint = "use the hosts of the table, or remove the host list"});
    }
    return entries;
  }

  Notes notes;

 private:
  Error nameless() const {
    return {.where = kOption,
            .what = "missing hosts",
            .why = table_ + " has " + count(assignment_.hosts.size(), "server") + " without host names",
            .hint = "add -H with one host per server, in the table's order"};
  }

  std::vector<std::string> table_names() const {
    std::vector<std::string> names;
    for (const TableHost& host : assignment_.hosts) names.push_back(host.name);
    return names;
  }

  Listed* find(size_t index) {
    const TableHost& wanted = assignment_.hosts[index];
    if (wanted.name.empty()) return listed_.empty() ? nullptr : &listed_[index];
    for (Listed& host : listed_) {
      if (!host.taken && (host.entry.name == wanted.name || host.entry.name == wanted.server_id)) return &host;
    }
    for (Listed& host : listed_) {
      if (!host.taken && (same_host_(host.entry.name, wanted.name) || same_host_(host.entry.name, wanted.server_id)))
        return &host;
    }
    if (listed_.size() != 1 || assignment_.hosts.size() != 1) return nullptr;
    notes.push_back(listed_.front().entry.name + " has the name " + wanted.name + " in " + table_);
    return &listed_.front();
  }

  Result<HostEntry> entry_for(size_t index) {
    const TableHost& wanted = assignment_.hosts[index];
    Listed* host = find(index);
    if (!host && !listed_.empty()) {
      return refused("host \"" + wanted.name + "\" of " + table_ + ": not found in the host list", "",
                     "add the host to the list, or remove the list");
    }
    HostEntry entry;
    entry.name = wanted.name.empty() ? "localhost" : wanted.name;
    if (host) {
      host->taken = true;
      TRY(check_entry(*host, wanted));
      entry = host->entry;
    }
    entry.from = table_;
    entry.slots = static_cast<int>(wanted.ranks.size());
    entry.slots_automatic = false;
    entry.devices = wanted.devices;
    return entry;
  }

  /// A host with one slot is accepted: -H without a number sets one slot.
  Result<void> check_entry(const Listed& host, const TableHost& wanted) const {
    const auto ranks = static_cast<int>(wanted.ranks.size());
    const auto disagrees = [&](const std::string& what, const std::string& why) {
      return fail({.where = host.entry.from,
                   .what = host.entry.name + " has " + what,
                   .why = table_ + " has " + why,
                   .hint = "remove the host from the list, or make a new table"});
    };
    if (host.slots > 1 && host.slots < ranks) {
      return disagrees(count(host.slots, "slot"), count(ranks, "rank") + " there");
    }
    if (!host.entry.devices) return {};
    const std::set<int> listed(host.entry.devices->begin(), host.entry.devices->end());
    const std::set<int> used(wanted.devices.begin(), wanted.devices.end());
    if (std::ranges::includes(listed, used)) return {};
    return disagrees("the devices " + fold_ints(listed), fold_ints(used) + " there");
  }

  const TableAssignment& assignment_;
  std::vector<Listed> listed_;
  const SameHost& same_host_;
  const std::string table_;
};

}  // namespace

Result<std::vector<std::string>> follow_rank_table(cli::Options& options, const SameHost& same_host) {
  TRY(check_alone(options));
  const auto assignment = TRY(read_assignment(options));
  if (options.verb == cli::Verb::run) {
    TRY(check_ranks(options, assignment.ranks.size()));
  }
  Matching matching(assignment, listed_hosts(options.hosts), same_host, options.rank_table->name);
  auto entries = TRY(matching.entries());
  for (size_t rank = 0; rank < assignment.ranks.size(); ++rank) {
    const HostEntry& host = (entries)[static_cast<size_t>(assignment.ranks[rank].host)];
    options.request.rank_places.push_back({static_cast<int>(rank), host.name, {}, options.rank_table->name});
  }
  options.hosts.list = std::move(entries);
  options.hosts.hostfile.clear();
  return std::move(matching.notes);
}

namespace {

using ranktable::HostFacts;
using ranktable::Product;
using ranktable::Version;

constexpr const char* kAuto = "--rank-table auto";
constexpr const char* kRootInfo = "/etc/hccl_rootinfo.json";

bool from_file(const cli::Options& options) { return options.rank_table && !options.rank_table->automatic; }

Version version_for(Product product) {
  if (product == Product::ascend950) return Version::v2_0;
  return product == Product::a3 ? Version::v1_2 : Version::v1_0;
}

Product product_of(const cli::Options& options) { return options.product.value_or(Product::ascend910); }

/// HCCL's devices are Ascend devices; fake devices replace them, and configured devices may be Ascend devices.
std::optional<Error> refuse_devices(const plan::Plan& plan) {
  for (const plan::PlannedHost& planned : plan.hosts) {
    const plan::Host& host = planned.host;
    const bool other = host.device_kind == plan::DeviceKind::nvidia || host.device_kind == plan::DeviceKind::amd;
    if (!host.devices.empty() && !other) continue;
    return Error{.where = kAuto,
                 .what = host.name + (other ? " has " + std::string(to_string(host.device_kind)) + " devices"
                                            : std::string(": missing devices")),
                 .why = "a rank table requires Ascend devices",
                 .hint = "set --devices 0-7, or devices= in the hostfile"};
  }
  return std::nullopt;
}

std::string name_for(const plan::Plan& plan, const std::vector<HostFacts>& facts) {
  if (facts.size() > 1) return ranktable::file_name(facts.size(), plan.ranks.size());
  return ranktable::file_name(facts.front().devices, facts.front().server_id);
}

}  // namespace

Result<std::vector<std::string>> follow_table_file(cli::Options& options) {
  if (!from_file(options)) return std::vector<std::string>{};
  const net::OwnNames own = net::own_names(options.request.environment);
  net::NameResolver names;
  const auto addresses = [&](const std::string& name) { return names.addresses(name); };
  const auto is_here = [&](const std::string& name) { return net::is_this_machine(name, own, addresses); };
  auto notes = follow_rank_table(options, [&](const std::string& listed, const std::string& in_table) {
    if (is_here(listed) && is_here(in_table)) return true;
    const auto known = addresses(listed);
    return std::ranges::find(known, in_table) != known.end();
  });
  if (!notes && !names.trouble().empty()) notes.error().why = names.trouble();
  return notes;
}

void mark_table_devices(const cli::Options& options, plan::Allocation& allocation) {
  if (!from_file(options)) return;
  for (plan::Host& host : allocation.hosts) host.device_kind = plan::DeviceKind::ascend;
}

Result<void> check_ascend_rules(const cli::Options& options, plan::Plan& plan) {
  if (from_file(options)) return {};  // checked when the rank table was read
  const auto& frameworks = plan.frameworks;
  const bool automatic = options.rank_table.has_value();
  const bool sure = automatic || std::ranges::find(frameworks, plan::Framework::mindspore) != frameworks.end();
  const auto broken = ranktable::broken_rules(plan, product_of(options), automatic);
  if (sure && !broken.empty()) {
    return fail({.where = broken.front().host,
                 .what = broken.front().what,
                 .why = broken.front().rule,
                 .hint = "set --devices, or start another number of ranks"});
  }
  for (const auto& each : broken) {
    plan.notes.push_back(each.host + " " + each.what + ", and HCCL may refuse them: " + each.rule);
  }
  return {};
}

Result<void> add_table(const cli::Options& options, plan::Plan& plan) {
  if (!options.rank_table) return {};
  const cli::RankTableRequest& asked = *options.rank_table;
  if (asked.automatic) {
    if (auto error = refuse_devices(plan)) return fail(*std::move(error));
  }
  const std::string name = asked.automatic ? "auto" : asked.path.substr(asked.path.rfind('/') + 1);
  auto complete = TRY(plan::with_rank_table(std::move(plan), {name, asked.text, asked.path}));
  plan = std::move(complete);
  return {};
}

Result<std::vector<HostFacts>> ask_for_table(const cli::Options& options, session::HostSession& session,
                                             const plan::Plan& plan) {
  TableQuestion question;
  for (const plan::PlannedHost& planned : plan.hosts) {
    question.hosts.push_back(planned.host);
    question.path = search_path(plan::program_environment(plan.apps.front(), planned));
    auto& devices = question.devices.emplace_back();
    for (const int rank : planned.ranks) devices.push_back(*plan.rank(rank).device);
  }
  if (version_for(product_of(options)) == Version::v2_0) question.root_info = kRootInfo;
  return ask_table_hosts(session, question);
}

bool ranks_in_server_order(const cli::Options& options, const plan::Plan& plan, const std::vector<HostFacts>& facts) {
  if (version_for(product_of(options)) == Version::v2_0) return true;
  std::vector<size_t> order(facts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](size_t host) { return plan.hosts[host].ranks.front(); });
  return std::ranges::is_sorted(order, {}, [&](size_t host) -> const std::string& { return facts[host].server_id; });
}

std::vector<int> server_order(const std::vector<HostFacts>& facts) {
  std::vector<int> order(facts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int host) -> const std::string& { return at_index(facts, host).server_id; });
  return order;
}

Error wrong_server_order(const plan::Plan& plan, const std::vector<HostFacts>& facts, const std::vector<int>& order) {
  std::string names, ids;
  for (const int host : order) {
    names += (names.empty() ? "" : ",") + plan.host(host).host.name;
    ids += (ids.empty() ? "" : ", ") + at_index(facts, host).server_id;
  }
  return {.where = kAuto,
          .what = "wrong order of hosts: expected hosts sorted by address, compared as text",
          .why = ids,
          .hint = "use this order: " + names};
}

std::string moved_note(const plan::Plan& plan) {
  std::string names;
  for (const plan::PlannedHost& planned : plan.hosts) names += (names.empty() ? "" : ", ") + planned.host.name;
  return std::string(kAuto) + ": dlaunch sorted the hosts by address, as HCCL requires: " + names;
}

Result<void> put_table(const cli::Options& options, const std::vector<HostFacts>& facts, plan::Plan& plan) {
  const Product product = product_of(options);
  const auto table = TRY(ranktable::make_table(version_for(product), product, plan, facts));
  plan.rank_table = plan::RankTable{name_for(plan, facts), json::to_text(table)};
  return {};
}

}  // namespace dlaunch::ascend
