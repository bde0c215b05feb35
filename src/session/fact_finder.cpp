#include "session/fact_finder.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/environment.h"
#include "base/try.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/run.h"
#include "machine/local.h"
#include "place/place.h"
#include "session/staged_files.h"
#include "settle/hosts.h"
#include "sys/clock.h"
#include "sys/installed.h"
#include "transport/command.h"

namespace dlaunch::session {
namespace {

bool matches_a_file(const std::string& pattern) {
  glob_t found{};
  const bool matches = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return matches;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Answers a question about this machine.
struct Answer {
  const std::vector<std::string>& environment;
  const hosts::ReadText& read_text;
  net::NameResolver& names;

  Result<plan::Allocation> operator()(const settle::InspectMachine& question) const {
    return machine::local_allocation(environment, question.fake_devices,
                                     question.count_cores ? machine::Count::cores : machine::Count::cpus);
  }
  net::OwnNames operator()(const settle::FindOwnNames& /*question*/) const { return net::own_names(environment); }
  settle::LookUp::Answer operator()(const settle::LookUp& question) const {
    auto addresses = names.addresses(question.name);
    return {std::move(addresses), names.trouble()};
  }
  std::string operator()(const settle::FindProgram& question) const {
    return sys::other_program(question.name, search_path(environment));
  }
  settle::RunCommand::Answer operator()(const settle::RunCommand& question) const {
    auto answer = transport::ask_command(question.line, question.limit);
    return {std::move(answer.text), std::move(answer.trouble)};
  }
  Result<std::string> operator()(const settle::ReadFile& question) const { return read_text(question.path); }
  bool operator()(const settle::FindFiles& question) const {
    return std::ranges::any_of(question.paths, exists) || std::ranges::any_of(question.patterns, matches_a_file);
  }
  settle::ReadStaged::Answer operator()(const settle::ReadStaged& question) const {
    return read_staged(question.patterns);
  }
  bool operator()(const settle::FindTerminal& question) const { return ::isatty(question.fd) == 1; }
  settle::ReadClocks::Answer operator()(const settle::ReadClocks& /*question*/) const {
    return {Clock::now(), sys::wall_ns()};
  }
  std::string operator()(const settle::NameJob& /*question*/) const { return make_job_id(); }
};

}  // namespace

std::optional<Error> FactFinder::answer(const std::vector<settle::Question>& questions, const Session& session) {
  for (const settle::Question& question : questions) {
    if (const auto* name = std::get_if<settle::LookUp>(&question)) names_.ask(name->name);
  }
  const Answer answer{environment_, read_text_, names_};
  for (const settle::Question& question : questions) {
    if (facts_.knows(question)) continue;
    const auto add = [&]<class Q>(const Q& asked) -> Result<void> {
      if constexpr (std::is_same_v<Q, settle::QueryHosts>) {
        auto found = TRY(query(session(), asked));
        facts_.add(asked, std::move(found));
      } else {
        facts_.add(asked, answer(asked));
      }
      return {};
    };
    if (auto added = std::visit(add, question); !added) return std::move(added).error();
  }
  return std::nullopt;
}

}  // namespace dlaunch::session

namespace dlaunch::hosts {

bool names_no_host(const HostRequest& request, const std::vector<std::string>& environment) {
  return settle::names_no_host(request, place::read_place(environment, {}));
}

Result<plan::Allocation> choose_allocation(const HostRequest& request, const std::vector<std::string>& environment,
                                           const ReadText& read_file) {
  const place::Place place = place::read_place(environment, read_file);
  session::FactFinder finder(environment, read_file);
  return finder.settle([&](const settle::Facts& facts) { return settle::choose_hosts(request, place, {}, facts); });
}

}  // namespace dlaunch::hosts
