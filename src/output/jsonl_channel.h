// One JSON object for each record of both streams of all ranks, on one sink (docs/output-formats.md has the fields). A
// record that is too long to be held, was idle, or ended without '\n' comes in pieces, all but the last with
// "eol":false. The pieces, joined with a '\n' after each that has no "eol", are the stream's bytes.
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
