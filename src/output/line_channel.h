// Whole lines of several streams into one sink, each with its stream's prefix. Rules:
// - a record is written when it has ended, a partial one when it was idle, its stream ended, or it is too long;
// - when the sink's last line is partial and another stream writes, a '\n' goes first, and the rest of the partial
//   becomes a record of its own, unless it begins with '\n', which was then written already;
// - a record too long to be held takes the sink for itself until it ends, its stream ends, or it is idle.
#pragma once

#include "output/record_channel.h"

namespace dlaunch::output {

class LineChannel final : public RecordChannel {
 public:
  using RecordChannel::RecordChannel;
  /// An unfinished line of that slot was the last thing written to the sink.
  void resume(int slot) { on_line_ = &slot_at(slot); }

 private:
  Progress write_records(Slot& slot, std::string_view bytes, ReadTime at) override;
  void keep_rest(Slot& slot, std::string_view rest, ReadTime at) override;
  void flush_partial(Slot& slot) override;

  static std::size_t finish_broken_line(Slot& slot, std::string_view bytes);
  std::size_t finish_carriage_return(Slot& slot, std::string_view bytes);
  std::size_t pass_records(Slot& slot, std::string_view bytes);
  Progress label_records(Slot& slot, std::string_view bytes, ReadTime at);
  void append_record(std::string_view prefix, std::string_view record);
  void write_block();

  void write_started(Slot& slot, std::string_view more);
  void line_ended(Slot& slot);
  std::string_view line_break(const Slot& slot);
  std::string_view prefix_of_held(Slot& slot) const;

  Slot* on_line_ = nullptr;             // whose partial record was written last; none: a whole record was
  bool after_carriage_return_ = false;  // on_line_'s record has ended, unless a '\n' comes next
};

}  // namespace dlaunch::output
