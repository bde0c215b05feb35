#include "ascend/ranktable_command.h"

#include <sys/stat.h>

#include <algorithm>

#include "ascend/ranktable_arguments.h"
#include "ascend/ranktable_make.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "dlaunch/rank_table.h"
#include "report/log.h"
#include "report/write_file.h"

namespace dlaunch::ascend {

using output::StandardStreams;

namespace {

using ranktable::TableFinding;

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
