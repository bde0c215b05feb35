// Detects an MPIJob of Kubernetes in the launcher's pod. Supported: Kubeflow's MPI operator (v1 and v2beta1) and the
// MPI runtime of its Trainer. An MPI library's variable has the path of a mounted hostfile with the workers' pods.
// Pure, except for `read_file`.
#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"

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

struct MpiJob {
  std::string hostfile;      // path of the hostfile
  std::string from;          // the variable with this path
  std::string kubexec = {};  // v1: the path of the script; empty: ssh
};

/// nullopt elsewhere, such as in a worker's pod.
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

/// Converts the command of `script` (kubexec.sh) to the form of --exec: with {host} for the pod, and with the stdin
/// (-i) that the script omits. Empty if the script does not start kubectl in the operator's form.
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

std::optional<std::string> job(const Environment& environment) {
  return mpi_job(environment) ? std::optional<std::string>("") : std::nullopt;
}

Result<Entries> hosts_of_job(const Environment& environment, const hosts::ReadText& read_file) {
  const auto job = mpi_job(environment);
  if (!job) return Entries{};
  const auto text = read_file(job->hostfile);
  if (!text) return wrong_list(job->from, "cannot read " + job->hostfile, text.error().why);
  return hosts::parse_hostfile(*text, job->hostfile);
}

/// Adds -i to the `kubectl exec` command of an MPIJob of version 1. The pods of this version do not run sshd, and the
/// operator's kubexec.sh calls kubectl exec without -i, so stdin is closed. Version 2 uses ssh.
Result<std::string> command_of_files(const Environment& environment, const hosts::ReadText& read_file) {
  const auto job = mpi_job(environment);
  if (!job || job->kubexec.empty()) return std::string();
  const std::string script = TRY(read_file(job->kubexec));
  std::string command = kubectl_command(script);
  if (command.empty()) return fail({job->kubexec, "missing kubectl exec", "", "set the command with --exec"});
  return command;
}

/// No variable has the number of the pods of an Indexed Job, or the address of the first one. No variable shows whether
/// its pods form one job, so several pods are not refused.
Result<std::optional<NodePlace>> node(const Environment& environment) {
  constexpr const char* kIndex = "JOB_COMPLETION_INDEX";
  if (!filled_variable(environment, kIndex)) return std::optional<NodePlace>();
  NodePlace place;
  place.node = TRY(node_number(environment, kIndex));
  return place;
}

constexpr std::array<std::string_view, 1> kPrograms = {"kubectl"};
constexpr std::array<Way, 1> kWays = {{{"", kPrograms}}};
/// Pods of workers start after the launcher's pod, with new host keys.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDefaults = {
    {{"wait-hosts", "300"}, {"host-key", "accept-new"}}};

}  // namespace

constinit const ManagerRow kMpiJob = {.name = "MPIJob",
                                      .job = job,
                                      .hosts = hosts_of_job,
                                      .defaults = kDefaults,
                                      .ways = kWays,
                                      .starts_here_too = true,
                                      .command_of_files = command_of_files};

constinit const ManagerRow kIndexedJob = {.name = "Indexed Job", .node = node};

}  // namespace dlaunch::place
