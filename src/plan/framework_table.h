// Describes frameworks: their names and the variables for their ranks. To add a framework, add a value to Framework
// (dlaunch/request.h) and a row to framework_table.cpp. If two frameworks conflict, add a row to kHarmful
// (frameworks.cpp). If the framework has its own launcher, add the prefix of the launcher's variables to
// kNamesOfLaunchers (environment.cpp). The values are static.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The ports of a job on a host: the first four on rank 0's host, one of each; the last one per local rank.
enum class Port { master, jax, horovod, scheduler, first_of_ranks };

/// The values for all ranks.
struct FrameworkJob {
  int size = 1;
  int hosts = 1;
  int slots = 1;                    ///< total of all hosts
  int most_local = 1;               ///< ranks on the host with most ranks
  std::string id = {};              ///< id of the job
  std::string address = {};         ///< address of rank 0's host for all ranks
  std::string master_port = {};     ///< port on rank 0's host
  std::string jax_address = {};     ///< host:port
  std::string horovod_port = {};    ///< port on rank 0's host
  std::string scheduler_port = {};  ///< port on rank 0's host
  std::string addresses = {};       ///< one per host, separated by commas, rank 0's host first
  std::string ranks_of_hosts = {};  ///< numbers of ranks in the same order, as Slurm writes them: "2(x3),1"
  std::string_view order = {};      ///< of the ranks: Slurm's "block" or "cyclic"; empty: another order
  std::string workers = {};         ///< one "host:port" per rank, separated by commas
  std::string number = {};          ///< the job's id as a number
  int round = 0;
  int restarts = 0;
};

struct FrameworkRank {
  int rank = 0;
  int local_rank = 0;
  int local_size = 1;
  int host = 0;          ///< index among the hosts in the order of their first rank
  int device_index = 0;  ///< the device number for programs that use the local rank as device number
  int cross_rank = 0;    ///< index among the ranks with this local rank
  int cross_size = 1;    ///< number of these ranks
  std::string host_name = {};
  std::string_view host_ranks = {};  ///< the ranks of the host: "0,1"; empty if there are too many
  std::optional<int> ordinal = {};   ///< Rank::ordinal
};

class Entries {
 public:
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }
  /// Sets the variable only if the program's environment does not have it.
  void set_if_unset(std::string_view name, std::string_view value) {
    defaults_.push_back(std::string(name).append("=").append(value));
  }
  const std::vector<std::string>& list() const { return list_; }
  const std::vector<std::string>& defaults() const { return defaults_; }

 private:
  std::vector<std::string> list_;  // NAME=VALUE, unique names
  std::vector<std::string> defaults_;
};

struct FrameworkSpec {
  Framework framework;
  std::string_view name;
  void (*shared)(const FrameworkJob&, Entries&);                     ///< variables with the same value for all ranks
  void (*own)(const FrameworkJob&, const FrameworkRank&, Entries&);  ///< variables of one rank
  bool rendezvous = false;                                           ///< ranks connect to rank 0's host first
  bool names_all_hosts = false;                                      ///< each rank gets the addresses of all hosts
  std::string_view sidecar = {};                                     ///< name of its additional process
  void (*beside)(Entries&) = nullptr;  ///< sets the sidecar's variables instead of a rank's variables
  std::span<const std::string_view> server =
      {};  ///< argv of a server sidecar; empty: the sidecar runs the program of the ranks
};

std::span<const FrameworkSpec> framework_table();

const FrameworkSpec& spec_of(Framework framework);

}  // namespace dlaunch::plan
