// The words after `dlaunch ranktable`. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ascend/tables/rules.h"
#include "dlaunch/error.h"

namespace dlaunch::ascend {

struct RanktableHelp {
  std::string text;
};

struct RanktableCheck {
  std::vector<std::string> files;
  std::optional<ranktable::Product> product = {};
};

struct RanktableMerge {
  std::vector<std::string> files;
  std::string output = {};  ///< a file, a directory, "-" for stdout; empty: the working directory
  std::optional<ranktable::Product> product = {};
};

struct RanktableMake {
  std::optional<std::string> device_num = {};
  std::optional<std::string> visible_devices = {};
  std::string server_ip = {};  ///< empty: dlaunch finds the address
  ranktable::Version version = ranktable::Version::v1_0;
  std::optional<ranktable::Product> product = {};
  std::string hccn_conf = "/etc/hccn.conf";
  std::string root_info = {};
  std::string super_pod_id = {};
  std::vector<long> super_device_ids = {};  ///< for the chosen devices, in their order
  std::string output = {};
  std::vector<std::string> job_words = {};  ///< options of a job that select the hosts and the transport
};

using RanktableCommand = std::variant<RanktableHelp, RanktableCheck, RanktableMerge, RanktableMake>;

Result<RanktableCommand> parse_ranktable(const std::vector<std::string>& args);

}  // namespace dlaunch::ascend
