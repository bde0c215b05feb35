#include "output/rank_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "output/file_layout.h"
#include "output/line_channel.h"

namespace dlaunch::output {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0644;

/// Makes the directories that `path` is in. 0 or errno.
int make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (mkdir(path.substr(0, slash).c_str(), kDirectoryMode) == 0) continue;
    // Read-only parents that exist say EROFS or EACCES here; whether they will do, the next step tells.
    if (errno != EEXIST && errno != EROFS && errno != EACCES) return errno;
  }
  return 0;
}

/// The fd, or minus errno. A FIFO without a reader fails (ENXIO) where it would hang.
int open_file(const std::string& path, int flags) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, kFileMode);
  return fd >= 0 ? fd : -errno;
}

int create_with_parents(const std::string& path) {
  const int fd = open_file(path, O_TRUNC);
  if (fd != -ENOENT) return fd;
  const int error = make_parents(path);
  return error != 0 ? -error : open_file(path, O_TRUNC);
}

std::vector<Stream> streams_of(const Settings& settings, const RankFacts& facts) {
  if (!facts.name.empty()) return {Stream::out};
  std::vector<Stream> streams;
  if (settings.files->keeps(Stream::out)) streams.push_back(Stream::out);
  if (!settings.merge_stderr && settings.files->keeps(Stream::err)) streams.push_back(Stream::err);
  return streams;
}

}  // namespace

Result<std::unique_ptr<RankFiles>> RankFiles::create(const Settings& settings, const std::vector<RankFacts>& ranks,
                                                     Shared& shared) {
  for (const std::string& text : {settings.files->target, settings.files->err_target}) {
    if (auto good = check_file_template(text); !good) return fail(good.error());
  }
  if (auto good = check_one_rank_a_file(*settings.files, ranks); !good) return fail(good.error());
  std::unique_ptr<RankFiles> files(new RankFiles(settings, ranks, shared));
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (auto good = files->create_rank(rank); !good) return fail(good.error());
  }
  return files;
}

Result<void> RankFiles::add(std::size_t from) {
  if (auto good = check_one_rank_a_file(*settings_.files, ranks_); !good) return good;
  const std::size_t before = files_.size();
  slots_.resize(ranks_.size() * kStreams);
  for (std::size_t rank = from; rank < ranks_.size(); ++rank) {
    if (auto good = create_rank(static_cast<int>(rank)); !good) {
      files_.resize(before);
      return good;
    }
  }
  return {};
}

FileSlot RankFiles::slot(int rank, Stream stream) const {
  return slots_[static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream)];
}

void RankFiles::open_late(RankFile& file) {
  const int fd = open_file(file.path, O_APPEND);
  file.sink.emplace(Sink{file.path, fd >= 0 ? FdWriter::owned(fd) : FdWriter::failed(-fd)});
  file.channel = std::make_unique<RawChannel>(file.sink->writer);
}

Result<void> RankFiles::create_rank(int rank) {
  const std::vector<Stream> streams = streams_of(settings_, ranks_[static_cast<std::size_t>(rank)]);
  const bool share = streams_share_file(*settings_.files);
  RankFile* file = nullptr;
  for (const Stream stream : streams) {
    const bool first = !file || !share;
    if (first) {
      auto created = create_file(rank, stream);
      if (!created) return fail(created.error());
      file = *created;
      if (file->sink) file->channel = make_channel(*file, rank, share ? streams : std::vector{stream});
    }
    const FileSlot slot{file, file->open_streams++};
    slots_[static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream)] = slot;
  }
  return {};
}

Result<RankFile*> RankFiles::create_file(int rank, Stream stream) {
  const RankFacts& facts = ranks_[static_cast<std::size_t>(rank)];
  const int ranks = count_ranks(ranks_, facts.world);
  const int number = rank - facts.first;
  auto file = std::make_unique<RankFile>();
  file->path = file_path(*settings_.files, facts, number, ranks, stream);
  const int fd = create_with_parents(file->path);
  if (fd < 0) return fail(sink_error("create " + file->path, -fd));
  FdWriter writer = FdWriter::owned(fd);
  const bool ours = direct_path(settings_, facts, number, ranks, stream).empty();
  if (ours) file->sink.emplace(Sink{file->path, std::move(writer)});
  files_.push_back(std::move(file));
  return files_.back().get();
}

std::unique_ptr<Channel> RankFiles::make_channel(RankFile& file, int rank, const std::vector<Stream>& streams) {
  const bool tagged = settings_.tag || settings_.timestamp;
  if (!tagged && streams.size() == 1) return std::make_unique<RawChannel>(file.sink->writer);
  auto channel = std::make_unique<LineChannel>(file.sink->writer, shared_);
  const RankFacts& facts = ranks_[static_cast<std::size_t>(rank)];
  for (const Stream stream : streams) {
    channel->add(Prefix::open_mpi(settings_, {facts, rank - facts.first, count_ranks(ranks_, facts.world), stream}));
  }
  return channel;
}

}  // namespace dlaunch::output
