#include "app/ranktable_command.h"

#include <sys/stat.h>

#include <algorithm>

#include "app/ranktable_make.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/ranktable_arguments.h"
#include "ranktable/make.h"
#include "ranktable/merge.h"
#include "report/log.h"
#include "report/write_file.h"

namespace dlaunch::app {

using output::StandardStreams;

namespace {

using ranktable::Json;
using ranktable::TableFinding;

constexpr int kBrokenRule = 1;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_directory(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

/// Where the table goes: `output` as the user said it, `name` for a directory.
Result<std::string> output_path(const std::string& output, const std::string& name) {
  if (output.empty()) return name;
  if (output.ends_with('/') || is_directory(output)) return output + (output.ends_with('/') ? "" : "/") + name;
  if (output.ends_with(".json")) return output;
  return fail({.where = output,
               .what = "is no name for a rank table",
               .why = "HCCL reads only files that end in .json",
               .hint = "name a file that does, a directory, or - for stdout"});
}

Result<int> put(StandardStreams& streams, const Json& table, const std::string& output, const std::string& name) {
  const std::string text = ranktable::to_text(table);
  if (output == "-") return streams.print(text);
  const auto path = TRY(output_path(output, name));
  TRY(report::write_file_atomically(path, text));
  return streams.print(path + '\n');
}

std::string line_of(const std::string& file, const TableFinding& finding) {
  std::string line = file;
  if (finding.line > 0) line += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
  line += finding.note ? ": note: " : ": ";
  return line + (finding.path.empty() ? "" : finding.path + " ") + finding.what + '\n';
}

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string verdict(const std::string& file, const std::vector<TableFinding>& findings, const ranktable::Table* table) {
  const auto broken = std::count_if(findings.begin(), findings.end(), [](const TableFinding& f) { return !f.note; });
  if (broken > 0) return file + ": broken in " + counted(static_cast<size_t>(broken), "place") + "\n";
  return file + ": good: version " + std::string(to_string(table->version)) + ", " +
         counted(table->servers.size(), "server") + ", " + counted(table->rank_count(), "rank") + '\n';
}

/// What is to say of one file, and whether it breaks a rule.
std::pair<std::string, bool> check_text(const std::string& file, const std::string& text,
                                        std::optional<ranktable::Product> product) {
  const auto json = ranktable::parse_json(text, file);
  std::vector<TableFinding> findings;
  if (!json) {
    std::string said = json.error().where + ": " + json.error().what + ": " + json.error().why + '\n';
    for (const TableFinding& finding : ranktable::check_file_name(last_part(file), nullptr))
      said += line_of(file, finding);
    return {said, true};
  }
  ranktable::Reading reading = ranktable::read_table(*json);
  const ranktable::Table* table = reading.table ? &*reading.table : nullptr;
  findings = std::move(reading.findings);
  if (table) {
    const auto rules = check_rules(*table, product.value_or(usual_product(table->version)));
    findings.insert(findings.end(), rules.begin(), rules.end());
  }
  const auto name = ranktable::check_file_name(last_part(file), table);
  findings.insert(findings.end(), name.begin(), name.end());
  std::stable_sort(findings.begin(), findings.end(), [](const TableFinding& a, const TableFinding& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  std::string said;
  for (const TableFinding& finding : findings) said += line_of(file, finding);
  return {said + verdict(file, findings, table), any_broken(findings)};
}

Result<int> check(StandardStreams& streams, spdlog::logger& log, const cli::RanktableCheck& command) {
  int exit_code = 0;
  std::string said;
  for (const std::string& file : command.files) {
    const auto text = cli::read_whole_file(file);
    if (!text) {
      exit_code = report::complain(log, text.error().error);
      continue;
    }
    const auto [findings, broken] = check_text(file, *text, command.product);
    said += findings;
    if (broken && exit_code == 0) exit_code = kBrokenRule;
  }
  return streams.print(said, exit_code);
}

Result<int> merge(StandardStreams& streams, const cli::RanktableMerge& command) {
  std::vector<ranktable::NamedJson> tables;
  for (const std::string& file : command.files) {
    const auto text = cli::read_whole_file(file);
    if (!text) return fail(text.error().error);
    auto json = TRY(ranktable::parse_json(*text, file));
    tables.push_back({file, std::move(json)});
  }
  const auto merged = TRY(merge_tables(std::move(tables), command.product));
  return put(streams, merged.json, command.output, ranktable::file_name(merged.servers, merged.ranks));
}

Result<int> make(StandardStreams& streams, spdlog::logger& log, const cli::RanktableMake& command,
                 const cli::ProcessContext& surroundings) {
  const auto made = TRY(command.job_words.empty() ? make_on_this_host(command)
                                                  : make_over_hosts(command, surroundings, streams, log));
  report::tell_notes(log, made.notes);
  return put(streams, made.json, command.output, made.name);
}

}  // namespace

Result<int> run_ranktable(const std::vector<std::string>& args, const cli::ProcessContext& surroundings,
                          StandardStreams& streams, spdlog::logger& log) {
  const auto command = TRY(cli::parse_ranktable(args));
  if (const auto* asked = std::get_if<cli::RanktableCheck>(&command)) return check(streams, log, *asked);
  if (const auto* asked = std::get_if<cli::RanktableMerge>(&command)) return merge(streams, *asked);
  if (const auto* asked = std::get_if<cli::RanktableMake>(&command)) return make(streams, log, *asked, surroundings);
  return streams.print(std::get<cli::RanktableHelp>(command).text);
}

}  // namespace dlaunch::app
