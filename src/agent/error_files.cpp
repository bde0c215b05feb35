#include "agent/error_files.h"

#include "agent/environment.h"
#include "sys/files.h"
#include "wire/limits.h"

namespace dlaunch::agent {
namespace {

constexpr const char* kErrorFileVariable = "TORCHELASTIC_ERROR_FILE=";
constexpr const char* kErrorDirectory = "errors";

}  // namespace

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
