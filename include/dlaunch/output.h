// The options for showing and keeping the output of ranks. A value.
#pragma once

#include <optional>
#include <set>
#include <string>

namespace dlaunch::output {

enum class Stream : unsigned char { out = 0, err = 1 };
inline constexpr int kStreams = 2;

enum class Mode {
  lines,  ///< whole lines; each line is from one rank
  raw,    ///< bytes as they come
  jsonl,  ///< one JSON object per record
};

enum class Color { automatic, always, never };

/// --fold: the lines of several ranks that dlaunch prints only once.
enum class Fold {
  off,
  exact,    ///< equal bytes
  own,      ///< equal except for the rank's own numbers and names, and for a time stamp
  numbers,  ///< equal except for numbers
};

/// --group-output: the log viewer of a CI system that folds the lines of each rank.
enum class Groups { off, automatic, github, gitlab };

/// --output-filename
struct FileSettings {
  std::string target = {};    ///< absolute directory with Open MPI's layout, or, with '{', a template
  bool copy = true;           ///< the output is also shown on the console; false with :nocopy
  bool job_directory = true;  ///< DIR/1/rank.N; false with :nojobid (DIR/rank.N)
  std::string job = {};       ///< {job} in a template; run() sets the job ID

  // --stdout-file and --stderr-file: one template per stream; with :copy, the stream is also shown.
  bool by_stream = false;  ///< `target` and `err_target` are the templates of stdout and stderr; empty: no file
  std::string err_target = {};
  bool copy_err = false;  ///< as `copy`, for stderr; `copy` is for stdout
  bool append = false;    ///< :append: dlaunch keeps the old content of the file of stdout
  bool append_err = false;
  bool appends(Stream stream) const { return by_stream && (stream == Stream::err ? append_err : append); }
  bool copies(Stream stream) const { return by_stream && stream == Stream::err ? copy_err : copy; }
  bool keeps(Stream stream) const { return !by_stream || !(stream == Stream::out ? target : err_target).empty(); }
  /// :local=LIST: only ranks with these local ranks have a file for stdout; the stdout of other ranks is shown.
  std::optional<std::set<int>> local = {};
  std::optional<std::set<int>> local_err = {};
  bool keeps(Stream stream, int local_rank) const {
    const auto& only = stream == Stream::err ? local_err : local;
    return keeps(stream) && (!only || only->contains(local_rank));
  }
};

struct OutputSettings {
  Mode mode = Mode::lines;
  std::optional<std::string> label = {};  ///< --label's template; none: no label
  bool tag = false;                       ///< --tag-output, Open MPI's form
  bool timestamp = false;                 ///< --timestamp-output, Open MPI's form
  Color color = Color::automatic;
  std::optional<Fold> fold = {};  ///< none: exact on a terminal that shows more than 8 ranks, else off
  int console_rate = 0;           ///< --console-rate; 0: all lines. All lines of the console must also be in `files`
  bool bars = false;              ///< on a terminal with several ranks: Progress::bars replaces their progress bars
  Groups groups = Groups::off;    ///< the lines of each rank together; `automatic` counts as `off`
  bool merge_stderr = false;      ///< stderr and stdout of a rank are the same file description
  std::optional<std::set<int>> console_ranks = {};        ///< --ranks: ranks with output on the console; empty: all
  std::optional<std::set<int>> console_local_ranks = {};  ///< --local-ranks: as console_ranks, by local rank
  std::optional<FileSettings> files = {};
  bool read_all = false;       ///< ranks do not write into files directly: all output passes through the launcher
  int keep_logs = 0;           ///< number of kept directories of earlier jobs: DIR.1, DIR.2, …
  bool pty = false;            ///< stdout and stdin of ranks are a terminal
  bool abort_on_error = true;  ///< a failed write to a file or stream ends the job
};

}  // namespace dlaunch::output
