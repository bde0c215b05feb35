// The hosts of ranks in the format of the MPICH family. PURE.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::pmi {

/// The value of PMI_process_mapping: "(vector,(FIRST_HOST,HOSTS,RANKS_PER_HOST),…)": blocks of ranks in order, repeated
/// for further ranks. Empty above the limit of a value: then the ranks exchange the names of their hosts.
std::string process_mapping(const std::vector<int>& host_of_rank);

}  // namespace dlaunch::pmi
