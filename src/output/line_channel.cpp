#include "output/line_channel.h"

#include <array>

#include "output/line_splitter.h"

namespace dlaunch::output {
namespace {

constexpr std::size_t kBlock = 64 * 1024;  // small enough to stay in the cache until the kernel has copied it

bool ends_in_carriage_return(std::string_view text) { return !text.empty() && text.back() == '\r'; }

}  // namespace

RecordChannel::Progress LineChannel::write_records(Slot& slot, std::string_view bytes, ReadTime at) {
  const std::size_t head = slot.broken ? finish_broken_line(slot, bytes) : finish_carriage_return(slot, bytes);
  bytes.remove_prefix(head);
  if (bytes.empty()) return {head};
  if (slot.prefix.empty()) return {head + pass_records(slot, bytes)};
  const auto [done, stopped] = label_records(slot, bytes, at);
  return {head + done, stopped};
}

/// Drops a '\n' at the start, because the line was already ended with one.
std::size_t LineChannel::finish_broken_line(Slot& slot, std::string_view bytes) {
  slot.broken = false;
  return bytes[0] == '\n' ? 1 : 0;
}

/// If '\r' was the last byte, the record has ended, and a '\n' at the start of `bytes` belongs to its end.
std::size_t LineChannel::finish_carriage_return(Slot& slot, std::string_view bytes) {
  const bool written = on_line_ == &slot && after_carriage_return_;
  if (!written && !ends_in_carriage_return(slot.held)) return 0;
  const std::size_t newline = bytes[0] == '\n' ? 1 : 0;
  if (!written || newline > 0) write_started(slot, bytes.substr(0, newline));
  line_ended(slot);
  return newline;
}

std::size_t LineChannel::pass_records(Slot& slot, std::string_view bytes) {
  const std::size_t end = last_record_end(bytes);
  if (end == 0) return 0;
  write_started(slot, bytes.substr(0, end));
  line_ended(slot);
  return end;
}

RecordChannel::Progress LineChannel::label_records(Slot& slot, std::string_view bytes, ReadTime at) {
  Records records(bytes);
  std::string_view record = records.next();
  if (record.empty()) return {0};
  if (on_line_ == &slot || !slot.held.empty()) {
    write_started(slot, record);
    line_ended(slot);
    record = records.next();
  }
  shared_.block += line_break(slot);
  line_ended(slot);
  const std::string_view prefix = slot.prefix.render(at.wall_ns);
  while (!record.empty()) {
    append_record(prefix, record);
    if (crowded()) break;
    record = records.next();
  }
  write_block();
  return {bytes.size() - records.rest().size(), crowded()};
}

void LineChannel::append_record(std::string_view prefix, std::string_view record) {
  const bool large = record.size() > kBlock / 2;
  if (large || shared_.block.size() + prefix.size() + record.size() > kBlock) write_block();
  if (large) return writer_.write(std::array{prefix, record});
  shared_.block += prefix;
  shared_.block += record;
}

void LineChannel::write_block() {
  if (!shared_.block.empty()) writer_.write(shared_.block);
  shared_.block.clear();
}

void LineChannel::keep_rest(Slot& slot, std::string_view rest, ReadTime at) {
  if (owner_ != &slot && slot.held.size() + rest.size() <= kMaxHeld) return hold(slot, rest, at);
  if (slot.held.empty()) slot.held_wall_ns = at.wall_ns;
  const bool undecided = ends_in_carriage_return(rest);
  if (undecided) rest.remove_suffix(1);
  write_started(slot, rest);
  slot.held = undecided ? "\r" : "";
  owner_ = on_line_ = &slot;
  after_carriage_return_ = false;
  slot.patience = kBulkPatience;
  shared_.timers.start(slot.timer, at.now);
}

void LineChannel::flush_partial(Slot& slot) {
  const bool ended = ends_in_carriage_return(slot.held);
  write_started(slot, {});
  slot.held.clear();
  on_line_ = &slot;
  after_carriage_return_ = ended;
}

/// Writes the held bytes and `more`, after a line break and the prefix if needed.
void LineChannel::write_started(Slot& slot, std::string_view more) {
  writer_.write(std::array{line_break(slot), prefix_of_held(slot), std::string_view(slot.held), more});
}

void LineChannel::line_ended(Slot& slot) {
  slot.held.clear();
  on_line_ = nullptr;
  after_carriage_return_ = false;
  if (owner_ == &slot) owner_ = nullptr;
}

std::string_view LineChannel::line_break(const Slot& slot) {
  if (!on_line_ || on_line_ == &slot || after_carriage_return_) return "";
  on_line_->broken = on_line_->held.empty();
  return "\n";
}

std::string_view LineChannel::prefix_of_held(Slot& slot) const {
  if (slot.prefix.empty() || on_line_ == &slot) return {};
  return slot.prefix.render(slot.held_wall_ns);
}

}  // namespace dlaunch::output
