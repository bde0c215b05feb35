// JsonlChannel: writes one JSON object per record, for both streams of all ranks, to one sink. docs/output-formats.md
// lists the fields. A record without '\n' comes in pieces if it is too long to hold, if its stream ends, or, with
// PartialLines::shown, if its stream is idle; all but the last piece have "eol":false. All texts, with a '\n' after
// each object without "eol", give the bytes of the stream. Owned by a Screen of Console.
#pragma once

#include "output/record_channel.h"

namespace dlaunch::output {

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
  void write_block();

  std::vector<std::string> heads_;  // by slot number
  std::int64_t time_of_ = INT64_MIN;
  std::string time_;
};

}  // namespace dlaunch::output
