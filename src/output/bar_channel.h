// BarChannel: takes the progress bars out of the streams of a terminal, and passes complete lines and prompts on to
// another channel. Text that ends with a carriage return, or follows a carriage return, is a bar; text with a newline
// is a line. Uses the slots of the other channel. Owned by a Screen of Console; the other objects must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "output/bars.h"
#include "output/channel.h"

namespace dlaunch::output {

class BarChannel final : public Channel {
 public:
  /// `showing` is called before each call of `lines` that may print.
  BarChannel(Channel& lines, Bars& bars, std::function<void()> showing)
      : lines_(lines), bars_(bars), showing_(std::move(showing)) {}

  /// Adds the next slot of the other channel. `name`: "rank 3".
  void add(std::string name) { streams_.push_back({.bar = bars_.add(std::move(name))}); }

  bool ready(int slot) const override { return lines_.ready(slot); }
  void answered(int slot, bool ready) override { lines_.answered(slot, ready); }
  void feed(int slot, std::string_view bytes, ReadTime at) override;
  void end(int slot, Time now) override;
  void drained(Time now) override { lines_.drained(now); }
  void expire(int, Time) override {}

 private:
  struct Stream {
    int bar;
    std::string text = {};    // since the last carriage return or line
    std::string before = {};  // the bar that the text overwrites
    bool draws = false;       // after a carriage return
    bool returned = false;    // the last byte was a carriage return: a newline may follow
    bool is_partial = false;  // the other channel has a part of a line
    std::int64_t wall_ns = 0;
  };

  void split(Stream& stream, std::string_view bytes, std::string& lines);
  void overwrite(Stream& stream, std::string& lines);
  void end_line(Stream& stream, std::string_view end, std::string& lines);

  Channel& lines_;
  Bars& bars_;
  const std::function<void()> showing_;
  std::vector<Stream> streams_;
};

}  // namespace dlaunch::output
