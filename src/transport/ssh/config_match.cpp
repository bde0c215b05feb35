#include "transport/ssh/config_match.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "transport/ssh/pattern.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

/// Criteria of OpenSSH, including releases after 9.2, that only ssh can evaluate.
constexpr string_view kOnlyForSsh[] = {"exec", "localnetwork", "tagged", "command", "sessiontype", "version"};

struct Criterion {
  string name;
  bool negated = false;
  string argument;
};

bool takes_argument(string_view name) { return name != "all" && name != "canonical" && name != "final"; }

/// Parses "user ann", "user=ann" or "!user ann", and advances `at` past the criterion.
Result<Criterion> next_criterion(const ConfigLine& line, size_t& at) {
  const string& word = line.words[at++];
  Criterion criterion{.name = {}, .negated = word.starts_with('!'), .argument = {}};
  const size_t from = criterion.negated ? 1 : 0;
  const size_t equals = word.find('=');
  criterion.name = to_lower(string_view(word).substr(from, equals == string::npos ? equals : equals - from));
  if (equals != string::npos) {
    criterion.argument = word.substr(equals + 1);
  } else if (takes_argument(criterion.name)) {
    if (at == line.words.size()) return wrong_line(line, "missing value of " + criterion.name);
    criterion.argument = line.words[at++];
  }
  return criterion;
}

/// Ignores case, unlike Host.
bool matches_host(const string& host, const string& patterns) {
  return matches_patterns(to_lower(host), split(to_lower(patterns), ','));
}

Holds holds_if(bool condition) { return condition ? Holds::yes : Holds::no; }

Result<Holds> evaluate(const ConfigLine& line, const Criterion& criterion, const MatchSubject& subject) {
  const auto& [name, negated, argument] = criterion;
  if (name == "all") return Holds::yes;
  if (name == "canonical" || name == "final") return holds_if(subject.final_pass);
  if (name == "host") return holds_if(matches_host(subject.host, argument));
  if (name == "originalhost") return holds_if(matches_host(subject.original_host, argument));
  if (name == "user") return holds_if(matches_patterns(subject.user, split(argument, ',')));
  if (name == "localuser") return holds_if(matches_patterns(subject.local_user, split(argument, ',')));
  if (std::ranges::find(kOnlyForSsh, name) != std::end(kOnlyForSsh)) return Holds::unknown;
  return wrong_line(line, "unknown criterion \"" + name + '"');
}

Holds opposite(Holds holds) {
  if (holds == Holds::unknown) return holds;
  return holds_if(holds == Holds::no);
}

bool names_the_host(string_view command) {
  return std::ranges::any_of(std::initializer_list<string_view>{"%h", "%n", "%k", "%C", "%j"},
                             [&](string_view token) { return command.find(token) != string_view::npos; });
}

}  // namespace

Result<MatchVerdict> match_line(const ConfigLine& line, const MatchSubject& subject) {
  MatchVerdict verdict;
  for (size_t at = 0; at < line.words.size();) {
    const auto criterion = TRY(next_criterion(line, at));
    auto one = TRY(evaluate(line, criterion, subject));
    if (criterion.negated) one = opposite(one);
    if (one == Holds::unknown) {
      verdict.unknown = criterion.name;
      verdict.host_specific = verdict.host_specific || names_the_host(criterion.argument);
    }
    verdict.wants_final_pass = verdict.wants_final_pass || criterion.name == "final";
    verdict.holds = std::min(verdict.holds, one);
  }
  return verdict;
}

}  // namespace dlaunch::transport::ssh
