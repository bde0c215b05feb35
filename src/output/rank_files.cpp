#include "output/rank_files.h"

#include <algorithm>
#include <cerrno>

#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"
#include "output/file_layout.h"
#include "output/joint_errors.h"
#include "output/record_channel.h"
#include "sys/clock.h"
#include "sys/file_lock.h"

namespace dlaunch::output {
namespace {

constexpr std::chrono::seconds kCreateWait{10};  // without progress

std::vector<Stream> streams_of(const OutputSettings& settings, const RankFacts& facts) {
  if (!facts.name.empty()) return {Stream::out};
  std::vector<Stream> streams;
  if (settings.files->keeps(Stream::out, facts.local_rank)) streams.push_back(Stream::out);
  if (!settings.merge_stderr && settings.files->keeps(Stream::err, facts.local_rank)) streams.push_back(Stream::err);
  return streams;
}

Error locked_error(const Disk::Event& event) {
  return {"", "cannot write " + event.tail, sys::writes_there({static_cast<int>(event.size)}),
          "use another path, for example with {job}, or wait for the other job to end"};
}

Error write_error(const RankFile& file, int error) {
  Error failure = sink_error("write " + file.path, error);
  if (file.direct) failure.why += " (the rank writes this file itself)";
  return failure;
}

std::size_t slot_index(int rank, Stream stream) {
  return static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream);
}

}  // namespace

Result<std::unique_ptr<RankFiles>> RankFiles::open(const OutputSettings& settings, const std::vector<RankFacts>& ranks,
                                                   ChannelContext& shared) {
  for (const std::string& text : {settings.files->target, settings.files->err_target}) {
    TRY(check_file_template(text));
  }
  TRY(check_one_rank_a_file(*settings.files, ranks));
  auto disk = TRY(Disk::start(*settings.files));
  return std::unique_ptr<RankFiles>(new RankFiles(settings, ranks, shared, std::move(disk)));
}

bool RankFiles::renames() const { return settings_.keep_logs > 0 && !locked_directory(*settings_.files).empty(); }

void RankFiles::ask_to_claim() {
  claimed_ = true;
  renames() ? claim_directory(DiskCommand::Kind::lock_existing) : ask_to_create();
}

Result<void> RankFiles::claim(const sys::Wait& wait) {
  ask_to_claim();
  return await([&] { return not_claimed_ == 0 && not_created_ == 0; }, wait);
}

/// After a failed command, the disk process ignores the others.
void RankFiles::begin(Time now) {
  if (!claimed_) ask_to_claim();
  if (renames()) {
    const auto keep = static_cast<std::uint32_t>(settings_.keep_logs);
    disk_->ask(DiskCommand::Kind::rotate, keep, locked_directory(*settings_.files));
    ask_to_create();
  }
  disk_->ask(DiskCommand::Kind::empty, 0, {});
  moved_ = now;
  begin_progress_ = progress();
}

std::optional<Result<void>> RankFiles::begun(Time now) {
  if (!failures_.empty()) return fail(take_failures().front());
  if (disk_->ended() && !finished_) return fail(killed_error("write " + settings_.files->target, disk_->oom()));
  if (emptied_) return Result<void>();
  const std::uint64_t before = std::exchange(begin_progress_, progress());
  if (before != begin_progress_) moved_ = now;
  if (now - moved_ < kCreateWait) return std::nullopt;
  return fail(timed_out());
}

void RankFiles::ask_to_create() {
  claim_directory(DiskCommand::Kind::lock);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) add_rank(rank);
}

void RankFiles::close() {
  if (!emptied_ && !std::exchange(closed_, true)) disk_->cancel();
}

void RankFiles::close_round() {
  if (!emptied_ && !std::exchange(closed_, true) && !disk_->cancel()) disk_->give_up();
}

/// A later attempt has other names than an earlier one, whose launcher may still be ending.
void RankFiles::claim_directory(DiskCommand::Kind kind) {
  const std::string directory = locked_directory(*settings_.files);
  if (directory.empty() || ranks_.front().attempt > 0) return;
  disk_->ask(kind, 0, directory);
  ++not_claimed_;
}

std::string RankFiles::overwritten() const {
  if (overwritten_ == 0) return {};
  const bool one = overwritten_ == 1;
  return "overwrote " + std::to_string(overwritten_) + (one ? " file" : " files") + " of an earlier job, such as " +
         files_.front()->path + "; last written " + rfc3339(last_written_ns_);
}

std::string RankFiles::step() const {
  using Kind = DiskCommand::Kind;
  const Kind step = disk_->at();
  const bool of_directory = step == Kind::lock || step == Kind::lock_existing || step == Kind::rotate;
  const std::uint32_t file = disk_->file();
  const std::string path = of_directory || file >= files_.size() ? settings_.files->target : files_[file]->path;
  return (step == Kind::rotate ? "rename " : step == Kind::empty ? "empty " : "create ") + path;
}

/// The step of the disk that has not ended in time.
Error RankFiles::timed_out() const { return no_answer(step()); }

Result<void> RankFiles::await(const std::function<bool()>& done, const sys::Wait& wait) {
  std::uint32_t file = disk_->file();
  while (!done()) {
    auto events = disk_->wait_events(kCreateWait, wait);
    const std::uint32_t before = std::exchange(file, disk_->file());
    if (events.empty() && !disk_->ended() && before == file) return fail(timed_out());
    handle(std::move(events));
    if (!failures_.empty()) return fail(take_failures().front());
  }
  return {};
}

Result<void> RankFiles::add(std::size_t from) {
  TRY(check_one_rank_a_file(*settings_.files, ranks_));
  slots_.resize(ranks_.size() * kStreams);
  for (std::size_t rank = from; rank < ranks_.size(); ++rank) add_rank(static_cast<int>(rank));
  return {};
}

void RankFiles::add_rank(int rank) {
  const std::vector<Stream> streams = streams_of(settings_, at_index(ranks_, rank));
  if (streams_share_file(*settings_.files)) return add_file(rank, streams);
  for (const Stream stream : streams) add_file(rank, {stream});
}

/// The agent, not the disk process, creates a `direct` file of a spawned rank: the rank may already be writing, and a
/// late truncation would lose its output.
void RankFiles::add_file(int rank, const std::vector<Stream>& streams) {
  const RankFacts& facts = at_index(ranks_, rank);
  const int ranks = count_ranks(ranks_, facts.world);
  const int number = rank - facts.first;
  std::string path = file_path(*settings_.files, facts, number, ranks, streams.front());
  if (const auto found = by_path_.find(path); found != by_path_.end()) return join_file(*found->second, rank, streams);
  auto file = std::make_unique<RankFile>();
  file->number = static_cast<std::uint32_t>(files_.size());
  file->path = std::move(path);
  file->direct = !direct_path(settings_, facts, number, ranks, streams.front()).empty();
  join_file(*file, rank, streams);
  if (may_be_shared(*settings_.files) && facts.world == 1 && facts.name.empty())
    by_path_.emplace(file->path, file.get());
  if (!file->direct || facts.world == 1) {
    const auto kind = settings_.files->appends(streams.front()) ? DiskCommand::Kind::create_append
                      : file->direct                            ? DiskCommand::Kind::create_direct
                                                                : DiskCommand::Kind::create;
    disk_->ask(kind, file->number, file->path);
    ++not_created_;
  } else {
    disk_->ask(DiskCommand::Kind::watch, file->number, file->path);
  }
  files_.push_back(std::move(file));
}

void RankFiles::join_file(RankFile& file, int rank, const std::vector<Stream>& streams) {
  for (const Stream stream : streams) {
    slots_[slot_index(rank, stream)] = {&file, file.open_streams++};
    file.sources.push_back({rank, stream});
  }
}

/// A file of several ranks also gets the ranks' labels.
void RankFiles::make_channel(RankFile& file) {
  const bool tagged = settings_.tag || settings_.timestamp;
  const int first = file.sources.front().rank;
  const bool shared = std::ranges::any_of(file.sources, [&](const auto& source) { return source.rank != first; });
  const bool labelled = settings_.label && shared;
  if (!tagged && !labelled && file.sources.size() == 1) {
    file.channel = std::make_unique<RawChannel>(*file.writer);
    return;
  }
  const bool terminal = file.polled && isatty(file.polled->poll_fd()) != 0;
  auto channel =
      std::make_unique<LineChannel>(*file.writer, shared_, terminal ? PartialLines::shown : PartialLines::kept);
  for (const auto& [rank, stream] : file.sources) {
    const RankFacts& facts = at_index(ranks_, rank);
    const StreamFacts of{facts, rank - facts.first, count_ranks(ranks_, facts.world), stream};
    channel->add(labelled ? Prefix::label(*settings_.label, of, false) : Prefix::open_mpi(settings_, of));
  }
  file.channel = std::move(channel);
  recorded_.push_back(&file);
}

const FileSlot& RankFiles::slot(int rank, Stream stream) const { return slots_[slot_index(rank, stream)]; }

bool RankFiles::ready(const FileSlot& slot) {
  return !slot.file || slot.file->direct || (slot.file->channel && slot.file->channel->ready(slot.slot));
}

void RankFiles::feed(const FileSlot& slot, std::string_view bytes, ReadTime at) {
  RankFile& file = *slot.file;
  if (!file.channel) return;  // the rank writes the file
  file.channel->feed(slot.slot, bytes, at);
  if (file.gave_up) lost_ += bytes.size();
  check(file);
}

void RankFiles::end(const FileSlot& slot, Time now) {
  RankFile& file = *slot.file;
  if (file.channel) file.channel->end(slot.slot, now);
  if (--file.open_streams > 0 || file.direct) return;
  closing_.push_back(&file);
  close_ended();
}

void RankFiles::rank_ended(int rank) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (RankFile* const file = slot(rank, stream).file) check_direct(*file);
  }
}

void RankFiles::check_direct(RankFile& file) {
  if (!file.direct || std::exchange(file.rank_ended, true)) return;
  disk_->ask(DiskCommand::Kind::rank_ended, file.number, {});
}

/// Closes ended files without queued bytes.
void RankFiles::close_ended() {
  std::erase_if(closing_, [this](RankFile* file) {
    if (!file->channel || !file->channel->settled()) return false;
    if (!file->polled) {
      disk_->close(file->number);
      return true;
    }
    if (file->polled->pending() > 0) return false;
    file->polled->close();
    return true;
  });
}

std::vector<FdWriter*> RankFiles::waiting() {
  std::vector<FdWriter*> all;
  if (disk_->pending() > 0) all.push_back(&disk_->writer());
  for (RankFile* file : polled_) {
    if (file->polled->pending() > 0) all.push_back(file->polled);
  }
  return all;
}

void RankFiles::flush(FdWriter& writer, Time now) {
  writer.flush();
  if (&writer == &disk_->writer()) disk_->flushed();
  for (RankFile* file : recorded_) file->channel->drained(now);
  if (hidden_.holds()) {
    for (const RankFile* file : recorded_) {
      if (file->channel->settled()) hidden_.gave(file->number, disk_->given());
    }
  }
  for (RankFile* file : polled_) check(*file);
  close_ended();
}

void RankFiles::handle(std::vector<Disk::Event> all) {
  for (Disk::Event& event : all) {
    RankFile* const file = event.file < files_.size() ? files_[event.file].get() : nullptr;
    switch (event.kind) {
      case WriterEvent::Kind::rotated:
        if (event.error != 0) failures_.push_back(cannot_keep(event.tail, event.error));
        break;
      case WriterEvent::Kind::claimed:
        --not_claimed_;
        break;
      case WriterEvent::Kind::created:
        created(*file, event);
        break;
      case WriterEvent::Kind::locked:
        failures_.push_back(locked_error(event));
        if (file && event.tail == file->path) created_locked(*file, event);  // else the log directory
        break;
      case WriterEvent::Kind::emptied:
        emptied_ = true;
        break;
      case WriterEvent::Kind::failed:
        fail_file(*file, write_error(*file, event.error));
        hidden_.lose(event.size, event.file);
        break;
      case WriterEvent::Kind::size:
        file->size = event.size;
        file->tail = std::move(event.tail);
        break;
    }
  }
  if (disk_->ended() && (!finished_ || disk_->unwritten() > 0)) process_ended();
}

void RankFiles::created(RankFile& file, Disk::Event& event) {
  --not_created_;
  if (event.error != 0) fail_file(file, sink_error("create " + file.path, event.error));
  overwritten_ += event.size > 0 ? 1 : 0;
  last_written_ns_ = std::max(last_written_ns_, event.time_ns);
  if (file.direct) return;
  if (event.error != 0) {
    file.writer = std::make_unique<FdWriter>(FdWriter::failed(event.error));
  } else if (event.fd) {
    auto writer = std::make_unique<FdWriter>(FdWriter::owned(event.fd.release()));
    file.polled = writer.get();
    file.writer = std::move(writer);
    polled_.push_back(&file);
  } else {
    file.writer = std::make_unique<DiskFile>(*disk_, file.number);
  }
  make_channel(file);
  close_ended();
}

void RankFiles::created_locked(RankFile& file, Disk::Event& event) {
  file.reported = true;
  event.error = EWOULDBLOCK;
  event.size = 0;
  created(file, event);
}

void RankFiles::fail_file(RankFile& file, Error error) {
  if (std::exchange(file.reported, true)) return;
  failures_.push_back(std::move(error));
}

/// Reports a failed write of a FIFO or terminal; lost() reports files that were given up.
void RankFiles::check(RankFile& file) {
  const int error = file.polled ? file.polled->error() : 0;
  if (error != 0 && !file.gave_up) fail_file(file, sink_error("write " + file.path, error));
}

/// The disk process ended unexpectedly. Another job can now truncate the files that the ranks write.
void RankFiles::process_ended() {
  hidden_.lose(disk_->taken());
  for (const auto& file : files_) {
    if (!file->polled) fail_file(*file, killed_error((file->direct ? "lock " : "write ") + file->path, disk_->oom()));
  }
  drop_uncreated(shared_.now);
}

/// Gives up files that were not created; bytes for them are dropped. Streams that waited for the disk continue.
void RankFiles::drop_uncreated(Time now) {
  for (RankFile* file : recorded_) file->channel->drained(now);
  for (const auto& file : files_) {
    if (file->direct || file->channel) continue;
    file->gave_up = true;
    file->writer = std::make_unique<FdWriter>(FdWriter::failed(EPIPE));
    make_channel(*file);
  }
  not_claimed_ = 0;
  not_created_ = 0;
  emptied_ = true;
  close_ended();
}

void RankFiles::finish(std::optional<int> failed) {
  finished_ = true;
  if (!emptied_) return disk_->stop();  // no rank has started
  for (const auto& file : files_) {
    const bool of_failed = failed == file->sources.front().rank;
    const auto get_size = of_failed ? DiskCommand::Kind::get_size_tail : DiskCommand::Kind::get_size;
    check_direct(*file);
    if (file->direct) disk_->ask(get_size, file->number, file->path);
    if (of_failed) disk_->ask(DiskCommand::Kind::sync, file->number, file->path);
  }
  disk_->finish();
}

bool RankFiles::settled() const {
  if (finished_ && !emptied_) return true;  // no rank has started
  const bool disk = disk_->ended() || (!finished_ && not_created_ == 0 && disk_->unwritten() == 0);
  return disk && closing_.empty() &&
         std::ranges::all_of(polled_, [](const RankFile* file) { return file->polled->pending() == 0; });
}

std::uint64_t RankFiles::progress() const {
  std::uint64_t progress = disk_->taken() + static_cast<std::uint64_t>(disk_->at()) + disk_->file();
  for (const RankFile* file : polled_) progress -= file->polled->pending();
  const bool removes = disk_->at() == DiskCommand::Kind::rotate;  // one long command
  return progress + (removes ? sys::cpu_ns(disk_->pid()) : 0);
}

void RankFiles::give_up(Time now) {
  for (RankFile* file : polled_) {
    if (file->polled->pending() == 0) continue;
    stuck_.push_back(file->path);
    lost_ += file->polled->pending();
    file->gave_up = true;
    file->polled->give_up();
  }
  if (!disk_->ended() && (finished_ || not_created_ > 0 || disk_->unwritten() > 0)) {
    const auto unwritten = disk_->unwritten_files();
    for (const std::uint32_t file : unwritten) stuck_.push_back(files_[file]->path);
    if (unwritten.empty() && !disk_->has_all()) stuck_.push_back(files_[disk_->file()]->path);
    emptied_ ? disk_->give_up() : disk_->stop();
    hidden_.lose(disk_->taken());
  }
  drop_uncreated(now);
}

/// FIFOs are not counted.
void RankFiles::hidden(int rank, Stream stream, std::size_t lines) {
  const RankFile* const file = slot(rank, stream).file;
  if (!file || file->direct || file->polled) return;
  hidden_.written(disk_->settled());
  if (file->channel && !file->channel->settled()) {
    hidden_.hold(file->number, lines);
  } else {
    hidden_.gave(file->number, disk_->given());
    hidden_.add(file->number, disk_->given(), lines);
  }
  if (disk_->ended()) hidden_.lose(disk_->taken());
}

bool RankFiles::has_all(int rank, Stream stream) const {
  const RankFile* const file = slot(rank, stream).file;
  return file && !file->reported && !file->gave_up && !disk_->lacks(file->number);
}

std::optional<Error> RankFiles::lost() const {
  if (stuck_.empty()) return std::nullopt;
  const std::uint64_t bytes = lost_ + disk_->unwritten();
  return Error{.where = "",
               .what = "cannot write " + path_list(stuck_),
               .why = bytes == 0 ? "the file system does not respond"
                                 : std::to_string(bytes) + " bytes of the ranks' output were not written in time",
               .hint = "check the file system, or the reader of the FIFO",
               .exit_code = kExitOutput};
}

}  // namespace dlaunch::output
