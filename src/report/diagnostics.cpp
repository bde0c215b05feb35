#include "report/diagnostics.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <string>

#include "base/printable.h"

namespace dlaunch::report {
namespace {

/// Into our stderr, which never makes the loop wait.
class StderrSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit StderrSink(output::StandardStreams& streams) : streams_(streams) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t before;
    formatter_->format(message, before);
    const std::string_view text(message.payload.data(), message.payload.size());
    streams_.say(output::StandardStreams::Importance::verbose,
                 dlaunch::message(std::string_view(before.data(), before.size()), text));
  }
  void flush_() override {}

  output::StandardStreams& streams_;
};

}  // namespace

/// A logger of our own: spdlog's registry, and what it starts, is left alone.
class Diagnostics::Logger {
 public:
  Logger(output::StandardStreams& streams, bool with_time) : logger_("dlaunch", std::make_shared<StderrSink>(streams)) {
    logger_.set_level(spdlog::level::debug);
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(with_time ? "%H:%M:%S.%e " : "",
                                                                      spdlog::pattern_time_type::local, ""));
  }
  void write(spdlog::level::level_enum level, std::string_view text) {
    logger_.log(level, spdlog::string_view_t(text.data(), text.size()));
  }

 private:
  spdlog::logger logger_;
};

Diagnostics::Diagnostics(output::StandardStreams& streams, int verbosity) : verbosity_(verbosity) {
  if (on(Level::info)) logger_ = std::make_unique<Logger>(streams, on(Level::detail));
}

Diagnostics::~Diagnostics() = default;

void Diagnostics::say(Level level, std::string_view text) {
  if (!on(level)) return;
  const auto spdlog_level = level == Level::info ? spdlog::level::info : spdlog::level::debug;
  logger_->write(spdlog_level, text);
}

}  // namespace dlaunch::report
