#include "agent/environment.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/environment.h"
#include "place/variables.h"
#include "plan/environment.h"
#include "plan/mpi.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/io.h"
#include "wire/limits.h"

namespace dlaunch::agent {
namespace {

constexpr mode_t kEnvironmentMode = 0600;

bool is_pmi1(const std::string& entry) {
  return std::ranges::find(plan::kPmi1Variables, variable_name(entry)) != std::end(plan::kPmi1Variables);
}

constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE=";
constexpr const char* kErrorDirectory = "errors";

}  // namespace

bool save_environment(const sys::HeldDirectory& directory, char* const* entries) {
  const int error = directory.remove_file(kEnvironmentFile);  // a short name: std::string allocates no memory
  if (error != 0 && error != ENOENT) {
    errno = error;
    return false;
  }
  const sys::Fd file = directory.open_file(kEnvironmentFile, O_WRONLY | O_CREAT | O_EXCL, kEnvironmentMode);
  for (; file && *entries; ++entries) {
    if (!sys::write_all(file.get(), *entries) || !sys::write_all(file.get(), "\n")) return false;
  }
  return static_cast<bool>(file);
}

bool has_name_of(const std::vector<std::string>& env, const std::string& other) {
  return variable(env, variable_name(other)).has_value();
}

void add_unless_there(std::vector<std::string>& env, const std::string& added) {
  if (!has_name_of(env, added)) env.push_back(added);
}

void add_missing(std::vector<std::string>& own, const std::vector<std::string>& shared,
                 const std::vector<std::string>& added) {
  for (const std::string& entry : added) {
    if (!has_name_of(shared, entry)) add_unless_there(own, entry);
  }
}

void drop_pmi1(std::vector<std::string>& env) { std::erase_if(env, is_pmi1); }

void drop_planned_pmi1(std::vector<std::string>& env, std::uint32_t ranks) {
  std::erase(env, "PMI_FD=" + std::to_string(plan::kPmiFd));
  std::erase(env, "PMI_SIZE=" + std::to_string(ranks));
}

void add_login(std::vector<std::string>& env) {
  const auto own = own_environment();
  for (const char* name : {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"}) {
    if (const auto value = variable(own, name)) add_unless_there(env, std::string(name) + '=' + *value);
  }
}

std::vector<std::string> node_variables() {
  auto variables = own_environment();
  std::erase_if(variables, [](const std::string& entry) { return !plan::tells_of_node(variable_name(entry)); });
  return variables;
}

std::vector<std::string> step_variables() {
  auto variables = own_environment();
  std::erase_if(variables, [](const std::string& entry) { return !place::numbers_srun_step(variable_name(entry)); });
  return variables;
}

bool has_variables_of_tasks(const std::vector<std::string>& env) {
  return std::ranges::any_of(env, place::counts_srun_tasks, variable_name);
}

std::string ErrorFiles::add_to(std::vector<std::string>& own, const std::vector<std::string>& shared,
                               std::uint32_t rank) {
  if (!offered_ || has_name_of(own, kErrorFileVariable) || has_name_of(shared, kErrorFileVariable)) return {};
  const auto directory = files_.make(kErrorDirectory);
  if (!directory) return {};  // a rank can fail without an error file
  std::string path = *directory + "/rank." + std::to_string(rank) + ".json";
  own.push_back(kErrorFileVariable + path);
  return path;
}

std::string ErrorFiles::text_of(const std::string& path) {
  if (path.empty()) return {};
  return sys::read_regular_file(path, wire::kMostErrorText).value_or("");
}

}  // namespace dlaunch::agent
