// RecordChannel: base class of channels that write complete records (lines or JSON objects) to one sink. It queues
// streams that must wait, and writes partial records of idle streams; the derived class defines the form of a record.
// Memory per stream: at most kMaxHeld bytes of a partial record, and the bytes in flight when the stream had to wait.
// Owned as every Channel (channel.h).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/index_cast.h"
#include "base/time.h"
#include "output/channel.h"
#include "output/label.h"

namespace dlaunch::output {

/// A longer partial record is written at once, and then has the sink for itself.
inline constexpr std::size_t kMaxHeld = 64 * 1024;

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

  Slot& slot_at(int slot) { return at_index(slots_, slot); }
  bool crowded() const { return writer_.pending() > kQueueLimit; }
  void hold(Slot& slot, std::string_view rest, ReadTime at);

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
  void finish(Slot& slot);

  std::deque<Slot> slots_;  // a deque keeps addresses valid
  std::deque<Slot*> line_;  // waiting streams, in order, each once
  std::size_t waiting_bytes_ = 0;
  Timers::Handle turn_;  // due if the first of line_ may continue
};

}  // namespace dlaunch::output
