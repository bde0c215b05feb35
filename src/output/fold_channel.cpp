#include "output/fold_channel.h"

#include <algorithm>
#include <utility>

#include "output/line_splitter.h"

namespace dlaunch::output {
namespace {

constexpr int kFold = -2;  // the slot number of the timer of held lines

/// The columns of a prefix: its characters without color codes.
std::size_t width_of(std::string_view prefix) {
  std::size_t width = 0;
  bool in_code = false;
  for (const char c : prefix) {
    if (c == '\x1b') in_code = true;
    if (!in_code && (static_cast<unsigned char>(c) & 0xC0) != 0x80) ++width;
    if (in_code && c == 'm') in_code = false;
  }
  return width;
}

}  // namespace

FoldChannel::FoldChannel(Writer& writer, ChannelContext& shared, PartialLines partial_lines, Fold level,
                         MakePrefix make_prefix)
    : LineChannel(writer, shared, partial_lines),
      folder_(level, [this](const FoldedUnit& unit) { show(unit); }),
      make_prefix_(std::move(make_prefix)),
      timer_(shared.timers.add(this, kFold)) {}

int FoldChannel::add(const StreamFacts& facts, Prefix prefix) {
  const RankFacts& host = facts.host;
  const auto [group, is_new] =
      groups_.try_emplace({host.world, facts.stream, host.name}, static_cast<int>(groups_.size()));
  folder_.add(group->second, host.first + facts.rank, OwnWords(facts.rank, host.local_rank, host.device, host.host));
  facts_.push_back(facts);
  return RecordChannel::add(std::move(prefix));
}

void FoldChannel::answered(int slot, bool ready) {
  RecordChannel::answered(slot, ready);
  if (!ready && folder_.must_wait(slot, shared_.now)) folder_.waits(slot, shared_.now);
}

void FoldChannel::show_held() {
  show_units();
  LineChannel::show_held();
}

void FoldChannel::show_units() {
  folder_.flush();
  write_block();
}

void FoldChannel::expire(int slot, Time now) {
  if (slot != kFold) return LineChannel::expire(slot, now);
  if (!crowded()) folder_.tick(now + kPartialIdle);  // the timer expires again after this time
  write_block();
  watch(now);
}

void FoldChannel::watch(Time now) {
  if (folder_.holds() && !timer_->running) shared_.timers.start(timer_, now);
}

RecordChannel::Progress FoldChannel::label_records(Slot& slot, std::string_view bytes, ReadTime at) {
  if (!folder_.folds(at.now)) return LineChannel::label_records(slot, bytes, at);
  const Time since = folder_.take_wait(slot.number, at.now);
  Records records(bytes);
  std::string_view record = records.next();
  if (!record.empty() && (on_line() == &slot || !slot.held.empty())) {
    end_held(slot, record, at);
    record = records.next();
  }
  while (!record.empty()) {
    folder_.feed(slot.number, record, since, at.wall_ns);
    if (crowded()) break;
    record = records.next();
  }
  write_block();
  keep_order(slot);
  watch(at.now);
  return {bytes.size() - records.rest().size(), crowded()};
}

/// A line of the rank's other stream is partial on the sink: its end must not come before the held lines of the rank.
void FoldChannel::keep_order(const Slot& slot) {
  if (!on_line() || on_line() == &slot) return;
  const StreamFacts& partial = at_index(facts_, on_line()->number);
  const StreamFacts& facts = at_index(facts_, slot.number);
  if (partial.rank == facts.rank && partial.host.first == facts.host.first) show_units();
}

void FoldChannel::write_started(Slot& slot, std::string_view more) {
  if (on_line() != &slot) show_units();
  LineChannel::write_started(slot, more);
}

void FoldChannel::end_held(Slot& slot, std::string_view more, ReadTime at) {
  if (on_line() == &slot || !folder_.folds(at.now)) return LineChannel::end_held(slot, more, at);
  slot.held += more;
  folder_.feed(slot.number, slot.held, at.now, slot.held_wall_ns);
  slot.held.clear();
}

void FoldChannel::finish(Slot& slot) {
  LineChannel::finish(slot);
  folder_.end(slot.number);
  write_block();
}

void FoldChannel::show(const FoldedUnit& unit) {
  const auto lines = unit.is_block ? static_cast<std::size_t>(std::ranges::count(unit.text, '\n')) : 1;
  if (!admits(unit.sources, lines)) return;
  begin_line();
  const bool is_folded = unit.sources.size() > 1;
  Prefix& prefix = is_folded ? prefix_of(unit) : slot_at(unit.sources.front()).prefix;
  const std::string_view first = prefix.render(unit.wall_ns);
  if (!unit.is_block) return append_record(first, unit.text);
  const std::string further = is_folded ? std::string(width_of(first), ' ') : std::string(first);
  Records records(unit.text);
  append_record(first, records.next());
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
    append_record(further, record);
  }
  if (!records.rest().empty()) append_record(further, records.rest());
}

Prefix& FoldChannel::prefix_of(const FoldedUnit& unit) {
  if (std::ranges::equal(last_sources_, unit.sources)) return last_prefix_;
  last_sources_.assign(unit.sources.begin(), unit.sources.end());
  std::vector<const StreamFacts*> writers;
  for (const int source : unit.sources) writers.push_back(&at_index(facts_, source));
  last_prefix_ = make_prefix_(writers);
  return last_prefix_;
}

}  // namespace dlaunch::output
