#include "place/grid_engine.h"

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"

namespace dlaunch::place {

std::optional<std::string> grid_engine_job(const std::vector<std::string>& environment) {
  if (!filled_variable(environment, "PE_HOSTFILE") || !filled_variable(environment, "SGE_ROOT")) return std::nullopt;
  std::string job = filled_variable(environment, "JOB_ID").value_or("");
  const std::string task = filled_variable(environment, "SGE_TASK_ID").value_or("undefined");
  return task == "undefined" ? job : job + '.' + task;
}

Result<std::vector<hosts::HostEntry>> read_grid_engine(const std::vector<std::string>& environment,
                                                       const hosts::ReadText& read_file) {
  const std::string text = TRY(read_named_file("PE_HOSTFILE", environment, read_file));
  std::vector<ListedHost> hosts;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = blank_separated(line);
    if (words.empty()) continue;
    const auto slots = words.size() > 1 ? parse_int(words[1], 0, hosts::kMostSlots) : std::nullopt;
    if (!slots) return wrong_list("PE_HOSTFILE", "missing number of slots in a line");
    hosts.push_back({words[0], static_cast<int>(*slots)});
  }
  return listed_entries(hosts, "PE_HOSTFILE");
}

}  // namespace dlaunch::place
