#include "ascend/tables/plan_rules.h"

#include <set>

#include "ascend/tables/server_rules.h"
#include "base/text.h"

namespace dlaunch::ranktable {
namespace {

using plan::DeviceKind;

std::string devices(size_t count) { return std::to_string(count) + (count == 1 ? " device" : " devices"); }

std::set<int> devices_of(const plan::Plan& plan, const plan::PlannedHost& host) {
  std::set<int> ids;
  for (const int rank : host.ranks) {
    if (const auto& device = plan.rank(rank).device) ids.insert(*device);
  }
  return ids;
}

bool counts(const plan::Host& host, bool stand_ins) {
  if (host.device_kind == DeviceKind::ascend) return true;
  return stand_ins && (host.device_kind == DeviceKind::fake || host.device_kind == DeviceKind::named);
}

}  // namespace

std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins) {
  std::vector<BrokenRule> broken;
  const bool alone = plan.hosts.size() == 1;
  std::optional<size_t> first;
  for (const plan::PlannedHost& planned : plan.hosts) {
    const std::set<int> ids = devices_of(plan, planned);
    if (ids.empty() || !counts(planned.host, stand_ins)) continue;
    const auto add = [&](const std::string& what, const std::string& rule) {
      if (!rule.empty()) broken.push_back({planned.host.name, what, rule});
    };
    const size_t count = ids.size();
    if (const std::string rule = wrong_count(count, alone, product); !rule.empty()) {
      add("has " + devices(count), rule);
    } else if (first.value_or(count) != count) {
      add("has " + devices(count), "expected " + std::to_string(*first) + ", as on the first host");
    }
    if (!first) first = count;
    add("has devices " + fold_ints(ids), crossing(ids, count, product));
    add("has device " + std::to_string(*ids.rbegin()), too_high(*ids.rbegin(), product));
  }
  return broken;
}

}  // namespace dlaunch::ranktable
