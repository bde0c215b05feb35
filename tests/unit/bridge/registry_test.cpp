#include "pmix/bridge/registry.h"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib_pmix.h"

namespace dlaunch::pmix {
namespace {

using namespace std::chrono_literals;

class Worlds : public LibPmix {
 protected:
  Worlds() : registry_(io_, start(), [this](Result<void> result) { told_.push_back(std::move(result)); }) {}

  static wire::PmixStart start() {
    wire::PmixStart start;
    start.space = "job";
    start.host = "n0";
    start.directory = directory();
    return start;
  }
  static wire::PmixWorld world(const std::string& space, std::uint32_t first, std::vector<std::uint32_t> placed) {
    wire::PmixWorld made;
    made.space = space;
    made.first = first;
    made.universe = 4;
    made.placed = std::move(placed);
    made.of_program = {2};
    return made;
  }
  static wire::PmixWorld of_two_hosts(const std::string& space) {
    wire::PmixWorld made = world(space, 10, {0, 2, 1, 1});
    made.hosts = {"n0", "n1"};
    return made;
  }
  /// The result of the next world; nullopt after a timeout.
  std::optional<Result<void>> next() {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (told_.size() <= heard_ && std::chrono::steady_clock::now() < deadline) {
      io_.restart();
      io_.run_for(5ms);
    }
    return told_.size() > heard_ ? std::optional(told_[heard_++]) : std::nullopt;
  }
  std::optional<std::uint32_t> id_of(const char* space, pmix_rank_t rank) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, space, rank);
    return registry_.id_of(process);
  }

  asio::io_context io_{1};
  std::vector<Result<void>> told_;
  size_t heard_ = 0;
  Registry registry_;
};

TEST_F(Worlds, AreKnownOnceLibpmixHasTheirRanks) {
  EXPECT_FALSE(registry_.knows("job-1"));
  registry_.add(of_two_hosts("job-1"));
  const auto told = next();
  ASSERT_TRUE(told && *told);
  EXPECT_TRUE(registry_.knows("job-1"));
  EXPECT_FALSE(registry_.knows("job"));
}

TEST_F(Worlds, UseTheRankNumbersOfTheJob) {
  registry_.add(of_two_hosts("job-2"));
  ASSERT_TRUE(next());
  EXPECT_EQ(id_of("job-2", 0), 10u);
  EXPECT_EQ(id_of("job-2", 2), 12u);
  EXPECT_EQ(id_of("job-2", 3), std::nullopt);
  EXPECT_EQ(id_of("job-2", PMIX_RANK_WILDCARD), std::nullopt);
  EXPECT_EQ(id_of("another", 0), std::nullopt);
  EXPECT_EQ(Registry::id_of(nullptr), std::nullopt);
}

TEST_F(Worlds, MayBeWithoutALocalRank) {
  wire::PmixWorld elsewhere = world("job-3", 0, {1, 2});
  elsewhere.hosts = {"n0", "n1"};
  registry_.add(elsewhere);
  const auto told = next();
  ASSERT_TRUE(told && *told);
  EXPECT_TRUE(registry_.knows("job-3"));
}

TEST_F(Worlds, MayUseEarlierHostsAndAddMore) {
  registry_.add(of_two_hosts("job-4"));
  ASSERT_TRUE(next());
  wire::PmixWorld later = world("job-5", 13, {1, 1, 2, 1});
  later.hosts = {"n2"};
  registry_.add(later);
  const auto told = next();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(id_of("job-5", 1), 14u);
}

TEST_F(Worlds, AreRegisteredOnce) {
  registry_.add(of_two_hosts("job-6"));
  ASSERT_TRUE(next());
  registry_.add(of_two_hosts("job-6"));
  io_.restart();
  io_.run_for(50ms);  // time for a second result
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(Worlds, AreRejectedOnUnknownHosts) {
  registry_.add(world("job-7", 0, {5, 1}));
  const auto told = next();
  ASSERT_TRUE(told);
  ASSERT_FALSE(*told);
  EXPECT_EQ(told->error().what, "cannot register the job's ranks with libpmix");
  EXPECT_FALSE(registry_.knows("job-7"));
}

}  // namespace
}  // namespace dlaunch::pmix
