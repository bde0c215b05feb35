#include "grammars/lsf_affinity.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "place/place.h"

namespace dlaunch::cli {
namespace {

constexpr std::string_view kOverrides[] = {"host",       "hostfile",       "ignore-resource-manager",
                                           "fake-hosts", "same-line",      "rank-table",
                                           "bind-to",    "rankfile",       "map-by",
                                           "cpu-list",   "cores-per-rank", "N",
                                           "rank-by",    "include",        "exclude",
                                           "nolocal",    "spares",         "restarts",
                                           "max-slots"};

/// Returns the number of ranks of all programs; `places` if a program has no number.
size_t ranks_of(const plan::Request& request, size_t places) {
  size_t ranks = 0;
  for (const plan::AppRequest& app : request.apps) {
    if (!app.ranks) return places;
    ranks += static_cast<size_t>(*app.ranks);
  }
  return ranks;
}

}  // namespace

Result<void> follow_lsf_affinity(const ResolvedOptions& effective, const ProcessContext& context, Options& options) {
  const bool overridden =
      std::ranges::any_of(kOverrides, [&](std::string_view name) { return effective.find(name) != nullptr; });
  const place::ManagerRow* const manager = options.manager.manager;
  if (overridden || options.verb != Verb::run || !manager || !manager->rank_places) return {};
  const auto read = [&](const std::string& path) -> Result<std::string> {
    auto text = context.read_file(path);
    if (!text) return fail(std::move(text.error().error));
    return *std::move(text);
  };
  auto places = TRY(manager->rank_places(context.environment, read));
  const size_t ranks = ranks_of(options.request, places.size());
  if (places.empty()) return {};
  if (ranks > places.size()) {
    options.notes.emplace_back("ranks are not bound: LSB_AFFINITY_HOSTFILE has fewer lines than there are ranks");
    return {};
  }
  places.resize(ranks);
  options.request.rank_places = std::move(places);
  options.request.bind_by_count = false;
  return {};
}

}  // namespace dlaunch::cli
