// Cobalt: COBALT_NODEFILE has one name for each slot.
#include "base/environment.h"
#include "place/manager_list.h"

namespace dlaunch::place {
namespace {

constexpr const char* kNodes = "COBALT_NODEFILE";

std::optional<std::string> job(const Environment& environment) {
  if (!filled_variable(environment, kNodes)) return std::nullopt;
  return filled_variable(environment, "COBALT_JOBID").value_or("");
}

Result<Entries> hosts_of_job(const Environment& environment, const hosts::ReadText& read_file) {
  return read_node_file(kNodes, environment, read_file);
}

std::optional<Error> unlisted(const Environment& environment) {
  return unlisted_job(environment, {.manager = "Cobalt", .number = "COBALT_JOBID", .list = kNodes});
}

}  // namespace

extern constinit const ManagerRow kCobalt = {.name = "Cobalt", .job = job, .hosts = hosts_of_job, .unlisted = unlisted};

}  // namespace dlaunch::place
