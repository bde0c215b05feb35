// Computes the prefix of each output line: the template of --label, or the tag and timestamp of Open MPI. Pure, except
// for the time zone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/output.h"

namespace dlaunch::output {

/// --label without a value. In kDefaultLabel and kSrunLabel the rank is right-aligned to the width of the highest rank
/// of world 1. Other templates do not pad.
inline constexpr std::string_view kDefaultLabel = "[{rank}] ";
inline constexpr std::string_view kSrunLabel = "{rank}: ";

/// Checks the template for cli. The Error of an unknown field names the most similar known field.
Result<void> check_label_template(std::string_view text);

/// The stream of a prefix.
struct StreamFacts {
  RankFacts host;
  int rank = 0;  ///< in its world
  int ranks = 1;
  Stream stream = Stream::out;
};

/// The streams of a line: one, or several of one world that wrote the same line (--fold), by ascending rank.
using Writers = std::span<const StreamFacts* const>;

std::string_view stream_name(Stream stream);

/// "rank 3", "rank 2:0" in a spawned world, or the name of the sidecar.
std::string writer_name(const StreamFacts& facts);

/// The prefix of one stream, or of several streams with the same line. Constant text is rendered once, times at most
/// once per millisecond.
class Prefix {
 public:
  Prefix() = default;  ///< an empty prefix

  /// Open MPI's forms: "[1,R]<stdout>:", "Fri Nov 20 12:22:31 2026<stdout>:", or both. Empty without
  /// --tag-output and --timestamp-output.
  static Prefix open_mpi(const OutputSettings& settings, Writers writers);
  static Prefix open_mpi(const OutputSettings& settings, const StreamFacts& facts) {
    return open_mpi(settings, std::array{&facts});
  }
  /// `text` must have passed check_label_template.
  static Prefix label(std::string_view text, Writers writers, bool color);
  static Prefix label(std::string_view text, const StreamFacts& facts, bool color) {
    return label(text, std::array{&facts}, color);
  }

  void append(const Prefix& other);
  bool empty() const { return parts_.empty(); }

  /// Valid until the next call.
  std::string_view render(std::int64_t wall_ns);

 private:
  struct Part {
    enum class Kind { text, iso_time, ctime } kind = Kind::text;
    std::string text;
  };
  void add_text(std::string_view text);
  void add_time(Part::Kind kind) { parts_.push_back({kind, ""}); }

  std::vector<Part> parts_;
  std::string rendered_;
  std::int64_t rendered_ms_ = INT64_MIN;
};

}  // namespace dlaunch::output
