#include "report/log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "base/printable.h"

namespace dlaunch::report {
namespace {

namespace level = spdlog::level;
using Importance = output::StandardStreams::Importance;

/// Formats a message as complete lines. With --quiet a note becomes empty.
class LineFormatter : public spdlog::formatter {
 public:
  struct Wanted {
    bool notes = true;
    bool time = false;
  };
  explicit LineFormatter(Wanted wanted) : wanted_(wanted) {
    if (wanted.time) {
      time_ = std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%e ", spdlog::pattern_time_type::local, "");
    }
  }

  void format(const spdlog::details::log_msg& record, spdlog::memory_buf_t& lines) override {
    const std::string_view text(record.payload.data(), record.payload.size());
    if (record.level >= level::err) {
      lines.append(text);
    } else if (record.level < level::warn) {
      spdlog::memory_buf_t time;
      if (time_) time_->format(record, time);
      lines.append(message({time.data(), time.size()}, text));
    } else if (wanted_.notes) {
      lines.append(message("note: ", text));
    }
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(wanted_); }

 private:
  const Wanted wanted_;
  std::unique_ptr<spdlog::formatter> time_;
};

class LineSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit LineSink(PrintLines print)
      : base_sink(std::make_unique<LineFormatter>(LineFormatter::Wanted{})), print_(std::move(print)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& record) override {
    spdlog::memory_buf_t lines;
    formatter_->format(record, lines);
    print_(record.level, {lines.data(), lines.size()});
  }
  void flush_() override {}

  const PrintLines print_;
};

}  // namespace

std::shared_ptr<spdlog::logger> make_log(PrintLines print) {
  auto log = std::make_shared<spdlog::logger>("dlaunch", std::make_shared<LineSink>(std::move(print)));
  log->set_level(level::warn);
  log->set_error_handler([](const std::string&) { throw; });  // spdlog calls the handler inside a catch block
  return log;
}

std::shared_ptr<spdlog::logger> make_log(output::StandardStreams& streams) {
  return make_log([&streams](level::level_enum at, std::string_view lines) {
    const Importance importance = at >= level::err    ? Importance::needed
                                  : at == level::warn ? Importance::note
                                                      : Importance::verbose;
    streams.say(importance, lines);
  });
}

void set_verbosity(spdlog::logger& log, int verbosity, bool quiet) {
  log.set_level(verbosity == 0 ? level::warn : verbosity == 1 ? level::info : level::debug);
  log.set_formatter(std::make_unique<LineFormatter>(LineFormatter::Wanted{.notes = !quiet, .time = verbosity > 1}));
}

int complain(spdlog::logger& log, const Error& error) {
  if (!error.what.empty()) log.error(to_text(error));
  return error.exit_code;
}

void log_notes(spdlog::logger& log, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) log.warn(note);
}

}  // namespace dlaunch::report
