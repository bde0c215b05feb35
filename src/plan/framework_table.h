// A framework, with its name and the variables that it reads. framework_table.cpp has a row for each and is the one
// place to add one. The values are static.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/request.h"

namespace dlaunch::plan {

/// The ports on a host that a job may need: one of each of the first four on rank 0's, and one for each local rank.
enum class Port { master, jax, horovod, scheduler, first_of_ranks };

/// What is the same for all ranks.
struct FrameworkJob {
  int size = 1;
  int hosts = 1;
  int slots = 1;                    ///< in all hosts together
  int most_local = 1;               ///< ranks on the host that has most
  std::string id = {};              ///< the job's
  std::string address = {};         ///< of rank 0's host, as all ranks reach it
  std::string master_port = {};     ///< on rank 0's host, as the next three
  std::string jax_address = {};     ///< host:port
  std::string horovod_port = {};    ///< there
  std::string scheduler_port = {};  ///< there
  std::string addresses = {};       ///< of each host, separated by commas, rank 0's first
  std::string workers = {};         ///< of each rank, "host:port", separated by commas
  std::string number = {};          ///< the job's id as a number
  int round = 0;
  int restarts = 0;
};

struct FrameworkRank {
  int rank = 0;
  int local_rank = 0;
  int local_size = 1;
  int host = 0;          ///< index among the hosts in the order of their first rank
  int device_index = 0;  ///< the device's number for a program that takes its local rank for it
  int cross_rank = 0;    ///< index among the ranks with this local rank
  int cross_size = 1;    ///< number of these ranks
  std::string host_name = {};
  std::optional<int> ordinal = {};  ///< Rank::ordinal
};

class Entries {
 public:
  void set(std::string_view name, std::string_view value);
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }
  /// Where the program's environment has no such variable.
  void set_if_unset(std::string_view name, std::string_view value) {
    defaults_.push_back(std::string(name).append("=").append(value));
  }
  const std::vector<std::string>& list() const { return list_; }
  const std::vector<std::string>& defaults() const { return defaults_; }

 private:
  std::vector<std::string> list_;  // NAME=VALUE, no name twice
  std::vector<std::string> defaults_;
};

struct FrameworkSpec {
  Framework framework;
  std::string_view name;
  void (*shared)(const FrameworkJob&, Entries&);                     ///< the same for all ranks
  void (*own)(const FrameworkJob&, const FrameworkRank&, Entries&);  ///< for one rank alone
  bool rendezvous = false;                                           ///< ranks rendezvous at rank 0's host
  bool names_all_hosts = false;                                      ///< tells each rank the address of every host
  std::string_view sidecar = {};                                     ///< name of its process beside the ranks
  void (*beside)(Entries&) = nullptr;  ///< what the sidecar has in place of a rank's own variables
  std::span<const std::string_view> server =
      {};  ///< argv of a sidecar that is a server; empty: it runs the ranks' program
};

std::span<const FrameworkSpec> framework_table();

const FrameworkSpec& spec_of(Framework framework);

}  // namespace dlaunch::plan
