#include "stacks/proc.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/printable.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

using std::string_view;

constexpr std::size_t kLongestCommand = 120;

/// Takes the next word; words are separated by blanks.
string_view next_word(string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> whole_number(string_view text, int base = 10) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Mapping> parse_mapping(string_view line) {
  const string_view range = next_word(line);
  const size_t dash = std::min(range.find('-'), range.size());
  const auto start = whole_number<std::uint64_t>(range.substr(0, dash), 16);
  const auto end = whole_number<std::uint64_t>(range.substr(std::min(dash + 1, range.size())), 16);
  const string_view rights = next_word(line);
  const auto offset = whole_number<std::uint64_t>(next_word(line), 16);
  const string_view device = next_word(line);
  const string_view inode = next_word(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!start || !end || !offset || *start >= *end || !(line.starts_with('/') || line == "[vdso]")) return std::nullopt;
  return Mapping{.start = *start,
                 .end = *end,
                 .offset = *offset,
                 .executable = rights.find('x') != string_view::npos,
                 .path = std::string(line),
                 .file = std::string(device) + ' ' + std::string(inode)};
}

}  // namespace

/// The name in parentheses may contain any character, so fields are counted after the last ')'.
std::optional<Stat> parse_stat(string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == string_view::npos || close == string_view::npos || close < open) return std::nullopt;
  Stat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  string_view rest = text.substr(close + 1);
  // proc(5): field 3 is the state, 14 to 17 are utime, stime, cutime and cstime, 22 is starttime.
  for (int field = 3; field <= 22; ++field) {
    const string_view word = next_word(rest);
    if (field == 3 && word.size() == 1) stat.state = word.front();
    if (field >= 14 && field <= 17) {
      const auto ticks = whole_number<std::uint64_t>(word);
      if (!ticks) return std::nullopt;
      stat.ticks += *ticks;
    }
    if (field != 22) continue;
    const auto start = whole_number<std::uint64_t>(word);
    if (!start) return std::nullopt;
    stat.start_time = *start;
  }
  return stat;
}

std::vector<Mapping> parse_maps(string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto mapping = parse_mapping(line)) mappings.push_back(*std::move(mapping));
  }
  return mappings;
}

std::optional<std::int64_t> number_of(string_view text, string_view name) {
  while (!text.empty()) {
    string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size()).empty() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    return whole_number<std::int64_t>(next_word(line));
  }
  return std::nullopt;
}

std::string command_of(string_view cmdline, string_view name) {
  std::string words(cmdline.substr(0, kLongestCommand));
  while (words.ends_with('\0')) words.pop_back();
  std::ranges::replace(words, '\0', ' ');
  if (words.empty()) return escaped(name);
  return escaped(words) + (cmdline.size() > kLongestCommand ? "…" : "");
}

std::string read_proc(pid_t pid, const std::string& file, std::size_t limit) {
  return sys::read_file("/proc/" + std::to_string(pid) + '/' + file, limit).value_or("");
}

std::int64_t cpu_of(const Stat& stat) {
  static const auto kTicksPerSecond = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<std::int64_t>(stat.ticks * 1000 / kTicksPerSecond);
}

std::int64_t cpu_of(pid_t pid) {
  const auto stat = parse_stat(read_proc(pid, "stat"));
  return stat ? cpu_of(*stat) : 0;
}

std::optional<std::int64_t> io_of(pid_t pid) {
  const std::string text = read_proc(pid, "io");
  const auto read = number_of(text, "rchar");
  const auto written = number_of(text, "wchar");
  if (!read || !written) return std::nullopt;
  return *read + *written;
}

std::string why_denied(pid_t pid) {
  const auto status = sys::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  const auto uid = number_of(status, "Uid");
  if (uid && *uid != static_cast<std::int64_t>(::geteuid())) {
    return "the process belongs to user " + std::to_string(*uid) + ": run this command as that user or as root";
  }
  const auto yama = sys::read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0");
  if (yama.starts_with('1')) {
    return "this machine allows only parent processes to trace a process: run sysctl kernel.yama.ptrace_scope=0 as "
           "root, or start the program with dlaunch";
  }
  if (!yama.starts_with('0')) {
    return "this machine allows only root to trace a process: run sysctl kernel.yama.ptrace_scope=1 as root";
  }
  return "the process is not dumpable, or has more capabilities than dlaunch: run this command as root";
}

}  // namespace dlaunch::stacks
