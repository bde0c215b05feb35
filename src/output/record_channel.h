// RecordChannel: base class of channels that write complete records (lines or JSON objects) to one sink. It queues
// streams that must wait, and writes partial records of idle streams; the derived class defines the form of a record.
// Memory per stream: at most kMaxHeld bytes of a partial record, and the bytes in flight when the stream had to wait.
// Owned as every Channel (channel.h).
#pragma once

#include <array>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/index_cast.h"
#include "base/time.h"
#include "output/channel.h"
#include "output/label.h"
#include "output/line_limit.h"

namespace dlaunch::output {

/// A longer partial record is written at once, and then has the sink for itself.
inline constexpr std::size_t kMaxHeld = 64 * 1024;
/// The size of one write: small enough to stay in the cache until the kernel has copied it.
inline constexpr std::size_t kBlock = 64 * 1024;

class RecordChannel : public Channel {
 public:
  RecordChannel(Writer& writer, ChannelContext& shared, PartialLines partial_lines);

  /// Returns the slot of a new stream.
  int add(Prefix prefix);

  bool ready(int slot) const override;
  void answered(int slot, bool ready) override;
  void feed(int slot, std::string_view bytes, ReadTime at) override;
  void end(int slot, Time now) override;
  void drained(Time now) override;
  void expire(int slot, Time now) override;
  bool settled() const override { return line_.empty(); }

 protected:
  /// Whether the stream was ready() long enough to count as idle: kPartialIdle or more, less, or not ready.
  enum class IdleState { had, fresh, refused };

  struct Slot {
    int number = 0;
    Prefix prefix;
    std::string held;  // unwritten partial record
    std::int64_t held_wall_ns = 0;
    std::string waiting;  // bytes that arrived while another stream had the sink
    std::int64_t waiting_wall_ns = 0;
    bool broken = false;  // a line break of another stream ended its partial line
    bool hidden = false;  // the limit hides the line that it began
    bool queued = false;
    bool ended = false;
    IdleState idle_state = IdleState::had;
    int patience = 0;  // number of further idle periods for the partial record
    Timers::Handle timer;
  };

  struct Progress {
    std::size_t done;      // bytes that were processed
    bool stopped = false;  // the sink's queue is full: the other bytes must wait
  };

  /// Writes the complete records at the start of `bytes`.
  virtual Progress write_records(Slot& slot, std::string_view bytes, ReadTime at) = 0;
  /// Keeps the bytes after the last complete record; never empty.
  virtual void keep_rest(Slot& slot, std::string_view rest, ReadTime at) = 0;
  /// Writes the held bytes of an idle or ended stream.
  virtual void flush_partial(Slot& slot) = 0;
  /// All bytes of an ended stream were processed, except its held bytes.
  virtual void finish(Slot& slot);

  Slot& slot_at(int slot) { return at_index(slots_, slot); }
  bool crowded() const { return writer_.pending() > kQueueLimit; }
  void hold(Slot& slot, std::string_view rest, ReadTime at);
  void write_block();

  Writer& writer_;
  ChannelContext& shared_;
  const PartialLines partial_lines_;
  Slot* owner_ = nullptr;  // the stream of a long record that has the sink for itself

 private:
  void process(Slot& slot, std::string_view bytes, ReadTime at);
  void wait_last(Slot& slot, std::string_view bytes, ReadTime at);
  void wait_first(Slot& slot, std::string_view bytes, ReadTime at);
  void give_turn(Time now);
  void drain(Time now);

  std::deque<Slot> slots_;  // a deque keeps addresses valid
  std::deque<Slot*> line_;  // waiting streams, in order, each once
  std::size_t waiting_bytes_ = 0;
  Timers::Handle turn_;  // due if the first of line_ may continue
};

// LineChannel: merges the lines of several streams into one sink, each line with the prefix of its stream. Owned by a
// Screen of Console or by a file of RankFiles. A record is a line, or text up to a carriage return. Rules:
// - A complete record is written at once. A partial record is written at the end of its stream, or if it is too long.
//   With PartialLines::shown, it is also written after kPartialIdle without more bytes.
// - If the last line of the sink is partial and another stream writes, a '\n' goes first. The rest of the partial line
//   becomes a new record; a '\n' at its start is dropped.
// - A record that is too long to hold has the sink for itself until the record or its stream ends. The sink is free
//   again if the stream is idle for kBulkPatience times kPartialIdle: its rank may wait for a rank that is not read.

class LineChannel : public RecordChannel {
 public:
  using RecordChannel::RecordChannel;
  /// The sink's last line is an unfinished line of the slot.
  void resume(int slot) { on_line_ = &slot_at(slot); }
  /// Hides the lines that `limit` does not admit. The sources of the limit are the slots.
  void set_limit(LineLimit& limit);
  /// Prints what is held, for example before a message of dlaunch: the numbers of hidden lines.
  virtual void show_held();
  void expire(int slot, Time now) override;

 protected:
  /// Whether the limit shows a unit of `lines` lines of these slots.
  bool admits(std::span<const int> slots, std::size_t lines = 1) { return !limit_ || is_within_limit(slots, lines); }
  /// The slot of the sink's last line if that line is partial; else null.
  const Slot* on_line() const { return on_line_; }
  virtual Progress label_records(Slot& slot, std::string_view bytes, ReadTime at);
  /// Writes the held bytes and `more`, after a line break and the prefix if needed.
  virtual void write_started(Slot& slot, std::string_view more);
  /// Writes the held record, which ends with `more`.
  virtual void end_held(Slot& slot, std::string_view more, ReadTime at);
  /// Begins a new line of any stream.
  void begin_line();
  void append_record(std::string_view prefix, std::string_view record) {  // inline, for speed
    const bool large = record.size() > kBlock / 2;
    if (large || shared_.block.size() + prefix.size() + record.size() > kBlock) write_block();
    if (large) return writer_.write(std::array{prefix, record});
    shared_.block += prefix;
    shared_.block += record;
  }

 private:
  Progress write_records(Slot& slot, std::string_view bytes, ReadTime at) override;
  void keep_rest(Slot& slot, std::string_view rest, ReadTime at) override;
  void flush_partial(Slot& slot) override;

  static std::size_t finish_broken_line(Slot& slot, std::string_view bytes);
  std::size_t finish_carriage_return(Slot& slot, std::string_view bytes, ReadTime at);
  std::size_t pass_records(Slot& slot, std::string_view bytes);

  void line_ended(Slot& slot);
  std::string_view line_break(const Slot* slot);
  bool is_within_limit(std::span<const int> slots, std::size_t lines);
  void write_notes(const std::string& notes);
  std::string_view prefix_of_held(Slot& slot) const;

  Slot* on_line_ = nullptr;             // slot of the sink's last line if that line is partial; else null
  bool after_carriage_return_ = false;  // the record of on_line_ has ended; a '\n' may follow
  bool show_prompts_ = false;           // an idle partial line may be a prompt: the limit does not hide it
  LineLimit* limit_ = nullptr;
  Timers::Handle limit_timer_;
};

/// JsonlChannel: writes one JSON object per record, for both streams of all ranks, to one sink. docs/output-formats.md
/// lists the fields. A record without '\n' comes in pieces if it is too long to hold, if its stream ends, or, with
/// PartialLines::shown, if its stream is idle; all but the last piece have "eol":false. All texts, with a '\n' after
/// each object without "eol", give the bytes of the stream. Owned by a Screen of Console.
class JsonlChannel final : public RecordChannel {
 public:
  using RecordChannel::RecordChannel;

  int add(const StreamFacts& facts);

 private:
  Progress write_records(Slot& slot, std::string_view bytes, ReadTime at) override;
  void keep_rest(Slot& slot, std::string_view rest, ReadTime at) override;
  void flush_partial(Slot& slot) override;

  void write_held(Slot& slot, std::string_view more);
  void append_object(const Slot& slot, std::string_view record, std::int64_t wall_ns);

  std::vector<std::string> heads_;  // by slot number
  std::int64_t time_of_ = INT64_MIN;
  std::string time_;
};

}  // namespace dlaunch::output
