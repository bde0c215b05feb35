#include "allocate/job_life.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "base/environment.h"

namespace dlaunch::allocate {
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

}  // namespace dlaunch::allocate
