#include "ascend/tables/device_numbers.h"

#include <numeric>
#include <set>

#include "base/text.h"
#include "base/try.h"

namespace dlaunch::ranktable {
namespace {

constexpr int kMostDevices = 64;
constexpr const char* kNumbers = "--device_num";
constexpr const char* kVisible = "--visible_devices";

Error refused(const char* option, std::string what, std::string hint) {
  return {.where = option, .what = std::move(what), .why = "", .hint = std::move(hint)};
}

std::vector<long> range(long first, long end) {
  std::vector<long> numbers(static_cast<size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Result<std::vector<long>> parse_numbers(const std::string& text) {
  const std::string_view word = trim(text);
  if (!word.starts_with('[')) {
    const auto list = parse_int_list(word, kMostDevices - 1);
    if (!list || list->empty()) {
      return fail(
          refused(kNumbers, "invalid device range \"" + text + "\": expected \"[0,8)\", \"0-7\" or \"0,2\"", ""));
    }
    return std::vector<long>(list->begin(), list->end());
  }
  const auto parts = split(word.substr(1, word.size() - 2), ',');
  const auto number = [&](size_t i) { return parse_int(trim(parts[i]), 0, kMostDevices); };
  if (!word.ends_with(')') || parts.size() != 2 || !number(0) || !number(1)) {
    return fail(refused(kNumbers, "invalid device range \"" + text + "\": expected two numbers such as \"[0,8)\"",
                        "write \"[0,8)\" for devices 0 to 7: the second number is not included"));
  }
  if (*number(0) >= *number(1)) {
    return fail(refused(kNumbers, "invalid device range \"" + text + "\": expected at least 1 device",
                        "write \"[0,1)\" for device 0: the second number is not included"));
  }
  return range(*number(0), *number(1));
}

Result<std::vector<long>> parse_visible(const std::string& text) {
  std::vector<long> devices;
  std::set<long> seen;
  for (const std::string& part : split(text, ',')) {
    const auto device = parse_int(trim(part), 0, kMostDevices);
    if (!device)
      return fail(refused(kVisible, "invalid device list \"" + text + "\": expected numbers such as 4,5,6,7", ""));
    if (!seen.insert(*device).second)
      return fail(refused(kVisible, "duplicate device \"" + std::to_string(*device) + "\"", "write each device once"));
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace

Result<ChosenDevices> choose_devices(const std::optional<std::string>& numbers,
                                     const std::optional<std::string>& visible) {
  const auto shown = TRY(visible ? parse_visible(*visible) : Result<std::vector<long>>(range(0, kMostDevices)));
  const auto count = visible ? static_cast<long>(shown.size()) : 8L;
  const auto chosen = TRY(numbers ? parse_numbers(*numbers) : Result<std::vector<long>>(range(0, count)));
  ChosenDevices result{.numbers = chosen, .devices = {}};
  for (const long number : chosen) {
    if (number >= static_cast<long>(shown.size())) {
      return fail(refused(kNumbers,
                          "invalid device \"" + std::to_string(number) + "\": expected 0 to " +
                              std::to_string(shown.size() - 1) + ", the positions in --visible_devices " + *visible,
                          "write \"[0," + std::to_string(shown.size()) + ")\" for all devices of --visible_devices"));
    }
    result.devices.push_back((shown)[static_cast<size_t>(number)]);
  }
  return result;
}

}  // namespace dlaunch::ranktable
