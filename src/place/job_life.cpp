#include "place/job_life.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/environment.h"
#include "base/text.h"

namespace dlaunch::place {
namespace {

std::optional<std::int64_t> number_in(const std::vector<std::string>& environment, std::string_view name) {
  const auto text = variable(environment, name);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> job_end(const std::vector<std::string>& environment) {
  if (!variable(environment, "SLURM_JOB_ID")) return std::nullopt;
  return number_in(environment, "SLURM_JOB_END_TIME");
}

std::optional<int> slurm_kill_wait(std::string_view configuration) {
  constexpr std::string_view kName = "killwait";
  constexpr long kMost = 65535;  // of slurm.conf
  const auto lower = [](std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return small;
  };
  std::optional<int> found;
  for (const std::string& line : split(configuration, '\n')) {
    const std::string words = lower(trim(std::string_view(line).substr(0, line.find('#'))));
    if (words.starts_with("include")) return std::nullopt;
    const size_t sign = words.find('=');
    if (sign == std::string::npos || trim(std::string_view(words).substr(0, sign)) != kName) continue;
    const std::string_view value = trim(std::string_view(words).substr(sign + 1));
    const auto seconds = parse_int(value.substr(0, value.find(' ')), 0, kMost);
    if (!seconds) return std::nullopt;
    found = static_cast<int>(*seconds);
  }
  return found;
}

std::optional<int> pbs_kill_delay(std::string_view queue) {
  constexpr std::string_view kName = "kill_delay";
  constexpr long kMost = 65535;
  for (const std::string& line : split(queue, '\n')) {
    const size_t sign = line.find('=');
    if (sign == std::string::npos || trim(std::string_view(line).substr(0, sign)) != kName) continue;
    const auto seconds = parse_int(trim(std::string_view(line).substr(sign + 1)), 0, kMost);
    return seconds ? std::optional(static_cast<int>(*seconds)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<int> grid_engine_notify(std::string_view queue) {
  constexpr std::string_view kName = "notify ";
  constexpr long kMost = 65535;
  for (const std::string& line : split(queue, '\n')) {
    if (!line.starts_with(kName)) continue;
    long seconds = 0;
    for (const std::string& part : split(trim(std::string_view(line).substr(kName.size())), ':')) {
      const auto number = parse_int(part, 0, kMost);
      if (!number) return std::nullopt;
      seconds = std::min(kMost, 60 * seconds + *number);
    }
    return static_cast<int>(seconds);
  }
  return std::nullopt;
}

std::optional<Attempt> attempt_of(const std::vector<std::string>& environment) {
  constexpr std::int64_t kMost = 1000000;
  const auto counted = [&](std::string_view name) {
    return Attempt{static_cast<int>(std::min(kMost, number_in(environment, name).value_or(0)))};
  };
  if (number_in(environment, "DLAUNCH_ATTEMPT")) return counted("DLAUNCH_ATTEMPT");
  if (variable(environment, "SLURM_JOB_ID")) return counted("SLURM_RESTART_COUNT");
  const auto again = [](bool restarted) { return Attempt{restarted ? 1 : 0, !restarted}; };
  if (variable(environment, "SGE_ROOT") && variable(environment, "JOB_ID")) {
    return again(number_in(environment, "RESTARTED").value_or(0) > 0);
  }
  if (variable(environment, "LSB_JOBID")) return again(variable(environment, "LSB_RESTART") == "Y");
  return std::nullopt;
}

}  // namespace dlaunch::place
