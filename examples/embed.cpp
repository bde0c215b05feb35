// A program that uses the dlaunch library: reads a hostfile, plans a job, runs the job and prints the result.
//   embed HOSTFILE [RANK_TABLE]
#include <dlaunch/hostfile.h>
#include <dlaunch/plan.h>
#include <dlaunch/rank_table.h>
#include <dlaunch/record.h>
#include <dlaunch/run.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace {

using namespace dlaunch;

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Collects the output of the ranks, and prints the messages of dlaunch.
class Collector : public Listener {
 public:
  void line(int id, output::Stream, std::string_view text) override { lines[id].emplace_back(text); }
  void said(Level level, std::string_view text) override {
    if (level <= Level::note) std::cerr << text;
  }
  std::map<int, std::vector<std::string>> lines;
};

Result<plan::Plan> plan_for(const std::string& hostfile) {
  auto entries = allocate::parse_hostfile(text_of(hostfile), hostfile);
  if (!entries) return fail(entries.error());
  plan::Request request{.job_id = make_job_id(), .cwd = std::filesystem::current_path()};
  for (char** entry = environ; *entry; ++entry) request.environment.emplace_back(*entry);
  request.apps.push_back(
      {.argv = {"sh", "-c", "echo I am $RANK_ID of $RANK_SIZE; [ $RANK_ID != 1 ] || exit 3"}, .ranks = 4});
  auto allocation = allocate::choose_allocation({.hostfile = *std::move(entries)}, request.environment,
                                                [](const std::string& path) { return text_of(path); });
  if (!allocation) return fail(allocation.error());
  return plan::make_plan(request, *allocation);
}

Result<int> run_it(const std::string& hostfile) {
  auto plan = plan_for(hostfile);
  if (!plan) return fail(plan.error());
  std::cout << plan::to_map(*plan);

  JobOptions options;
  options.policy.abort_on_failure = false;  // the other ranks continue
  options.report_file = std::filesystem::current_path() / "job.json";
  Collector collector;
  const auto outcome = run(*plan, options, collector);
  if (!outcome) return fail(outcome.error());
  for (const auto& [id, lines] : collector.lines) {
    for (const std::string& line : lines) std::cout << "rank " << id << ": " << line << '\n';
  }

  const auto record = report::read_record(text_of(options.report_file), options.report_file);
  if (!record) return fail(record.error());
  for (const report::RecordedRank& rank : record->ranks) {
    std::cout << "rank " << rank.rank << " on " << rank.host << " " << rank.end.status->describe() << '\n';
  }
  return outcome->exit_code;
}

void check(const std::string& rank_table) {
  const auto checked = ranktable::check_rank_table(text_of(rank_table), rank_table, {});
  for (const ranktable::TableFinding& finding : checked.findings) {
    std::cout << rank_table << ':' << finding.line << ": " << finding.path << ' ' << finding.what << '\n';
  }
  std::cout << rank_table << ": " << checked.ranks << " ranks on " << checked.servers << " servers\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::cerr << "usage: embed HOSTFILE [RANK_TABLE]\n", 2;
  if (argc > 2) check(argv[2]);
  const auto code = run_it(argv[1]);
  if (!code) std::cerr << to_text(code.error());
  return code.value_or(code ? 0 : code.error().exit_code);
}
