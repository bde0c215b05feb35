#include "output/bar_channel.h"

#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "output/line_splitter.h"

namespace dlaunch::output {

void BarChannel::feed(int slot, std::string_view bytes, ReadTime at) {
  Stream& stream = at_index(streams_, slot);
  if (bytes.empty()) return;
  if (!stream.draws && !stream.returned && bytes.find('\r') == bytes.npos) {
    stream.is_partial = bytes.back() != '\n';
    showing_();
    return lines_.feed(slot, bytes, at);
  }
  stream.wall_ns = at.wall_ns;
  std::string lines;
  split(stream, bytes, lines);
  if (lines.empty()) return;
  showing_();
  lines_.feed(slot, lines, at);
}

/// Adds the lines in `bytes` to `lines`, without the bars that were overwritten.
void BarChannel::split(Stream& stream, std::string_view bytes, std::string& lines) {
  if (std::exchange(stream.returned, false)) {
    if (bytes.front() == '\n') {
      end_line(stream, "\r\n", lines);
      bytes.remove_prefix(1);
    } else {
      overwrite(stream, lines);
    }
  }
  Records records(bytes);
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
    if (record.back() == '\n') {
      end_line(stream, record, lines);
    } else {
      stream.text += record.substr(0, record.size() - 1);
      overwrite(stream, lines);
    }
  }
  std::string_view rest = records.rest();
  stream.returned = rest.ends_with('\r');
  stream.text += stream.returned ? rest.substr(0, rest.size() - 1) : rest;
  constexpr std::size_t kMostText = 4096;
  if (stream.text.size() > kMostText) {  // a line, not a bar
    stream.draws = false;
    bars_.end(stream.bar);
  }
  const bool is_bar = stream.draws || (stream.returned && !stream.is_partial);
  if (!is_bar && !stream.text.empty()) {
    lines += std::exchange(stream.text, {});
    stream.is_partial = true;
  } else if (is_bar && !trim(stream.text).empty()) {
    bars_.draw(stream.bar, stream.text);
  }
}

/// A carriage return came after the text of the stream. An empty bar has been erased.
void BarChannel::overwrite(Stream& stream, std::string& lines) {
  const bool is_blank = trim(stream.text).empty();
  stream.draws = !is_blank || stream.text.empty();
  if (std::exchange(stream.is_partial, false)) {
    lines += stream.text + '\n';
  } else if (!is_blank) {
    bars_.draw(stream.bar, stream.text);
  } else if (!stream.draws) {
    bars_.end(stream.bar);
  }
  if (!is_blank || !stream.draws) stream.before = std::exchange(stream.text, {});
  stream.text.clear();
}

void BarChannel::end_line(Stream& stream, std::string_view end, std::string& lines) {
  const bool is_empty = stream.draws && stream.text.empty() && end.front() <= '\r';
  std::string line = std::exchange(stream.text, {});
  line += end;
  if (is_empty) line.insert(0, stream.before);
  if (stream.draws) bars_.draw(stream.bar, line);
  lines += line;
  stream.before.clear();
  stream.draws = stream.is_partial = false;
  bars_.end(stream.bar);
}

void BarChannel::end(int slot, Time now) {
  Stream& stream = at_index(streams_, slot);
  showing_();
  if (!trim(stream.text).empty()) lines_.feed(slot, stream.text + '\n', {now, stream.wall_ns});
  bars_.end(stream.bar);
  stream = {.bar = stream.bar};
  lines_.end(slot, now);
}

}  // namespace dlaunch::output
