// The words after `dlaunch ranktable`. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ascend/tables/rules.h"
#include "cli/option_parser.h"
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

/// The targets of the options of all commands.
struct RanktableTargets {
  RanktableMake make = {};
  RanktableCheck check = {};
  RanktableMerge merge = {};
};

/// `targets` must outlive the result.
cli::CommandSpec ranktable_command(RanktableTargets& targets);

Result<RanktableCommand> parse_ranktable(const std::vector<std::string>& args);

}  // namespace dlaunch::ascend

// Reads --device_num and --visible_devices with the meaning of hccl_tools.py, without its bugs. Pure.

namespace dlaunch::ranktable {

struct ChosenDevices {
  std::vector<long> numbers = {};  ///< the numbers of --device_num, for the file name
  std::vector<long> devices = {};  ///< physical ids, in the same order
};

/// `numbers`: "[4,8)" (without 8; blanks allowed), "4-7" or "0,2". `visible`: physical ids; `numbers` are then
/// positions in this list, from 0: "[0,2)" of "4,5,6,7" selects 4 and 5. Without `numbers`: all of `visible`, else
/// [0,8).
Result<ChosenDevices> choose_devices(const std::optional<std::string>& numbers,
                                     const std::optional<std::string>& visible);

}  // namespace dlaunch::ranktable
