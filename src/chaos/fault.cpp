#include "chaos/fault.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"

namespace dlaunch::chaos {
namespace {

/// The expression in @line:/RE/, in RE2's syntax: linear time for any line. `what` of an Error is the text of RE2.
Result<std::function<bool(std::string_view line)>> line_pattern(std::string_view text) {
  RE2::Options options(RE2::Latin1);  // bytes: a line may not be UTF-8
  options.set_log_errors(false);
  const auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!pattern->ok()) return fail({"", pattern->error(), "", ""});
  return [pattern](std::string_view line) {
    return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *pattern);
  };
}

using std::string_view;

constexpr int kMostSignals = 64;
constexpr int kMostRounds = 1'000'000;
constexpr int kMostLines = 1'000'000'000;
constexpr size_t kLongestInterface = 15;
constexpr long kMostRank = 1'000'000;
constexpr Milliseconds kLongest = std::chrono::hours(24 * 365);
constexpr const char* kGrammar = "write WHAT:TARGET@WHEN, as in kill:rank=3@10s; docs/test-recovery.md has the grammar";

struct Kind {
  FaultKind what;
  string_view name;
};
constexpr std::array<Kind, 7> kKinds{{{FaultKind::kill, "kill"},
                                      {FaultKind::stop, "stop"},
                                      {FaultKind::cut, "cut"},
                                      {FaultKind::reset, "reset"},
                                      {FaultKind::slow, "slow"},
                                      {FaultKind::full, "full"},
                                      {FaultKind::signal, "signal"}}};

struct Unit {
  string_view name;
  long long factor;
};
/// A name comes after each longer name with the same end.
constexpr std::array<Unit, 8> kSizes{{{"KiB", 1LL << 10},
                                      {"MiB", 1LL << 20},
                                      {"GiB", 1LL << 30},
                                      {"kB", 1000},
                                      {"KB", 1000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"B", 1}}};

tl::unexpected<Error> invalid(string_view kind, string_view value, string_view expected, std::string hint = "") {
  return fail(invalid_value(kind, value, expected, std::move(hint)));
}

/// "1.5s" in the smallest unit; at most three decimals.
template <size_t N>
std::optional<long long> measure(string_view text, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const string_view number = text.substr(0, text.size() - unit.name.size());
    const size_t dot = number.find('.');
    const auto whole = parse_int(number.substr(0, dot), 0, std::numeric_limits<int>::max());
    if (!whole) return std::nullopt;
    long long value = *whole * unit.factor;
    if (dot == number.npos) return value;
    const string_view decimals = number.substr(dot + 1);
    const auto part = parse_int(decimals, 0, 999);
    if (!part || decimals.size() > 3) return std::nullopt;
    constexpr std::array<long long, 4> kTens{1, 10, 100, 1000};
    return value + *part * unit.factor / kTens[decimals.size()];
  }
  return std::nullopt;
}

Result<Milliseconds> duration(string_view text) {
  const auto time = parse_duration(text);
  if (!time || *time > kLongest) return invalid("duration", text, "10s, 1.5s, 200ms or 1h30m");
  return Milliseconds(*time);
}

Result<long long> size(string_view text) {
  const auto bytes = measure(text, kSizes);
  if (!bytes || *bytes == 0) return invalid("size", text, "1MiB, 64kB or 100B");
  return *bytes;
}

std::optional<int> signal_named(string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number <= kMostSignals; ++number) {
    if (signal_name(number) == "SIG" + std::string(name)) return number;
  }
  return std::nullopt;
}

/// Returns the text before `mark`, and removes this text and the mark from `text`. Without a mark: the whole text.
string_view take_to(string_view& text, char mark) {
  const string_view taken = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

Result<FaultTarget> process_target(string_view text) {
  if (text == "launcher") return FaultTarget{.kind = FaultTarget::Kind::launcher};
  if (text == "rank=any") return FaultTarget{.kind = FaultTarget::Kind::rank, .any = true};
  if (text == "agent=any") return FaultTarget{.kind = FaultTarget::Kind::agent, .any = true};
  if (text.starts_with("rank=")) {
    const auto rank = parse_int(text.substr(5), 0, kMostRank);
    if (rank) return FaultTarget{.kind = FaultTarget::Kind::rank, .rank = static_cast<int>(*rank)};
  } else if (text.starts_with("agent=") && text.size() > 6) {
    return FaultTarget{.kind = FaultTarget::Kind::agent, .host = std::string(text.substr(6))};
  }
  return invalid("target", text, "rank=3, rank=any, agent=HOST, agent=any or launcher");
}

Result<FaultTarget> link_target(string_view text) {
  if (text.empty()) return invalid("target", text, "HOST, any or net=INTERFACE", kGrammar);
  if (text == "any") return FaultTarget{.kind = FaultTarget::Kind::link, .any = true};
  if (text.starts_with("net=")) {
    text.remove_prefix(4);
    const bool is_name = !text.empty() && text.size() <= kLongestInterface && text.find_first_of("/ ") == text.npos;
    if (!is_name) return invalid("network interface", text, "net=eth1");
    return FaultTarget{.kind = FaultTarget::Kind::interface, .interface = std::string(text)};
  }
  return FaultTarget{.kind = FaultTarget::Kind::link, .host = std::string(text)};
}

Result<void> read_target(string_view text, Fault& fault) {
  switch (fault.what) {
    case FaultKind::kill:
    case FaultKind::stop:
    case FaultKind::signal:
      fault.target = TRY(process_target(text));
      return {};
    case FaultKind::cut:
    case FaultKind::reset:
      fault.target = TRY(link_target(text));
      if (fault.what == FaultKind::reset && fault.target.kind != FaultTarget::Kind::link) {
        return invalid("target of reset", text, "HOST or any; only cut and slow accept an interface");
      }
      return {};
    case FaultKind::slow: {
      const size_t equals = text.rfind('=');
      if (equals == text.npos || !text.ends_with("/s")) return invalid("target of slow", text, "HOST=1MB/s");
      fault.bytes = TRY(size(text.substr(equals + 1, text.size() - equals - 3)));
      fault.target = TRY(link_target(text.substr(0, equals)));
      return {};
    }
    case FaultKind::full:
      if (text != "output") return invalid("target of full", text, "output, as in full:output@1MiB");
      fault.target = {.kind = FaultTarget::Kind::output};
      return {};
  }
  return {};
}

/// Reads /RE/[#N][+FOR]; the last '/' ends the expression.
Result<string_view> read_line(string_view text, When& when) {
  const size_t end = text.rfind('/');
  if (!text.starts_with('/') || end < 2)
    return invalid("line pattern", text, "an expression between slashes, as in line:/step 50/");
  when.line = text.substr(1, end - 1);
  if (const auto pattern = line_pattern(when.line); !pattern) {
    return invalid("regular expression", when.line, "the syntax of RE2: " + pattern.error().what);
  }
  string_view rest = text.substr(end + 1);
  if (!rest.starts_with('#')) return rest;
  rest.remove_prefix(1);
  const string_view digits = rest.substr(0, rest.find('+'));
  const auto nth = parse_int(digits, 1, kMostLines);
  if (!nth) return invalid("line number", digits, "1 to " + std::to_string(kMostLines));
  when.nth = static_cast<int>(*nth);
  return rest.substr(digits.size());
}

/// Returns the following text: "" or "+FOR".
Result<string_view> read_when(string_view text, When& when) {
  if (text.starts_with("line:")) return read_line(text.substr(5), when);
  if (text.starts_with("round=")) {
    text.remove_prefix(6);
    const string_view digits = take_to(text, ':');
    const auto round = parse_int(digits, 0, kMostRounds);
    if (!round) return invalid("round", digits, "a number, as in round=1:3s");
    when.round = static_cast<int>(*round);
  }
  const string_view time = text.substr(0, text.find('+'));
  when.time = TRY(duration(time));
  return text.substr(time.size());
}

bool may_last(FaultKind what) { return what == FaultKind::stop || what == FaultKind::cut || what == FaultKind::slow; }

std::string time_text(Milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + 's' : std::to_string(ms) + "ms";
}

string_view name_of(FaultKind what) { return std::ranges::find(kKinds, what, &Kind::what)->name; }

std::string target_text(const FaultTarget& target) {
  switch (target.kind) {
    case FaultTarget::Kind::rank:
      return "rank=" + (target.any ? "any" : std::to_string(target.rank));
    case FaultTarget::Kind::agent:
      return "agent=" + (target.any ? "any" : target.host);
    case FaultTarget::Kind::link:
      return target.any ? "any" : target.host;
    case FaultTarget::Kind::launcher:
      return "launcher";
    case FaultTarget::Kind::output:
      return "output";
    case FaultTarget::Kind::interface:
      return "net=" + target.interface;
  }
  return {};
}

}  // namespace

Result<Fault> parse_fault(string_view text) {
  string_view rest = text;
  const string_view name = take_to(rest, ':');
  const auto* const kind = std::ranges::find(kKinds, name, &Kind::name);
  if (kind == kKinds.end()) return invalid("fault", name, "kill, stop, cut, reset, slow, full or signal");
  Fault fault{.what = kind->what};
  if (fault.what == FaultKind::signal) {
    const string_view signal = take_to(rest, ':');
    const auto number = signal_named(signal);
    if (!number) return invalid("signal", signal, "a name, as in signal:TERM:launcher@8s");
    fault.signal = *number;
  }
  const size_t at = rest.find('@');
  if (at == rest.npos) return invalid("fault", text, "a time after @", kGrammar);
  TRY(read_target(rest.substr(0, at), fault));
  rest.remove_prefix(at + 1);
  if (fault.what == FaultKind::full) {
    fault.bytes = TRY(size(rest));
    return fault;
  }
  rest = TRY(read_when(rest, fault.when));
  if (rest.empty()) return fault;
  if (!rest.starts_with('+')) return invalid("end of a fault", rest, "+DURATION", kGrammar);
  if (!may_last(fault.what))
    return invalid("end of a fault", rest, "no duration, because " + std::string(name) + " cannot be undone");
  fault.lasts = TRY(duration(rest.substr(1)));
  return fault;
}

std::string to_text(const Fault& fault) {
  std::string text(name_of(fault.what));
  if (fault.what == FaultKind::signal) text += ':' + signal_name(fault.signal).substr(3);
  text += ':' + target_text(fault.target);
  if (fault.what == FaultKind::slow) text += '=' + std::to_string(fault.bytes) + "B/s";
  text += '@';
  if (fault.what == FaultKind::full) return text + std::to_string(fault.bytes) + 'B';
  if (!fault.when.line.empty()) {
    text += "line:/" + fault.when.line + '/';
    if (fault.when.nth > 1) text += '#' + std::to_string(fault.when.nth);
  } else {
    if (fault.when.round > 0) text += "round=" + std::to_string(fault.when.round) + ':';
    text += time_text(fault.when.time);
  }
  return fault.lasts ? text + '+' + time_text(*fault.lasts) : text;
}

std::string to_words(const FaultTarget& target) {
  switch (target.kind) {
    case FaultTarget::Kind::rank:
      return target.any ? "any rank" : "rank " + std::to_string(target.rank);
    case FaultTarget::Kind::agent:
      return target.any ? "any agent" : "the agent of " + target.host;
    case FaultTarget::Kind::link:
      return target.any ? "any link" : "the link of " + target.host;
    case FaultTarget::Kind::launcher:
      return "the launcher";
    case FaultTarget::Kind::output:
      return "the output";
    case FaultTarget::Kind::interface:
      return "interface " + target.interface;
  }
  return {};
}

Schedule::Schedule(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    planned_.push_back({.fault = fault, .matches = {}});
    if (fault.when.line.empty()) continue;
    planned_.back().matches = line_pattern(fault.when.line).value();  // parse_fault accepted it
  }
}

void Schedule::round_began(int round, Time now) {
  ranks_run_ = true;
  for (Planned& each : planned_) {
    if (each.state == State::missed) each.state = State::waiting;
    const bool from_here = !each.matches && !each.at && round >= each.fault.when.round;
    if (from_here) each.at = now + each.fault.when.time;
  }
}

void Schedule::line(std::string_view text, Time now) {
  for (Planned& each : planned_) {
    if (!each.matches || each.at || !each.matches(text)) continue;
    if (++each.lines == each.fault.when.nth) each.at = now;
  }
}

std::vector<Schedule::Due> Schedule::due(Time now) const {
  std::vector<Due> due;
  if (!ranks_run_) return due;
  for (size_t i = 0; i < planned_.size(); ++i) {
    const Planned& each = planned_[i];
    const bool counts = each.state == State::waiting || each.state == State::going_on;
    if (counts && each.at && *each.at <= now) due.push_back({i, each.state == State::going_on});
  }
  std::ranges::stable_sort(due, {}, [&](const Due& one) { return *planned_[one.fault].at; });
  return due;
}

std::optional<Time> Schedule::next() const {
  std::optional<Time> first;
  if (!ranks_run_) return first;
  for (const Planned& each : planned_) {
    const bool counts = each.state == State::waiting || each.state == State::going_on;
    if (counts && each.at && (!first || *each.at < *first)) first = each.at;
  }
  return first;
}

void Schedule::begun(size_t fault, Time now) {
  Planned& each = planned_[fault];
  each.state = each.fault.lasts ? State::going_on : State::over;
  if (each.fault.lasts) each.at = now + *each.fault.lasts;
}

void Schedule::ended(size_t fault) { planned_[fault].state = State::over; }
void Schedule::missed(size_t fault) { planned_[fault].state = State::missed; }

}  // namespace dlaunch::chaos
