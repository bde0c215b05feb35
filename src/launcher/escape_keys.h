// The keys that are commands to dlaunch, as OpenSSH's escape characters: the escape key after a newline, then a
// command. PURE. Owned by the stdin component.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::launcher {

class EscapeKeys {
 public:
  enum class Command { end, suspend, help };
  struct Typed {
    std::string bytes;  ///< for the ranks
    std::vector<Command> commands;
  };

  /// nullopt: all keys are for the ranks.
  explicit EscapeKeys(std::optional<char> key) : key_(key) {}

  /// The escape key is held back until the next key: "~~" sends one "~", and an unknown command sends both keys.
  Typed feed(std::string_view typed);
  /// The list of the commands, as lines.
  std::string help() const;

 private:
  const std::optional<char> key_;
  bool line_begins_ = true;
  bool escaped_ = false;
};

}  // namespace dlaunch::launcher
