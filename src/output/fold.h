// Folder: joins equal units (lines and tracebacks) of several ranks into one entry with the set of its ranks (--fold).
// Pure: the time is an argument. Owned by FoldChannel. Rules:
// - A unit joins an entry with its key, else an entry with its text: rank 0 and rank 1 write "rank 0". If the units of
//   an entry have neither the same key nor the same text, the units without the key are shown apart. So the order in
//   which ranks write does not decide which ranks are shown together.
// - Entries are shown in order of creation. A process joins only an entry that is younger than its last entry, so the
//   units of each process keep their order. Groups (streams, worlds) do not share entries.
// - The oldest entry is shown when no open source of its group can still join, when it is kFoldDelay old, and when the
//   held entries reach a limit.
// - If too few of kTrialUnits shown units have joined, units are shown at once for kPlainTime.
// - A process far ahead of the oldest entry must_wait() until the others have caught up: its next units could not be
//   held until then. If the oldest entry gets too old, no process waits for a time that doubles.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
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
inline constexpr std::size_t kMostEntries = 8192;
inline constexpr std::size_t kMostAhead = 1024;  ///< number of entries that a process may skip, or be ahead
inline constexpr std::size_t kMostText = 1024 * 1024;
inline constexpr std::size_t kMostJoined = 128 * 1024;  ///< runs of sources of all held entries
inline constexpr std::size_t kTrialUnits = 4096;
inline constexpr std::size_t kTrialShare = 8;  ///< folding pays if at least 1 of 8 units joins
inline constexpr std::chrono::seconds kPlainTime{1};
inline constexpr std::chrono::seconds kMostNoWait{64};

/// A unit to show. The views are valid until the callback returns.
struct FoldedUnit {
  std::string_view text;         ///< as the lowest source wrote it, with its line ends
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
  /// Whether the owner must not feed more lines of the source at `now`.
  bool must_wait(int source, Time now) const;
  /// The source has lines, and must_wait(). The wait counts as a part of their kFoldDelay.
  void waits(int source, Time now);
  /// The time since which the next lines of the source wait.
  Time take_wait(int source, Time now);
  /// `line` has its line end. `now` may be the result of take_wait().
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
    int place;  // in the group
    int process;
    bool open = true;
    OwnWords own;
  };
  struct Process {
    std::uint64_t next = 0;  // the process may join entries from this number on
    std::optional<Time> waits_since = {};
    int block_source = -1;  // source of the open block: a process has at most one
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
  /// Places in a group, as runs of successive places: ranks often write in order.
  struct Places {
    struct Run {
      int first, last;
    };
    std::vector<Run> runs;
    void add(int place);
    int lowest() const;
  };
  struct Entry {
    int group = 0;
    bool is_block = false;
    bool is_simple = false;     // no rank has own numbers in the text
    bool differs = false;       // units with the key have other texts
    std::string text;           // of the first unit
    std::string key;            // empty until a unit has a key
    std::string lowest;         // the text of the lowest place with the key, if not `text`
    Places keyed, others;       // places of the units with the key, and of the other units
    std::vector<Range> ranges;  // of the numbers of the units with the key
    Time since;
    std::int64_t wall_ns = 0;
  };

  std::size_t slot_of(std::uint64_t number) const { return number & (entries_.size() - 1); }
  Entry& at(std::uint64_t number) { return entries_[slot_of(number)]; }
  const Entry& at(std::uint64_t number) const { return entries_[slot_of(number)]; }
  bool pass_block(int source, std::string_view line, Time now, std::int64_t wall_ns);
  void close_block(int process);
  void join(int source, std::string_view text, bool block, Time since, std::int64_t wall_ns);
  std::uint64_t find(const Source& source, std::string_view text, bool block);
  void push(const Source& source, std::string_view text, bool block, Time since, std::int64_t wall_ns);
  void add_unit(std::uint64_t number, const Source& source, std::string_view text);
  void add_keyed(Entry& entry, int place, std::string_view text) const;
  void enlarge();
  bool can_grow(std::uint64_t number);
  void show_complete();
  void show_oldest();
  void show_units(const Entry& entry, std::string_view text, std::initializer_list<const Places*> all);
  static std::string with_ranges(const Entry& entry);
  static std::size_t size_of(const Entry& entry);
  static std::size_t runs_of(const Entry& entry) { return entry.keyed.runs.size() + entry.others.runs.size(); }

  const Fold level_;
  const Show show_;
  std::vector<Source> sources_;
  std::deque<Process> processes_;
  std::vector<std::vector<int>> groups_;               // the sources of each group
  std::vector<Entry> entries_;                         // a ring; its size is a power of two
  std::vector<std::size_t> key_hashes_, text_hashes_;  // of the entries
  std::uint64_t head_ = 1;                             // the oldest entry
  std::uint64_t tail_ = 1;                             // the number of the next entry
  std::size_t first_joiner_ = 0;  // sources of the oldest entry's group before this one cannot join
  std::size_t text_size_ = 0;
  std::size_t joined_size_ = 0;
  std::vector<int> shown_;  // the sources of one unit
  std::deque<int> blocks_;  // processes with an open block, the oldest first
  Time plain_until_ = Time::min();
  Time no_wait_until_ = Time::min();
  std::chrono::seconds no_wait_ = kPlainTime;
  std::size_t trial_ = 0;
  std::size_t trial_joined_ = 0;

  // The key of the unit that find() looked for.
  std::string key_;
  std::vector<NumberAt> numbers_;
  KeyKind key_kind_ = KeyKind::text;
  bool has_key_ = false;
  std::size_t key_hash_ = 0;
  std::size_t text_hash_ = 0;
};

}  // namespace dlaunch::output
