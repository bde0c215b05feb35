#include "place/mpijob.h"

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"

namespace dlaunch::place {
namespace {

/// From Open MPI, Intel MPI and Hydra.
constexpr std::array<const char*, 3> kHostfileVariables = {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE",
                                                           "HYDRA_HOST_FILE"};
constexpr const char* kMounted = "/etc/mpi/hostfile";

/// The words of a shell command, without their quotes.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  for (const std::string& word : split(command, ' ')) {
    const bool quoted = word.size() > 1 && word.front() == '"' && word.back() == '"';
    if (!word.empty()) words.push_back(quoted ? word.substr(1, word.size() - 2) : word);
  }
  return words;
}

bool is_pod(std::string_view word) {
  return word == "${POD_NAME}" || word == "$POD_NAME" || word == "${1}" || word == "$1";
}

}  // namespace

std::optional<MpiJob> mpi_job(const std::vector<std::string>& environment) {
  const auto role = filled_variable(environment, "K_MPI_JOB_ROLE");
  const auto agent = filled_variable(environment, "OMPI_MCA_plm_rsh_agent");
  const bool by_kubectl = agent && agent->ends_with("/kubexec.sh");
  const bool in_pod = role || by_kubectl || filled_variable(environment, "KUBERNETES_SERVICE_HOST");
  if (!in_pod || (role && *role != "launcher")) return std::nullopt;
  const std::string kubexec = by_kubectl ? *agent : "";
  for (const char* const name : kHostfileVariables) {
    if (const auto path = filled_variable(environment, name)) return MpiJob{*path, name, kubexec};
  }
  if (!role && !by_kubectl) return std::nullopt;
  return MpiJob{kMounted, kMounted, kubexec};
}

std::string kubectl_command(std::string_view script) {
  for (const std::string& line : split(script, '\n')) {
    for (const std::string& text : split(line, ';')) {
      const std::vector<std::string> words = words_of(text);
      const auto end = std::ranges::find(words, "--");
      const auto exec = std::find(words.begin(), end, "exec");
      if (exec == words.begin() || exec == end || end == words.end() || std::none_of(exec, end, is_pod)) continue;
      std::string command;
      for (auto word = words.begin(); word != end; ++word) {
        command += (is_pod(*word) ? "{host}" : *word) + (word == exec ? " -i " : " ");
      }
      return command + "--";
    }
  }
  return {};
}

}  // namespace dlaunch::place
