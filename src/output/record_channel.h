// The base of channels that write whole records into one sink: lines or JSON objects. It queues streams that must wait
// and writes partial records that are idle; the derived class knows what a record looks like. It holds at most kMaxHeld
// bytes of a partial record for each stream, and what was in flight when a stream had to wait.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/index_cast.h"
#include "base/time.h"
#include "output/channel.h"
#include "output/label.h"

namespace dlaunch::output {

/// A longer partial record is not held but written as it comes.
inline constexpr std::size_t kMaxHeld = 64 * 1024;

class RecordChannel : public Channel {
 public:
  RecordChannel(Writer& writer, ChannelContext& shared);

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
  /// Whether the stream's owner may bring more: had kPartialIdle to do so, may since less time, or may not.
  enum class IdleState { had, fresh, refused };

  struct Slot {
    int number = 0;
    Prefix prefix;
    std::string held;  // partial record, of which nothing is written
    std::int64_t held_wall_ns = 0;
    std::string waiting;  // came while another stream had the sink
    std::int64_t waiting_wall_ns = 0;
    bool broken = false;  // its partial line was written, and then ended for another stream's sake
    bool queued = false;
    bool ended = false;
    IdleState idle_state = IdleState::had;
    int patience = 0;  // how many more times the partial record may be idle
    Timers::Handle timer;
  };

  struct Progress {
    std::size_t done;      // how many of the bytes given
    bool stopped = false;  // the sink is crowded and the rest must wait
  };

  /// Writes the whole records at the front of `bytes`.
  virtual Progress write_records(Slot& slot, std::string_view bytes, ReadTime at) = 0;
  /// Keeps what follows the last whole record; never empty.
  virtual void keep_rest(Slot& slot, std::string_view rest, ReadTime at) = 0;
  /// Writes what is held, because it was idle or its stream ended.
  virtual void flush_partial(Slot& slot) = 0;

  Slot& slot_at(int slot) { return at_index(slots_, slot); }
  bool crowded() const { return writer_.pending() > kQueueLimit; }
  void hold(Slot& slot, std::string_view rest, ReadTime at);

  Writer& writer_;
  ChannelContext& shared_;
  Slot* owner_ = nullptr;  // the stream whose long record has the sink for itself

 private:
  void process(Slot& slot, std::string_view bytes, ReadTime at);
  void wait_last(Slot& slot, std::string_view bytes, ReadTime at);
  void wait_first(Slot& slot, std::string_view bytes, ReadTime at);
  void give_turn(Time now);
  void drain(Time now);
  void finish(Slot& slot);

  std::deque<Slot> slots_;  // a deque, so that addresses stay
  std::deque<Slot*> line_;  // those that wait, in order, each once
  std::size_t waiting_bytes_ = 0;
  Timers::Handle turn_;  // due when the first of line_ may continue
};

}  // namespace dlaunch::output
