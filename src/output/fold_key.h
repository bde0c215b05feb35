// The key of a line or a traceback: units of several ranks with equal keys are printed once (--fold). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/output.h"

namespace dlaunch::output {

/// The numbers and names of one rank, which Fold::own leaves out of its keys.
class OwnWords {
 public:
  OwnWords(int rank, int local_rank, std::optional<int> device, std::string host);
  void set_pid(int pid) { pid_ = std::to_string(pid); }

  enum class Owner { none, other, self };
  /// Whether `number`, a whole word that starts at `at`, is a number of this rank ("rank 3", "device: 1", a pid), or
  /// may be a number of another rank.
  Owner owner_of(std::string_view text, std::size_t at, std::string_view number) const;
  /// The size of this rank's host name at `at`, else 0.
  std::size_t host_at(std::string_view text, std::size_t at) const;
  char first_of_host() const { return host_.empty() ? '\0' : host_.front(); }
  /// `line` without PyTorch's prefix "[rank3]: ".
  std::string_view without_prefix(std::string_view line) const;

 private:
  std::string rank_;
  std::string local_rank_;
  std::string device_;
  std::string pid_;
  std::string host_;
  std::string prefix_;
};

/// A number that a key leaves out: its place in the text.
struct NumberAt {
  std::size_t begin;
  std::size_t size;
};

/// Whether the key differs from the text, is the text, or is the text for the other ranks, too (except for pids and
/// names of hosts).
enum class KeyKind { key, text, text_of_all };

/// Writes the key of `text` to `key`. `key` is undefined if the key is the text itself. Each part
/// that the key leaves out is a NUL byte and a letter in the key; a text with a NUL byte is its own key. `numbers`
/// receives the numbers that the key leaves out: the rank's own, and all with Fold::numbers.
KeyKind write_key(std::string_view text, Fold level, bool block, const OwnWords& own, std::string& key,
                  std::vector<NumberAt>& numbers);

/// Finds blocks: the lines of a Python traceback with its chained exceptions, of faulthandler, and of C++'s terminate.
class Block {
 public:
  /// Whether a block starts with `line`.
  static bool starts_with(std::string_view line, const OwnWords& own);

  void start(std::string_view line, const OwnWords& own);
  /// Whether `line` belongs to the block that start() began.
  bool fits(std::string_view line, const OwnWords& own);

 private:
  bool python_ = false;      // the block ends with the line of an exception
  bool has_ended_ = false;   // the line of the exception was found
  bool is_chained_ = false;  // the next traceback belongs to the block
};

}  // namespace dlaunch::output
