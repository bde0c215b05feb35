#include "ascend/ranktable_arguments.h"

#include <numeric>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "cli/help.h"
#include "cli/option_parser.h"

namespace dlaunch::ascend {
namespace {

using ranktable::Product;
using ranktable::Version;
using Take = std::function<Result<void>(const cli::ParsedOption&)>;

constexpr std::string_view kNotes =
    "Option names may start with one dash or two, and may have - instead of _.\n"
    "Exit codes: 0 success; 1 check found a broken rule, or a file cannot be written; 2 wrong usage, or a file cannot "
    "be "
    "read; 125 a host cannot be reached.\n"
    "dlaunch ranktable COMMAND --help prints the output and an example of each command. docs/rank-tables.md lists the "
    "rules.\nTo run a program named ranktable, use dlaunch -- ranktable.";

constexpr std::string_view kMakeNotes =
    "Without -H or --hostfile the table describes this host. Agents read the addresses of other hosts.\n\n"
    "Output: the path of the table; with -o -, the table itself.\n"
    "Exit codes: 0 the table was written; 1 the file cannot be written; 2 wrong usage, an address is unknown, or the "
    "table would break a rule; 125 a host cannot be reached.\n\n"
    "Examples:\n"
    "  dlaunch ranktable make --device_num \"[0,8)\"\n"
    "  dlaunch ranktable make --hostfile hosts";

constexpr std::string_view kCheckNotes =
    "Output, one line per broken rule, then one line per file:\n"
    "  FILE:LINE:COLUMN: JSON-PATH RULE\n"
    "  FILE: valid: version 1.0, 2 servers, 16 ranks\n"
    "Exit codes: 0 no rule is broken; 1 a rule is broken; 2 wrong usage, or a file cannot be read.\n\n"
    "Example:\n"
    "  dlaunch ranktable check hccl_8p.json";

constexpr std::string_view kMergeNotes =
    "Output: the path of the merged table; with -o -, the table itself.\n"
    "Exit codes: 0 the table was written; 1 the file cannot be written; 2 wrong usage, a file cannot be read, or the "
    "table would break a rule.\n\n"
    "Example:\n"
    "  dlaunch ranktable merge hccl_8p_node1.json hccl_8p_node2.json";

tl::unexpected<Error> refuse(const std::string& where, std::string what, std::string hint) {
  return fail({.where = where, .what = std::move(what), .why = "", .hint = std::move(hint)});
}

Take text_into(std::string& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    if (given.value.empty()) return refuse("", "missing value", "run dlaunch ranktable --help");
    into = given.value;
    return {};
  };
}

Take text_into(std::optional<std::string>& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    into = given.value;
    return {};
  };
}

Take product_into(std::optional<Product>& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    into = ranktable::parse_product(given.value);
    if (!into) return refuse("", "invalid value \"" + given.value + "\": expected 910, a2, a3 or 950", "");
    return {};
  };
}

Take version_into(Version& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    const auto version = ranktable::parse_version(given.value);
    if (!version) return refuse("", "invalid value \"" + given.value + "\": expected 1.0, 1.2 or 2.0", "");
    into = *version;
    return {};
  };
}

Take numbers_into(std::vector<long>& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    for (const std::string& part : split(given.value, ',')) {
      const auto number = parse_int(trim(part), 0, 4294967295);
      if (!number) return refuse("", "invalid list \"" + given.value + "\": expected numbers such as 0,1,2,3", "");
      into.push_back(*number);
    }
    return {};
  };
}

/// Keeps the option and its value for the parser of a job's options.
Take words_into(std::vector<std::string>& into) {
  return [&into](const cli::ParsedOption& given) -> Result<void> {
    into.push_back(cli::dashes_for_underscores(given.spelled));
    into.push_back(given.value);
    return {};
  };
}

/// Rejects options without an effect on a table of the version.
Result<void> check_effects(const RanktableMake& make) {
  const auto needs = [](bool given, const char* option, const char* version) -> Result<void> {
    if (!given) return {};
    return refuse("", std::string(option) + " requires --version " + version, std::string("add --version ") + version);
  };
  if (make.version != Version::v2_0) {
    TRY(needs(!make.root_info.empty(), "--rootinfo", "2.0"));
  } else if (make.root_info.empty()) {
    return refuse("", "--version 2.0 requires --rootinfo: the root information contains the addresses",
                  "add --rootinfo /etc/hccl_rootinfo.json");
  }
  if (!make.job_words.empty()) {
    const auto of_one = [](bool given, const char* option) -> Result<void> {
      if (!given) return {};
      return refuse("", std::string(option) + " conflicts with a list of hosts: each host has its own value",
                    "remove one of them");
    };
    TRY(of_one(!make.server_ip.empty(), "--server_ip"));
    TRY(of_one(!make.super_pod_id.empty(), "--super_pod_id"));
  }
  if (make.version == Version::v1_2) {
    if (make.super_pod_id.empty() == make.super_device_ids.empty()) return {};
    return refuse("",
                  make.super_pod_id.empty() ? "--super_device_ids requires --super_pod_id"
                                            : "--super_pod_id requires --super_device_ids",
                  "set both options, or neither for a table without super pods");
  }
  TRY(needs(!make.super_pod_id.empty(), "--super_pod_id", "1.2"));
  return needs(!make.super_device_ids.empty(), "--super_device_ids", "1.2");
}

cli::CommandSpec::Option option(std::string_view names, std::string_view value_name, std::string_view standard,
                                std::string_view help, Take take) {
  return {{.names = names, .takes = cli::Arity::value, .value_name = value_name, .standard = standard, .help = help},
          std::move(take)};
}

cli::CommandSpec::Option product_option(std::optional<Product>& into) {
  return option("product", "910|a2|a3|950", "910 for 1.0, a3 for 1.2, 950 for 2.0",
                "check the devices with the rules of this product", product_into(into));
}

cli::CommandSpec::Option output_option(std::string& into) {
  return option("o output", "PATH", "the current directory", "write to this file or directory; - means stdout",
                text_into(into));
}

cli::CommandSpec make_command(RanktableMake& make) {
  cli::CommandSpec command{
      .name = "make",
      .usage = "[options]",
      .what = "make the rank table of this host or of several hosts, and print the path of the file",
      .options = {option("device_num", "RANGE", "[0,8)", "use these devices: \"[4,8)\", 4-7 or 0,2",
                         text_into(make.device_num)),
                  option("visible_devices", "LIST", "",
                         "physical ids of the devices; --device_num selects positions in this list, from 0",
                         text_into(make.visible_devices)),
                  option("server_ip", "IP", "address of the first interface, except loopback and docker",
                         "use this address as the server_id", text_into(make.server_ip)),
                  option("version", "1.0|1.2|2.0", "1.0", "write a table of this version", version_into(make.version)),
                  product_option(make.product),
                  option("hccn-conf", "FILE", "/etc/hccn.conf",
                         "read addresses from FILE if hccn_tool does not print them", text_into(make.hccn_conf)),
                  option("super_pod_id", "ID", "",
                         "version 1.2: id of the super pod, as npu-smi info -t spod-info prints it",
                         text_into(make.super_pod_id)),
                  option("super_device_ids", "LIST", "", "version 1.2: super device ids, in the order of the devices",
                         numbers_into(make.super_device_ids)),
                  option("rootinfo", "FILE", "", "version 2.0: root information of the host, /etc/hccl_rootinfo.json",
                         text_into(make.root_info)),
                  output_option(make.output)},
      .notes = kMakeNotes};
  for (const char* name : {"host", "hostfile", "exec", "transport", "host-key", "agent-path", "wait-hosts"}) {
    command.options.push_back({*cli::find_option(name).spec, words_into(make.job_words)});
  }
  return command;
}

}  // namespace

cli::CommandSpec ranktable_command(RanktableTargets& targets) {
  return {.name = "ranktable",
          .usage = "make|check|merge [args]",
          .what = "make, check or merge rank tables of Ascend devices",
          .commands = {make_command(targets.make),
                       {.name = "check",
                        .usage = "FILE... [options]",
                        .what = "check rank tables, and print each broken rule with its line",
                        .options = {product_option(targets.check.product)},
                        .operands = &targets.check.files,
                        .notes = kCheckNotes},
                       {.name = "merge",
                        .usage = "FILE... [options]",
                        .what = "merge the tables of several hosts, and print the path of the file",
                        .options = {output_option(targets.merge.output), product_option(targets.merge.product)},
                        .operands = &targets.merge.files,
                        .notes = kMergeNotes}},
          .notes = kNotes};
}

Result<RanktableCommand> parse_ranktable(const std::vector<std::string>& args) {
  RanktableTargets targets;
  const cli::CommandSpec root = ranktable_command(targets);
  const auto chosen = TRY(cli::parse_command(root, "dlaunch ranktable", args));
  if (chosen.help) return RanktableHelp{cli::help_text(*chosen.command, chosen.path)};
  if (chosen.command->name == "check") return std::move(targets.check);
  if (chosen.command->name == "merge") return std::move(targets.merge);
  TRY(check_effects(targets.make));
  return std::move(targets.make);
}

}  // namespace dlaunch::ascend

namespace dlaunch::ranktable {
namespace {

constexpr int kMostDevices = 64;
constexpr const char* kNumbers = "--device_num";
constexpr const char* kVisible = "--visible_devices";

Error refused(const char* option, std::string what, std::string hint) {
  return {.where = option, .what = std::move(what), .why = "", .hint = std::move(hint)};
}

std::vector<long> range(long first, long end) {
  std::vector<long> numbers(static_cast<size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Result<std::vector<long>> parse_numbers(const std::string& text) {
  const std::string_view word = trim(text);
  if (!word.starts_with('[')) {
    const auto list = parse_int_list(word, kMostDevices - 1);
    if (!list || list->empty()) {
      return fail(
          refused(kNumbers, "invalid device range \"" + text + "\": expected \"[0,8)\", \"0-7\" or \"0,2\"", ""));
    }
    return std::vector<long>(list->begin(), list->end());
  }
  const auto parts = split(word.substr(1, word.size() - 2), ',');
  const auto number = [&](size_t i) { return parse_int(trim(parts[i]), 0, kMostDevices); };
  if (!word.ends_with(')') || parts.size() != 2 || !number(0) || !number(1)) {
    return fail(refused(kNumbers, "invalid device range \"" + text + "\": expected two numbers such as \"[0,8)\"",
                        "write \"[0,8)\" for devices 0 to 7: the second number is not included"));
  }
  if (*number(0) >= *number(1)) {
    return fail(refused(kNumbers, "invalid device range \"" + text + "\": expected at least 1 device",
                        "write \"[0,1)\" for device 0: the second number is not included"));
  }
  return range(*number(0), *number(1));
}

Result<std::vector<long>> parse_visible(const std::string& text) {
  std::vector<long> devices;
  std::set<long> seen;
  for (const std::string& part : split(text, ',')) {
    const auto device = parse_int(trim(part), 0, kMostDevices);
    if (!device)
      return fail(refused(kVisible, "invalid device list \"" + text + "\": expected numbers such as 4,5,6,7", ""));
    if (!seen.insert(*device).second)
      return fail(refused(kVisible, "duplicate device \"" + std::to_string(*device) + "\"", "write each device once"));
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace

Result<ChosenDevices> choose_devices(const std::optional<std::string>& numbers,
                                     const std::optional<std::string>& visible) {
  const auto shown = TRY(visible ? parse_visible(*visible) : Result<std::vector<long>>(range(0, kMostDevices)));
  const auto count = visible ? static_cast<long>(shown.size()) : 8L;
  const auto chosen = TRY(numbers ? parse_numbers(*numbers) : Result<std::vector<long>>(range(0, count)));
  ChosenDevices result{.numbers = chosen, .devices = {}};
  for (const long number : chosen) {
    if (number >= static_cast<long>(shown.size())) {
      return fail(refused(kNumbers,
                          "invalid device \"" + std::to_string(number) + "\": expected 0 to " +
                              std::to_string(shown.size() - 1) + ", the positions in --visible_devices " + *visible,
                          "write \"[0," + std::to_string(shown.size()) + ")\" for all devices of --visible_devices"));
    }
    result.devices.push_back((shown)[static_cast<size_t>(number)]);
  }
  return result;
}

}  // namespace dlaunch::ranktable
