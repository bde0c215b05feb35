#include "ascend/tables/fields.h"

namespace dlaunch::ranktable {

TableFinding finding_at(const json::Json& object, const std::string& path, std::string_view key, std::string what) {
  const json::Json* member = key.empty() ? nullptr : object.find(key);
  const json::Json& at = member ? *member : object;
  const std::string full = key.empty() ? path : path + "." + std::string(key);
  return {.path = full, .line = at.line, .column = at.column, .what = std::move(what)};
}

std::string invalid_value(const json::Json& value, const std::string& expected) {
  return "invalid value " + json::described(value) + ": expected " + expected;
}

void Fields::complain(const JsonLocation& spot, std::string_view key, std::string what) {
  findings_.push_back(finding_at(*spot.json, spot.path, key, std::move(what)));
}

const json::Json* Fields::member(const JsonLocation& spot, std::string_view key, Need need) {
  const json::Json* found = spot.json->find(key);
  if (!found && need == Need::required) complain(spot, key, "missing key");
  return found;
}

std::optional<std::string> Fields::text(const JsonLocation& spot, std::string_view key, Need need) {
  const json::Json* found = member(spot, key, need);
  if (!found) return std::nullopt;
  if (found->is(json::Json::Kind::string)) return found->text;
  complain(spot, key,
           invalid_value(*found, "a string") +
               (version_ == Version::v2_0
                    ? ""
                    : ": version " + std::string(to_string(version_)) + " requires quotes around every value"));
  return std::nullopt;
}

std::optional<long> Fields::number(const JsonLocation& spot, std::string_view key, Need need, long min, long max) {
  const json::Json* found = member(spot, key, need);
  if (!found) return std::nullopt;
  if (version_ == Version::v2_0 && !found->is(json::Json::Kind::number)) {
    const bool string = found->is(json::Json::Kind::string);
    complain(spot, key, invalid_value(*found, string ? "a number without quotes" : "a number"));
    return std::nullopt;
  }
  if (version_ != Version::v2_0 && !text(spot, key, need)) return std::nullopt;
  const auto value = json::whole_number(found->text);
  if (value && *value >= min && *value <= max) return value;
  const std::string range = std::to_string(min) + " to " + std::to_string(max);
  complain(spot, key, invalid_value(*found, "a whole number from " + range));
  return std::nullopt;
}

std::optional<Address> Fields::address(const JsonLocation& spot, std::string_view key, Need need) {
  const auto given = text(spot, key, need);
  if (!given) return std::nullopt;
  const auto value = parse_address(*given);
  if (!value) {
    complain(spot, key, "invalid address " + json::described(json::Json::string(*given)) + ": expected an IP address");
  } else if (value->loopback() || value->unspecified()) {
    complain(spot, key, "invalid address \"" + *given + "\": other devices cannot connect to this address");
    return std::nullopt;
  }
  return value;
}

std::vector<JsonLocation> Fields::objects(const JsonLocation& spot, std::string_view key) {
  std::vector<JsonLocation> spots;
  const json::Json* list = member(spot, key, Need::required);
  if (!list) return spots;
  if (!list->is(json::Json::Kind::array)) {
    complain(spot, key, invalid_value(*list, "a list"));
    return spots;
  }
  if (list->items.empty()) complain(spot, key, "empty list");
  for (size_t i = 0; i < list->items.size(); ++i) {
    const json::Json& item = list->items[i];
    const JsonLocation at{&item, spot.path + "." + std::string(key) + "[" + std::to_string(i) + "]"};
    if (item.is(json::Json::Kind::object)) {
      spots.push_back(at);
    } else {
      complain(at, "", invalid_value(item, "an object"));
    }
  }
  return spots;
}

void Fields::status(const JsonLocation& spot, Need need) {
  const auto status = text(spot, "status", need);
  if (!status || *status == "completed") return;
  complain(spot, "status",
           "invalid status " + json::described(json::Json::string(*status)) + ": expected \"completed\"" +
               (version_ == Version::v2_0 ? "" : ": otherwise HCCL reads the file again for up to 30 minutes"));
}

}  // namespace dlaunch::ranktable
