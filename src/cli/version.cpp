// The one place that asks the libraries for their versions; their macros alone are used, nothing of them is linked
// here.
#include <fmt/core.h>
#include <hwloc/autogen/config.h>
#include <spdlog/version.h>

#include <asio/version.hpp>
#include <nlohmann/json.hpp>

#include "cli/help.h"

namespace dlaunch::cli {
namespace {

/// 100901 with steps of 100: "10.9.1".
std::string numbered(long number, long step) {
  return std::to_string(number / (step * step)) + '.' + std::to_string(number / step % step) + '.' +
         std::to_string(number % step);
}

}  // namespace

std::string version_text() {
  std::string text = "dlaunch " DLAUNCH_VERSION "\nbuilt with";
  // Asio and fmt number as in 102201 (1.22.1) and 90100 (9.1.0).
  text += " Asio " + std::to_string(ASIO_VERSION / 100000) + '.' + std::to_string(ASIO_VERSION / 100 % 1000) + '.' +
          std::to_string(ASIO_VERSION % 100);
  text += ", fmt " + numbered(FMT_VERSION, 100);
  text += ", hwloc " HWLOC_VERSION;
  text += ", nlohmann/json " + std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + '.' +
          std::to_string(NLOHMANN_JSON_VERSION_MINOR) + '.' + std::to_string(NLOHMANN_JSON_VERSION_PATCH);
  text += ", spdlog " + std::to_string(SPDLOG_VER_MAJOR) + '.' + std::to_string(SPDLOG_VER_MINOR) + '.' +
          std::to_string(SPDLOG_VER_PATCH);
  return text + '\n';
}

}  // namespace dlaunch::cli
