// Which hosts a job may use: a hostfile, a list as -H takes it, and the allocation that they give on this machine.
// docs/hosts.md explains both formats.
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

/// One host of a list, with what the list says of it and nothing else.
struct HostEntry {
  std::string name = {};  ///< as written, without user and brackets
  std::optional<int> slots = {};
  bool slots_automatic = false;  ///< -H a:*: as many as the host has CPUs
  int cpus = 0;                  ///< plan::Host::cpus
  std::optional<int> max_slots = {};
  std::optional<std::vector<int>> devices = {};
  plan::Reach reach = {};
  std::string wdir = {};
  std::vector<std::string> env = {};  ///< NAME=VALUE
  bool replacement = false;           ///< plan::Host::replacement
  int pool = 0;                       ///< number of the program's own list that it is in; 0: the job's list
  std::string from = {};              ///< "hosts:3", "-H", "SLURM_JOB_NODELIST"
};

/// Parses the text of a hostfile into entries in its order, ranges expanded, at least one. Pure. `name` is the file's,
/// for errors ("name:line:column") and for HostEntry::from ("name:line"). Each line has a host, as NAME, NAME:8 or
/// user@node[01-16,20], and then any of
///   slots=N (cpu, count)    max_slots=N (max-slots, slots_max, …)    devices=0,2-3 or [4,8)
///   user=U (username)  port=N  identity=FILE  jump=HOST  agent=PATH  wdir=DIR  env.NAME=VALUE  spare
/// Blanks may stand around '=' (but not after env.NAME=). A path or a variable's value may stand in "…". A comment
/// begins with #, // or /* where a word may begin and right after a name or a number. Lines end in LF or CRLF.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name);

/// Parses the value of -H into entries in its order, ranges expanded, at least one. Pure. An Error has no `where`: the
/// caller adds the option as typed.
///   a:8,b:8   node[01-04]:8   a,a,b (each time a slot more)   user@[::1]:4   a:* (as many as it has CPUs)
/// A host without a number has 1 slot, as in Open MPI. Blanks around commas are allowed.
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// What the user asked about hosts, parsed but not yet looked up. The hosts come from -H, else --hostfile, else a
/// resource manager, else --default-hostfile, else this machine.
struct HostRequest {
  std::vector<HostEntry> list = {};              ///< -H; empty: not given
  std::vector<HostEntry> hostfile = {};          ///< empty: not given
  std::vector<HostEntry> default_hostfile = {};  ///< empty: not given
  bool no_local = false;                         ///< nothing runs on this machine
  std::string agent_path = {};                   ///< for hosts without an agent= of their own; empty: the agent is sent
  std::optional<int> ssh_port = {};              ///< for hosts without a port= of their own
  std::string ssh_identity = {};                 ///< for hosts without an identity= of their own; empty: none
  bool ignore_resource_manager = false;
  std::vector<HostEntry> of_manager = {};  ///< what a resource manager that must be asked says; empty: not asked
  bool fake = false;                       ///< this machine plays the hosts of `list`: no name in it is looked up
  bool by_manager = false;                 ///< a resource manager's own command starts the agents on its hosts
  std::vector<int> devices = {};           ///< for each host; empty: all that it has
  std::string include = {};
  std::string exclude = {};
  std::optional<int> max_slots = {};  ///< for every host
  std::optional<int> fake_devices = {};
  bool count_cores = false;       ///< a host whose slots nobody gave has one for each core, whatever its devices
  bool one_slot_each = false;     ///< a host whose slots nobody gave has one; repeated entries add up
  bool slots_are_limits = false;  ///< Allocation::slots_are_limits also for an unnamed local machine
};

/// Reads the whole text of a file.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

/// Whether the job uses this machine alone, as far as can be told without looking at it.
bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment);

/// Looks at this machine, and at the resource manager's variables in `environment` (NAME=VALUE) when the user named no
/// host. `read_file` reads PBS_NODEFILE.
Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file);

}  // namespace dlaunch::allocate
