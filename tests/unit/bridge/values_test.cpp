#include "pmix/bridge/values.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "lib_pmix.h"
#include "wire/mpi.h"

namespace dlaunch::pmix {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

pmix_proc_t process(const char* space, pmix_rank_t rank) {
  pmix_proc_t made;
  PMIX_LOAD_PROCID(&made, space, rank);
  return made;
}

TEST(MembersOf, ListsRanksOrAllRanks) {
  const std::array some{process("job", 0), process("job", 1), process("job", 4)};
  EXPECT_EQ(members_of(some.data(), some.size()), "job:0-1,4");
  const std::array all{process("job", PMIX_RANK_WILDCARD)};
  EXPECT_EQ(members_of(all.data(), all.size()), "job:*");
}

TEST(List, EndsAtTheNullPointer) {
  std::string first = "a";
  std::string second = "b c";
  std::array<char*, 3> words{first.data(), second.data(), nullptr};
  EXPECT_THAT(list(words.data()), ElementsAre("a", "b c"));
  EXPECT_THAT(list(words.data() + 2), IsEmpty());
  EXPECT_THAT(list(nullptr), IsEmpty());
}

using Packed = LibPmix;

TEST_F(Packed, ValueRoundTrips) {
  Infos infos;
  infos.add("key", "a word");
  const std::string bytes = packed(infos.data()->value);
  ASSERT_FALSE(bytes.empty());
  pmix_value_t back;
  PMIX_VALUE_CONSTRUCT(&back);
  ASSERT_TRUE(unpack(bytes, back));
  EXPECT_EQ(back.type, PMIX_STRING);
  EXPECT_STREQ(back.data.string, "a word");
  PMIX_VALUE_DESTRUCT(&back);
}

TEST_F(Packed, EmptyBytesDoNotUnpack) {
  pmix_value_t back;
  PMIX_VALUE_CONSTRUCT(&back);
  EXPECT_FALSE(unpack("", back));
  PMIX_VALUE_DESTRUCT(&back);
}

TEST_F(Packed, InfosRoundTrip) {
  Infos infos;
  infos.add("word", "hello");
  infos.add("number", std::uint32_t{7});
  const Unpacked back(packed(infos.data(), infos.size()));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_STREQ(back.data()[0].key, "word");
  EXPECT_STREQ(back.data()[0].value.data.string, "hello");
  EXPECT_EQ(back.data()[1].value.data.uint32, 7u);
}

TEST_F(Packed, TruncatedInfosDoNotUnpack) {
  Infos infos;
  infos.add("word", "hello");
  infos.add("number", std::uint32_t{7});
  const std::string bytes = packed(infos.data(), infos.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Unpacked(bytes.substr(0, size)).size(), 0u) << size;
  }
  EXPECT_EQ(packed(infos.data(), 0), "");
}

/// An app, filled in like by a client of libpmix.
class SpawnAsk : public testing::Test {
 protected:
  SpawnAsk() {
    app.cmd = cmd.data();
    app.argv = argv.data();
    app.env = env.data();
    app.maxprocs = 2;
  }
  SpawnProgram asked() {
    app.info = infos.data();
    app.ninfo = infos.size();
    const auto ask = spawn_ask(of_job.data(), of_job.size(), &app, 1);
    if (!ask) return {};
    const auto found = wire::programs(*ask);
    return found && found->size() == 1 ? found->front() : SpawnProgram{};
  }

  std::string cmd = "prog";
  std::string word = "word";
  std::string own = "PMIX_RANK=3";
  std::string users = "COLOUR=red = blue";
  std::string cwd = "/its";
  std::array<char*, 3> argv{cmd.data(), word.data(), nullptr};
  std::array<char*, 3> env{own.data(), users.data(), nullptr};
  pmix_app_t app{};
  Infos of_job, infos;
};

TEST_F(SpawnAsk, HasTheArgumentsAndTheUsersVariables) {
  const SpawnProgram program = asked();
  EXPECT_EQ(program.ranks, 2u);
  EXPECT_THAT(program.argv, ElementsAre("prog", "word"));
  EXPECT_THAT(program.env, ElementsAre("COLOUR=red = blue")) << "a rank's own are its server's to say";
  EXPECT_EQ(program.wdir, "");
  EXPECT_THAT(program.hosts, IsEmpty());
}

TEST_F(SpawnAsk, WithoutArgumentsUsesTheCommand) {
  app.argv = nullptr;
  EXPECT_THAT(asked().argv, ElementsAre("prog"));
}

TEST_F(SpawnAsk, PrefersInfoOfTheAppToInfoOfTheJob) {
  of_job.add(PMIX_WDIR, "/jobs");
  EXPECT_EQ(asked().wdir, "/jobs");
  app.cwd = cwd.data();
  EXPECT_EQ(asked().wdir, "/its");
  infos.add(PMIX_WDIR, "/infos");
  EXPECT_EQ(asked().wdir, "/infos");
}

TEST_F(SpawnAsk, OmitsTheSlotsOfHosts) {
  infos.add(PMIX_HOST, "n1,n2:4,,n3:x");
  EXPECT_THAT(asked().hosts, ElementsAre("n1", "n2", "n3:x"));
}

TEST_F(SpawnAsk, IgnoresValuesOfAnotherType) {
  infos.add(PMIX_WDIR, std::uint32_t{7});
  infos.add(PMIX_HOST, std::uint32_t{7});
  EXPECT_EQ(asked().wdir, "");
  EXPECT_THAT(asked().hosts, IsEmpty());
}

TEST_F(SpawnAsk, RejectsANegativeNumberOfRanks) {
  app.maxprocs = -1;
  EXPECT_FALSE(spawn_ask(nullptr, 0, &app, 1));
}

}  // namespace
}  // namespace dlaunch::pmix
