#include "output/record_channel.h"
#include "base/index_cast.h"

#include <utility>

namespace dlaunch::output {
namespace {

constexpr int kTurn = -1;  // the slot number of the channel's own timer
constexpr std::size_t kWaitingLimit = 2 * 1024 * 1024;

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

}  // namespace dlaunch::output
