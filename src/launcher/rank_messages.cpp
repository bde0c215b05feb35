#include "launcher/rank_messages.h"

#include "base/text.h"

namespace dlaunch::launcher {

ExitStatus exit_status(const wire::Ended& ended) {
  ExitStatus status = ExitStatus::from_wait(static_cast<int>(ended.wait_status));
  if (ended.in_mpi && status.ok()) return ExitStatus(LeftMpi{});
  const auto* signaled = std::get_if<Signaled>(&status.value());
  return signaled && ended.out_of_memory ? ExitStatus(Signaled{signaled->signal, signaled->core_dumped, true}) : status;
}

std::string folded_cpus(const wire::Started& started) {
  std::set<int> numbers;
  for (const std::uint32_t cpu : started.cpus) numbers.insert(static_cast<int>(cpu));
  return fold_ints(numbers);
}

std::optional<std::array<sys::Fd, output::kStreams>> handed_over(const wire::Started& started,
                                                                 std::deque<sys::Fd>& fds) {
  std::array<sys::Fd, output::kStreams> handed;
  for (size_t stream = 0; stream < handed.size(); ++stream) {
    if ((started.fds >> stream & 1) == 0) continue;
    if (fds.empty()) return std::nullopt;
    handed[stream] = std::move(fds.front());
    fds.pop_front();
  }
  return handed;
}

}  // namespace dlaunch::launcher
