#include "ascend/job_table.h"

#include <algorithm>
#include <numeric>

#include "ascend/table_hosts.h"
#include "ascend/tables/rules.h"
#include "ascend/tables/table.h"
#include "base/environment.h"
#include "base/index_cast.h"
#include "base/try.h"
#include "plan/environment.h"
#include "settle/rank_table.h"

namespace dlaunch::ascend {
namespace {

using ranktable::HostFacts;
using ranktable::Product;
using ranktable::Version;

constexpr const char* kAuto = "--rank-table auto";
constexpr const char* kRootInfo = "/etc/hccl_rootinfo.json";

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

Result<std::vector<std::string>> doubts_about_rules(const cli::Options& options, const plan::Plan& plan) {
  std::vector<std::string> notes;
  if (settle::names_rank_table(options)) return notes;  // checked when the rank table was read
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
    notes.push_back(each.host + " " + each.what + ", and HCCL may reject these devices: " + each.rule);
  }
  return notes;
}

Result<plan::Plan> with_table_variables(const cli::Options& options, plan::Plan plan) {
  if (!options.rank_table) return plan;
  const cli::RankTableRequest& asked = *options.rank_table;
  if (asked.automatic) {
    if (auto error = refuse_devices(plan)) return fail(*std::move(error));
  }
  const std::string name = asked.automatic ? "auto" : asked.path.substr(asked.path.rfind('/') + 1);
  return plan::with_rank_table(std::move(plan), {name, asked.text, asked.path});
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
          .what = "wrong order of hosts: HCCL requires hosts sorted by the text of their addresses",
          .why = ids,
          .hint = "use this order: " + names};
}

std::string moved_note(const plan::Plan& plan) {
  std::string names;
  for (const plan::PlannedHost& planned : plan.hosts) names += (names.empty() ? "" : ", ") + planned.host.name;
  return std::string(kAuto) + ": dlaunch sorted the hosts by address, as HCCL requires: " + names;
}

Result<plan::RankTable> rank_table(const cli::Options& options, const std::vector<HostFacts>& facts,
                                   const plan::Plan& plan) {
  const Product product = product_of(options);
  const auto table = TRY(ranktable::make_table(version_for(product), product, plan, facts));
  return plan::RankTable{name_for(plan, facts), json::to_text(table)};
}

}  // namespace dlaunch::ascend
