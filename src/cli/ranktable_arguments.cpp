#include "cli/ranktable_arguments.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

using ranktable::Product;
using ranktable::Version;

tl::unexpected<Error> refuse(const std::string& where, std::string what,
                             std::string hint = "dlaunch ranktable --help lists the options") {
  return fail({.where = where, .what = std::move(what), .why = "", .hint = std::move(hint)});
}

/// What an option does with its value.
using Take = std::function<Result<void>(const std::string& option, const std::string& value)>;
using Options = std::map<std::string, Take>;

Take text_into(std::string& into) {
  return [&into](const std::string& option, const std::string& value) -> Result<void> {
    if (value.empty()) return refuse(option, "wants a value");
    into = value;
    return {};
  };
}

Take text_into(std::optional<std::string>& into) {
  return [&into](const std::string&, const std::string& value) -> Result<void> {
    into = value;
    return {};
  };
}

Take product_into(std::optional<Product>& into) {
  return [&into](const std::string& option, const std::string& value) -> Result<void> {
    into = ranktable::parse_product(value);
    if (!into) return refuse(option, "there is no product \"" + value + "\"", "write 910, a2, a3 or 950");
    return {};
  };
}

Take version_into(Version& into) {
  return [&into](const std::string& option, const std::string& value) -> Result<void> {
    const auto version = ranktable::parse_version(value);
    if (!version) return refuse(option, "there is no version \"" + value + "\"", "write 1.0, 1.2 or 2.0");
    into = *version;
    return {};
  };
}

Take numbers_into(std::vector<long>& into) {
  return [&into](const std::string& option, const std::string& value) -> Result<void> {
    for (const std::string& part : split(value, ',')) {
      const auto number = parse_int(trim(part), 0, 4294967295);
      if (!number) return refuse(option, "\"" + value + "\" is no list of numbers", "write 0,1,2,3");
      into.push_back(*number);
    }
    return {};
  };
}

/// For the parser of a job's options.
Take word_into(std::vector<std::string>& into) {
  return [&into](const std::string& option, const std::string& value) -> Result<void> {
    into.push_back(option);
    into.push_back(value);
    return {};
  };
}

/// "--device_num" is "device-num".
std::string option_name(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  std::string name(word.substr(0, word.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Result<void> walk(const std::vector<std::string>& words, const Options& options, std::vector<std::string>* files) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() > 1 && word.front() == '-') {
      const auto option = options.find(option_name(word));
      if (option == options.end()) return refuse(word, "is no option of this command");
      const size_t equals = word.find('=');
      if (equals == std::string::npos && i + 1 == words.size()) return refuse(word, "wants a value");
      const std::string value = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
      if (auto ok = option->second(word.substr(0, equals), value); !ok) return ok;
    } else if (files) {
      files->push_back(word);
    } else {
      return refuse(word, "make takes no such word");
    }
  }
  return {};
}

Result<RanktableCommand> parse_check(const std::vector<std::string>& words) {
  RanktableCheck check;
  const Options options{{"product", product_into(check.product)}};
  if (auto ok = walk(words, options, &check.files); !ok) return fail(ok.error());
  if (check.files.empty()) return refuse("ranktable check", "no file was named", "dlaunch ranktable check FILE…");
  return check;
}

Result<RanktableCommand> parse_merge(const std::vector<std::string>& words) {
  RanktableMerge merge;
  const Take output = text_into(merge.output);
  const Options options{{"o", output}, {"output", output}, {"product", product_into(merge.product)}};
  if (auto ok = walk(words, options, &merge.files); !ok) return fail(ok.error());
  if (merge.files.empty()) return refuse("ranktable merge", "no file was named", "dlaunch ranktable merge A B…");
  return merge;
}

/// An option that the version has no use for would do nothing.
Result<void> check_effects(const RanktableMake& make) {
  const auto needs = [](bool given, const char* option, const char* version) -> Result<void> {
    if (!given) return {};
    return refuse(option, std::string("belongs to --version ") + version, std::string("add --version ") + version);
  };
  if (make.version != Version::v2_0) {
    if (auto ok = needs(!make.root_info.empty(), "--rootinfo", "2.0"); !ok) return ok;
  } else if (make.root_info.empty()) {
    return refuse("--version 2.0", "its addresses are in no file that dlaunch would read by itself",
                  "name the host's root information: --rootinfo /etc/hccl_rootinfo.json");
  }
  if (!make.job_words.empty()) {
    const auto of_one = [](bool given, const char* option) -> Result<void> {
      if (!given) return {};
      return refuse(option, "does not go with a list of hosts: each has its own", "leave one of them out");
    };
    if (auto ok = of_one(!make.server_ip.empty(), "--server_ip"); !ok) return ok;
    if (auto ok = of_one(!make.super_pod_id.empty(), "--super_pod_id"); !ok) return ok;
  }
  if (make.version == Version::v1_2) {
    if (make.super_pod_id.empty() == make.super_device_ids.empty()) return {};
    return refuse("--super_pod_id", "goes with --super_device_ids",
                  "give both, or neither for a table without super pods");
  }
  if (auto ok = needs(!make.super_pod_id.empty(), "--super_pod_id", "1.2"); !ok) return ok;
  return needs(!make.super_device_ids.empty(), "--super_device_ids", "1.2");
}

Result<RanktableCommand> parse_make(const std::vector<std::string>& words) {
  RanktableMake make;
  const Take output = text_into(make.output);
  Options options{{"device-num", text_into(make.device_num)},
                  {"visible-devices", text_into(make.visible_devices)},
                  {"server-ip", text_into(make.server_ip)},
                  {"version", version_into(make.version)},
                  {"product", product_into(make.product)},
                  {"hccn-conf", text_into(make.hccn_conf)},
                  {"rootinfo", text_into(make.root_info)},
                  {"super-pod-id", text_into(make.super_pod_id)},
                  {"super-device-ids", numbers_into(make.super_device_ids)},
                  {"o", output},
                  {"output", output}};
  for (const char* name :
       {"H", "host", "hostfile", "machinefile", "exec", "transport", "host-key", "agent-path", "wait-hosts"}) {
    options.emplace(name, word_into(make.job_words));
  }
  if (auto ok = walk(words, options, nullptr); !ok) return fail(ok.error());
  if (auto ok = check_effects(make); !ok) return fail(ok.error());
  return make;
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; }

}  // namespace

Result<RanktableCommand> parse_ranktable(const std::vector<std::string>& args) {
  if (std::any_of(args.begin(), args.end(), asks_for_help)) return RanktableHelp{};
  const std::string verb = args.empty() ? "" : args.front();
  const std::vector<std::string> words(args.begin() + (args.empty() ? 0 : 1), args.end());
  if (verb == "check") return parse_check(words);
  if (verb == "merge") return parse_merge(words);
  if (verb == "make") return parse_make(words);
  return refuse("ranktable", verb.empty() ? "what to do was not said" : "there is no \"" + verb + "\"",
                "say make, check or merge; a program of this name is run by: dlaunch -- ranktable");
}

std::string ranktable_help() {
  return R"help(Usage: dlaunch ranktable make [options]        make this host's rank table, or one of several, print the file's path
       dlaunch ranktable check FILE... [options]  say every rule that a table breaks, and where
       dlaunch ranktable merge FILE... [options]  make one table of several hosts' tables, print the file's path

make:
  --device_num RANGE               devices: "[4,8)", 4-7 or 0,2 (default: [0,8))
  --visible_devices LIST           physical ids, in which --device_num counts from 0
  --server_ip IP                   server_id (default: address of the first interface that is not loopback or docker's)
  --version 1.0|1.2|2.0            (default: 1.0)
  --hccn-conf FILE                 for devices that hccn_tool does not know (default: /etc/hccn.conf)
  --super_pod_id ID, --super_device_ids LIST
                                   version 1.2 with super pods; as npu-smi info -t spod-info says them
  --rootinfo FILE                  version 2.0: the host's /etc/hccl_rootinfo.json
  --hostfile FILE, -H LIST         one table of these hosts; with --host-key, --exec and the like, as for a job

make, merge:
  -o, --output PATH                a file, a directory, or - for stdout (default: the directory we are in)

make, check, merge:
  --product 910|a2|a3|950          whose rules hold (default: 910 for 1.0, a3 for 1.2, 950 for 2.0)

Options may have one dash or two, and - for _.
Exit codes: 0 all is well; 1 a rule is broken, or the file cannot be written; 2 wrong usage, or a file cannot be read.
)help";
}

}  // namespace dlaunch::cli
