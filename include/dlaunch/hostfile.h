// Which hosts a job may use: a hostfile, a list as -H has it, and what becomes of them on this machine. docs/hosts.md
// has both forms and what each word of them means.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::allocate {

inline constexpr int kMostSlots = 1'000'000;

/// One host as a list names it: what was said, and nothing that was not.
struct HostEntry {
  std::string name = {};  ///< as written, never shortened; without user and brackets
  std::optional<int> slots = {};
  bool slots_automatic = false;  ///< -H a:*, the host's own number of CPUs
  std::optional<int> max_slots = {};
  std::optional<std::vector<int>> devices = {};
  plan::Reach reach = {};
  std::string wdir = {};
  std::vector<std::string> env = {};  ///< NAME=VALUE
  int pool = 0;                       ///< the program's own list that it stands in; 0: the job's
  std::string from = {};              ///< "hosts:3", "-H", "SLURM_JOB_NODELIST"
};

/// A hostfile's text: entries in its order, ranges expanded; one at least. Pure. `name` is for errors
/// ("name:line:column") and for HostEntry::from ("name:line"). A host a line: NAME, NAME:8 or user@node[01-16,20], then
/// any of
///   slots=N (cpu, count)    max_slots=N (max-slots, slots_max, …)    devices=0,2-3 or [4,8)
///   user=U (username)  port=N  identity=FILE  jump=HOST  agent=PATH  wdir=DIR  env.NAME=VALUE
/// Blanks may stand around '=' (but not after env.NAME=). A path or a variable's value may stand in "…". Comments are
/// #,
/// // and /* */ where a word may begin, and right after a name or a number. LF or CRLF.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name);

/// The value of -H: entries in the list's order, ranges expanded; one at least. Pure. An Error has no `where`: that is
/// the option as typed.
///   a:8,b:8   node[01-04]:8   a,a,b (each time a slot more)   user@[::1]:4   a:* (as many as it has CPUs)
/// Without a number a host has 1 slot, as in Open MPI. Blanks around commas are let pass.
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// Where the hosts come from: -H, else --hostfile, else a resource manager, else --default-hostfile, else this machine.
/// What the user asked, read but not yet looked at.
struct HostRequest {
  std::vector<HostEntry> list = {};              ///< -H; empty: not given
  std::vector<HostEntry> hostfile = {};          ///< empty: not given
  std::vector<HostEntry> default_hostfile = {};  ///< empty: not given
  bool no_local = false;                         ///< nothing runs on this machine
  std::string agent_path = {};  ///< of hosts that have no agent= of their own; empty: the agent is sent
  bool ignore_resource_manager = false;
  std::vector<int> devices = {};  ///< of each host; empty: all that it has
  std::string include = {};
  std::string exclude = {};
  std::optional<int> max_slots = {};  ///< for every host
  std::optional<int> fake_devices = {};
  bool count_cores = false;    ///< where nobody says its slots, a host has one for each core, and devices are no slots
  bool one_slot_each = false;  ///< where nobody says its slots, a host has one; an entry that comes again adds up
  bool slots_are_limits = false;  ///< also those of this machine that nobody named
};

/// A file's text, whole.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

/// Whether this machine alone is meant, as far as can be told without a look at it.
bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment);

/// Looks at this machine, and at the resource manager's variables in `environment` (NAME=VALUE) when the user named no
/// host. `read_file` reads PBS_NODEFILE.
Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file);

}  // namespace dlaunch::allocate
