#include "output/console.h"

#include <sys/stat.h>
#include <unistd.h>

#include "output/file_layout.h"
#include "output/jsonl_channel.h"
#include "output/line_channel.h"

namespace dlaunch::output {
namespace {

bool same_file(int a, int b) {
  struct stat x{};
  struct stat y{};
  if (fstat(a, &x) != 0 || fstat(b, &y) != 0) return false;
  return a == b || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

bool has_prefix(const Settings& settings) { return settings.label || settings.tag || settings.timestamp; }

bool shown(const Settings& settings, Stream stream) {
  return !settings.files || settings.files->copy || !settings.files->keeps(stream);
}

bool shown(const Settings& settings, const RankFacts& facts, int rank) {
  if (!facts.name.empty()) return !settings.files;
  if (!shown(settings, Stream::out) && !shown(settings, Stream::err)) return false;
  return !settings.console_ranks || settings.console_ranks->contains(rank);
}

int count_shown(const Settings& settings, const std::vector<RankFacts>& ranks) {
  int count = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    count += shown(settings, ranks[rank], static_cast<int>(rank)) ? 1 : 0;
  return count;
}

bool colored(const Settings& settings, int fd) {
  return settings.color == Color::always || (settings.color == Color::automatic && isatty(fd) != 0);
}

Prefix prefix_of(const Settings& settings, const StreamFacts& facts, int fd) {
  Prefix prefix = Prefix::open_mpi(settings, facts);
  if (!has_prefix(settings) && !facts.host.name.empty())
    return Prefix::label(kDefaultLabel, facts, colored(settings, fd));
  if (settings.label) prefix.append(Prefix::label(*settings.label, facts, colored(settings, fd)));
  return prefix;
}

/// One rank alone without labels is as if it ran without us: its bytes pass at once, prompts too.
bool passes_bytes(const Settings& settings, const std::vector<RankFacts>& ranks) {
  return settings.mode == Mode::raw || (!has_prefix(settings) && count_shown(settings, ranks) == 1);
}

}  // namespace

Console::Console(const Settings& settings, const std::vector<RankFacts>& ranks, Output::Fds fds, Shared& shared)
    : slots_(ranks.size() * kStreams) {
  const int count = count_ranks(ranks);
  const auto add_screen = [&](int fd, const char* name) {
    screens_.push_back(std::make_unique<Screen>(Screen{fd, Sink{name, FdWriter::borrowed(fd)}, nullptr}));
    FdWriter& writer = screens_.back()->sink.writer;
    if (settings.mode == Mode::jsonl) {
      screens_.back()->channel = std::make_unique<JsonlChannel>(writer, shared);
    } else if (passes_bytes(settings, ranks)) {
      screens_.back()->channel = std::make_unique<RawChannel>(writer);
    } else {
      screens_.back()->channel = std::make_unique<LineChannel>(writer, shared);
    }
  };
  add_screen(fds.out, "stdout");
  if (settings.mode != Mode::jsonl && !same_file(fds.out, fds.err)) add_screen(fds.err, "stderr");
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (shown(settings, ranks[i], rank)) add_rank(settings, ranks[i], rank, count);
  }
}

void Console::add_rank(const Settings& settings, const RankFacts& facts, int rank, int ranks) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (!shown(settings, stream)) continue;
    Screen& screen = stream == Stream::out ? *screens_.front() : *screens_.back();
    const StreamFacts who{facts, rank, ranks, stream};
    ConsoleSlot& slot = slots_[static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream)];
    slot = {screen.channel.get(), 0, &screen.sink};
    if (auto* json = dynamic_cast<JsonlChannel*>(slot.channel)) slot.slot = json->add(who);
    if (auto* lines = dynamic_cast<LineChannel*>(slot.channel)) {
      slot.slot = lines->add(prefix_of(settings, who, screen.fd));
    }
  }
}

ConsoleSlot Console::slot(int rank, Stream stream) const {
  return slots_[static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream)];
}

}  // namespace dlaunch::output
