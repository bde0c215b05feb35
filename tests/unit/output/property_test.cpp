// Random chunks of random lines from several ranks, with fast and slow readers: sorted by label, the output equals the
// input, and the queue stays limited.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "output/record_channel.h"
#include "output_fixture.h"

namespace dlaunch::output {
namespace {

constexpr int kRanks = 5;

std::string random_stream(std::mt19937& random, int rank) {
  std::string text;
  const auto pick = [&](unsigned n) { return random() % n; };
  while (text.size() < 250'000) {
    const size_t length = pick(200) == 0 ? pick(3 * kMaxHeld) : pick(120);
    for (size_t i = 0; i < length; ++i)
      text += pick(50) == 0 ? static_cast<char>(pick(10)) : static_cast<char>('a' + rank);
    text += pick(8) == 0 ? "\r\n" : pick(10) == 0 ? "\r" : "\n";
  }
  return text;
}

/// Feeds all streams in random chunks in random order. The reader reads now and then, and time passes.
std::string play(OutputFixture& fixture, const std::vector<std::string>& streams, std::mt19937& random, bool pauses) {
  std::vector<size_t> done(streams.size());
  std::string shown;
  size_t open = streams.size();
  while (open > 0) {
    const size_t i = random() % streams.size();
    const int rank = static_cast<int>(i / kStreams);
    const auto stream = static_cast<Stream>(i % kStreams);
    if (done[i] > streams[i].size()) continue;
    if (random() % 8 == 0) shown += fixture.out.read();
    fixture.flush();
    fixture.wait(pauses && random() % 4 == 0 ? 60 : 0);
    if (!fixture.output->ready(rank, stream)) continue;
    if (done[i] == streams[i].size()) {
      fixture.output->end(rank, stream, fixture.now);
      ++done[i];
      --open;
      continue;
    }
    const size_t size = random() % (random() % 20 == 0 ? 300'000 : 2'000) + 1;
    const std::string_view chunk = std::string_view(streams[i]).substr(done[i], size);
    fixture.feed(rank, chunk, stream);
    done[i] += chunk.size();
  }
  return shown + fixture.shown();
}

std::vector<std::string> random_streams(std::mt19937& random) {
  std::vector<std::string> streams;
  for (int i = 0; i < kRanks * kStreams; ++i) streams.push_back(random_stream(random, i));
  return streams;
}

TEST(Property, LabelledRecordsAreWholeAndInOrder) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    std::mt19937 random(seed);
    const auto streams = random_streams(random);
    OutputSettings settings;
    settings.label = "\x1e{rank}/{stream}\x1f";  // bytes that do not occur in any stream
    OutputFixture fixture(settings, kRanks, true);
    const std::string shown = play(fixture, streams, random, false);
    std::map<std::string, std::string> by_label;
    std::istringstream records(shown);
    std::string record;
    std::getline(records, record, '\x1e');
    EXPECT_EQ(record, "");
    while (std::getline(records, record, '\x1e')) {
      const size_t end = record.find('\x1f');
      ASSERT_NE(end, std::string::npos);
      by_label[record.substr(0, end)] += record.substr(end + 1);
    }
    for (int i = 0; i < kRanks * kStreams; ++i) {
      const std::string label = std::to_string(i / kStreams) + (i % kStreams == 0 ? "/stdout" : "/stderr");
      EXPECT_TRUE(by_label[label] == streams[static_cast<size_t>(i)]) << label << " seed " << seed;
    }
  }
}

/// With pauses, a terminal shows partial lines, and dlaunch may insert '\n' before the record of another stream. But
/// each line has bytes of one stream only, and without newlines each stream is complete.
TEST(Property, PlainLinesDoNotMix) {
  for (unsigned seed = 11; seed <= 14; ++seed) {
    std::mt19937 random(seed);
    const auto streams = random_streams(random);
    OutputFixture fixture({}, kRanks, true, true, seed % 2 == 0);
    const std::string shown = play(fixture, streams, random, true);
    std::istringstream lines(shown);
    std::array<std::ptrdiff_t, 256> letters{};
    for (std::string line; std::getline(lines, line);) {
      char owner = 0;
      bool mixed = false;
      for (const char c : line) {
        if (c == '\r') owner = 0;
        if (c < 'a' || c > 'z') continue;
        mixed = mixed || (owner != 0 && owner != c);
        owner = c;
        ++letters[static_cast<unsigned char>(c)];
      }
      ASSERT_FALSE(mixed) << "a line of two streams, seed " << seed;
    }
    for (int i = 0; i < kRanks * kStreams; ++i) {
      const auto& stream = streams[static_cast<size_t>(i)];
      const char letter = static_cast<char>('a' + i);
      EXPECT_EQ(letters[static_cast<unsigned char>(letter)], std::count(stream.begin(), stream.end(), letter));
    }
  }
}

TEST(Property, JsonlPiecesJoinToTheStreams) {
  std::mt19937 random(21);
  const auto streams = random_streams(random);
  OutputSettings settings;
  settings.mode = Mode::jsonl;
  OutputFixture fixture(settings, kRanks);
  std::istringstream lines(play(fixture, streams, random, true));
  std::vector<std::string> joined(streams.size());
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    const size_t i = object.at("rank").get<size_t>() * kStreams + (object.at("stream") == "stderr" ? 1 : 0);
    joined[i] += object.at("text").get<std::string>() + (object.value("eol", true) ? "\n" : "");
  }
  EXPECT_TRUE(joined == streams);
}

}  // namespace
}  // namespace dlaunch::output
