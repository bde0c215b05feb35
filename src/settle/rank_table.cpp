#include "settle/rank_table.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ascend/tables/rules.h"
#include "ascend/tables/table.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::settle {
namespace {

using hosts::HostEntry;
using ranktable::TableAssignment;
using ranktable::TableHost;
using SameHost = std::function<bool(const std::string& listed, const std::string& in_table)>;
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

/// Without name lookup: `same_host` decides for two different names, of a host list and of the table.
Result<TablePlaces> read_rank_table(const cli::Options& options, const SameHost& same_host) {
  TRY(check_alone(options));
  const auto assignment = TRY(read_assignment(options));
  if (options.verb == cli::Verb::run) {
    TRY(check_ranks(options, assignment.ranks.size()));
  }
  Matching matching(assignment, listed_hosts(options.hosts), same_host, options.rank_table->name);
  TablePlaces table;
  table.hosts = TRY(matching.entries());
  for (size_t rank = 0; rank < assignment.ranks.size(); ++rank) {
    const HostEntry& host = table.hosts[static_cast<size_t>(assignment.ranks[rank].host)];
    table.places.push_back({static_cast<int>(rank), host.name, {}, options.rank_table->name});
  }
  table.notes = std::move(matching.notes);
  return table;
}

}  // namespace

bool names_rank_table(const cli::Options& options) { return options.rank_table && !options.rank_table->automatic; }

Settling<TablePlaces> read_rank_table(const cli::Options& options, const Facts& facts) {
  const net::OwnNames own = TRY(known(facts, FindOwnNames{}));
  Names names(facts);
  const net::Resolve resolve = [&names](const std::string& name) { return names.addresses(name); };
  const auto is_here = [&](const std::string& name) { return net::is_this_machine(name, own, resolve); };
  auto table = read_rank_table(options, [&](const std::string& listed, const std::string& in_table) {
    if (is_here(listed) && is_here(in_table)) return true;
    const auto found = names.addresses(listed);
    return std::ranges::find(found, in_table) != found.end();
  });
  TRY(names.complete());
  if (table) return *std::move(table);
  if (!names.trouble().empty()) table.error().why = names.trouble();
  return fail(table.error());
}

}  // namespace dlaunch::settle
