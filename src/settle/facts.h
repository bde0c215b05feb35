// Questions whose answers a pure function requires, and the answers that are known. The function returns the questions
// that have no answer yet; its caller answers them and calls the function again. So the function has the same result in
// any order of the answers, and each question is asked once.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "net/this_machine.h"
#include "wire/message.h"

namespace dlaunch::settle {

/// The slots and devices of this machine.
struct InspectMachine {
  std::optional<int> fake_devices = {};
  bool count_cores = false;
  using Answer = Result<plan::Allocation>;
  auto operator<=>(const InspectMachine&) const = default;
};

/// The names and addresses of this machine.
struct FindOwnNames {
  using Answer = net::OwnNames;
  auto operator<=>(const FindOwnNames&) const = default;
};

/// The addresses of a name.
struct LookUp {
  std::string name;
  struct Answer {
    std::vector<std::string> addresses = {};
    std::string trouble = {};  ///< why there is no address, if a name server did not answer in time
  };
  auto operator<=>(const LookUp&) const = default;
};

/// The name or path of a program in PATH that is not dlaunch itself; empty: not found.
struct FindProgram {
  std::string name;
  using Answer = std::string;
  auto operator<=>(const FindProgram&) const = default;
};

/// The output of a /bin/sh command.
struct RunCommand {
  std::string line;
  std::chrono::seconds limit;
  struct Answer {
    std::string text = {};     ///< stdout
    std::string trouble = {};  ///< why there is no output
  };
  auto operator<=>(const RunCommand&) const = default;
};

/// The content of a file of the batch system.
struct ReadFile {
  std::string path;
  using Answer = Result<std::string>;
  auto operator<=>(const ReadFile&) const = default;
};

/// Whether one of the paths exists, or a file matches one of the patterns of glob(7).
struct FindFiles {
  std::vector<std::string> paths;
  std::vector<std::string> patterns;
  using Answer = bool;
  auto operator<=>(const FindFiles&) const = default;
};

/// The files of --stage as an archive.
struct ReadStaged {
  std::vector<std::string> patterns;
  using Answer = Result<std::shared_ptr<const std::string>>;
  auto operator<=>(const ReadStaged&) const = default;
};

/// Whether a descriptor of this process is a terminal.
struct FindTerminal {
  int fd;
  using Answer = bool;
  auto operator<=>(const FindTerminal&) const = default;
};

struct ReadClocks {
  struct Answer {
    Time now;
    std::int64_t wall_ns = 0;  ///< since the epoch
  };
  auto operator<=>(const ReadClocks&) const = default;
};

/// A unique name for the job.
struct NameJob {
  using Answer = std::string;
  auto operator<=>(const NameJob&) const = default;
};

/// The slots and devices of the hosts of the job.
struct QueryHosts {
  struct Query {
    bool count_cores = false;
    bool no_devices = false;
    auto operator<=>(const Query&) const = default;
  };
  std::vector<std::optional<Query>> queries;  ///< of each host; nullopt: dlaunch only connects to the host
  std::vector<plan::Host> hosts;              ///< the hosts of the job, equal in all questions
  using Answer = std::vector<std::optional<wire::HostInfo>>;  ///< of each host with a query
  auto operator<=>(const QueryHosts& other) const { return queries <=> other.queries; }
  bool operator==(const QueryHosts& other) const { return queries == other.queries; }
};

template <class... Questions>
class AnswersTo {
 public:
  using Question = std::variant<Questions...>;

  /// nullptr: not known.
  template <class Q>
  const typename Q::Answer* find(const Q& question) const {
    const auto& answers = std::get<std::map<Q, typename Q::Answer>>(answers_);
    const auto found = answers.find(question);
    return found == answers.end() ? nullptr : &found->second;
  }
  template <class Q>
  void add(Q question, typename Q::Answer answer) {
    std::get<std::map<Q, typename Q::Answer>>(answers_).emplace(std::move(question), std::move(answer));
  }
  bool knows(const Question& question) const {
    return std::visit([this](const auto& each) { return this->find(each) != nullptr; }, question);
  }

 private:
  std::tuple<std::map<Questions, typename Questions::Answer>...> answers_;
};

using Facts = AnswersTo<InspectMachine, FindOwnNames, LookUp, FindProgram, RunCommand, ReadFile, FindFiles, ReadStaged,
                        FindTerminal, ReadClocks, NameJob, QueryHosts>;
using Question = Facts::Question;

/// Why a function did not return its value: an Error, or at least one question without an answer.
using Stop = std::variant<Error, std::vector<Question>>;
template <class T>
using Settling = tl::expected<T, Stop>;

/// The answer to a question; else the question.
template <class Q>
Settling<typename Q::Answer> known(const Facts& facts, Q question) {
  if (const auto* answer = facts.find(question)) return *answer;
  return tl::unexpected(Stop(std::vector<Question>{std::move(question)}));
}

/// Looks up names in the facts, and collects the names whose addresses are not known.
class Names {
 public:
  explicit Names(const Facts& facts) : facts_(facts) {}
  std::vector<std::string> addresses(const std::string& name);
  /// The questions for the names without an answer, if there are any. A result that used addresses() is then void.
  Settling<void> complete() const;
  /// As LookUp::Answer, of the first such name; empty: all name servers answered.
  const std::string& trouble() const { return trouble_; }

 private:
  const Facts& facts_;
  std::vector<Question> open_;
  std::string trouble_;
};

}  // namespace dlaunch::settle
