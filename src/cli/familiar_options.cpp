// Options of torchrun, srun, deepspeed, accelerate, horovodrun and msrun with exactly one meaning in dlaunch's own
// grammar. Their names have '-' between words; the parser accepts '_' too. mpirun's options have another table
// (grammars/mpirun/foreign_options.cpp).
#include "cli/name_index.h"
#include "cli/option_spec.h"

namespace dlaunch::cli {
namespace {

// clang-format off
constexpr OptionSpec kFamiliar[] = {
    {.names = "ntasks num-processes num-proc worker-num", .takes = Arity::value, .value_name = "N",
     .stands_for = "n={}"},
    {.names = "nproc-per-node ntasks-per-node tasks-per-node local-worker-num", .takes = Arity::value,
     .value_name = "N", .stands_for = "N={}"},
    {.names = "cpus-per-task", .takes = Arity::value, .value_name = "N", .stands_for = "cores-per-rank={}"},
    {.names = "nodelist", .takes = Arity::value, .value_name = "LIST", .stands_for = "host={}"},
    {.names = "machine-rank", .takes = Arity::value, .value_name = "I", .stands_for = "node-rank={}"},
    {.names = "log-dir", .takes = Arity::value, .value_name = "DIR", .stands_for = "output-filename={}"},
};
// clang-format on

constexpr auto kFamiliarNames = sorted_names<kFamiliar>();

}  // namespace

std::span<const OptionSpec> familiar_table() { return kFamiliar; }
std::span<const FoundOption> familiar_names() { return kFamiliarNames; }

}  // namespace dlaunch::cli
