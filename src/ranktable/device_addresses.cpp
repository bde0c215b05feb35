#include "ranktable/device_addresses.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "ranktable/hccn.h"
#include "sys/capture.h"
#include "sys/read_file.h"

namespace dlaunch::ranktable {
namespace {

std::string trouble_of(const sys::Captured& run) {
  if (run.error == ENOENT) return "not found in PATH";
  if (run.error != 0) return std::strerror(run.error);
  if (run.timed_out) return "gave no answer in time";
  if (WIFSIGNALED(run.wait_status)) return "was ended by signal " + std::to_string(WTERMSIG(run.wait_status));
  const int code = WEXITSTATUS(run.wait_status);
  return code == 0 ? "names no address" : "exited with " + std::to_string(code);
}

void ask_tool(const std::vector<long>& devices, const AddressSources& sources, DeviceAddresses& into) {
  const auto deadline = std::chrono::steady_clock::now() + sources.patience;
  std::vector<sys::Capture> runs;
  runs.reserve(devices.size());
  for (const long device : devices)
    runs.emplace_back(std::vector<std::string>{sources.hccn_tool, "-i", std::to_string(device), "-ip", "-g"});
  for (size_t i = 0; i < devices.size(); ++i) {
    const sys::Captured run = runs[i].finish(deadline);
    const auto address = run.error == 0 && !run.timed_out ? parse_hccn_tool(run.output) : std::nullopt;
    if (address) {
      into.by_device[devices[i]] = *address;
    } else if (into.tool_trouble.empty()) {
      into.tool_trouble = trouble_of(run);
    }
  }
}

}  // namespace

DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources) {
  DeviceAddresses found;
  ask_tool(devices, sources, found);
  if (found.by_device.size() == devices.size()) return found;
  const auto text = sys::read_file(sources.hccn_conf);
  if (!text) {
    found.conf_trouble = "cannot be read";
    return found;
  }
  const auto listed = parse_hccn_conf(*text);
  for (const long device : devices) {
    const auto line = listed.find(device);
    if (line != listed.end()) found.by_device.emplace(device, line->second);
    if (!found.by_device.contains(device)) found.conf_trouble = "has no address_" + std::to_string(device);
  }
  return found;
}

}  // namespace dlaunch::ranktable
