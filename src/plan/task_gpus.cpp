#include "plan/task_gpus.h"

#include <climits>
#include <iterator>
#include <map>

#include "base/environment.h"
#include "base/text.h"
#include "place/variables.h"

namespace dlaunch::plan {
namespace {

std::optional<long> task_number(std::string_view name) {
  if (!name.starts_with(kGpusOfNode)) return std::nullopt;
  return parse_int(name.substr(kGpusOfNode.size()), 0, INT_MAX);
}

}  // namespace

bool names_task_gpus(std::string_view name) { return task_number(name).has_value(); }

bool has_task_gpus(const std::vector<std::string>& environment) { return task_gpus(environment, 0).has_value(); }

std::optional<std::string> task_gpus(const std::vector<std::string>& node_variables, std::uint32_t task) {
  if (!filled_variable(node_variables, place::kLsfJob)) return std::nullopt;
  std::map<long, std::string_view> lists;
  for (const std::string& entry : node_variables) {
    const std::string_view name = variable_name(entry);
    if (const auto number = task_number(name)) lists.emplace(*number, std::string_view(entry).substr(name.size()));
  }
  if (task >= lists.size()) return std::nullopt;
  return std::string(kGpusOfNode).append(std::next(lists.begin(), task)->second);
}

}  // namespace dlaunch::plan
