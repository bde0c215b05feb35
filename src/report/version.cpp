// The only code that reads the versions of the libraries. Uses macros only, without linking the libraries.
#include <fmt/core.h>
#include <hwloc/autogen/config.h>
#include <nettle/version.h>
#include <sodium/version.h>
#include <spdlog/version.h>

#include <toml++/impl/version.h>
#include <CLI/Version.hpp>
#include <asio/version.hpp>
#include <nlohmann/json.hpp>

#include "report/version.h"

namespace dlaunch::report {
namespace {

std::string dotted(long major, long minor, long patch) {
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

}  // namespace

std::string version() { return DLAUNCH_VERSION; }

std::vector<std::pair<std::string, std::string>> libraries() {
  // The macros of Asio and fmt are numbers such as 102201 (1.22.1) and 90100 (9.1.0).
  return {
      {"Asio", dotted(ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100)},
      {"CLI11", CLI11_VERSION},
      {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"hwloc", HWLOC_VERSION},
      {"libsodium", SODIUM_VERSION_STRING},
      {"nettle", std::to_string(NETTLE_VERSION_MAJOR) + '.' + std::to_string(NETTLE_VERSION_MINOR)},
      {"nlohmann/json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"RE2", RE2_VERSION},
      {"spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"toml++", dotted(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)}};
}

std::string version_text() {
  std::string text = "dlaunch " + version() + "\nbuild " DLAUNCH_BUILD "\nbuilt with";
  for (const auto& [name, number] : libraries()) text += (text.ends_with("with") ? " " : ", ") + name + ' ' + number;
  return text + '\n';
}

}  // namespace dlaunch::report
