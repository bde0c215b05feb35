// HiddenLines: lines that --console-rate hid, until the file of each line has the line. Pure. Owned by RankFiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace dlaunch::output {

class HiddenLines {
 public:
  /// `upto`: the number of bytes that were given to all files until then, with these lines.
  void add(std::uint32_t file, std::uint64_t upto, std::uint64_t lines) {
    if (!waiting_.empty() && waiting_.back().file == file && waiting_.back().upto == upto) {
      waiting_.back().lines += lines;
    } else {
      waiting_.push_back({file, upto, lines});
    }
  }
  /// As add(), for lines that the file's channel did not give to the file yet.
  void hold(std::uint32_t file, std::uint64_t lines) { held_[file] += lines; }
  bool holds() const { return !held_.empty(); }
  /// The channel has given all its lines, with the first `upto` bytes.
  void gave(std::uint32_t file, std::uint64_t upto) {
    if (const auto held = held_.extract(file)) add(file, upto, held.mapped());
  }
  /// The first `upto` bytes are in the files.
  void written(std::uint64_t upto) {
    while (!waiting_.empty() && waiting_.front().upto <= upto) waiting_.pop_front();
  }
  /// Only bytes of the first `upto` are in the file, or in all files.
  void lose(std::uint64_t upto, std::optional<std::uint32_t> file = {}) {
    std::erase_if(waiting_, [&](const Unit& unit) {
      const bool lost = unit.upto > upto && (!file || unit.file == *file);
      if (lost) lost_ += unit.lines;
      return lost;
    });
    std::erase_if(held_, [&](const auto& held) {
      const bool lost = !file || held.first == *file;
      if (lost) lost_ += held.second;
      return lost;
    });
  }
  /// The number of lines that are neither on the console nor in a file. Too high if a file has a part of a lost unit.
  std::uint64_t lost() const { return lost_; }

 private:
  struct Unit {
    std::uint32_t file;
    std::uint64_t upto;
    std::uint64_t lines;
  };
  std::deque<Unit> waiting_;                     // ordered by `upto`
  std::map<std::uint32_t, std::uint64_t> held_;  // lines by file
  std::uint64_t lost_ = 0;
};

}  // namespace dlaunch::output
