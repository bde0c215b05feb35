#include "output/jsonl_channel.h"

#include <algorithm>

#include "base/digest.h"
#include "base/index_cast.h"
#include "base/rfc3339.h"
#include "output/json_text.h"
#include "output/line_splitter.h"

namespace dlaunch::output {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

std::string head_of(const StreamFacts& facts) {
  std::string head = "{";
  if (facts.host.attempt > 0) head += "\"attempt\":" + std::to_string(facts.host.attempt) + ',';
  if (facts.host.round) head += "\"round\":" + std::to_string(*facts.host.round) + ',';
  if (facts.host.world > 1) head += "\"world\":" + std::to_string(facts.host.world) + ',';
  head += "\"rank\":";
  if (facts.host.name.empty()) {
    head += std::to_string(facts.rank);
  } else {
    head += "null,\"process\":";
    append_json_string(head, facts.host.name);
  }
  head += ",\"host\":";
  if (is_utf8(facts.host.host)) {
    append_json_string(head, facts.host.host);
  } else {
    head += "\"\"";
  }
  head += ",\"local_rank\":" + std::to_string(facts.host.local_rank);
  head += ",\"stream\":\"" + std::string(stream_name(facts.stream)) + "\",\"time\":\"";
  return head;
}

}  // namespace

int JsonlChannel::add(const StreamFacts& facts) {
  heads_.push_back(head_of(facts));
  return RecordChannel::add({});
}

RecordChannel::Progress JsonlChannel::write_records(Slot& slot, std::string_view bytes, ReadTime at) {
  std::size_t head = 0;
  if (!slot.held.empty() && slot.held.back() == '\r') {
    head = bytes[0] == '\n' ? 1 : 0;
    write_held(slot, bytes.substr(0, head));
  }
  Records records(bytes.substr(head));
  std::string_view record = records.next();
  if (!record.empty() && !slot.held.empty()) {
    write_held(slot, record);
    record = records.next();
  }
  while (!record.empty()) {
    append_object(slot, record, at.wall_ns);
    if (crowded()) break;
    record = records.next();
  }
  write_block();
  return {bytes.size() - records.rest().size(), crowded()};
}

void JsonlChannel::keep_rest(Slot& slot, std::string_view rest, ReadTime at) {
  while (slot.held.size() + rest.size() > kMaxHeld) {
    if (slot.held.empty()) slot.held_wall_ns = at.wall_ns;
    const std::size_t room = kMaxHeld - slot.held.size();
    const std::size_t cut = utf8_cut(rest, room);
    write_held(slot, rest.substr(0, cut));
    rest.remove_prefix(cut);
  }
  write_block();
  if (!rest.empty()) hold(slot, rest, at);
}

void JsonlChannel::flush_partial(Slot& slot) {
  write_held(slot, {});
  write_block();
}

void JsonlChannel::write_held(Slot& slot, std::string_view more) {
  slot.held += more;
  append_object(slot, slot.held, slot.held_wall_ns);
  slot.held.clear();
}

void JsonlChannel::append_object(const Slot& slot, std::string_view record, std::int64_t wall_ns) {
  std::string& block = shared_.block;
  if (wall_ns != time_of_) time_ = rfc3339(time_of_ = wall_ns);
  const bool ended = !record.empty() && record.back() == '\n';
  if (ended) record.remove_suffix(1);
  block += at_index(heads_, slot.number);
  block += time_;
  if (is_utf8(record)) {
    block += "\",\"text\":";
    append_json_string(block, record);
  } else {
    block += "\",\"base64\":\"";
    block += to_base64(record);
    block += '"';
  }
  block += ended ? "}\n" : ",\"eol\":false}\n";
  if (block.size() >= kBlock) write_block();
}

void JsonlChannel::write_block() {
  if (!shared_.block.empty()) writer_.write(shared_.block);
  shared_.block.clear();
}

}  // namespace dlaunch::output
