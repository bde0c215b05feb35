// One framework: its name and the variables that it reads. The rows are in framework_table.cpp, which is the one place
// to add a framework. Values with static life.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/request.h"

namespace dlaunch::plan {

/// Of the ports at a host that a job may need: one each of the first four at rank 0's, and one for each local rank.
enum class Port { master, jax, horovod, scheduler, first_of_ranks };

/// What holds for all ranks.
struct FrameworkJob {
  int size = 1;
  int hosts = 1;
  int slots = 1;                    ///< of all hosts
  std::string address = {};         ///< of rank 0's host, as all ranks reach it
  std::string master_port = {};     ///< there
  std::string jax_address = {};     ///< host:port
  std::string horovod_port = {};    ///< there
  std::string scheduler_port = {};  ///< there
  std::string addresses = {};       ///< of each host, with commas, rank 0's first
  std::string workers = {};         ///< of each rank, "host:port" with commas
  std::string number = {};          ///< the job's id as a number
};

struct FrameworkRank {
  int rank = 0;
  int local_rank = 0;
  int local_size = 1;
  int host = 0;          ///< in the order of hosts by their first rank
  int device_index = 0;  ///< what a program takes for its device's number when it takes its local rank for it
  int cross_rank = 0;    ///< among the ranks with this local rank
  int cross_size = 1;    ///< how many these are
  std::string host_name = {};
  std::optional<int> ordinal = {};  ///< Rank::ordinal
};

class Entries {
 public:
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;  // NAME=VALUE, no name twice
};

struct FrameworkSpec {
  Framework framework;
  std::string_view name;
  void (*shared)(const FrameworkJob&, Entries&);                     ///< the same for all ranks
  void (*own)(const FrameworkJob&, const FrameworkRank&, Entries&);  ///< of a rank alone
  bool meets = false;                                                ///< at rank 0's host
  bool names_all_hosts = false;                                      ///< tells ranks the address of every host
  std::string_view sidecar = {};                                     ///< the name of a process beside the ranks
  void (*beside)(Entries&) = nullptr;                                ///< what it has in place of a rank's own
  std::string_view note = {};  ///< for Plan::notes; "{}" is the address and port where the ranks meet
};

std::span<const FrameworkSpec> framework_table();

const FrameworkSpec& spec_of(Framework framework);

}  // namespace dlaunch::plan
