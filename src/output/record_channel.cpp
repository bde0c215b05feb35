#include "output/record_channel.h"

#include <array>
#include <utility>

#include "base/digest.h"
#include "output/json_text.h"
#include "output/line_splitter.h"

namespace dlaunch::output {
namespace {

constexpr int kTurn = -1;   // the slot number of the channel's own timer
constexpr int kLimit = -3;  // of the timer of a LineLimit
constexpr std::size_t kWaitingLimit = 2 * 1024 * 1024;

bool ends_in_carriage_return(std::string_view text) { return !text.empty() && text.back() == '\r'; }

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

RecordChannel::RecordChannel(Writer& writer, ChannelContext& shared, PartialLines partial_lines)
    : writer_(writer), shared_(shared), partial_lines_(partial_lines), turn_(shared.timers.add(this, kTurn)) {}

int RecordChannel::add(Prefix prefix) {
  const int slot = static_cast<int>(slots_.size());
  slots_.emplace_back();
  slots_.back().number = slot;
  slots_.back().prefix = std::move(prefix);
  slots_.back().timer = shared_.timers.add(this, slot);
  return slot;
}

bool RecordChannel::ready(int slot) const {
  const Slot& s = at_index(slots_, slot);
  if (crowded() || s.queued) return false;
  return owner_ ? owner_ == &s : waiting_bytes_ < kWaitingLimit;
}

void RecordChannel::answered(int slot, bool ready) {
  IdleState& idle_state = slot_at(slot).idle_state;
  if (!ready) {
    idle_state = IdleState::refused;
  } else if (idle_state == IdleState::refused) {
    idle_state = IdleState::fresh;
  }
}

void RecordChannel::feed(int slot, std::string_view bytes, ReadTime at) {
  Slot& s = slot_at(slot);
  if (bytes.empty()) return;
  if (bytes.size() >= kBulk) {
    s.patience = kBulkPatience;
  } else if (s.held.empty() && owner_ != &s) {
    s.patience = 0;  // a small write at the start of a line ends where the program stopped
  }
  if (owner_ != &s && (owner_ || !line_.empty())) {
    wait_last(s, bytes, at);
  } else {
    process(s, bytes, at);
  }
  give_turn(at.now);
}

void RecordChannel::process(Slot& slot, std::string_view bytes, ReadTime at) {
  const bool was_holder = owner_ == &slot;
  const auto [done, stopped] = write_records(slot, bytes, at);
  const std::string_view rest = bytes.substr(done);
  if (rest.empty()) {
    shared_.timers.stop(slot.timer);
  } else if (stopped) {
    wait_first(slot, rest, at);
  } else if (was_holder && !owner_ && rest.size() > kMaxHeld && slots_.size() > 1) {
    // The stream's next record is long again; the other streams go first, or they would starve.
    wait_last(slot, rest, at);
  } else {
    keep_rest(slot, rest, at);
  }
}

void RecordChannel::hold(Slot& slot, std::string_view rest, ReadTime at) {
  if (slot.held.empty()) slot.held_wall_ns = at.wall_ns;
  slot.held += rest;
  if (partial_lines_ == PartialLines::shown) return shared_.timers.start(slot.timer, at.now);
  shared_.timers.stop(slot.timer);
}

void RecordChannel::write_block() {
  if (!shared_.block.empty()) writer_.write(shared_.block);
  shared_.block.clear();
}

void RecordChannel::wait_last(Slot& slot, std::string_view bytes, ReadTime at) {
  if (slot.waiting.empty()) slot.waiting_wall_ns = at.wall_ns;
  if (!std::exchange(slot.queued, true)) line_.push_back(&slot);
  slot.waiting += bytes;
  waiting_bytes_ += bytes.size();
}

void RecordChannel::wait_first(Slot& slot, std::string_view bytes, ReadTime at) {
  slot.waiting_wall_ns = at.wall_ns;
  slot.queued = true;
  line_.push_front(&slot);
  slot.waiting = bytes;
  waiting_bytes_ += bytes.size();
}

/// The stream that waits longest continues at the next tick, so that streams that were not ready() can queue before.
void RecordChannel::give_turn(Time now) {
  if (!owner_ && !line_.empty() && !crowded()) shared_.timers.start_due(turn_, now);
}

void RecordChannel::drain(Time now) {
  while (!owner_ && !line_.empty() && !crowded()) {
    Slot& slot = *line_.front();
    line_.pop_front();
    slot.queued = false;
    const std::string bytes = std::exchange(slot.waiting, {});
    waiting_bytes_ -= bytes.size();
    if (!bytes.empty()) process(slot, bytes, {now, slot.waiting_wall_ns});
    if (slot.ended && !slot.queued) finish(slot);
  }
}

void RecordChannel::end(int slot, Time now) {
  Slot& s = slot_at(slot);
  s.ended = true;
  const bool must_wait = !s.held.empty() && owner_ && owner_ != &s;
  if (must_wait && !s.queued) wait_last(s, {}, {now});
  if (!s.queued) finish(s);
  drain(now);
}

void RecordChannel::finish(Slot& slot) {
  if (!slot.held.empty()) flush_partial(slot);
  slot.held.shrink_to_fit();
  if (owner_ == &slot) owner_ = nullptr;
  shared_.timers.stop(slot.timer);
}

void RecordChannel::drained(Time now) {
  if (line_.empty()) return;
  // Ended streams do not depend on ticks: after the end of all streams, flush() writes everything.
  if (line_.front()->ended) drain(now);
  give_turn(now);
}

void RecordChannel::expire(int slot, Time now) {
  if (slot == kTurn) return drain(now);
  Slot& s = slot_at(slot);
  const bool had_its_chance = s.idle_state == IdleState::had;
  if (s.idle_state == IdleState::fresh) s.idle_state = IdleState::had;
  if (!had_its_chance || crowded() || s.queued || (owner_ && owner_ != &s)) return shared_.timers.start(s.timer, now);
  if (--s.patience > 0) return shared_.timers.start(s.timer, now);
  if (!s.held.empty() && (partial_lines_ == PartialLines::shown || owner_ == &s)) flush_partial(s);
  if (owner_ == &s) owner_ = nullptr;
  drain(now);
}

void LineChannel::set_limit(LineLimit& limit) {
  limit_ = &limit;
  limit_timer_ = shared_.timers.add(this, kLimit);
}

void LineChannel::show_held() {
  if (limit_ && !owner_) write_notes(limit_->take_notes());
}

bool LineChannel::is_within_limit(std::span<const int> slots, std::size_t lines) {
  if (limit_->admits(slots, lines, shared_.now)) return true;
  if (!limit_timer_->running) shared_.timers.start(limit_timer_, shared_.now);
  return false;
}

void LineChannel::write_notes(const std::string& notes) {
  if (notes.empty()) return;
  begin_line();
  shared_.block += notes;
  write_block();
}

void LineChannel::expire(int slot, Time now) {
  if (slot != kLimit) return RecordChannel::expire(slot, now);
  if (!owner_) write_notes(limit_->take_notes(now));
  if (limit_->hides()) shared_.timers.start(limit_timer_, now);
}

RecordChannel::Progress LineChannel::write_records(Slot& slot, std::string_view bytes, ReadTime at) {
  const std::size_t head = slot.broken ? finish_broken_line(slot, bytes) : finish_carriage_return(slot, bytes, at);
  bytes.remove_prefix(head);
  if (bytes.empty()) return {head};
  if (slot.prefix.empty() && !limit_) return {head + pass_records(slot, bytes)};
  const auto [done, stopped] = label_records(slot, bytes, at);
  return {head + done, stopped};
}

/// Drops a '\n' at the start, because the line was already ended with one.
std::size_t LineChannel::finish_broken_line(Slot& slot, std::string_view bytes) {
  slot.broken = false;
  return bytes[0] == '\n' ? 1 : 0;
}

/// If '\r' was the last byte, the record has ended, and a '\n' at the start of `bytes` belongs to its end.
std::size_t LineChannel::finish_carriage_return(Slot& slot, std::string_view bytes, ReadTime at) {
  const bool written = on_line_ == &slot && after_carriage_return_;
  if (!written && !ends_in_carriage_return(slot.held)) return 0;
  const std::size_t newline = bytes[0] == '\n' ? 1 : 0;
  if (written && newline == 0) {
    line_ended(slot);
  } else {
    end_held(slot, bytes.substr(0, newline), at);
  }
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
    end_held(slot, record, at);
    record = records.next();
  }
  if (owner_ == &slot) owner_ = nullptr;
  const std::string_view prefix = slot.prefix.render(at.wall_ns);
  while (!record.empty()) {
    if (admits({&slot.number, 1})) {
      if (on_line_) begin_line();
      append_record(prefix, record);
    }
    if (crowded()) break;
    record = records.next();
  }
  write_block();
  return {bytes.size() - records.rest().size(), crowded()};
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
  show_prompts_ = !slot.ended;
  write_started(slot, {});
  show_prompts_ = false;
  slot.held.clear();
  on_line_ = &slot;
  after_carriage_return_ = ended;
}

void LineChannel::write_started(Slot& slot, std::string_view more) {
  if (show_prompts_ && on_line_ != &slot) show_held();
  if (on_line_ != &slot) slot.hidden = !show_prompts_ && !admits({&slot.number, 1});
  if (slot.hidden) return;
  writer_.write(std::array{line_break(&slot), prefix_of_held(slot), std::string_view(slot.held), more});
}

void LineChannel::end_held(Slot& slot, std::string_view more, ReadTime) {
  write_started(slot, more);
  line_ended(slot);
}

void LineChannel::begin_line() {
  shared_.block += line_break(nullptr);
  on_line_ = nullptr;
  after_carriage_return_ = false;
}

void LineChannel::line_ended(Slot& slot) {
  slot.held.clear();
  on_line_ = nullptr;
  after_carriage_return_ = false;
  if (owner_ == &slot) owner_ = nullptr;
}

std::string_view LineChannel::line_break(const Slot* slot) {
  if (!on_line_ || on_line_ == slot || after_carriage_return_) return "";
  on_line_->broken = on_line_->held.empty();
  return on_line_->hidden ? "" : "\n";
}

std::string_view LineChannel::prefix_of_held(Slot& slot) const {
  if (slot.prefix.empty() || on_line_ == &slot) return {};
  return slot.prefix.render(slot.held_wall_ns);
}

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

}  // namespace dlaunch::output
