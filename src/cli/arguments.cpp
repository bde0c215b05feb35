#include "cli/arguments.h"

#include <algorithm>

#include "cli/config_file.h"
#include "cli/files.h"

namespace dlaunch::cli {
namespace {

/// For "-n4" and "-np4", which mpirun refuses too: "write -n 4".
std::string attached_number(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const FoundOption found = find_option(name.substr(0, digits));
  if (digits == name.size() || !found.spec || found.spec->takes != Takes::value) return "";
  return "write " + dashed(name.substr(0, digits)) + ' ' + std::string(name.substr(digits));
}

tl::unexpected<Error> unknown_option(const std::string& spelled, std::string_view name) {
  const std::string_view why = why_refused(name);
  if (!why.empty()) return fail({.where = spelled, .what = std::string(why), .why = "", .hint = ""});
  std::string hint = attached_number(name);
  if (hint.empty()) hint = did_you_mean(name);
  if (hint.empty()) hint = "dlaunch --help lists the options; -- ends them";
  return fail({.where = spelled, .what = "unknown option", .why = "", .hint = std::move(hint)});
}

/// One walk over the words; `split_groups` says whether ':' separates.
class Walk {
 public:
  Walk(std::span<const std::string> words, bool split_groups) : words_(words), split_groups_(split_groups) {}

  Result<Arguments> run() {
    do {
      auto group = take_group();
      if (!group) return fail(group.error());
      const bool first = arguments_.groups.empty();
      if (first || !group->options.empty() || !group->program.empty()) arguments_.groups.push_back(*std::move(group));
    } while (at_ < words_.size() && !arguments_.show);
    return std::move(arguments_);
  }

 private:
  bool separator() const { return split_groups_ && words_[at_] == ":"; }

  Result<Group> take_group() {
    Group group;
    bool options = true;
    while (at_ < words_.size() && !separator() && !arguments_.show) {
      const std::string& word = words_[at_];
      if (options && word == "--") {
        options = false;
        ++at_;
      } else if (options && word.starts_with('-')) {
        if (auto taken = take_option(group); !taken) return fail(taken.error());
      } else {
        take_program(group);
        if (group.program.front().empty()) {
          return fail({.where = "", .what = "the program's name is empty", .why = "", .hint = "is a variable unset?"});
        }
      }
    }
    if (at_ < words_.size()) ++at_;  // the ':'
    return group;
  }

  void take_program(Group& group) {
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = split_groups_ ? std::find(begin, words_.end(), ":") : words_.end();
    group.program.assign(begin, end);
    at_ = static_cast<size_t>(end - words_.begin());
  }

  Result<void> take_option(Group& group) {
    const std::string_view word = words_[at_++];
    const size_t equals = word.find('=');
    const std::string spelled(word.substr(0, equals));
    const std::string_view name = std::string_view(spelled).substr(spelled.starts_with("--") ? 2 : 1);
    const FoundOption found = find_option(name);
    if (!found.spec) return unknown_option(spelled, name);
    const bool has_value = equals != std::string_view::npos;
    Given given{found.spec, has_value ? std::string(word.substr(equals + 1)) : "", spelled, "command line"};
    if (auto valued = take_value(given, found, has_value); !valued) return valued;
    if (found.spec->takes == Takes::show) arguments_.show = found.spec;
    group.options.push_back(std::move(given));
    return {};
  }

  Result<void> take_value(Given& given, const FoundOption& found, bool has_value) {
    const Takes takes = found.spec->takes;
    if (takes == Takes::pair) return take_pair(given, has_value);
    const bool next_is_template =
        takes == Takes::maybe_value && at_ < words_.size() && words_[at_].find('{') != std::string::npos;
    if (takes == Takes::value || takes == Takes::maybe_value) {
      if (has_value) return takes == Takes::value ? Result<void>() : take_as_preference(given);
      if (takes == Takes::maybe_value && !next_is_template) return {};
      if (at_ == words_.size()) {
        return fail({.where = given.spelled,
                     .what = "needs a value: " + std::string(found.spec->value_name),
                     .why = "",
                     .hint = ""});
      }
      given.value = words_[at_++];
      return {};
    }
    if (has_value && takes == Takes::nothing && !found.unset) return take_as_preference(given);
    if (has_value) return fail({.where = given.spelled, .what = "takes no value", .why = "", .hint = ""});
    std::string_view flag = found.unset ? "false" : "true";
    if (takes == Takes::count) flag = given.spelled.ends_with("vv") ? "2" : "1";
    given.value = flag;
    return {};
  }

  /// -mca KEY VALUE
  Result<void> take_pair(Given& given, bool has_value) {
    const std::string words(given.spec->value_name);
    const bool short_of = words_.size() - at_ < 2;
    if (has_value || short_of || words_[at_].empty() || words_[at_].find('=') != std::string::npos) {
      return fail({.where = given.spelled, .what = "takes two words: " + words, .why = "", .hint = ""});
    }
    given.value = words_[at_] + '=' + words_[at_ + 1];
    at_ += 2;
    return {};
  }

  /// --pty=false, --label=false: what the config file or a variable turned on can be turned off.
  static Result<void> take_as_preference(Given& given) {
    auto value = preference_value(*given.spec, given.value);
    if (!value) {
      value.error().where = given.spelled;
      return fail(std::move(value).error());
    }
    given.value = *std::move(value);
    return {};
  }

  std::span<const std::string> words_;
  bool split_groups_;
  size_t at_ = 0;
  Arguments arguments_;
};

Result<Group> parse_app_line(const Line& line) {
  auto words = split_words(line.text);
  if (!words) return fail(words.error());
  auto parsed = Walk(*words, false).run();
  if (!parsed) return fail(parsed.error());
  Group group = std::move(parsed->groups.front());
  group.where = line.where;
  return group;
}

}  // namespace

Result<Arguments> parse_arguments(std::span<const std::string> words) { return Walk(words, true).run(); }

Result<std::vector<Group>> parse_app_file(std::string_view text, const std::string& path) {
  if (auto ok = check_text(text, path); !ok) return fail(ok.error());
  std::vector<Group> groups;
  for (const Line& line : lines_of(text, path)) {
    auto group = parse_app_line(line);
    if (!group) {
      Error error = group.error();
      error.where = line.where + (error.where.empty() ? "" : ": " + error.where);
      return fail(std::move(error));
    }
    if (!group->options.empty() || !group->program.empty()) groups.push_back(*std::move(group));
  }
  return groups;
}

}  // namespace dlaunch::cli
