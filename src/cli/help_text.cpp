#include "cli/help_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

constexpr std::array<OptionGroup, 12> kGroups{{{Section::start, "Programs and directories"},
                                               {Section::hosts, "Hosts"},
                                               {Section::connections, "Connections to hosts"},
                                               {Section::nodes, "One command on every node"},
                                               {Section::devices, "Devices"},
                                               {Section::environment, "Environment and MPI"},
                                               {Section::output, "Output and input"},
                                               {Section::binding, "Binding to cores"},
                                               {Section::failures, "Failures, time limits and hangs"},
                                               {Section::restarts, "Restarts and preemption"},
                                               {Section::inspect, "Inspection and reports"},
                                               {Section::configuration, "Configuration and help"}}};

std::string value_of(const OptionSpec& spec) {
  if (spec.takes == Arity::value) return ' ' + std::string(spec.value_name);
  if (spec.takes == Arity::maybe_value) return "[=" + std::string(spec.value_name) + ']';
  return "";
}

}  // namespace

std::span<const OptionGroup> option_groups() { return kGroups; }

std::string spelling(const OptionSpec& spec) {
  std::string text;
  for (const std::string& name : split(spec.names, ' ')) {
    if (!text.empty()) text += ", ";
    text += dashed(std::string_view(name).substr(name.starts_with('!') ? 1 : 0));
  }
  return text + value_of(spec);
}

std::string short_spelling(const OptionSpec& spec) {
  std::string letter;
  std::string word(spec.shown);
  for (const std::string& name : split(spec.names, ' ')) {
    std::string& into = name.size() == 1 ? letter : word;
    if (into.empty() && !name.starts_with('!')) into = name;
  }
  std::string text = letter.empty() ? "" : dashed(letter);
  if (!word.empty()) text += (text.empty() ? "" : ", ") + dashed(word);
  return text + value_of(spec);
}

std::string help_line(const OptionSpec& spec) {
  std::string text(spec.help);
  const auto choices = spec.choices ? spec.choices() : std::vector<std::string>();
  for (const std::string& each : choices) text += (&each == &choices.front() ? ": " : ", ") + each;
  return text;
}

std::string meaning(const OptionSpec& spec) {
  std::string text = help_line(spec);
  if (!spec.standard.empty() && spec.standard != "none") text += " (default: " + std::string(spec.standard) + ')';
  return text;
}

SameOption same_option(const OptionSpec& row) {
  const size_t equals = row.stands_for.find('=');
  const std::string_view name = row.stands_for.substr(0, equals);
  const OptionSpec* const spec = find_option(name).spec;
  std::string value(row.stands_for.substr(equals + 1));
  if (const size_t at = value.find("{}"); at != value.npos) value.replace(at, 2, row.value_name);
  const bool flag = value.empty() || spec->takes == Arity::nothing || spec->takes == Arity::count;
  return {spec, dashed(name) + (flag ? "" : ' ' + value)};
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  const std::string margin(indent, ' ');
  std::string out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (!line.starts_with(' ') && indent + line.size() > width) {
      size_t end = line.rfind(' ', width - indent);
      if (end == line.npos) end = std::min(line.find(' '), line.size());
      out.append(margin).append(line.substr(0, end)) += '\n';
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    out.append(line.empty() ? "" : margin).append(line) += '\n';
  }
  return out;
}

std::string reflowed(std::string_view text) {
  std::string out;
  bool open = false;  // the last line may continue
  for (const std::string& line : split(text, '\n')) {
    if (out.empty() && line.empty()) continue;
    const bool joins = !line.empty() && !line.starts_with(' ');
    if (!out.empty()) out += open && joins ? ' ' : '\n';
    out += line;
    open = joins;
  }
  return out;
}

std::string entry(const std::string& left, std::string_view right, size_t column) {
  std::string text = wrapped(right, column);
  std::string head = "  " + left;
  if (head.size() + 1 >= column) return head + '\n' + text;
  head.resize(column, ' ');
  return head + text.substr(column);
}

}  // namespace dlaunch::cli
