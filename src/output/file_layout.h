// The path of each stream's file: Open MPI's layout below a directory, or a template. Pure: computes names only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/output.h"

namespace dlaunch::output {

bool is_template(std::string_view target);

/// Checks the value of --output-filename for cli. Every directory is valid.
Result<void> check_file_template(std::string_view target);

/// Later rounds get new names: DIR/1/round.K/rank.N, or ".round.K" after a template without {round}. Later attempts
/// (RankFacts::attempt) do the same with "attempt.N", before the round. `files.target` must have passed
/// check_file_template(). `rank` is the number in the world, `ranks` the size of the world.
std::string file_path(const FileSettings& files, const RankFacts& facts, int rank, int ranks, Stream stream);

/// The directory of all files, without a slash at its end, which a job locks as a whole and --keep-logs renames; empty:
/// the files have a template, or an option for each stream.
std::string locked_directory(const FileSettings& files);

/// The common prefix of the paths of stack reports, next to the rank directories of a round. Several jobs may use the
/// directory of a template: the prefix then has the job's id. Empty for a device.
std::string stacks_base(const FileSettings& files, const RankFacts& facts);

/// The name of the new file that a report::FileClaim creates.
std::string claimed_name(const std::string& name);

/// As stacks_base(), next to the record of the job.
std::string record_stacks_base(const std::string& record, const RankFacts& facts);

/// Patterns for glob(3) that match all ranks' files of the attempt. Only for templates, and not for files that are
/// appended to.
std::vector<std::string> attempt_patterns(const FileSettings& files, int attempt);

/// Whether --ranks and --local-ranks select the rank for the console. `rank` is the number in the world.
bool on_console(const OutputSettings& settings, const RankFacts& facts, int rank);

/// A stream with lines on the console that are not in a file; nullopt: files have all lines of the console.
std::optional<Stream> shown_without_file(const OutputSettings& settings);

/// The directory or the template of the stream's files of a round, for a message.
std::string files_place(const FileSettings& files, const RankFacts& facts, Stream stream);

/// The number of the world's ranks, without a sidecar.
int count_ranks(const std::vector<RankFacts>& all, int world = 1);

/// Whether a rank's stdout and stderr go to one file.
bool streams_share_file(const FileSettings& files);

/// Whether several ranks of world 1 may share a file, line by line: with --stdout-file and --stderr-file, if a name has
/// no field of the rank or both names are equal.
bool may_be_shared(const FileSettings& files);

enum class Sharing { never, where_meant };  // where_meant: allowed if may_be_shared()

/// An Error if two ranks would write the same file and `sharing` does not allow this. The hint names the missing field
/// of the template.
Result<void> check_one_rank_a_file(const FileSettings& files, const std::vector<RankFacts>& ranks,
                                   Sharing sharing = Sharing::where_meant);

}  // namespace dlaunch::output
