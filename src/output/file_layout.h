// Which file a stream goes to: Open MPI's layout below a directory, or a template's. Pure: computes names only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/output.h"
#include "output/output.h"

namespace dlaunch::output {

bool is_template(std::string_view target);

/// Checks --output-filename's value for cli. Every directory is valid.
Result<void> check_file_template(std::string_view target);

/// A later round than the first one never has a name of an earlier one's: DIR/1/round.K/rank.N, and behind a template
/// without {round} ".round.K". So it is with a later attempt (RankFacts::attempt), whose part comes first.
/// `files.target` must have passed check_file_template. `rank` is the number in the world, `ranks` that world's size.
std::string file_path(const FileSettings& files, const RankFacts& facts, int rank, int ranks, Stream stream);

/// What the paths of files of all ranks' stacks begin with: such a file is beside the directories of the ranks of a
/// round.
std::string stacks_base(const FileSettings& files, const RankFacts& facts);

/// Patterns, as of glob(3), for the paths of templates' files of that attempt, whatever rank or host. None for those
/// that keep what they hold, nor for a directory.
std::vector<std::string> attempt_patterns(const FileSettings& files, int attempt);

/// Whether --ranks and --local-ranks let a rank's output reach the console. `rank` is the number in the world.
bool on_console(const OutputSettings& settings, const RankFacts& facts, int rank);

/// The number of the world's ranks, without a sidecar.
int count_ranks(const std::vector<RankFacts>& all, int world = 1);

/// Whether a rank's stdout and stderr go to one file.
bool streams_share_file(const FileSettings& files);

/// Whether several ranks of world 1 may have one file, in whole lines: those of --stdout-file and --stderr-file whose
/// name has no field of the rank, or that have the same name.
bool may_be_shared(const FileSettings& files);

enum class Sharing { never, where_meant };  // may_be_shared()

/// An Error when two ranks would write one file and may not; it names the field that the template lacks.
Result<void> check_one_rank_a_file(const FileSettings& files, const std::vector<RankFacts>& ranks,
                                   Sharing sharing = Sharing::where_meant);

}  // namespace dlaunch::output
