#include "output/line_limit.h"

#include <algorithm>

#include "base/index_cast.h"
#include "base/text.h"

namespace dlaunch::output {
namespace {

/// "12,400"
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace

bool LineLimit::admits(std::span<const int> sources, std::size_t lines, Time now) {
  Count& count = at_index(counts_, at_index(sources_, sources.front()).second);
  if (lifted_) return true;
  if (count.hidden == 0 && now - kLimitWindow >= count.since) {
    count.since = now;
    count.shown = 0;
  }
  if (count.shown < static_cast<std::size_t>(most_)) {
    count.shown += lines;
    return true;
  }
  count.hidden += lines;
  const auto [id, stream] = at_index(sources_, sources.front());
  if (hidden_) hidden_(id, stream, lines);
  for (const int source : sources) {
    const auto rank = static_cast<std::size_t>(at_index(sources_, source).first);
    if (count.ids.size() <= rank) count.ids.resize(rank + 1);
    count.ids[rank] = true;
  }
  return false;
}

std::string LineLimit::take_notes(std::optional<Time> now) {
  std::string notes;
  for (const Stream stream : {Stream::out, Stream::err}) {
    Count& count = at_index(counts_, stream);
    if (count.hidden == 0 || (now && *now + kLimitTick / 2 < count.since + kLimitWindow)) continue;
    notes += note(stream);
    if (now) count.since = Time::min();
  }
  return notes;
}

std::string LineLimit::note(Stream stream) {
  Count& count = at_index(counts_, stream);
  const std::uint64_t hidden = std::exchange(count.hidden, 0);
  const auto ranks = std::ranges::count(std::exchange(count.ids, {}), true);
  return "… " + with_commas(hidden) + (stream == Stream::out ? " stdout" : " stderr") +
         (hidden == 1 ? " line of " : " lines of ") + dlaunch::count(ranks, "rank") + " not shown; see " +
         at_index(places_, stream) + '\n';
}

}  // namespace dlaunch::output
