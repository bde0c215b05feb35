// Folder: joins equal units (lines and tracebacks) of several ranks into one entry with the set of its ranks (--fold).
// Pure: the time is an argument. Owned by FoldChannel. Rules:
// - A unit joins an entry with its key or with its text: rank 0 and rank 1 write "rank 0". The units of an entry have
//   the same key or the same text.
// - Entries are shown in order of creation. A process joins only an entry that is younger than its last entry, so the
//   units of each process keep their order. Groups (streams, worlds) do not share entries.
// - The oldest entry is shown when no open source of its group can still join, when it is kFoldDelay old, and when the
//   held entries reach a limit.
// - If too few of kTrialUnits units join, units are shown at once for kPlainTime.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "output/fold_key.h"

namespace dlaunch::output {

inline constexpr std::chrono::milliseconds kFoldDelay{250};
inline constexpr std::chrono::milliseconds kBlockDelay{200};  ///< a traceback ends after this time
inline constexpr std::size_t kMostBlockLines = 400;
inline constexpr std::size_t kMostBlockBytes = 64 * 1024;
inline constexpr std::size_t kMostEntries = 1024;
inline constexpr std::size_t kMostText = 256 * 1024;
inline constexpr std::size_t kMostJoined = 512 * 1024;  ///< sources of all held entries
inline constexpr std::size_t kTrialUnits = 4096;
inline constexpr std::size_t kTrialShare = 8;  ///< folding pays if at least 1 of 8 units joins
inline constexpr std::chrono::seconds kPlainTime{1};

/// A unit to show. The views are valid until the callback returns.
struct FoldedUnit {
  std::string_view text;         ///< as the first source wrote it, with its line ends
  bool is_block = false;         ///< several lines
  std::span<const int> sources;  ///< ascending
  std::int64_t wall_ns = 0;      ///< of the first source
};

class Folder {
 public:
  using Show = std::function<void(const FoldedUnit&)>;
  Folder(Fold level, Show show);

  /// Returns the number of a new source: a stream of the process `process`.
  int add(int group, int process, OwnWords own);
  void set_pid(int source, int pid) { sources_[static_cast<std::size_t>(source)].own.set_pid(pid); }

  /// Whether units are held to find equal ones. If not, feed() shows a unit at once.
  bool folds(Time now) const { return now >= plain_until_; }
  /// `line` has its line end.
  void feed(int source, std::string_view line, Time now, std::int64_t wall_ns);
  void end(int source);
  /// Shows what is due at `now`.
  void tick(Time now);
  /// Shows all units.
  void flush();

  bool holds() const { return head_ != tail_ || !blocks_.empty(); }
  /// The latest time for tick(); none if nothing is held.
  std::optional<Time> deadline() const;

 private:
  struct Source {
    int group;
    int process;
    bool open = true;
    OwnWords own;
  };
  struct Process {
    std::uint64_t next = 0;  // the process may join entries from this number on
    int block_source = -1;   // source of the open block: a process has at most one
    Block block = {};
    std::string text = {};
    std::size_t lines = 0;
    Time since = {};
    std::int64_t wall_ns = 0;
  };
  /// The lowest and the highest value of a number.
  struct Range {
    NumberAt at;
    std::string low, high;
  };
  struct Entry {
    int group = 0;
    bool is_block = false;
    std::string text;
    std::string key;        // empty if the text is the key
    bool same_text = true;  // all units have the text of the entry
    bool same_key = true;   // all units have the key of the entry
    std::vector<int> sources;
    std::vector<Range> ranges;
    Time since;
    std::int64_t wall_ns = 0;
  };

  Entry& at(std::uint64_t number) { return entries_[number % kMostEntries]; }
  const Entry& at(std::uint64_t number) const { return entries_[number % kMostEntries]; }
  bool pass_block(int source, std::string_view line, Time now, std::int64_t wall_ns);
  void close_block(int process);
  void join(int source, std::string_view text, bool block, Time since, std::int64_t wall_ns);
  std::uint64_t find(const Source& source, std::string_view text, bool block);
  void push(const Source& source, std::string_view text, bool block, Time since, std::int64_t wall_ns);
  bool has_key_of(const Entry& entry) const { return has_key_ && entry.key == key_; }
  bool joins(const Entry& entry, std::string_view text) const;
  void add_unit(Entry& entry, std::string_view text) const;
  void widen(Entry& entry, std::string_view text) const;
  bool can_grow(std::uint64_t number);
  void show_complete();
  void show_oldest();
  static std::string with_ranges(const Entry& entry);
  static std::size_t size_of(const Entry& entry);

  const Fold level_;
  const Show show_;
  std::vector<Source> sources_;
  std::deque<Process> processes_;
  std::vector<std::vector<int>> groups_;            // the sources of each group
  std::vector<Entry> entries_;                      // a ring
  std::array<std::size_t, kMostEntries> hashes_{};  // of the keys
  std::array<std::size_t, kMostEntries> text_hashes_{};
  std::uint64_t head_ = 1;        // the oldest entry
  std::uint64_t tail_ = 1;        // the number of the next entry
  std::size_t first_joiner_ = 0;  // sources of the oldest entry's group before this one cannot join
  std::size_t text_size_ = 0;
  std::size_t joined_size_ = 0;
  std::deque<int> blocks_;  // processes with an open block, the oldest first
  Time plain_until_ = Time::min();
  std::size_t trial_ = 0;
  std::size_t trial_joined_ = 0;

  // The key of the unit that find() looked for.
  std::string key_;
  std::vector<NumberAt> numbers_;
  bool has_key_ = false;
  std::size_t hash_ = 0;
  std::size_t text_hash_ = 0;
};

}  // namespace dlaunch::output
