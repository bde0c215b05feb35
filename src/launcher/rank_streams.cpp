#include "launcher/rank_streams.h"

#include <algorithm>
#include <utility>

#include "base/index_cast.h"
#include "sys/clock.h"

namespace dlaunch::launcher {
namespace {

using output::Stream;
constexpr size_t kReadSize = 256u << 10;  // a busy rank's whole pipe in one read
constexpr size_t kMostPieces = 64;        // limit of queued pieces of a stream; further bytes join the last piece
constexpr std::array kBoth = {Stream::out, Stream::err};

}  // namespace

RankStreams::RankStreams(asio::io_context& io, OutputDriver& output, int ranks, std::function<void(int)> drained)
    : io_(io),
      output_(output),
      drained_(std::move(drained)),
      ranks_(static_cast<size_t>(ranks)),
      scratch_(std::make_unique_for_overwrite<char[]>(kReadSize)) {}  // pages are not touched before use

RankStreams::Source& RankStreams::source(int rank, Stream stream) {
  return at_index(ranks_, rank).sources[static_cast<size_t>(stream)];
}

void RankStreams::opened(int rank, std::array<sys::Fd, output::kStreams> handed_over) {
  for (const Stream stream : kBoth) source(rank, stream).open = static_cast<bool>(at_index(handed_over, stream));
  for (const Stream stream : kBoth) {
    if (source(rank, stream).open) read_pipe(rank, stream, std::move(at_index(handed_over, stream)));
  }
  check_drained(rank);
}

void RankStreams::opened_remote(int rank, std::array<bool, output::kStreams> streams, std::uint32_t credit,
                                const Grant& grant) {
  for (const Stream stream : kBoth) {
    Source& opened = source(rank, stream);
    opened.open = at_index(streams, stream);
    opened.window = opened.granted = credit;
    opened.grant = grant;
  }
  check_drained(rank);
}

void RankStreams::read_pipe(int rank, Stream stream, sys::Fd fd) {
  link::PipeReader::Consumer consumer;
  consumer.allowance = [this, rank, stream]() -> size_t {
    if (output_.output().ready(rank, stream)) return std::min(kReadSize, output_.output().most_fed());
    park(rank, stream);
    return 0;
  };
  consumer.data = [this, rank, stream](std::string_view bytes) { output_.feed(rank, stream, bytes, sys::wall_ns()); };
  consumer.closed = [this, rank, stream] { close(rank, stream); };
  Source& opened = source(rank, stream);
  opened.pipe =
      std::make_unique<link::PipeReader>(io_, std::move(fd), std::span(scratch_.get(), kReadSize), std::move(consumer));
}

std::string RankStreams::received(int rank, Stream stream, std::string bytes, std::int64_t wall_ns) {
  Source& from = source(rank, stream);
  if (!from.open) return {};
  if (from.ends) return "protocol error: the agent sent output after the end of the stream";
  if (bytes.size() > from.granted) return "protocol error: the agent sent more output than the launcher granted";
  from.granted -= static_cast<std::uint32_t>(bytes.size());
  from.ends = bytes.empty();
  if (!from.ends) queue(from, std::move(bytes), wall_ns);
  take_queued(rank, stream);
  return {};
}

/// Joins small pieces, since a piece costs more than a byte.
void RankStreams::queue(Source& from, std::string bytes, std::int64_t wall_ns) {
  if (from.queue.size() < kMostPieces) {
    from.queue.push_back({std::move(bytes), wall_ns});
  } else {
    from.queue.back().bytes += bytes;
  }
}

void RankStreams::take_queued(int rank, Stream stream) {
  Source& from = source(rank, stream);
  while (from.open && !from.queue.empty()) {
    if (!output_.output().ready(rank, stream)) return park(rank, stream);
    const Piece piece = std::move(from.queue.front());
    from.queue.pop_front();
    from.consumed += static_cast<std::uint32_t>(piece.bytes.size());
    if (from.consumed >= from.window / 2) {
      from.granted += from.consumed;
      from.grant(rank, stream, std::exchange(from.consumed, 0));
    }
    output_.feed(rank, stream, piece.bytes, piece.wall_ns);
  }
  if (from.open && from.ends) close(rank, stream);
}

void RankStreams::rank_ended(int rank) {
  for (const Stream stream : kBoth) {
    if (source(rank, stream).pipe) source(rank, stream).pipe->rank_ended();
  }
}

void RankStreams::abandon(int rank) {
  for (const Stream stream : kBoth) {
    Source& from = source(rank, stream);
    if (from.pipe) {
      from.pipe->rank_ended();  // the pipe's remaining bytes are still read
    } else if (from.open) {
      from.ends = true;
      take_queued(rank, stream);
    }
  }
  check_drained(rank);
}

void RankStreams::park(int rank, Stream stream) {
  if (std::exchange(source(rank, stream).parked, true)) return;
  parked_.emplace_back(rank, stream);
}

void RankStreams::resume() {
  // Tries each stream once: a stream that is still not ready is parked again at the end.
  for (size_t left = parked_.size(); left > 0; --left) {
    const auto [rank, stream] = parked_.front();
    parked_.pop_front();
    Source& waiting = source(rank, stream);
    waiting.parked = false;
    if (!waiting.open) continue;
    if (!output_.output().ready(rank, stream)) {
      park(rank, stream);
    } else if (waiting.pipe) {
      waiting.pipe->resume();
    } else {
      take_queued(rank, stream);
    }
  }
}

void RankStreams::close(int rank, Stream stream) {
  Source& closed = source(rank, stream);
  closed.open = false;
  closed.queue.clear();
  closed.pipe.reset();
  output_.end(rank, stream);
  check_drained(rank);
}

void RankStreams::check_drained(int rank) {
  Rank& checked = at_index(ranks_, rank);
  if (checked.drained || checked.sources[0].open || checked.sources[1].open) return;
  checked.drained = true;
  drained_(rank);
}

}  // namespace dlaunch::launcher
