#include "ranktable/device_numbers.h"

#include <algorithm>
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
      return fail(refused(kNumbers, "\"" + text + "\" is no range of devices", "write \"[0,8)\", \"0-7\" or \"0,2\""));
    }
    return std::vector<long>(list->begin(), list->end());
  }
  const auto parts = split(word.substr(1, word.size() - 2), ',');
  const auto number = [&](size_t i) { return parse_int(trim(parts[i]), 0, kMostDevices); };
  if (!word.ends_with(')') || parts.size() != 2 || !number(0) || !number(1)) {
    return fail(refused(kNumbers, "\"" + text + "\" is no range of devices",
                        "write \"[0,8)\" for devices 0 to 7: the second number is not included"));
  }
  if (*number(0) >= *number(1)) {
    return fail(refused(kNumbers, "\"" + text + "\" holds no device",
                        "the second number is not included: \"[0,1)\" is device 0"));
  }
  return range(*number(0), *number(1));
}

Result<std::vector<long>> parse_visible(const std::string& text) {
  std::vector<long> devices;
  std::set<long> seen;
  for (const std::string& part : split(text, ',')) {
    const auto device = parse_int(trim(part), 0, kMostDevices);
    if (!device) return fail(refused(kVisible, "\"" + text + "\" is no list of devices", "write 4,5,6,7"));
    if (!seen.insert(*device).second)
      return fail(refused(kVisible, "device " + std::to_string(*device) + " stands twice", "name each device once"));
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
      return fail(refused(
          kNumbers, "there is no device " + std::to_string(number) + " in --visible_devices " + *visible,
          "--device_num counts in that list, from 0: all of it is \"[0," + std::to_string(shown.size()) + ")\""));
    }
    result.devices.push_back((shown)[static_cast<size_t>(number)]);
  }
  return result;
}

}  // namespace dlaunch::ranktable
