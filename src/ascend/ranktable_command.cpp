#include "ascend/ranktable_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "ascend/ranktable_arguments.h"
#include "ascend/table_hosts.h"
#include "ascend/tables/address.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "dlaunch/exit_status.h"
#include "dlaunch/rank_table.h"
#include "dlaunch/run.h"
#include "grammars/command_line.h"
#include "report/log.h"
#include "report/write_file.h"
#include "session/fact_finder.h"
#include "session/host_session.h"
#include "settle/hosts.h"
#include "sys/capture.h"
#include "sys/files.h"
#include "sys/interfaces.h"

namespace dlaunch::ascend {
using output::StandardStreams;

namespace {

using ranktable::TableFinding;

struct AddressSources {
  std::string hccn_conf = ranktable::kHccnConf;  ///< for devices without an address from hccn_tool
  std::chrono::milliseconds patience{10'000};
};

using ranktable::Answer;

Answer answer_of(const sys::Captured& run) {
  if (run.error != 0) return {.printed = {}, .code = run.error == ENOENT ? kExitNotFound : kExitNotExecutable};
  if (run.timed_out) return {.printed = run.output, .code = kExitTimeout};
  return {.printed = run.output, .code = ExitStatus::from_wait(run.wait_status).shell_code()};
}

/// Runs hccn_tool for all devices at the same time. `by_device` omits a device if neither hccn_tool nor hccn.conf has
/// its address.
ranktable::DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources) {
  const auto deadline = std::chrono::steady_clock::now() + sources.patience;
  std::vector<sys::Capture> runs;
  runs.reserve(devices.size());
  for (const long device : devices) runs.emplace_back(ranktable::address_command(device));
  std::vector<Answer> answers;
  for (sys::Capture& run : runs) answers.push_back(answer_of(run.finish(deadline)));
  const auto conf = sys::read_file(sources.hccn_conf);
  return ranktable::device_addresses(devices, answers, conf ? &*conf : nullptr);
}

struct MadeTable {
  std::string text;
  std::string name;                ///< the file name that hccl_tools.py would use
  std::vector<std::string> notes;  ///< about automatic choices, one line per note
};

using ranktable::HostFacts;
using ranktable::Version;

/// The first interface's address, IPv4 before IPv6, with a note if there are several addresses.
Result<std::string> find_server_ip(std::vector<std::string>& notes) {
  std::vector<ranktable::OwnAddress> own;
  for (const auto& each : sys::interface_addresses()) own.push_back({each.interface, each.address});
  const auto candidates = ranktable::outer_addresses(own);
  if (candidates.empty()) {
    return fail({.where = "--server_ip",
                 .what = "missing address: this host has no address reachable from other hosts",
                 .why = "",
                 .hint = "set --server_ip ADDRESS; for a table of this host alone, use 127.0.0.1"});
  }
  std::string others;
  for (size_t i = 1; i < candidates.size(); ++i)
    others += (i == 1 ? "" : ", ") + candidates[i].address + " of " + candidates[i].interface;
  if (!others.empty()) {
    notes.push_back("server_id is " + candidates[0].address + ", of " + candidates[0].interface +
                    "; set --server_ip to use another address: " + others);
  }
  return candidates[0].address;
}

Result<void> add_addresses(const RanktableMake& command, HostFacts& facts) {
  const auto found = read_device_addresses(facts.devices, {.hccn_conf = command.hccn_conf});
  facts.device_ips = found.by_device;
  std::set<int> missing;
  for (const long device : facts.devices) {
    if (!found.by_device.contains(device)) missing.insert(static_cast<int>(device));
  }
  if (missing.empty()) return {};
  const std::string several = missing.size() == 1 ? "device " : "devices ";
  return fail({.where = "ranktable make",
               .what = "missing address of " + several + fold_ints(missing),
               .why = "hccn_tool: " + found.tool_trouble + "; " + command.hccn_conf + ": " + found.conf_trouble,
               .hint = "set devices of this host with --device_num, or another file with --hccn-conf"});
}

Result<void> add_super_pod(const RanktableMake& command, HostFacts& facts) {
  facts.super_pod_id = command.super_pod_id;
  const auto& ids = command.super_device_ids;
  if (!ids.empty() && ids.size() != facts.devices.size()) {
    return fail({.where = "--super_device_ids",
                 .what = std::to_string(ids.size()) + " IDs for " + std::to_string(facts.devices.size()) + " devices",
                 .why = "",
                 .hint = "write one ID per device, in the order of the devices"});
  }
  for (size_t i = 0; i < ids.size(); ++i) facts.super_device_ids[facts.devices[i]] = ids[i];
  return {};
}

Result<void> add_root_info(const RanktableMake& command, HostFacts& facts) {
  facts.root_info = TRY(cli::read_text(command.root_info));
  TRY(json::parse_json(facts.root_info, command.root_info));
  return {};
}

/// Parses the arguments like a job's options.
Result<cli::Options> options_of(const RanktableMake& command, const cli::ProcessContext& context) {
  auto parsed = TRY(cli::parse_command_line({.verb = cli::Verb::hosts, .words = command.job_words}, context));
  cli::Options options = std::get<cli::Options>(std::move(parsed));
  options.request.job_id = make_job_id();
  return options;
}

Result<void> check_server_ip(const std::string& address) {
  if (ranktable::parse_address(address)) return {};
  return fail({.where = "--server_ip",
               .what = "invalid IP address \"" + address + "\"",
               .why = "",
               .hint = "write an address such as 10.0.0.1"});
}

/// Queries the kernel for this host's address and the driver for the devices' addresses; writes nothing.
Result<MadeTable> make_on_this_host(const RanktableMake& command) {
  const auto chosen = TRY(ranktable::choose_devices(command.device_num, command.visible_devices));
  MadeTable made;
  auto server_id = TRY(command.server_ip.empty() ? find_server_ip(made.notes) : Result<std::string>(command.server_ip));
  TRY(check_server_ip(server_id));
  HostFacts facts{.server_id = server_id, .devices = chosen.devices};
  TRY(add_super_pod(command, facts));
  const bool by_root_info = command.version == Version::v2_0;
  TRY(by_root_info ? add_root_info(command, facts) : add_addresses(command, facts));
  auto table = TRY(make_rank_table(command.version, command.product.value_or(usual_product(command.version)), {facts}));
  made.text = std::move(table);
  made.name = ranktable::file_name(chosen.numbers, server_id);
  return made;
}

/// The hosts of these options.
Result<plan::Allocation> choose_hosts(const cli::Options& options, const place::Place& place) {
  const auto read_text = [](const std::string& path) { return cli::read_text(path); };
  return session::FactFinder(options.request.environment, read_text).settle([&](const settle::Facts& facts) {
    return settle::choose_hosts(options.hosts, place, {}, facts);
  });
}

/// Connects to the hosts in command.job_words and queries their agents. An Error lists all hosts with missing data;
/// there is no partial table.
Result<MadeTable> make_over_hosts(const RanktableMake& command, const cli::ProcessContext& context, Listener& listener,
                                  output::StandardStreams& streams, spdlog::logger& log) {
  const auto options = TRY(options_of(command, context));
  const auto chosen = TRY(ranktable::choose_devices(command.device_num, command.visible_devices));
  const auto allocation = TRY(choose_hosts(options, context.place));
  const bool devices_given = command.device_num || command.visible_devices;
  TableQuestion question{.hosts = allocation.hosts,
                         .path = search_path(context.environment),
                         .hccn_conf = command.hccn_conf,
                         .root_info = command.root_info};
  size_t ranks = 0;
  for (const plan::Host& host : question.hosts) {
    const bool own = !devices_given && !host.devices.empty();
    question.devices.push_back(own ? std::vector<long>(host.devices.begin(), host.devices.end()) : chosen.devices);
    ranks += question.devices.back().size();
  }
  report::set_verbosity(log, options.verbosity, options.quiet);
  session::HostSession session(options.request.job_id, options.of_job(), streams, log, listener);
  auto facts = TRY(ask_table_hosts(session, question));
  MadeTable made;
  made.name = ranktable::file_name(question.hosts.size(), ranks);
  if (question.hosts.size() == 1) {
    const bool own = question.devices.front() != chosen.devices;
    made.name = ranktable::file_name(own ? question.devices.front() : chosen.numbers, facts.front().server_id);
  }
  auto table =
      TRY(make_rank_table(command.version, command.product.value_or(usual_product(command.version)), std::move(facts)));
  made.text = std::move(table);
  return made;
}

constexpr int kBrokenRule = 1;

bool is_directory(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

/// The path of the table: `output`, or, if `output` is a directory, `name` in this directory.
Result<std::string> output_path(const std::string& output, const std::string& name) {
  if (output.empty()) return name;
  if (output.ends_with('/') || is_directory(output)) return output + (output.ends_with('/') ? "" : "/") + name;
  if (output.ends_with(".json")) return output;
  return fail({.where = output,
               .what = "invalid name of a rank table",
               .why = "HCCL reads only files whose names end in .json",
               .hint = "use a name with .json, a directory, or - for stdout"});
}

Result<int> put(StandardStreams& streams, const std::string& text, const std::string& output, const std::string& name) {
  if (output == "-") return streams.print(text);
  const auto path = TRY(output_path(output, name));
  TRY(report::write_file_atomically(path, text));
  return streams.print(path + '\n');
}

std::string line_of(const std::string& file, const TableFinding& finding) {
  std::string line = file;
  if (finding.line > 0) line += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
  line += finding.note ? ": note: " : ": ";
  return line + (finding.path.empty() ? "" : finding.path + ": ") + finding.what + '\n';
}

std::string verdict(const std::string& file, const ranktable::CheckedTable& checked) {
  const auto broken = std::ranges::count(checked.findings, false, &TableFinding::note);
  if (broken > 0) return file + ": invalid: " + count(broken, "error") + "\n";
  return file + ": valid: version " + std::string(to_string(*checked.version)) + ", " +
         count(checked.servers, "server") + ", " + count(checked.ranks, "rank") + '\n';
}

/// The report on one file, and whether the file violates a rule.
std::pair<std::string, bool> check_text(const std::string& file, const std::string& text,
                                        std::optional<ranktable::Product> product) {
  const auto checked = ranktable::check_rank_table(text, file, product);
  std::string report_text;
  if (const auto& error = checked.no_json) report_text = error->where + ": " + error->what + ": " + error->why + '\n';
  for (const TableFinding& finding : checked.findings) report_text += line_of(file, finding);
  if (checked.no_json) return {report_text, true};
  return {report_text + verdict(file, checked), any_broken(checked.findings)};
}

Result<int> check(StandardStreams& streams, spdlog::logger& log, const RanktableCheck& command) {
  int exit_code = 0;
  std::string report_text;
  for (const std::string& file : command.files) {
    const auto text = cli::read_text(file);
    if (!text) {
      exit_code = report::complain(log, text.error());
      continue;
    }
    const auto [findings, broken] = check_text(file, *text, command.product);
    report_text += findings;
    if (broken && exit_code == 0) exit_code = kBrokenRule;
  }
  return streams.print(report_text, exit_code);
}

Result<int> merge(StandardStreams& streams, const RanktableMerge& command) {
  std::vector<ranktable::NamedText> tables;
  for (const std::string& file : command.files) {
    const std::string text = TRY(cli::read_text(file));
    tables.push_back({file, text});
  }
  const auto merged = TRY(merge_rank_tables(tables, command.product));
  return put(streams, merged.text, command.output, ranktable::file_name(merged.servers, merged.ranks));
}

Result<int> make(StandardStreams& streams, spdlog::logger& log, const RanktableMake& command,
                 const cli::ProcessContext& context, Listener& listener) {
  const auto made = TRY(command.job_words.empty() ? make_on_this_host(command)
                                                  : make_over_hosts(command, context, listener, streams, log));
  report::log_notes(log, made.notes);
  return put(streams, made.text, command.output, made.name);
}

}  // namespace

Result<int> run_ranktable(const std::vector<std::string>& args, const cli::ProcessContext& context, Listener& listener,
                          StandardStreams& streams, spdlog::logger& log) {
  const auto command = TRY(parse_ranktable(args));
  if (const auto* asked = std::get_if<RanktableCheck>(&command)) return check(streams, log, *asked);
  if (const auto* asked = std::get_if<RanktableMerge>(&command)) return merge(streams, *asked);
  if (const auto* asked = std::get_if<RanktableMake>(&command)) return make(streams, log, *asked, context, listener);
  return streams.print(std::get<RanktableHelp>(command).text);
}

}  // namespace dlaunch::ascend
