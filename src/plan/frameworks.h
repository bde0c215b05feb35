// Sets the variables of frameworks for their rank and rendezvous (--env-for). Pure. framework_table.cpp has a row
// per framework; docs/environment.md is the page for users.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

std::string_view to_string(Framework framework);

/// The words that parse_frameworks() accepts.
std::vector<std::string> framework_names();

/// Parses "torch,jax", without duplicates. An Error has no `where`.
Result<std::vector<Framework>> parse_frameworks(std::string_view text);

/// The reason if these frameworks cannot share one environment, or conflict with `visible`; else nullopt.
std::optional<Error> refuse_combination(const std::vector<Framework>& frameworks, Visible visible);

/// Facts that only this machine can provide.
struct Rendezvous {
  std::string here;        ///< address of this machine for ranks on other hosts; used if needs_address()
  std::vector<int> ports;  ///< free TCP ports of this machine, ports_needed() of them
};

/// Whether a rank on another host gets an address of this machine.
bool needs_address(const Plan& plan);

/// How many TCP ports dlaunch must reserve on this machine for the plan's ranks.
int ports_needed(const Plan& plan);

/// A TCP port for the ranks' rendezvous on another host, chosen without checking for free ports. The port is outside
/// the kernel's ephemeral range and follows from the job id. Each `index` 0, 1, … gives a different port.
int unseen_port(std::string_view job_id, int index, int round = 0);

/// Adds the variables of the plan's frameworks. Keeps values of -x.
Result<Plan> with_frameworks(Plan plan, const Rendezvous& rendezvous);

}  // namespace dlaunch::plan
