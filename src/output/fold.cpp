#include "output/fold.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/index_cast.h"

namespace dlaunch::output {
namespace {

constexpr std::size_t kFirstEntries = 256;
constexpr std::size_t kKeptCapacity = 128;  // of the strings and the runs of an entry that is not used

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

template <class Container>
void clear(Container& all) {
  all.clear();
  if (all.capacity() * sizeof(all[0]) > kKeptCapacity) all.shrink_to_fit();
}

}  // namespace

Folder::Folder(Fold level, Show show)
    : level_(level),
      show_(std::move(show)),
      entries_(kFirstEntries),
      key_hashes_(kFirstEntries),
      text_hashes_(kFirstEntries) {}

void Folder::Places::add(int place) {
  if (!runs.empty() && place == runs.back().last + 1) {
    ++runs.back().last;
  } else if (!runs.empty() && place == runs.back().first - 1) {
    --runs.back().first;
  } else {
    runs.push_back({place, place});
  }
}

int Folder::Places::lowest() const { return std::ranges::min(runs, {}, &Run::first).first; }

int Folder::add(int group, int process, OwnWords own) {
  const int source = static_cast<int>(sources_.size());
  if (groups_.size() <= static_cast<std::size_t>(group)) groups_.resize(static_cast<std::size_t>(group) + 1);
  if (processes_.size() <= static_cast<std::size_t>(process)) processes_.resize(static_cast<std::size_t>(process) + 1);
  std::vector<int>& members = at_index(groups_, group);
  sources_.push_back(
      {.group = group, .place = static_cast<int>(members.size()), .process = process, .own = std::move(own)});
  members.push_back(source);
  return source;
}

void Folder::feed(int source, std::string_view line, Time now, std::int64_t wall_ns) {
  if (!folds(now)) return show_({.text = line, .sources = {&source, 1}, .wall_ns = wall_ns});
  if (pass_block(source, line, now, wall_ns)) return;
  join(source, line, false, now, wall_ns);
  if (trial_ < kTrialUnits) return;
  const bool pays = trial_joined_ * kTrialShare >= trial_;
  if (!pays) {
    flush();
    plain_until_ = now + kPlainTime;
  }
  trial_ = trial_joined_ = 0;
}

bool Folder::must_wait(int source, Time now) const {
  const std::uint64_t next = at_index(processes_, at_index(sources_, source).process).next;
  if (now < no_wait_until_ || head_ == tail_ || next <= head_) return false;
  return next - head_ > kMostAhead || text_size_ > kMostText / 2;
}

void Folder::waits(int source, Time now) {
  std::optional<Time>& since = at_index(processes_, at_index(sources_, source).process).waits_since;
  if (!since) since = now;
}

Time Folder::take_wait(int source, Time now) {
  return std::exchange(at_index(processes_, at_index(sources_, source).process).waits_since, {}).value_or(now);
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
  std::uint64_t number = find(from, text, block);
  if (number == 0) {
    push(from, text, block, since, wall_ns);
    number = tail_ - 1;
  }
  add_unit(number, from, text);
  at_index(processes_, from.process).next = number + 1;
  while (joined_size_ > kMostJoined) show_oldest();
  show_complete();
}

/// The oldest entry that `text` may join; 0 if there is none.
std::uint64_t Folder::find(const Source& source, std::string_view text, bool block) {
  const std::uint64_t from = std::max(at_index(processes_, source.process).next, head_);
  has_key_ = false;
  if (from < tail_ && at(from).is_simple && at(from).group == source.group && at(from).text == text)
    return from;  // ranks often write the same sequence of lines
  key_kind_ = write_key(text, level_, block, source.own, key_, numbers_);
  has_key_ = key_kind_ == KeyKind::key;
  if (has_key_) key_hash_ = std::hash<std::string_view>()(key_);
  text_hash_ = std::hash<std::string_view>()(text);
  const std::uint64_t end = std::min<std::uint64_t>(tail_, from + kMostAhead);
  std::uint64_t with_text = 0;
  for (std::uint64_t number = from; number < end; ++number) {
    const std::size_t slot = slot_of(number);
    if (has_key_ && key_hashes_[slot] == key_hash_ && at(number).group == source.group && at(number).key == key_)
      return number;
    if (with_text != 0 || text_hashes_[slot] != text_hash_) continue;
    if (at(number).group != source.group || at(number).text != text) continue;
    with_text = number;
    if (!has_key_) break;
  }
  return with_text;
}

/// The memory of an entry: its texts, and two strings for each number.
std::size_t Folder::size_of(const Entry& entry) {
  return entry.text.size() + entry.key.size() + entry.lowest.size() + entry.ranges.size() * sizeof(Range);
}

/// Doubles the ring.
void Folder::enlarge() {
  std::vector<Entry> entries(2 * entries_.size());
  std::vector<std::size_t> keys(entries.size()), texts(entries.size());
  for (std::uint64_t number = head_; number < tail_; ++number) {
    const std::size_t slot = number & (entries.size() - 1);
    entries[slot] = std::move(at(number));
    keys[slot] = key_hashes_[slot_of(number)];
    texts[slot] = text_hashes_[slot_of(number)];
  }
  entries_.swap(entries);
  key_hashes_.swap(keys);
  text_hashes_.swap(texts);
}

/// Adds an entry without units.
void Folder::push(const Source& source, std::string_view text, bool block, Time since, std::int64_t wall_ns) {
  while (tail_ - head_ >= kMostEntries || (head_ != tail_ && text_size_ + text.size() > kMostText)) show_oldest();
  if (tail_ - head_ == entries_.size()) enlarge();
  Entry& entry = at(tail_);
  entry.group = source.group;
  entry.is_block = block;
  entry.is_simple = key_kind_ == KeyKind::text_of_all;
  entry.text = text;
  entry.since = since;
  entry.wall_ns = wall_ns;
  // A block began before it was added: the entries before it must be shown in time for it.
  for (std::uint64_t number = tail_; number-- > head_ && at(number).since > since;) at(number).since = since;
  text_size_ += size_of(entry);
  text_hashes_[slot_of(tail_)] = text_hash_;
  ++tail_;
}

/// Adds the unit that find() looked for.
void Folder::add_unit(std::uint64_t number, const Source& source, std::string_view text) {
  Entry& entry = at(number);
  joined_size_ -= runs_of(entry);
  if (!has_key_) {
    entry.others.add(source.place);
    joined_size_ += runs_of(entry);
    return;
  }
  text_size_ -= size_of(entry);
  if (entry.key.empty()) {
    entry.key = key_;
    entry.is_simple = false;
    key_hashes_[slot_of(number)] = key_hash_;
  }
  if (entry.key == key_) {
    add_keyed(entry, source.place, text);
  } else {
    entry.others.add(source.place);
  }
  text_size_ += size_of(entry);
  joined_size_ += runs_of(entry);
}

/// Adds a unit with the key of the entry, and widens the ranges by its numbers.
void Folder::add_keyed(Entry& entry, int place, std::string_view text) const {
  const bool is_first = entry.keyed.runs.empty();
  const bool is_lowest = is_first || place < entry.keyed.lowest();
  entry.keyed.add(place);
  if (is_lowest) entry.lowest = text == entry.text ? std::string_view() : text;
  if (text != entry.text) entry.differs = true;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const std::string_view number = text.substr(numbers_[i].begin, numbers_[i].size);
    if (is_first) entry.ranges.push_back({numbers_[i], std::string(number), std::string(number)});
    Range& range = entry.ranges[i];
    if (is_lowest) range.at = numbers_[i];
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
  while (head_ != tail_ && !can_grow(head_)) {
    if (tail_ - head_ > kMostAhead) no_wait_ = kPlainTime;
    show_oldest();
  }
}

void Folder::show_oldest() {
  Entry& entry = at(head_++);
  first_joiner_ = 0;
  text_size_ -= size_of(entry);
  joined_size_ -= runs_of(entry);
  if (!entry.differs) {
    show_units(entry, entry.text, {&entry.keyed, &entry.others});
  } else {
    show_units(entry, with_ranges(entry), {&entry.keyed});
    if (!entry.others.runs.empty()) show_units(entry, entry.text, {&entry.others});
  }
  for (std::string* text : {&entry.text, &entry.key, &entry.lowest}) clear(*text);
  for (Places* places : {&entry.keyed, &entry.others}) clear(places->runs);
  entry.differs = false;
  entry.ranges = std::vector<Range>();  // releases the memory
}

void Folder::show_units(const Entry& entry, std::string_view text, std::initializer_list<const Places*> all) {
  shown_.clear();
  for (const Places* places : all) {
    for (auto [first, last] : places->runs) {
      for (; first <= last; ++first) shown_.push_back(at_index(at_index(groups_, entry.group), first));
    }
  }
  if (!std::ranges::is_sorted(shown_)) std::ranges::sort(shown_);
  trial_ += shown_.size();
  trial_joined_ += shown_.size() - 1;
  show_({text, entry.is_block, shown_, entry.wall_ns});
}

/// "loss {0.41…0.97}": the text of the lowest place, with the ranges of the numbers that differ.
std::string Folder::with_ranges(const Entry& entry) {
  const std::string_view lowest = entry.lowest.empty() ? entry.text : entry.lowest;
  std::string text;
  std::size_t copied = 0;
  for (const auto& [place, low, high] : entry.ranges) {
    if (low == high) continue;
    text += lowest.substr(copied, place.begin - copied);
    text += '{' + low + "…" + high + '}';
    copied = place.begin + place.size;
  }
  text += lowest.substr(copied);
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
  while (head_ != tail_ && at(head_).since + kFoldDelay <= now) {
    if (tail_ - head_ > kMostAhead && now >= no_wait_until_) {
      no_wait_until_ = now + no_wait_;
      no_wait_ = std::min(2 * no_wait_, kMostNoWait);
    }
    show_oldest();
  }
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
