#include "output/fold.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/index_cast.h"

namespace dlaunch::output {
namespace {

constexpr std::size_t kKeptCapacity = 4096;  // of the strings of an entry that is not used

double value_of(std::string_view number) {
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

/// Compares integers exactly: a double has 53 bits, and counters and addresses have 64.
bool is_less(std::string_view a, std::string_view b) {
  constexpr std::string_view kDigits = "0123456789";
  if (a.find_first_not_of(kDigits) != a.npos || b.find_first_not_of(kDigits) != b.npos)
    return value_of(a) < value_of(b);
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

void clear(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptCapacity) text.shrink_to_fit();
}

}  // namespace

Folder::Folder(Fold level, Show show) : level_(level), show_(std::move(show)), entries_(kMostEntries) {}

int Folder::add(int group, int process, OwnWords own) {
  const int source = static_cast<int>(sources_.size());
  if (groups_.size() <= static_cast<std::size_t>(group)) groups_.resize(static_cast<std::size_t>(group) + 1);
  if (processes_.size() <= static_cast<std::size_t>(process)) processes_.resize(static_cast<std::size_t>(process) + 1);
  sources_.push_back({.group = group, .process = process, .own = std::move(own)});
  at_index(groups_, group).push_back(source);
  return source;
}

void Folder::feed(int source, std::string_view line, Time now, std::int64_t wall_ns) {
  if (!folds(now)) return show_({.text = line, .sources = {&source, 1}, .wall_ns = wall_ns});
  if (pass_block(source, line, now, wall_ns)) return;
  join(source, line, false, now, wall_ns);
  if (trial_ < kTrialUnits) return;
  const bool pays = trial_joined_ * kTrialShare >= trial_;
  trial_ = trial_joined_ = 0;
  if (pays) return;
  flush();
  plain_until_ = now + kPlainTime;
}

/// Returns true if the block of the process takes the line.
bool Folder::pass_block(int source, std::string_view line, Time now, std::int64_t wall_ns) {
  const Source& from = at_index(sources_, source);
  Process& process = at_index(processes_, from.process);
  if (process.block_source >= 0) {
    const bool has_space = process.lines < kMostBlockLines && process.text.size() + line.size() <= kMostBlockBytes;
    if (has_space && process.block_source == source && process.block.fits(line, from.own)) {
      process.text += line;
      ++process.lines;
      return true;
    }
    close_block(from.process);
  }
  if (!Block::starts_with(line, from.own)) return false;
  process.block_source = source;
  process.block.start(line, from.own);
  process.text = line;
  process.lines = 1;
  process.since = now;
  process.wall_ns = wall_ns;
  blocks_.push_back(from.process);
  return true;
}

void Folder::close_block(int process) {
  Process& writer = at_index(processes_, process);
  std::erase(blocks_, process);
  const std::string text = std::exchange(writer.text, {});
  join(std::exchange(writer.block_source, -1), text, true, writer.since, writer.wall_ns);
}

void Folder::join(int source, std::string_view text, bool block, Time since, std::int64_t wall_ns) {
  const Source& from = at_index(sources_, source);
  ++trial_;
  std::uint64_t number = find(from, text, block);
  if (number == 0) {
    push(from, text, block, since, wall_ns);
    number = tail_ - 1;
  } else {
    ++trial_joined_;
    add_unit(at(number), text);
  }
  at(number).sources.push_back(source);
  ++joined_size_;
  at_index(processes_, from.process).next = number + 1;
  while (joined_size_ > kMostJoined) show_oldest();
  show_complete();
}

/// The oldest entry that `text` may join; 0 if there is none.
std::uint64_t Folder::find(const Source& source, std::string_view text, bool block) {
  const std::uint64_t from = std::max(at_index(processes_, source.process).next, head_);
  has_key_ = false;
  if (from < tail_ && at(from).group == source.group && at(from).key.empty() && joins(at(from), text))
    return from;  // ranks often write the same sequence of lines
  has_key_ = write_key(text, level_, block, source.own, key_, numbers_);
  text_hash_ = std::hash<std::string_view>()(text);
  hash_ = has_key_ ? std::hash<std::string_view>()(key_) : text_hash_;
  for (std::uint64_t number = from; number < tail_; ++number) {
    const std::size_t slot = number % kMostEntries;
    if (hashes_[slot] != hash_ && text_hashes_[slot] != text_hash_) continue;
    if (at(number).group == source.group && joins(at(number), text)) return number;
  }
  return 0;
}

/// Whether the unit of find() may join the entry.
bool Folder::joins(const Entry& entry, std::string_view text) const {
  return (entry.same_text && entry.text == text) || (entry.same_key && has_key_of(entry));
}

void Folder::add_unit(Entry& entry, std::string_view text) const {
  if (entry.key.empty()) return;
  if (!has_key_of(entry)) entry.same_key = false;
  if (entry.text == text) return;
  entry.same_text = false;
  widen(entry, text);
}

/// The memory of an entry: its text, and two strings for each number.
std::size_t Folder::size_of(const Entry& entry) { return entry.text.size() + entry.ranges.size() * sizeof(Range); }

/// Adds an entry with the key that find() wrote.
void Folder::push(const Source& source, std::string_view text, bool block, Time since, std::int64_t wall_ns) {
  while (tail_ - head_ >= kMostEntries || (head_ != tail_ && text_size_ + text.size() > kMostText)) show_oldest();
  Entry& entry = at(tail_);
  entry.group = source.group;
  entry.is_block = block;
  entry.text = text;
  if (has_key_) entry.key = key_;
  for (const NumberAt& number : numbers_) {
    const std::string shown(text.substr(number.begin, number.size));
    entry.ranges.push_back({number, shown, shown});
  }
  entry.since = since;
  entry.wall_ns = wall_ns;
  // A block began before it was added: the entries before it must be shown in time for it.
  for (std::uint64_t number = tail_; number-- > head_ && at(number).since > since;) at(number).since = since;
  text_size_ += size_of(entry);
  text_hashes_[tail_ % kMostEntries] = text_hash_;
  hashes_[tail_++ % kMostEntries] = hash_;
}

/// Widens the ranges of the entry by the numbers of `text`, which find() wrote the key of.
void Folder::widen(Entry& entry, std::string_view text) const {
  for (std::size_t i = 0; i < entry.ranges.size() && i < numbers_.size(); ++i) {
    Range& range = entry.ranges[i];
    const std::string_view number = text.substr(numbers_[i].begin, numbers_[i].size);
    if (is_less(number, range.low)) range.low = number;
    if (is_less(range.high, number)) range.high = number;
  }
}

/// Whether an open source of the oldest entry's group may still join the entry.
bool Folder::can_grow(std::uint64_t number) {
  const std::vector<int>& group = at_index(groups_, at(number).group);
  for (; first_joiner_ < group.size(); ++first_joiner_) {
    const Source& source = at_index(sources_, group[first_joiner_]);
    if (source.open && at_index(processes_, source.process).next <= number) return true;
  }
  return false;
}

void Folder::show_complete() {
  while (head_ != tail_ && !can_grow(head_)) show_oldest();
}

void Folder::show_oldest() {
  Entry& entry = at(head_++);
  first_joiner_ = 0;
  text_size_ -= size_of(entry);
  joined_size_ -= entry.sources.size();
  std::ranges::sort(entry.sources);
  const std::string ranged = with_ranges(entry);
  show_({ranged.empty() ? entry.text : ranged, entry.is_block, entry.sources, entry.wall_ns});
  clear(entry.text);
  clear(entry.key);
  entry.same_text = entry.same_key = true;
  entry.sources.clear();
  entry.ranges = std::vector<Range>();  // releases the memory
}

/// "loss {0.41…0.97}": the text with the ranges of the numbers that differ; empty if no number differs.
std::string Folder::with_ranges(const Entry& entry) {
  std::string text;
  std::size_t copied = 0;
  for (const auto& [place, low, high] : entry.ranges) {
    if (low == high) continue;
    text.append(entry.text, copied, place.begin - copied);
    text += '{' + low + "…" + high + '}';
    copied = place.begin + place.size;
  }
  if (copied > 0) text.append(entry.text, copied);
  return text;
}

void Folder::end(int source) {
  Source& from = at_index(sources_, source);
  if (at_index(processes_, from.process).block_source == source) close_block(from.process);
  from.open = false;
  show_complete();
}

void Folder::tick(Time now) {
  while (!blocks_.empty() && at_index(processes_, blocks_.front()).since + kBlockDelay <= now) {
    close_block(blocks_.front());
  }
  while (head_ != tail_ && at(head_).since + kFoldDelay <= now) show_oldest();
}

void Folder::flush() {
  while (!blocks_.empty()) close_block(blocks_.front());
  while (head_ != tail_) show_oldest();
}

std::optional<Time> Folder::deadline() const {
  std::optional<Time> next;
  if (head_ != tail_) next = at(head_).since + kFoldDelay;
  if (blocks_.empty()) return next;
  const Time block = at_index(processes_, blocks_.front()).since + kBlockDelay;
  return next ? std::min(*next, block) : block;
}

}  // namespace dlaunch::output
