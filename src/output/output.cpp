#include "output/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "output/console.h"
#include "output/file_layout.h"
#include "output/label.h"
#include "output/last_words.h"
#include "output/rank_files.h"

namespace dlaunch::output {
namespace {

/// The end of a file that a rank wrote itself.
std::vector<std::string> last_lines_of_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kTailBytes));
  std::string tail(static_cast<std::size_t>(std::max<off_t>(0, size - from)), '\0');
  const ssize_t n = pread(fd, tail.data(), tail.size(), from);
  ::close(fd);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
  return last_lines(tail, from == 0, kLastWords);
}

/// A terminal has one stream.
Settings with_joined_streams(Settings settings) {
  settings.merge_stderr = settings.merge_stderr || settings.pty;
  return settings;
}

}  // namespace

class Output::Impl {
 public:
  Impl(Settings settings, std::vector<RankFacts> ranks)
      : settings_(with_joined_streams(std::move(settings))), ranks_(std::move(ranks)) {
    sources_.resize(ranks_.size() * kStreams);
    tails_.resize(ranks_.size());
  }

  Result<void> open(Fds fds);
  Result<void> add(const std::vector<RankFacts>& more);
  bool ready(int rank, Stream stream) const;
  void feed(int rank, Stream stream, std::string_view bytes, At at);
  void end(int rank, Stream stream, Time now);
  std::vector<int> waiting() const;
  int poll_fd(int fd) const;
  void flush(int fd, Time now);
  void tick(Time now);
  FdWriter& err_writer() const { return console_->screens().back()->sink.writer; }
  std::vector<std::string> last_words(int rank) const;
  std::uint64_t bytes(int rank, Stream stream) const;
  std::string path(int rank, Stream stream) const;

  Shared shared;
  std::optional<Error> write_error;
  bool reader_gone = false;
  std::function<void()> before_showing = [] {};

 private:
  struct Source {
    ConsoleSlot console;
    FileSlot file;
    std::uint64_t bytes = 0;
  };

  static std::size_t index(int rank, Stream stream) {
    return static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream);
  }
  Source& source(int rank, Stream stream) { return sources_[index(rank, stream)]; }
  const Source& source(int rank, Stream stream) const { return sources_[index(rank, stream)]; }
  Stream telling_stream(int rank) const {
    const bool one = settings_.merge_stderr || !ranks_[static_cast<std::size_t>(rank)].name.empty();
    return one ? Stream::out : Stream::err;
  }
  void check(Sink& sink);
  void connect(int rank, bool to_files = true);
  std::string direct(int rank, Stream stream) const;

  const Settings settings_;
  std::vector<RankFacts> ranks_;
  std::optional<Console> console_;
  std::unique_ptr<RankFiles> files_;
  std::vector<Source> sources_;
  std::vector<Tail> tails_;  // by rank
  bool told_ = false;
};

Result<void> Output::Impl::open(Fds fds) {
  if (settings_.label) {
    if (auto good = check_label_template(*settings_.label); !good) return fail(good.error());
  }
  if (settings_.files) {
    auto files = RankFiles::create(settings_, ranks_, shared);
    if (!files) return fail(files.error());
    files_ = std::move(*files);
  }
  console_.emplace(settings_, ranks_, fds, shared);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) connect(rank);
  return {};
}

Result<void> Output::Impl::add(const std::vector<RankFacts>& more) {
  const size_t before = ranks_.size();
  ranks_.insert(ranks_.end(), more.begin(), more.end());
  if (files_) {
    if (auto made = files_->add(before); !made) {
      ranks_.resize(before);
      return made;
    }
  }
  sources_.resize(ranks_.size() * kStreams);
  tails_.resize(ranks_.size());
  const bool moved = console_->add(settings_, ranks_, before, shared);
  for (size_t rank = moved ? 0 : before; rank < ranks_.size(); ++rank) {
    connect(static_cast<int>(rank), rank >= before);
  }
  return {};
}

void Output::Impl::connect(int rank, bool to_files) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    source(rank, stream).console = console_->slot(rank, stream);
    if (files_ && to_files) source(rank, stream).file = files_->slot(rank, stream);
  }
}

std::string Output::Impl::direct(int rank, Stream stream) const {
  const RankFacts& facts = ranks_[static_cast<std::size_t>(rank)];
  return direct_path(settings_, facts, rank - facts.first, count_ranks(ranks_, facts.world), stream);
}

bool Output::Impl::ready(int rank, Stream stream) const {
  const Source& s = source(rank, stream);
  Channel* const file = s.file.file ? s.file.file->channel.get() : nullptr;
  Channel* const console = s.console.channel;
  const bool ready = (!file || file->ready(s.file.slot)) && (!console || console->ready(s.console.slot));
  if (file) file->answered(s.file.slot, ready);
  if (console) console->answered(s.console.slot, ready);
  return ready;
}

void Output::Impl::feed(int rank, Stream stream, std::string_view bytes, At at) {
  Source& s = source(rank, stream);
  s.bytes += bytes.size();
  if (stream == telling_stream(rank)) tails_[static_cast<std::size_t>(rank)].add(bytes);
  if (RankFile* file = s.file.file) {
    if (!file->channel) files_->open_late(*file);
    file->channel->feed(s.file.slot, bytes, at);
    check(*file->sink);
  }
  if (s.console.channel) {
    before_showing();
    s.console.channel->feed(s.console.slot, bytes, at);
    check(*s.console.sink);
  }
}

void Output::Impl::end(int rank, Stream stream, Time now) {
  Source& s = source(rank, stream);
  if (s.console.channel) {
    before_showing();
    s.console.channel->end(s.console.slot, now);
    check(*s.console.sink);
  }
  RankFile* file = std::exchange(s.file.file, nullptr);
  if (!file || !file->channel) return;
  file->channel->end(s.file.slot, now);
  if (--file->open_streams == 0) file->sink->writer.close();
  check(*file->sink);
}

std::vector<int> Output::Impl::waiting() const {
  std::vector<int> fds;
  for (const auto& screen : console_->screens()) {
    if (screen->sink.writer.pending() > 0) fds.push_back(screen->fd);
  }
  return fds;
}

int Output::Impl::poll_fd(int fd) const {
  for (const auto& screen : console_->screens()) {
    if (screen->fd == fd) return screen->sink.writer.poll_fd();
  }
  return fd;
}

void Output::Impl::flush(int fd, Time now) {
  for (const auto& screen : console_->screens()) {
    if (screen->fd != fd) continue;
    before_showing();
    screen->sink.writer.flush();
    screen->channel->drained(now);
    check(screen->sink);
  }
}

void Output::Impl::tick(Time now) {
  before_showing();
  shared.timers.run(now);
  for (const auto& screen : console_->screens()) check(screen->sink);
}

/// Tells the first failure of all; a reader of stdout that goes away is none.
void Output::Impl::check(Sink& sink) {
  const int error = sink.new_failure();
  if (error == 0) return;
  if (error == EPIPE && sink.name == "stdout") {
    reader_gone = true;
  } else if (!std::exchange(told_, true)) {
    write_error = sink_error("write " + sink.name, error);
    write_error->exit_code = 1;
  }
}

std::vector<std::string> Output::Impl::last_words(int rank) const {
  const Tail& tail = tails_[static_cast<std::size_t>(rank)];
  const Stream stream = telling_stream(rank);
  const std::string file = direct(rank, stream);
  if (!file.empty()) return last_lines_of_file(file);
  return last_lines(tail.bytes(), tail.whole(), kLastWords);
}

std::uint64_t Output::Impl::bytes(int rank, Stream stream) const {
  const Source& s = source(rank, stream);
  if (s.bytes > 0) return s.bytes;
  const std::string path = direct(rank, stream);
  struct stat file{};
  if (path.empty() || stat(path.c_str(), &file) != 0) return 0;
  return static_cast<std::uint64_t>(file.st_size);
}

std::string Output::Impl::path(int rank, Stream stream) const {
  if (!settings_.files || (stream == Stream::err && telling_stream(rank) == Stream::out)) return {};
  const auto& facts = ranks_[static_cast<std::size_t>(rank)];
  return file_path(*settings_.files, facts, rank - facts.first, count_ranks(ranks_, facts.world), stream);
}

Result<std::unique_ptr<Output>> Output::open(const Settings& settings, std::vector<RankFacts> ranks, Fds fds) {
  auto impl = std::make_unique<Impl>(settings, std::move(ranks));
  if (auto good = impl->open(fds); !good) return fail(good.error());
  return std::unique_ptr<Output>(new Output(std::move(impl)));
}

Output::Output(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Output::~Output() = default;

Result<void> Output::add(const std::vector<RankFacts>& ranks) { return impl_->add(ranks); }
bool Output::ready(int rank, Stream stream) const { return impl_->ready(rank, stream); }
void Output::feed(int rank, Stream stream, std::string_view bytes, Time now, std::int64_t wall_ns) {
  impl_->feed(rank, stream, bytes, {now, wall_ns});
}
void Output::end(int rank, Stream stream, Time now) { impl_->end(rank, stream, now); }
std::vector<int> Output::waiting() const { return impl_->waiting(); }
int Output::poll_fd(int fd) const { return impl_->poll_fd(fd); }
void Output::flush(int fd, Time now) { impl_->flush(fd, now); }
std::optional<Time> Output::deadline() const { return impl_->shared.timers.deadline(); }
void Output::tick(Time now) { impl_->tick(now); }
bool Output::mid_line() const { return impl_->err_writer().mid_line(); }
void Output::before_showing(std::function<void()> hook) { impl_->before_showing = std::move(hook); }
void Output::end_line() {
  if (mid_line()) impl_->err_writer().write("\n");
}
std::optional<Error> Output::take_error() { return std::exchange(impl_->write_error, std::nullopt); }
bool Output::reader_gone() const { return impl_->reader_gone; }
std::vector<std::string> Output::last_words(int rank) const { return impl_->last_words(rank); }
std::uint64_t Output::bytes(int rank, Stream stream) const { return impl_->bytes(rank, stream); }
std::string Output::path(int rank, Stream stream) const { return impl_->path(rank, stream); }

}  // namespace dlaunch::output
