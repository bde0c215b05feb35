// Where ranks run, as MPICH's family wants it told. PURE.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::pmi {

/// The value of PMI_process_mapping: "(vector,(FIRST_HOST,HOSTS,RANKS_PER_HOST),…)", blocks of ranks in their order,
/// begun again when they are used up. Empty when it would be longer than a value may be: then the ranks tell each other
/// their hosts' names.
std::string process_mapping(const std::vector<int>& host_of_rank);

}  // namespace dlaunch::pmi
