#include "cli/ranktable_arguments.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "cli/command_spec.h"
#include "cli/help.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

using ranktable::Product;
using ranktable::Version;
using Take = std::function<Result<void>(const ParsedOption&)>;

tl::unexpected<Error> refuse(const std::string& where, std::string what, std::string hint) {
  return fail({.where = where, .what = std::move(what), .why = "", .hint = std::move(hint)});
}

Take text_into(std::string& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    if (given.value.empty()) return refuse("", "wants a value", "dlaunch ranktable --help lists the options");
    into = given.value;
    return {};
  };
}

Take text_into(std::optional<std::string>& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    into = given.value;
    return {};
  };
}

Take product_into(std::optional<Product>& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    into = ranktable::parse_product(given.value);
    if (!into) return refuse("", "there is no product \"" + given.value + "\"", "write 910, a2, a3 or 950");
    return {};
  };
}

Take version_into(Version& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    const auto version = ranktable::parse_version(given.value);
    if (!version) return refuse("", "there is no version \"" + given.value + "\"", "write 1.0, 1.2 or 2.0");
    into = *version;
    return {};
  };
}

Take numbers_into(std::vector<long>& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    for (const std::string& part : split(given.value, ',')) {
      const auto number = parse_int(trim(part), 0, 4294967295);
      if (!number) return bad_value(given.value, "is no list of numbers", "write 0,1,2,3");
      into.push_back(*number);
    }
    return {};
  };
}

/// For the parser of a job's options.
Take words_into(std::vector<std::string>& into) {
  return [&into](const ParsedOption& given) -> Result<void> {
    std::string option = given.spelled;
    std::ranges::replace(option, '_', '-');
    into.push_back(std::move(option));
    into.push_back(given.value);
    return {};
  };
}

/// Refuses an option that the version has no use for.
Result<void> check_effects(const RanktableMake& make) {
  const auto needs = [](bool given, const char* option, const char* version) -> Result<void> {
    if (!given) return {};
    return refuse(option, std::string("belongs to --version ") + version, std::string("add --version ") + version);
  };
  if (make.version != Version::v2_0) {
    TRY(needs(!make.root_info.empty(), "--rootinfo", "2.0"));
  } else if (make.root_info.empty()) {
    return refuse("--version 2.0", "its addresses are in no file that dlaunch would read by itself",
                  "name the host's root information: --rootinfo /etc/hccl_rootinfo.json");
  }
  if (!make.job_words.empty()) {
    const auto of_one = [](bool given, const char* option) -> Result<void> {
      if (!given) return {};
      return refuse(option, "does not go with a list of hosts: each has its own", "leave one of them out");
    };
    TRY(of_one(!make.server_ip.empty(), "--server_ip"));
    TRY(of_one(!make.super_pod_id.empty(), "--super_pod_id"));
  }
  if (make.version == Version::v1_2) {
    if (make.super_pod_id.empty() == make.super_device_ids.empty()) return {};
    return refuse("--super_pod_id", "goes with --super_device_ids",
                  "give both, or neither for a table without super pods");
  }
  TRY(needs(!make.super_pod_id.empty(), "--super_pod_id", "1.2"));
  return needs(!make.super_device_ids.empty(), "--super_device_ids", "1.2");
}

CommandSpec::Option option(std::string_view names, std::string_view value_name, std::string_view standard,
                           std::string_view help, Take take) {
  return {{.names = names, .takes = Arity::value, .value_name = value_name, .standard = standard, .help = help},
          std::move(take)};
}

CommandSpec::Option product_option(std::optional<Product>& into) {
  return option("product", "910|a2|a3|950", "910 for 1.0, a3 for 1.2, 950 for 2.0", "whose rules hold",
                product_into(into));
}

CommandSpec::Option output_option(std::string& into) {
  return option("o output", "PATH", "the directory we are in", "a file, a directory, or - for stdout", text_into(into));
}

CommandSpec make_command(RanktableMake& make) {
  CommandSpec command{
      .name = "make",
      .usage = "[options]",
      .what = "make this host's rank table, or one of several, print the file's path",
      .options = {
          option("device_num", "RANGE", "[0,8)", "devices: \"[4,8)\", 4-7 or 0,2", text_into(make.device_num)),
          option("visible_devices", "LIST", "", "physical ids, in which --device_num counts from 0",
                 text_into(make.visible_devices)),
          option("server_ip", "IP", "of the first interface that is not loopback or docker's", "server_id",
                 text_into(make.server_ip)),
          option("version", "1.0|1.2|2.0", "1.0", "the table's version", version_into(make.version)),
          product_option(make.product),
          option("hccn-conf", "FILE", "/etc/hccn.conf", "for devices that hccn_tool does not know",
                 text_into(make.hccn_conf)),
          option("super_pod_id", "ID", "", "version 1.2 with super pods; as npu-smi info -t spod-info says it",
                 text_into(make.super_pod_id)),
          option("super_device_ids", "LIST", "", "of the chosen devices, in their order",
                 numbers_into(make.super_device_ids)),
          option("rootinfo", "FILE", "", "version 2.0: the host's /etc/hccl_rootinfo.json", text_into(make.root_info)),
          output_option(make.output)}};
  for (const char* name : {"host", "hostfile", "exec", "transport", "host-key", "agent-path", "wait-hosts"}) {
    command.options.push_back({*find_option(name).spec, words_into(make.job_words)});
  }
  return command;
}

}  // namespace

Result<RanktableCommand> parse_ranktable(const std::vector<std::string>& args) {
  RanktableMake make;
  RanktableCheck check;
  RanktableMerge merge;
  const CommandSpec root{.name = "ranktable",
                         .usage = "make|check|merge",
                         .what = "rank tables of Ascend devices",
                         .commands = {make_command(make),
                                      {.name = "check",
                                       .usage = "FILE... [options]",
                                       .what = "list the rules that a table breaks, and where",
                                       .options = {product_option(check.product)},
                                       .operands = &check.files},
                                      {.name = "merge",
                                       .usage = "FILE... [options]",
                                       .what = "make one table of several hosts' tables, print the file's path",
                                       .options = {output_option(merge.output), product_option(merge.product)},
                                       .operands = &merge.files}},
                         .notes =
                             "Names may have one dash or two, and - for _.\nExit codes: 0 all is well; 1 a rule is "
                             "broken, or the file cannot be written; 2 wrong "
                             "usage, or a file cannot\nbe read."};
  const auto chosen = TRY(parse_command(root, "dlaunch ranktable", args));
  if (chosen.help) return RanktableHelp{help_text(*chosen.command, chosen.path)};
  if (chosen.command->name == "check") return check;
  if (chosen.command->name == "merge") return merge;
  TRY(check_effects(make));
  return make;
}

}  // namespace dlaunch::cli
