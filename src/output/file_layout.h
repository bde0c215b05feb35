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

/// `files.target` must have passed check_file_template. `rank` is the number in the world, `ranks` that world's size.
std::string file_path(const FileSettings& files, const RankFacts& facts, int rank, int ranks, Stream stream);

/// The number of the world's ranks, without a sidecar.
int count_ranks(const std::vector<RankFacts>& all, int world = 1);

/// Whether a rank's stdout and stderr go to one file.
bool streams_share_file(const FileSettings& files);

/// An Error when two ranks would write one file; it names the field that the template lacks.
Result<void> check_one_rank_a_file(const FileSettings& files, const std::vector<RankFacts>& ranks);

}  // namespace dlaunch::output
