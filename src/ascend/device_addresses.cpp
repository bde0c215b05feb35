#include "ascend/device_addresses.h"

#include <cerrno>

#include "dlaunch/error.h"
#include "dlaunch/exit_status.h"
#include "sys/capture.h"
#include "sys/files.h"

namespace dlaunch::ascend {
namespace {

using ranktable::Answer;

Answer answer_of(const sys::Captured& run) {
  if (run.error != 0) return {.printed = {}, .code = run.error == ENOENT ? kExitNotFound : kExitNotExecutable};
  if (run.timed_out) return {.printed = run.output, .code = kExitTimeout};
  return {.printed = run.output, .code = ExitStatus::from_wait(run.wait_status).shell_code()};
}

}  // namespace

ranktable::DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources) {
  const auto deadline = std::chrono::steady_clock::now() + sources.patience;
  std::vector<sys::Capture> runs;
  runs.reserve(devices.size());
  for (const long device : devices) runs.emplace_back(ranktable::address_command(device));
  std::vector<Answer> answers;
  for (sys::Capture& run : runs) answers.push_back(answer_of(run.finish(deadline)));
  const auto conf = sys::read_file(sources.hccn_conf);
  return ranktable::device_addresses(devices, answers, conf ? &*conf : nullptr);
}

}  // namespace dlaunch::ascend
