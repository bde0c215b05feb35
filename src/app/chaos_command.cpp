#include "app/commands.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/end_signals.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "chaos/run/chaos_job.h"
#include "chaos/run/interface.h"
#include "chaos/run/links.h"
#include "chaos/verdict.h"
#include "cli/subcommands.h"
#include "grammars/command_line.h"
#include "launcher/open_files.h"
#include "report/file_claim.h"
#include "report/write_file.h"
#include "sys/caught_signals.h"
#include "sys/randomness.h"

namespace dlaunch::app {
namespace {

using chaos::Fault;
using chaos::FaultKind;
using TargetKind = chaos::FaultTarget::Kind;

constexpr int kBrokenPromise = 1;
constexpr int kNotMet = 3;
constexpr long long kSmallestFull = 64LL << 10;  // the job's own record must fit
constexpr const char* kPrefix = "chaos: ";

tl::unexpected<Error> refuse(const Fault& fault, std::string what, std::string why, std::string hint) {
  return fail({.where = to_text(fault), .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

/// The job's options, as its launcher would parse them.
Result<cli::Options> job_options(const std::vector<std::string>& words, const cli::ProcessContext& context) {
  const auto refused = [](std::string what, std::string hint = "write the options and the program of a job after --") {
    return fail({"chaos", std::move(what), "", std::move(hint)});
  };
  const cli::CommandLine line = TRY(cli::read_command_line("dlaunch", words));
  if (line.grammar != cli::Grammar::dlaunch)
    return refused("the job must use dlaunch's own command line", "remove --as");
  if (line.verb != cli::Verb::run) return refused("the command after -- does not start a job");
  auto command = TRY(cli::parse_command_line(line, context));
  auto* const options = std::get_if<cli::Options>(&command);
  if (!options) return refused("the command after -- does not start a job");
  if (options->dry_run) return refused("--dry-run does not start a job", "remove --dry-run or DLAUNCH_DRY_RUN");
  if (options->show_env) return refused("--show-env does not start a job", "remove --show-env");
  return std::move(*options);
}

/// The number of ranks; nullopt if only the plan determines the number.
std::optional<int> ranks_of(const cli::Options& job) {
  int ranks = 0;
  for (const plan::AppRequest& app : job.request.apps) {
    if (!app.ranks) return std::nullopt;
    ranks += *app.ranks;
  }
  return ranks;
}

/// Rejects a node other than node 0: only node 0 knows when the ranks run and how the ranks end.
Result<void> check_node(const cli::Options& job, const place::Place& of_process) {
  if (!job.same_line.asked) return {};
  const auto place = TRY(of_process.node);
  const int node = job.same_line.node.value_or(place.node.value_or(0));
  if (node == 0) return {};
  return fail({"chaos", "this is node " + std::to_string(node) + " of a --same-line job; dlaunch chaos requires node 0",
               "", "run dlaunch chaos only on node 0, and the command after -- on the other nodes"});
}

/// Rejects a fault that cannot apply to this job.
Result<void> check_fault(const Fault& fault, const cli::Options& job) {
  const bool by_command = !job.exec.empty();
  const bool elsewhere = !by_command && (!job.hosts.list.empty() || !job.hosts.hostfile.empty());
  const TargetKind kind = fault.target.kind;
  if (kind == TargetKind::link && !by_command) {
    return refuse(fault, "not supported", "dlaunch chaos controls only the links of --fake-hosts and --exec",
                  "start the job with --fake-hosts 2x4");
  }
  if ((kind == TargetKind::rank || kind == TargetKind::agent) && elsewhere) {
    return refuse(fault, "not supported", "dlaunch cannot signal processes of other hosts from here",
                  "start the job with --fake-hosts 2x4");
  }
  if (fault.when.round > job.request.restarts) {
    return refuse(fault, "unknown round", "the job's last round is " + std::to_string(job.request.restarts),
                  "set more --restarts, or use an earlier round");
  }
  if (kind == TargetKind::interface) {
    const std::string why = chaos::why_not_to_interface(fault);
    if (!why.empty()) {
      return refuse(fault, "not supported", why, "start the job with --fake-hosts 2x4, and use cut:fake2@10s");
    }
  }
  const auto& files = job.output.files;
  constexpr auto kOut = output::Stream::out;
  if (!fault.when.line.empty() && files && files->keeps(kOut) && !files->copies(kOut) && !files->local) {
    return refuse(fault, "not supported",
                  "the job's stdout goes only to files, but dlaunch chaos reads the lines on the console",
                  "use --output-filename without :nocopy, or --stdout-file with :copy");
  }
  const auto ranks = kind == TargetKind::rank && !fault.target.any ? ranks_of(job) : std::nullopt;
  if (ranks && fault.target.rank >= *ranks) {
    return refuse(fault, "unknown rank", "the job has " + count(static_cast<size_t>(*ranks), "rank"),
                  "use a rank from 0 to " + std::to_string(*ranks - 1));
  }
  const bool names_host = (kind == TargetKind::link || kind == TargetKind::agent) && !fault.target.any;
  if (names_host && job.hosts.fake &&
      std::ranges::find(job.hosts.list, fault.target.host, &hosts::HostEntry::name) == job.hosts.list.end()) {
    return refuse(fault, "unknown host", "the job does not have host " + fault.target.host, "use a host of the job");
  }
  if (fault.what != FaultKind::full) return {};
  if (!by_command) {
    return refuse(fault, "not supported", "the file-size limit would also apply to the ranks on this machine",
                  "start the job with --fake-hosts 2x4");
  }
  if (!job.output.files)
    return refuse(fault, "requires --output-filename", "the job does not write output files",
                  "add --output-filename DIR");
  if (fault.bytes >= kSmallestFull) return {};
  return refuse(fault, "too small", "dlaunch's record of the job would not fit into this size", "use at least 64KiB");
}

std::uint64_t seed_of(const cli::ChaosRun& run) {
  if (run.seed) return *run.seed;
  return std::stoull(sys::random_hex(3), nullptr, 16);
}

int exit_code_of(const chaos::ChaosOutcome& outcome, const std::vector<chaos::Check>& checks) {
  const auto broken = std::ranges::count_if(checks, [](const auto& check) { return !check.broken.empty(); });
  if (broken == 0) return 0;
  return broken == 1 && !all_fired(outcome.injections) ? kNotMet : kBrokenPromise;
}

void print_verdict(const chaos::Results& results, spdlog::logger& log) {
  for (const chaos::Check& check : results.checks) {
    if (!check.broken.empty()) log.error(message(kPrefix, "check failed: " + check.name + ": " + check.broken));
  }
  const auto held = std::ranges::count(results.checks, "", &chaos::Check::broken);
  log.error(message(kPrefix, count(results.injections.size(), "fault") + ", " + std::to_string(held) + " of " +
                                 count(results.checks.size(), "check") + " passed; the job exited with " +
                                 std::to_string(results.job_code) + "; seed " + std::to_string(results.seed)));
}

Result<int> run(const cli::ChaosRun& asked, const cli::ProcessContext& context, spdlog::logger& log) {
  const cli::Options job = TRY(job_options(asked.words, context));
  TRY(check_node(job, context.place));
  for (const Fault& fault : asked.faults) {
    TRY(check_fault(fault, job));
  }
  std::vector<std::unique_ptr<report::FileClaim>> claims;
  for (const std::string& file : {asked.report, asked.junit}) {
    if (file.empty()) continue;
    auto claim = TRY(report::FileClaim::take(file, report::WriteAs().mode));
    claims.push_back(std::move(claim));
  }
  TRY(launcher::check_least_limits());
  const std::uint64_t seed = seed_of(asked);
  sys::CaughtSignals signals(kEndSignals);  // a signal to the launcher does not prevent the verdict
  const auto outcome =
      TRY(chaos::run_chaos_job({asked.faults, seed, asked.words, job.report_file, !job.exec.empty()}, signals,
                               [&](const std::string& text) { log.error(message(kPrefix, text)); }));
  chaos::Results results{.seed = seed,
                         .command = asked.words,
                         .injections = outcome.injections,
                         .checks = judge(outcome.injections, outcome.seen, asked.expected)};
  results.exit_code = exit_code_of(outcome, results.checks);
  results.job_code = outcome.seen.exit_code;
  results.seconds = outcome.seconds;
  if (!asked.report.empty()) {
    TRY(report::write_file_atomically(asked.report, to_json(results), {.claimed = true}));
  }
  if (!asked.junit.empty()) {
    TRY(report::write_file_atomically(asked.junit, to_junit(results), {.claimed = true}));
  }
  print_verdict(results, log);
  return results.exit_code;
}

}  // namespace

Result<int> run_chaos(const std::vector<std::string>& args, const cli::ProcessContext& context,
                      output::StandardStreams& streams, spdlog::logger& log) {
  const auto command = TRY(cli::parse_chaos(args));
  if (const auto* help = std::get_if<cli::ChaosHelp>(&command)) return streams.print(help->text);
  if (const auto* link = std::get_if<cli::ChaosLink>(&command)) return chaos::run_link(link->words);
  return run(std::get<cli::ChaosRun>(command), context, log);
}

}  // namespace dlaunch::app
