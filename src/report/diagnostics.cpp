#include "report/diagnostics.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::report {

/// A logger of our own: spdlog's registry, and what it starts, is left alone.
class Diagnostics::Logger {
 public:
  explicit Logger(bool with_time) : logger_("dlaunch", std::make_shared<spdlog::sinks::stderr_sink_st>()) {
    logger_.set_level(spdlog::level::debug);
    logger_.flush_on(spdlog::level::debug);
    logger_.set_pattern(with_time ? "dlaunch: %H:%M:%S.%e %v" : "dlaunch: %v");
  }
  void write(spdlog::level::level_enum level, const std::string& line) {
    logger_.log(level, spdlog::string_view_t(line));
  }

 private:
  spdlog::logger logger_;
};

Diagnostics::Diagnostics(int verbosity) : verbosity_(verbosity) {
  if (on(Level::info)) logger_ = std::make_unique<Logger>(on(Level::detail));
}

Diagnostics::~Diagnostics() = default;

void Diagnostics::say(Level level, std::string_view text) {
  if (!on(level)) return;
  const auto spdlog_level = level == Level::info ? spdlog::level::info : spdlog::level::debug;
  for (const std::string& line : split(text, '\n')) logger_->write(spdlog_level, printable(line));
}

}  // namespace dlaunch::report
