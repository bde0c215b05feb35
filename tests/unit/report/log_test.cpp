#include "report/log.h"

#include <gmock/gmock.h>
#include <spdlog/formatter.h>
#include <unistd.h>

namespace dlaunch::report {
namespace {

namespace level = spdlog::level;
using testing::MatchesRegex;

template <class Say>
std::string said(int verbosity, bool quiet, Say say) {
  testing::internal::CaptureStderr();
  output::StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  const auto log = make_log(streams);
  set_verbosity(*log, verbosity, quiet);
  say(*log);
  return testing::internal::GetCapturedStderr();
}

std::string said(int verbosity) {
  return said(verbosity, false, [](spdlog::logger& log) {
    log.info(std::string("one {}\ndlaunch: two"));
    log.debug("three {}", "\x1b[2J");
  });
}

TEST(Log, SilentByDefault) { EXPECT_EQ(said(0), ""); }

TEST(Log, VerbosePrintsInformation) { EXPECT_EQ(said(1), "dlaunch: one {}\ndlaunch:   dlaunch: two\n"); }

TEST(Log, VeryVerbosePrintsDetailsAndTime) {
  const std::string time = "dlaunch: [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ ";
  EXPECT_THAT(said(2), MatchesRegex(time + "one \\{\\}\ndlaunch:   dlaunch: two\n" + time + "three .x1b.2J\n"));
}

TEST(Log, AppliesTheLevel) {
  output::StandardStreams streams({STDOUT_FILENO, STDERR_FILENO});
  const auto log = make_log(streams);
  EXPECT_FALSE(log->should_log(level::info));
  set_verbosity(*log, 1, false);
  EXPECT_TRUE(log->should_log(level::info));
  EXPECT_FALSE(log->should_log(level::debug));
  set_verbosity(*log, 2, false);
  EXPECT_TRUE(log->should_log(level::debug));
}

void say_note_and_error(spdlog::logger& log) {
  log_notes(log, {"one\ndlaunch: two"});
  EXPECT_EQ(complain(log, {"here", "what", "why", "hint", 7}), 7);
}

TEST(Log, NotesAndErrorsWithoutTime) {
  const std::string error = "dlaunch: here: what: why\ndlaunch:   hint\n";
  for (const int verbosity : {0, 1, 2}) {
    EXPECT_EQ(said(verbosity, false, say_note_and_error), "dlaunch: note: one\ndlaunch:   dlaunch: two\n" + error);
    EXPECT_EQ(said(verbosity, true, say_note_and_error), error);
  }
}

TEST(Log, QuietOmitsOnlyNotes) {
  EXPECT_EQ(said(1, true, [](spdlog::logger& log) { log.info("one"); }), "dlaunch: one\n");
}

/// By default, spdlog prints the exception to stderr, bypassing the streams, and continues.
TEST(Log, PropagatesExceptionsOfTheFormatter) {
  struct Unprintable : spdlog::formatter {
    void format(const spdlog::details::log_msg&, spdlog::memory_buf_t&) override { throw std::bad_alloc(); }
    std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<Unprintable>(); }
  };
  EXPECT_EQ(said(0, false,
                 [](spdlog::logger& log) {
                   log.set_formatter(std::make_unique<Unprintable>());
                   EXPECT_THROW(log.warn("one"), std::bad_alloc);
                 }),
            "");
}

}  // namespace
}  // namespace dlaunch::report
