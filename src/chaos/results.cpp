#include "chaos/results.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::chaos {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

Json injection_json(const Injection& each) {
  return {{"fault", to_text(each.fault)},
          {"fired", each.fired},
          {"at_s", each.fired ? Json(each.at_s) : Json(nullptr)},
          {"round", each.fired ? Json(each.round) : Json(nullptr)},
          {"host", each.host.empty() ? Json(nullptr) : Json(each.host)},
          {"pids", each.pids},
          {"why_not", each.why_not.empty() ? Json(nullptr) : Json(each.why_not)}};
}

/// Text of XML; characters that XML does not allow are escaped.
std::string xml(std::string_view text) {
  std::string escaped_text;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&':
        escaped_text += "&amp;";
        break;
      case '<':
        escaped_text += "&lt;";
        break;
      case '>':
        escaped_text += "&gt;";
        break;
      case '"':
        escaped_text += "&quot;";
        break;
      default:
        escaped_text += c;
    }
  }
  return escaped_text;
}

tl::unexpected<Error> no_plan(const std::string& name, std::string why) {
  return fail({.where = name,
               .what = "invalid list of faults",
               .why = std::move(why),
               .hint = "use a file that dlaunch chaos --report wrote, or a file with one fault per line"});
}

Result<std::vector<std::string>> faults_of_json(std::string_view text, const std::string& name) {
  std::vector<std::string> faults;
  try {
    const Json results = Json::parse(text);
    for (const Json& each : results.at("faults")) faults.push_back(each.at("fault"));
  } catch (const std::exception& error) {
    return no_plan(name, error.what());
  }
  return faults;
}

}  // namespace

std::string to_json(const Results& results) {
  Json json;
  json["seed"] = results.seed;
  json["command"] = results.command;
  json["exit_code"] = results.exit_code;
  json["job_exit_code"] = results.job_code;
  json["seconds"] = results.seconds;
  json["faults"] = Json::array();
  for (const Injection& each : results.injections) json["faults"].push_back(injection_json(each));
  json["checks"] = Json::array();
  for (const Check& check : results.checks) {
    json["checks"].push_back(Json{{"name", check.name},
                                  {"holds", check.broken.empty()},
                                  {"seen", check.broken.empty() ? Json(nullptr) : Json(check.broken)}});
  }
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_junit(const Results& results) {
  size_t failures = 0;
  std::string cases;
  for (const Check& check : results.checks) {
    cases += "  <testcase classname=\"dlaunch.chaos\" name=\"" + xml(check.name) + '"';
    if (check.broken.empty()) {
      cases += "/>\n";
    } else {
      ++failures;
      cases += ">\n    <failure message=\"" + xml(check.broken) + "\"/>\n  </testcase>\n";
    }
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"dlaunch chaos\" tests=\"" +
         std::to_string(results.checks.size()) + "\" failures=\"" + std::to_string(failures) + "\" time=\"" +
         std::to_string(results.seconds) + "\">\n" + cases + "</testsuite>\n";
}

Result<std::vector<Fault>> read_plan(std::string_view text, const std::string& name) {
  const auto words = TRY(trim(text).starts_with('{') ? faults_of_json(text, name)
                                                     : Result<std::vector<std::string>>(split(text, '\n')));
  std::vector<Fault> faults;
  for (const std::string& word : words) {
    const std::string_view line = trim(word);
    if (line.empty() || line.starts_with('#')) continue;
    auto fault = parse_fault(line);
    if (!fault) {
      fault.error().where = name;
      return fail(std::move(fault).error());
    }
    faults.push_back(*std::move(fault));
  }
  if (faults.empty()) return no_plan(name, "the file does not contain a fault");
  return faults;
}

}  // namespace dlaunch::chaos
