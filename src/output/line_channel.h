// Whole lines of several streams into one sink, each with its stream's prefix. Rules:
// - a record is written when it has ended; a partial one when it was idle, when its stream ended, or when it is too
// long;
// - when a partial is on the sink's line and another stream writes, a '\n' goes first, and the rest of the partial
//   becomes a record of its own; but when that rest begins with the '\n' itself, there it is already;
// - a record too long to be held takes the sink for itself until it ends, its stream ends, or it is idle.
#pragma once

#include "output/record_channel.h"

namespace dlaunch::output {

class LineChannel final : public RecordChannel {
 public:
  using RecordChannel::RecordChannel;
  /// What was last written to the sink is an unfinished line of that slot.
  void resume(int slot) { on_line_ = &slot_at(slot); }

 private:
  Progress write_records(Slot& slot, std::string_view bytes, At at) override;
  void keep_rest(Slot& slot, std::string_view rest, At at) override;
  void flush_partial(Slot& slot) override;

  static std::size_t finish_broken_line(Slot& slot, std::string_view bytes);
  std::size_t finish_carriage_return(Slot& slot, std::string_view bytes);
  std::size_t pass_records(Slot& slot, std::string_view bytes);
  Progress label_records(Slot& slot, std::string_view bytes, At at);
  void append_record(std::string_view prefix, std::string_view record);
  void write_block();

  void write_started(Slot& slot, std::string_view more);
  void line_ended(Slot& slot);
  std::string_view line_break(const Slot& slot);
  std::string_view prefix_of_held(Slot& slot) const;

  Slot* on_line_ = nullptr;             // whose partial is the last thing written; none: a record ended there
  bool after_carriage_return_ = false;  // on_line_'s record did end, unless a '\n' comes next
};

}  // namespace dlaunch::output
