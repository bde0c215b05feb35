// A Channel merges several output streams into one sink (terminal, pipe or file), a Writer. Passive: Output owns the
// channels and calls feed(), expire() and drained().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/output.h"

namespace dlaunch::output {

/// Writer: the sink of a channel's bytes (console, disk process or FIFO). write() never waits: it queues bytes that the
/// sink does not accept. Its owner checks pending() before more writes. Owned by StandardStreams or RankFiles; must
/// outlive its channel.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void write(std::span<const std::string_view> parts) = 0;  ///< at most kMaxWritten parts
  void write(std::string_view bytes) { write({&bytes, 1}); }
  virtual std::size_t pending() const = 0;

  static constexpr std::size_t kMaxWritten = 4;
};

/// The Error of a file or stream that cannot be written: "cannot WHAT: strerror", with a hint.
Error sink_error(const std::string& what, int error);

/// Whether a partial line of an idle stream is shown. On a terminal a person may have to answer a prompt. In a pipe or
/// a file, the next line of another stream would cut the line, so a partial line waits for its end.
enum class PartialLines { shown, kept };

/// How long a partial line waits for more bytes.
inline constexpr std::chrono::milliseconds kPartialIdle{100};
/// A read of kBulk bytes or more may end anywhere in a line. Block-buffered programs write blocks of a pipe's atomic
/// size (a terminal returns one byte less), and on a busy machine the next block may come late. After such a read, a
/// partial line waits kBulkPatience times as long.
inline constexpr std::size_t kBulk = 4095;
inline constexpr int kBulkPatience = 20;
/// A stream is not read while more bytes than this are queued for its sink.
inline constexpr std::size_t kQueueLimit = 256 * 1024;

/// When bytes were read: local monotonic time, and wall time on the rank's host.
struct ReadTime {
  Time now;
  std::int64_t wall_ns = 0;
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual bool ready(int slot) const = 0;
  /// Records the result of ready() that the owner of the stream got. A stream that is not ready does not count as idle.
  virtual void answered(int slot, bool ready) = 0;
  virtual void feed(int slot, std::string_view bytes, ReadTime at) = 0;
  virtual void end(int slot, Time now) = 0;
  /// The writer wrote bytes: waiting streams may continue.
  virtual void drained(Time now) = 0;
  /// The timer of `slot` expired.
  virtual void expire(int slot, Time now) = 0;
  /// Whether all bytes of ended streams were passed to the writer.
  virtual bool settled() const { return true; }
};

/// Passes bytes on unchanged and at once.
class RawChannel final : public Channel {
 public:
  explicit RawChannel(Writer& writer) : writer_(writer) {}
  /// The slot that wrote last.
  int last() const { return last_; }
  bool ready(int) const override { return writer_.pending() <= kQueueLimit; }
  void answered(int, bool) override {}
  void feed(int slot, std::string_view bytes, ReadTime) override {
    last_ = slot;
    writer_.write(bytes);
  }
  void end(int, Time) override {}
  void drained(Time) override {}
  void expire(int, Time) override {}

 private:
  Writer& writer_;
  int last_ = 0;
};

/// The timers of all slots of all channels, in order of expiry. Each timer runs for kPartialIdle or is due at once, so
/// start is O(1).
class Timers {
 public:
  struct Timer {
    Channel* channel;
    int slot;
    Time due;
    bool running = false;
  };
  using Handle = std::list<Timer>::iterator;

  /// Returns a stopped timer. The handle is valid as long as this object.
  Handle add(Channel* channel, int slot) { return stopped_.insert(stopped_.end(), Timer{channel, slot, {}, false}); }

  void start(Handle timer, Time now) { move(timer, now + kPartialIdle, running_.end()); }
  void start_due(Handle timer, Time now) { move(timer, now, running_.begin()); }
  void stop(Handle timer) {
    if (timer->running) stopped_.splice(stopped_.end(), running_, timer);
    timer->running = false;
  }

  std::optional<Time> deadline() const {
    return running_.empty() ? std::nullopt : std::optional<Time>(running_.front().due);
  }

  void run(Time now) {
    while (!running_.empty() && running_.front().due <= now) {
      const Handle timer = running_.begin();
      stop(timer);
      timer->channel->expire(timer->slot, now);
    }
  }

 private:
  void move(Handle timer, Time due, Handle before) {
    std::list<Timer>& from = timer->running ? running_ : stopped_;
    if (before != timer) running_.splice(before, from, timer);
    timer->running = true;
    timer->due = due;
  }

  std::list<Timer> running_;
  std::list<Timer> stopped_;
};

/// Shared by the channels of one Output.
struct ChannelContext {
  Timers timers;
  std::string block;  ///< scratch for one write; empty between calls
  Time now;           ///< of the last call of Output with a time
  /// --console-rate hides lines of a stream. May be empty.
  std::function<void(int rank, Stream stream, std::size_t lines)> hidden = {};
};

}  // namespace dlaunch::output
