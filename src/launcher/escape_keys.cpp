#include "launcher/escape_keys.h"

namespace dlaunch::launcher {
namespace {

constexpr char kControlZ = 26;

std::optional<EscapeKeys::Command> command_of(char key) {
  if (key == '.') return EscapeKeys::Command::end;
  if (key == kControlZ) return EscapeKeys::Command::suspend;
  if (key == '?') return EscapeKeys::Command::help;
  return std::nullopt;
}

}  // namespace

EscapeKeys::Typed EscapeKeys::feed(std::string_view typed) {
  if (!key_) return {std::string(typed), {}};
  Typed result;
  for (const char key : typed) {
    if (!escaped_ && line_begins_ && key == *key_) {
      escaped_ = true;
      continue;
    }
    if (escaped_) {
      escaped_ = false;
      if (const auto command = command_of(key)) {
        result.commands.push_back(*command);
        continue;  // the line still begins
      }
      if (key != *key_) result.bytes += *key_;
    }
    result.bytes += key;
    line_begins_ = key == '\r' || key == '\n';
  }
  return result;
}

std::string EscapeKeys::help() const {
  const std::string key(1, key_.value_or('~'));
  return "dlaunch: keys after Enter:\n"
         "dlaunch:   " +
         key +
         ".   end the job\n"
         "dlaunch:   " +
         key +
         "^Z  suspend dlaunch and the ranks\n"
         "dlaunch:   " +
         key +
         "?   print this list\n"
         "dlaunch:   " +
         key + key + "   send " + key + " to the rank\n";
}

}  // namespace dlaunch::launcher
