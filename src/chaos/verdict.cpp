#include "chaos/verdict.h"

#include <algorithm>
#include <array>
#include <csignal>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::chaos {
namespace {

using std::string_view;

constexpr std::array<string_view, 3> kExpected{"restarts", "code", "first"};
constexpr Milliseconds kSilence{15'000};  // three heartbeats: a shorter cut does not lose a link

/// Returns true if the fault certainly ends a round, with no other possible cause.
bool ends_round(const Injection& injection) {
  const Fault& fault = injection.fault;
  if (injection.without_ranks) return false;  // its loss is a note
  switch (fault.what) {
    case FaultKind::kill:
    case FaultKind::reset:
    case FaultKind::full:
      return true;
    case FaultKind::cut:  // the traffic of an interface is unknown here
      if (fault.target.kind == FaultTarget::Kind::interface) return false;
      return !fault.lasts || *fault.lasts >= 2 * kSilence;
    case FaultKind::signal:
      return fault.target.kind == FaultTarget::Kind::launcher && fault.signal == SIGTERM;
    case FaultKind::stop:
    case FaultKind::slow:
      return false;
  }
  return false;
}

/// Returns the first fault of the round for which ends_round() is true, or null. This fault must have ended the round.
const Injection* ender_of(const std::vector<Injection>& injections, int round) {
  const Injection* first = nullptr;
  for (const Injection& each : injections) {
    if (!each.fired || each.round != round || !ends_round(each)) continue;
    if (!first || each.at_s < first->at_s) first = &each;
  }
  return first;
}

/// Whether the ranks handled the signal to the launcher and exited with 0.
bool was_handled(const Injection& ender, const Seen& seen) {
  const bool signalled = ender.fault.target.kind == FaultTarget::Kind::launcher && ender.fault.what != FaultKind::kill;
  return signalled && seen.exit_code == 0 && seen.rounds.back().cause == job::Cause::success;
}

/// Returns an empty text if the message at the end of the round names the fault.
std::string not_named(const Injection& ender, const RoundEnd& end) {
  const auto seen = [&](const std::string& wanted) { return "expected " + wanted + ", observed: " + end.text; };
  switch (ender.fault.target.kind) {
    case FaultTarget::Kind::rank:
      return end.first_failure == ender.fault.target.rank ? ""
                                                          : seen("rank " + std::to_string(ender.fault.target.rank));
    case FaultTarget::Kind::agent:
    case FaultTarget::Kind::link:
      return end.cause == job::Cause::host_lost && end.text.find(ender.host) != std::string::npos
                 ? ""
                 : seen("the loss of " + ender.host);
    case FaultTarget::Kind::launcher:
      return end.cause == job::Cause::interrupted ? "" : seen("the signal");
    case FaultTarget::Kind::output:
      return end.cause == job::Cause::output_failed ? "" : seen("output that cannot be written");
    case FaultTarget::Kind::interface:
      return "";
  }
  return {};
}

/// The exit code of a job that this fault ended (docs/exit-codes.md).
int code_after(const Fault& fault) {
  switch (fault.target.kind) {
    case FaultTarget::Kind::rank:
    case FaultTarget::Kind::launcher:
      return kSignalBase + (fault.what == FaultKind::kill ? SIGKILL : fault.signal);
    case FaultTarget::Kind::agent:
    case FaultTarget::Kind::link:
      return kExitHostLost;
    case FaultTarget::Kind::output:
      return kExitOutput;
    case FaultTarget::Kind::interface:
      return 0;
  }
  return 0;
}

bool launcher_was_killed(const std::vector<Injection>& injections) {
  return std::ranges::any_of(injections, [](const Injection& each) {
    return each.fired && each.fault.target.kind == FaultTarget::Kind::launcher && each.fault.what == FaultKind::kill;
  });
}

Check check_code(const std::vector<Injection>& injections, const Seen& seen, const Expectations& expected) {
  Check check{"the exit code is as documented", ""};
  const auto differs = [&](int wanted) {
    if (seen.exit_code != wanted) {
      check.broken = "the exit code is " + std::to_string(seen.exit_code) + ", expected " + std::to_string(wanted);
    }
  };
  if (seen.recorded_code) differs(*seen.recorded_code);
  if (expected.contains("code")) return check;
  const Injection* const ender = ender_of(injections, static_cast<int>(seen.rounds.size()) - 1);
  if (launcher_was_killed(injections)) {
    differs(kSignalBase + SIGKILL);
  } else if (ender && !was_handled(*ender, seen)) {
    differs(code_after(ender->fault));
  }
  return check;
}

Check check_named(const std::vector<Injection>& injections, const Seen& seen) {
  Check check{"the message at the end of each round names the rank, host or signal of the fault", ""};
  for (size_t round = 0; round < seen.rounds.size() && check.broken.empty(); ++round) {
    const Injection* const ender = ender_of(injections, static_cast<int>(round));
    if (!ender || was_handled(*ender, seen)) continue;
    const bool of_job = ender->fault.target.kind == FaultTarget::Kind::launcher;  // also between two rounds
    const std::string wrong = not_named(*ender, of_job ? seen.rounds.back() : seen.rounds[round]);
    if (!wrong.empty()) check.broken = "round " + std::to_string(round) + ": " + wrong;
  }
  return check;
}

Check check_left(const Seen& seen) {
  Check check{"no process or file of the job is left", ""};
  for (const std::string& process : seen.left) check.broken += (check.broken.empty() ? "" : "; ") + process;
  return check;
}

Check check_rounds(const Seen& seen) {
  Check check{"the number of rounds is within the limit of --restarts", ""};
  if (seen.rounds.empty() || static_cast<int>(seen.rounds.size()) - 1 <= seen.restarts_allowed) return check;
  check.broken = count(seen.rounds.size(), "round") + " with --restarts " + std::to_string(seen.restarts_allowed);
  return check;
}

/// "none" for a job without such a value.
std::string value_of(const std::string& key, const Seen& seen) {
  if (key == "code") return std::to_string(seen.exit_code);
  if (seen.rounds.empty()) return "none";
  if (key == "restarts") return std::to_string(seen.rounds.size() - 1);
  const auto& first = seen.rounds.front().first_failure;
  return first ? std::to_string(*first) : "none";
}

}  // namespace

Result<Expectations> parse_expectations(string_view text) {
  Expectations expected;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (equals == part.npos || std::ranges::find(kExpected, key) == kExpected.end()) {
      return fail({"", "invalid expectation \"" + part + '"',
                   "expected restarts=N, code=N or first=RANK, separated by commas", ""});
    }
    expected[key] = part.substr(equals + 1);
  }
  return expected;
}

std::vector<Check> judge(const std::vector<Injection>& injections, const Seen& seen, const Expectations& expected) {
  std::vector<Check> checks;
  Check fired{"every planned fault was injected", ""};
  for (const Injection& each : injections) {
    if (!each.fired) fired.broken += (fired.broken.empty() ? "" : "; ") + to_text(each.fault) + ": " + each.why_not;
  }
  checks.push_back(std::move(fired));
  checks.push_back(check_code(injections, seen, expected));
  if (!launcher_was_killed(injections)) checks.push_back(check_named(injections, seen));
  checks.push_back(check_left(seen));
  checks.push_back(check_rounds(seen));
  for (const auto& [key, wanted] : expected) {
    const std::string found = value_of(key, seen);
    checks.push_back({key + " is " + wanted, found == wanted ? "" : "the value is " + found});
  }
  return checks;
}

bool all_fired(const std::vector<Injection>& injections) { return std::ranges::all_of(injections, &Injection::fired); }

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
