// How the ranks' output is shown and kept. A value.
#pragma once

#include <optional>
#include <set>
#include <string>

namespace dlaunch::output {

enum class Stream : unsigned char { out = 0, err = 1 };
inline constexpr int kStreams = 2;

enum class Mode {
  lines,  ///< whole lines, never two ranks in one
  raw,    ///< bytes as they come
  jsonl,  ///< one JSON object a record
};

enum class Color { automatic, always, never };

/// --output-filename
struct FileSettings {
  std::string target = {};    ///< absolute directory (Open MPI's layout below it), or a template when it contains '{'
  bool copy = true;           ///< the console shows it too; false with :nocopy
  bool job_directory = true;  ///< DIR/1/rank.N; false with :nojobid (DIR/rank.N)
  std::string job = "1";      ///< {job} in a template

  // --stdout-file and --stderr-file: a template for each stream, which is shown, too, with :copy.
  bool by_stream = false;  ///< `target` is stdout's template, `err_target` stderr's; empty: the stream has no file
  std::string err_target = {};
  bool copy_err = false;  ///< `copy` is stdout's alone
  bool append = false;    ///< with :append stdout's file keeps what it holds
  bool append_err = false;
  bool appends(Stream stream) const { return by_stream && (stream == Stream::err ? append_err : append); }
  bool copies(Stream stream) const { return by_stream && stream == Stream::err ? copy_err : copy; }
  bool keeps(Stream stream) const { return !by_stream || !(stream == Stream::out ? target : err_target).empty(); }
  /// With :local=LIST only ranks with these numbers on their hosts have stdout's file; the others' is shown.
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
  bool merge_stderr = false;                        ///< ranks' stderr is the same file description as their stdout
  std::optional<std::set<int>> console_ranks = {};  ///< --ranks: those whose output reaches the console; none: all
  std::optional<std::set<int>> console_local_ranks = {};  ///< --local-ranks: the same by their numbers on their hosts
  std::optional<FileSettings> files = {};
  bool read_all = false;       ///< ranks write no file by themselves: all that they write passes here
  int keep_logs = 0;           ///< how many earlier jobs' directories of files are kept, as DIR.1, DIR.2, …
  bool pty = false;            ///< ranks' stdout (and stdin) are a terminal
  bool abort_on_error = true;  ///< a sink that cannot be written ends the job
};

}  // namespace dlaunch::output
