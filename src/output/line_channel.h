// LineChannel: merges the lines of several streams into one sink, each line with the prefix of its stream. Owned by a
// Screen of Console or by a file of RankFiles. A record is a line, or text up to a carriage return. Rules:
// - A complete record is written at once. A partial record is written at the end of its stream, or if it is too long.
//   With PartialLines::shown, it is also written after kPartialIdle without more bytes.
// - If the last line of the sink is partial and another stream writes, a '\n' goes first. The rest of the partial line
//   becomes a new record; a '\n' at its start is dropped.
// - A record that is too long to hold has the sink for itself until the record or its stream ends, or the stream is
//   idle for kBulkPatience times kPartialIdle: its rank may wait for a rank whose output is not read.
#pragma once

#include "output/record_channel.h"

namespace dlaunch::output {

class LineChannel final : public RecordChannel {
 public:
  using RecordChannel::RecordChannel;
  /// The sink's last line is an unfinished line of the slot.
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

  Slot* on_line_ = nullptr;             // slot of the sink's last line if that line is partial; else null
  bool after_carriage_return_ = false;  // the record of on_line_ has ended; a '\n' may follow
};

}  // namespace dlaunch::output
