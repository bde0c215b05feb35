// Where ranks run, in the form that the MPICH family reads. PURE.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::pmi {

/// The value of PMI_process_mapping: "(vector,(FIRST_HOST,HOSTS,RANKS_PER_HOST),…)", blocks of ranks in their order,
/// which are repeated when they are used up. Empty when it would exceed a value's limit: then the ranks tell each other
/// their hosts' names.
std::string process_mapping(const std::vector<int>& host_of_rank);

}  // namespace dlaunch::pmi
