// Answers the questions of `settle`: about this machine, about programs, commands and files, and about other hosts,
// through their agents. May wait for a name server, a disk, a command or a host, each with its own limit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dlaunch/hostfile.h"
#include "net/this_machine.h"
#include "session/host_session.h"
#include "settle/facts.h"

namespace dlaunch::session {

class FactFinder {
 public:
  /// The session that connects to the hosts of the job.
  using Session = std::function<HostSession&()>;

  /// `environment`: of the job. `read_text` reads the files of the batch system.
  FactFinder(std::vector<std::string> environment, hosts::ReadText read_text)
      : environment_(std::move(environment)), read_text_(std::move(read_text)) {}

  /// Calls `settle` until it has all answers. `session` is called for questions to hosts.
  template <class Settle>
  auto settle(const Settle& settle, const Session& session = {})
      -> Result<typename std::invoke_result_t<Settle, const settle::Facts&>::value_type> {
    while (true) {
      auto settled = settle(facts_);
      if (settled) return *std::move(settled);
      if (auto* const error = std::get_if<Error>(&settled.error())) return fail(std::move(*error));
      const auto& questions = std::get<std::vector<settle::Question>>(settled.error());
      if (auto error = answer(questions, session)) return fail(*std::move(error));
    }
  }

 private:
  std::optional<Error> answer(const std::vector<settle::Question>& questions, const Session& session);

  const std::vector<std::string> environment_;
  const hosts::ReadText read_text_;
  net::NameResolver names_;
  settle::Facts facts_;
};

}  // namespace dlaunch::session
