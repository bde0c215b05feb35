// The common data of a host's ranks, from the plan.
#include "launcher/frames.h"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

wire::Layout layout_of(const plan::Plan& plan) {
  for (const wire::Message& frame : start_frames(plan, 0, {}, rank_facts(plan))) {
    if (const auto* layout = std::get_if<wire::Layout>(&frame)) return *layout;
  }
  ADD_FAILURE() << "no Layout";
  return {};
}

plan::Plan one_rank() {
  plan::Plan plan;
  plan::Host host;
  host.name = "n0";
  plan.hosts.push_back({host, {0}});
  plan.apps.emplace_back();
  plan.ranks.emplace_back();
  return plan;
}

TEST(Frames, ErrorFilesOfTorchrunDoNotMakeARestartPossible) {
  plan::Plan plan = one_rank();
  EXPECT_FALSE(layout_of(plan).error_files);
  EXPECT_FALSE(layout_of(plan).restart_possible);
  plan.frameworks.push_back(plan::Framework::torchrun);
  EXPECT_TRUE(layout_of(plan).error_files);
  EXPECT_FALSE(layout_of(plan).restart_possible);
}

TEST(Frames, RestartsMakeARestartPossible) {
  plan::Plan plan = one_rank();
  plan.restarts = 1;
  EXPECT_TRUE(layout_of(plan).error_files);
  EXPECT_TRUE(layout_of(plan).restart_possible);
}

}  // namespace
}  // namespace dlaunch::launcher
