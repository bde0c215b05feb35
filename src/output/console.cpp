#include "output/console.h"

#include <algorithm>
#include <array>
#include <utility>

#include "output/file_layout.h"
#include "output/record_channel.h"
#include "sys/randomness.h"

namespace dlaunch::output {
namespace {

constexpr int kMostUnfolded = 8;  // ranks on a terminal without --fold

bool has_prefix(const OutputSettings& settings) { return settings.label || settings.tag || settings.timestamp; }

bool shown(const OutputSettings& settings, const RankFacts& facts, Stream stream) {
  return !settings.files || settings.files->copies(stream) || !settings.files->keeps(stream, facts.local_rank);
}

bool shown(const OutputSettings& settings, const RankFacts& facts, int rank) {
  if (!facts.name.empty()) return !settings.files;
  if (!shown(settings, facts, Stream::out) && !shown(settings, facts, Stream::err)) return false;
  return on_console(settings, facts, rank);
}

int count_shown(const OutputSettings& settings, const std::vector<RankFacts>& ranks) {
  int count = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    count += shown(settings, ranks[rank], static_cast<int>(rank)) ? 1 : 0;
  return count;
}

bool colored(const OutputSettings& settings, int fd) {
  return settings.color == Color::always || (settings.color == Color::automatic && isatty(fd) != 0);
}

/// Lines that may be folded have a label, because a reader must know their ranks.
Prefix prefix_of(const OutputSettings& settings, Writers writers, const Screen& screen) {
  Prefix prefix = Prefix::open_mpi(settings, writers);
  const bool color = colored(settings, screen.fd);
  if (!has_prefix(settings) && (screen.fold || !writers.front()->host.name.empty()))
    return Prefix::label(kDefaultLabel, writers, color);
  if (settings.label) prefix.append(Prefix::label(*settings.label, writers, color));
  return prefix;
}

Fold fold_of(const OutputSettings& settings, const std::vector<RankFacts>& ranks, bool terminal) {
  const int shown = count_shown(settings, ranks);
  if (settings.pty || shown < 2) return Fold::off;
  const bool names_ranks =
      !has_prefix(settings) || settings.tag || settings.label.value_or("").find("{rank}") != std::string::npos;
  return settings.fold.value_or(terminal && shown > kMostUnfolded && names_ranks ? Fold::own : Fold::off);
}

/// The ranks' output is text that dlaunch may print in another order or form.
bool has_plain_lines(const OutputSettings& settings) { return settings.mode == Mode::lines && !settings.pty; }

/// Hidden lines must be in the files.
bool is_limited(const OutputSettings& settings) {
  return settings.console_rate > 0 && has_plain_lines(settings) && !shown_without_file(settings);
}

/// A single rank without labels behaves as without dlaunch: all bytes pass at once, including prompts.
bool passes_bytes(const OutputSettings& settings, const std::vector<RankFacts>& ranks) {
  return settings.mode == Mode::raw ||
         (!has_prefix(settings) && !is_limited(settings) && count_shown(settings, ranks) == 1);
}

/// The groups of several ranks on stdout; a single rank has no group.
bool has_groups(const OutputSettings& settings, const std::vector<RankFacts>& ranks) {
  const bool is_set = settings.groups == Groups::github || settings.groups == Groups::gitlab;
  return is_set && has_plain_lines(settings) && count_shown(settings, ranks) > 1;
}

}  // namespace

Console::Console(const OutputSettings& settings, const std::vector<RankFacts>& ranks, StandardStreams& streams,
                 ChannelContext& shared)
    : streams_(streams), slots_(ranks.size() * kStreams) {
  const bool grouped = has_groups(settings, ranks);
  const auto add_screen = [&](Stream stream) {
    FdWriter& writer = streams.writer(stream);
    const PartialLines partial_lines = streams.is_terminal(stream) ? PartialLines::shown : PartialLines::kept;
    screens_.push_back(std::make_unique<Screen>(
        Screen{streams.fd(stream), std::string(stream_name(stream)), writer, partial_lines, nullptr}));
    if (settings.mode == Mode::jsonl) {
      screens_.back()->channel = std::make_unique<JsonlChannel>(writer, shared, partial_lines);
    } else if (passes_bytes(settings, ranks)) {
      screens_.back()->channel = std::make_unique<RawChannel>(writer);
    } else if (grouped) {
      auto groups = std::make_unique<GroupChannel>(writer, shared, settings.groups, "dlaunch-" + sys::random_hex(16));
      screens_.back()->groups = groups.get();
      screens_.back()->channel = std::move(groups);
    } else {
      make_line_channel(settings, ranks, *screens_.back(), shared);
    }
  };
  add_screen(Stream::out);
  if (settings.mode != Mode::jsonl && !grouped && !streams.are_one()) add_screen(Stream::err);
  const int size = count_ranks(ranks);
  for (size_t id = 0; id < ranks.size(); ++id) add_rank(settings, ranks[id], id, size);
}

void Console::make_line_channel(const OutputSettings& settings, const std::vector<RankFacts>& ranks, Screen& screen,
                                ChannelContext& shared) {
  const Fold level = fold_of(settings, ranks, screen.partial_lines == PartialLines::shown);
  std::unique_ptr<LineChannel> lines;
  if (level == Fold::off) {
    lines = std::make_unique<LineChannel>(screen.writer, shared, screen.partial_lines);
  } else {
    const auto make_prefix = [&screen, settings](Writers writers) { return prefix_of(settings, writers, screen); };
    auto fold = std::make_unique<FoldChannel>(screen.writer, shared, screen.partial_lines, level, make_prefix);
    screen.fold = fold.get();
    lines = std::move(fold);
  }
  if (is_limited(settings)) {
    const auto place = [&](Stream stream) { return files_place(*settings.files, ranks.front(), stream); };
    screen.limit = std::make_unique<LineLimit>(settings.console_rate,
                                               std::array{place(Stream::out), place(Stream::err)}, shared.hidden);
    lines->set_limit(*screen.limit);
  }
  const bool is_terminal = screen.partial_lines == PartialLines::shown && streams_.is_terminal(Stream::err);
  if (settings.bars && has_plain_lines(settings) && is_terminal && count_shown(settings, ranks) > 1) {
    screen.bars = std::make_unique<BarChannel>(*lines, bars_, [this] { streams_.showing(); });
  }
  screen.lines = lines.get();
  screen.channel = std::move(lines);
}

bool Console::add(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t from,
                  ChannelContext& shared) {
  slots_.resize(ranks.size() * kStreams);
  const bool alone = settings.mode == Mode::lines && dynamic_cast<RawChannel*>(screens_.front()->channel.get());
  const bool moved = alone && !passes_bytes(settings, ranks);
  if (moved) make_lines(settings, ranks, from, shared);
  const int size = static_cast<int>(ranks.size() - from);
  for (size_t id = from; id < ranks.size(); ++id) add_rank(settings, ranks[id], id, size);
  return moved;
}

/// From now on, the ranks before id `before` pass complete lines instead of raw bytes.
void Console::make_lines(const OutputSettings& settings, const std::vector<RankFacts>& ranks, std::size_t before,
                         ChannelContext& shared) {
  std::vector<int> last;
  for (const auto& screen : screens_) {
    last.push_back(static_cast<RawChannel&>(*screen->channel).last());
    make_line_channel(settings, ranks, *screen, shared);
  }
  const int size = count_ranks(ranks);
  for (size_t id = 0; id < before; ++id) add_rank(settings, ranks[id], id, size);
  for (size_t i = 0; i < screens_.size(); ++i) {
    if (!screens_[i]->writer.mid_line()) continue;
    for (size_t at = static_cast<size_t>(last[i]); at < before * kStreams; at += kStreams) {
      if (slots_[at].screen != screens_[i].get()) continue;
      screens_[i]->lines->resume(slots_[at].slot);
    }
  }
}

void Console::add_rank(const OutputSettings& settings, const RankFacts& facts, std::size_t id, int world_size) {
  const int rank = static_cast<int>(id) - facts.first;
  if (!shown(settings, facts, rank)) return;
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (!shown(settings, facts, stream)) continue;
    Screen& screen = stream == Stream::out ? *screens_.front() : *screens_.back();
    const StreamFacts who{facts, rank, world_size, stream};
    ConsoleSlot& slot = slots_[id * kStreams + static_cast<std::size_t>(stream)];
    slot = {screen.channel.get(), static_cast<int>(stream), &screen};
    if (auto* json = dynamic_cast<JsonlChannel*>(slot.channel)) slot.slot = json->add(who);
    if (screen.groups) {
      slot.slot = screen.groups->add(who, static_cast<int>(id), prefix_of(settings, std::array{&who}, screen));
    }
    if (screen.lines) {
      Prefix prefix = prefix_of(settings, std::array{&who}, screen);
      slot.slot = screen.fold ? screen.fold->add(who, std::move(prefix)) : screen.lines->add(std::move(prefix));
      if (screen.limit) screen.limit->add(static_cast<int>(id), stream);
      if (!screen.bars) continue;
      slot.channel = screen.bars.get();
      screen.bars->add(writer_name(who));
    }
  }
}

ConsoleSlot Console::slot(int rank, Stream stream) const {
  return slots_[static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream)];
}

void Console::set_pid(int rank, int pid) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    const ConsoleSlot to = slot(rank, stream);
    if (to.screen && to.screen->fold) to.screen->fold->set_pid(to.slot, pid);
  }
}

void Console::show_held() {
  for (const auto& screen : screens_) {
    if (screen->lines) screen->lines->show_held();
  }
}

void Console::show_all() {
  show_held();
  for (const auto& screen : screens_) {
    if (screen->groups) screen->groups->show_held();
  }
}

void Console::lift_limits() {
  for (const auto& screen : screens_) {
    if (screen->limit) screen->limit->lift();
  }
}

bool Console::folds() const {
  return std::ranges::any_of(screens_, [](const auto& screen) { return screen->fold && screen->fold->folds(); });
}

bool Console::has_folded() const {
  return std::ranges::any_of(screens_, [](const auto& screen) { return screen->fold && screen->fold->has_folded(); });
}

}  // namespace dlaunch::output
