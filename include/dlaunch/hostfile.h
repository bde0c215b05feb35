// The hosts of a job: parsers of hostfiles and of the value of -H, and the allocation on this machine.
// docs/hostfile.md explains both formats.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::hosts {

inline constexpr int kMostSlots = 1'000'000;

/// One entry of a host list. Fields that the list does not set are empty.
struct HostEntry {
  std::string name = {};  ///< as written, without user and brackets
  std::optional<int> slots = {};
  bool slots_automatic = false;  ///< -H a:*: one slot per CPU
  int cpus = 0;                  ///< plan::Host::cpus
  std::optional<int> max_slots = {};
  std::optional<std::vector<int>> devices = {};
  plan::Reach reach = {};
  std::string wdir = {};
  std::vector<std::string> env = {};  ///< NAME=VALUE
  bool replacement = false;           ///< plan::Host::replacement
  int pool = 0;                       ///< number of the list of a program; 0: the list of the job
  std::string from = {};              ///< "hosts:3", "-H", or the variable of a batch system
};

/// Parses a hostfile: at least one entry, in the order of the file, with expanded ranges. Pure. `name` is the name of
/// the file, for errors ("name:line:column") and for HostEntry::from ("name:line").
///
/// Each line has a host (NAME, NAME:8 or user@node[01-16,20]) and any of these keys:
///
///   slots=N (cpu, count)    max_slots=N (max-slots, slots_max, …)    devices=0,2-3 or [4,8)
///   user=U (username)  port=N  identity=FILE  jump=HOST  agent=PATH  wdir=DIR  env.NAME=VALUE  spare
///
/// Blanks around '=' are allowed (but not after env.NAME=). Paths and values of variables may be quoted: "…". A comment
/// starts with #, // or /* before a word, or directly after a name or a number. Lines end in LF or CRLF.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name);

/// Parses the value of -H: at least one entry, in the given order, with expanded ranges. Pure. `where` of an Error is
/// empty: the caller adds the option as typed.
///
///   a:8,b:8   node[01-04]:8   a,a,b (one more slot per repetition)   user@[::1]:4   a:* (one slot per CPU)
///
/// A host without a number has 1 slot, as in Open MPI. Blanks around commas are allowed.
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// The user's request for hosts, after parsing and without any name lookup. dlaunch uses the first source that has
/// hosts: -H, --hostfile, a resource manager, --default-hostfile, this machine.
struct HostRequest {
  std::vector<HostEntry> list = {};              ///< -H; empty: not given
  std::vector<HostEntry> hostfile = {};          ///< empty: not given
  std::vector<HostEntry> default_hostfile = {};  ///< empty: not given
  bool no_local = false;                         ///< no rank runs on this machine
  std::string agent_path = {};                   ///< for hosts without agent=; empty: the launcher sends the agent
  std::optional<int> ssh_port = {};              ///< for hosts without port=
  std::string ssh_identity = {};                 ///< for hosts without identity=; empty: none
  bool ignore_resource_manager = false;
  bool fake = false;              ///< --fake-hosts: each host of `list` is this machine; names are not looked up
  std::vector<int> devices = {};  ///< --devices: ids to use on each host; empty: all devices
  std::string include = {};
  std::string exclude = {};
  std::vector<int> max_slots = {};  ///< one number for all hosts, or one for each host; empty: not given
  std::optional<int> fake_devices = {};
  bool count_cores = false;       ///< a host without a given number of slots gets one slot per core, even with devices
  bool one_slot_each = false;     ///< a host without a given number of slots gets one slot; repeated entries add slots
  bool slots_are_limits = false;  ///< sets Allocation::slots_are_limits, even if the user did not name a host
};

/// Reads the whole text of a file.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

/// Returns true if the request and the variables do not name a host. Does not query this machine.
bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment);

/// Queries this machine, and reads the resource manager's variables in `environment` (NAME=VALUE) if the user did not
/// name a host. `read_file` reads the files that these variables name.
Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file);

}  // namespace dlaunch::hosts

/// The old name of the namespace, for existing programs.
namespace dlaunch {
namespace allocate = hosts;
}
