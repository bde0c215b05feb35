// Promise: each sentence that dlaunch prints is true. A table (sentence_table.h) has a row for each sentence: a pattern
// and a check against the world at the time of printing. A printed line without a row breaks the promise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "promises/promise.h"
#include "promises/truth.h"

namespace sim {

class Sentences final : public Promise {
 public:
  explicit Sentences(World& world) : truth_(world) {}

  void began(const Process& process) override;
  void ended(const Process& process) override { truth_.ended(process); }
  void fault(const Fault& fault, bool ends) override { truth_.fault(fault, ends); }
  void not_forked(int host, int rank) override { truth_.not_forked(host, rank); }
  void sent(int host, const dlaunch::wire::Message& message) override { truth_.sent(host, message); }
  void heard(int host, const dlaunch::wire::Message& message) override { truth_.heard(host, message); }
  void launcher_signalled(int signal) override { truth_.launcher_signalled(signal); }
  void launcher_stopped(Ns until) override { truth_.launcher_stopped(until); }
  void link_closed(int host) override { truth_.link_closed(host); }
  void printed(std::string_view lines) override;
  void job_ended(const Facts& facts) override;

 private:
  void missing(const Facts& facts, const dlaunch::job::Outcome& outcome);

  Truth truth_;
};

/// Prints the rows of the table for the test of the sources: a line each. Returns the exit code.
int print_sentences();

}  // namespace sim
