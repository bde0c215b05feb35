// The bootstrap script in each shell that may be a host's `sh`: runs only complete agents that no other user could have
// written.
#include <gmock/gmock.h>

#include <thread>

#include "host_shell.h"

namespace dlaunch::transport {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uid_t kOther = 4321;
constexpr const char* kHello = "hello 0022\n";

struct Kind {
  std::string name;
  std::vector<std::string> shell;
  std::string tools;  ///< the program of the shell; empty: the programs of this machine
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class BootstrapScript : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    for (const std::string& program : {GetParam().shell[0], GetParam().tools}) {
      if (!program.empty() && !fs::exists(program)) GTEST_SKIP() << program << " is not installed";
    }
    fs::create_directory(home_);
    if (GetParam().tools.empty()) return;
    fs::create_directory(tools_);
    fs::create_symlink("/bin/sh", tools_ / "sh");
    for (const char* tool :
         {"chmod", "cksum", "dd", "find", "head", "ls", "mkdir", "mv", "rm", "sha256sum", "timeout", "uname"}) {
      fs::create_symlink(GetParam().tools, tools_ / tool);
    }
  }

  Login with_cache(const fs::path& cache) const {
    return {.shell = GetParam().shell, .home = home_, .cache = cache, .path = GetParam().tools.empty() ? "" : tools_};
  }
  Login login() const { return with_cache({}); }
  static fs::path directory_in(const fs::path& cache) { return cache / "dlaunch" / fake_image().hash; }
  fs::path kept() const { return directory_in(home_ / ".cache") / "dlaunch-agent"; }

  void expect_sent(const Login& from) const {
    const Started started = start(from);
    EXPECT_TRUE(started.ran && started.sent) << started.why;
    EXPECT_THAT(started.said, AllOf(StartsWith("hello "), EndsWith("22\n")));
  }
  void expect_found(const Login& from) const {
    const Started started = start(from);
    EXPECT_TRUE(started.ran && !started.sent) << started.why;
  }
  static std::string refused(const Login& from) {
    const Started started = start(from);
    EXPECT_FALSE(started.ran || started.sent);
    return started.why;
  }
  /// A complete agent of another user, in directories of that user.
  static void plant(const fs::path& cache) {
    fs::create_directories(directory_in(cache));
    const fs::path planted = directory_in(cache) / "dlaunch-agent";
    std::ofstream(planted) << fake_image().bytes;
    fs::permissions(planted, fs::perms::all);
    for (fs::path path = planted; path != cache.parent_path(); path = path.parent_path()) {
      ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
    }
  }

  Homes homes_;
  const fs::path home_ = homes_.path / "home";
  const fs::path tools_ = homes_.path / "tools";
};

#define ONLY_AS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user"

TEST_P(BootstrapScript, SendsAgentOnceThenUsesCache) {
  expect_sent(login());
  struct stat info{};
  ASSERT_EQ(::stat(kept().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  expect_found(login());
}

TEST_P(BootstrapScript, KeepsUmaskOfLogin) {
  for (int times = 0; times < 2; ++times) {
    Login from = login();
    from.mask = 027;
    EXPECT_THAT(start(from).said, EndsWith("27\n"));
  }
}

TEST_P(BootstrapScript, SendsTruncatedAgentAgain) {
  expect_sent(login());
  fs::resize_file(kept(), 10);
  expect_sent(login());
  expect_found(login());
}

TEST_P(BootstrapScript, SendsChangedAgentOfSameSizeAgain) {
  expect_sent(login());
  std::string bytes(fake_image().bytes);
  bytes.replace(bytes.find("hello"), 5, "hallo");
  std::ofstream(kept(), std::ios::binary) << bytes;
  expect_sent(login());
  expect_found(login());
}

TEST_P(BootstrapScript, WritesMarkerAfterFlushedInstall) {
  expect_sent(login());
  const fs::path checked = kept().parent_path() / "checked";
  EXPECT_EQ(fs::exists(checked), GetParam().name != "toybox") << "toybox has no dd that flushes";
  expect_found(login());
  fs::last_write_time(checked, fs::last_write_time(kept()) - std::chrono::seconds(1));
  expect_found(login());
  EXPECT_GT(fs::last_write_time(checked), fs::last_write_time(kept()));
  fs::remove(checked);
  expect_found(login());
  EXPECT_TRUE(fs::exists(checked));
}

/// After a dd that cannot flush, a power failure may still damage the bytes.
TEST_P(BootstrapScript, ComparesUnflushedAgentAtNextStart) {
  const fs::path others = homes_.path / "others";
  fs::create_directory(others);
  fs::create_symlink("/bin/false", others / "dd");
  Login from = login();
  from.path = others.string() + ":" + (from.path.empty() ? "/usr/bin:/bin" : from.path);
  expect_sent(from);
  EXPECT_FALSE(fs::exists(kept().parent_path() / "checked"));
  expect_found(from);
  EXPECT_TRUE(fs::exists(kept().parent_path() / "checked"));
}

TEST_P(BootstrapScript, NeverRunsAgentOfAnotherUser) {
  ONLY_AS_ROOT();
  expect_sent(login());
  ASSERT_EQ(::chown(kept().c_str(), kOther, kOther), 0);
  expect_sent(login());
  expect_found(login());
}

TEST_P(BootstrapScript, SendsAgentWritableByOthersAgain) {
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    start(login());
    fs::permissions(kept(), fs::perms::owner_all | others);
    expect_sent(login());
    expect_found(login());
  }
}

TEST_P(BootstrapScript, ReplacesLinkToAgent) {
  expect_sent(login());
  fs::rename(kept(), home_ / "elsewhere");
  fs::create_symlink(home_ / "elsewhere", kept());
  expect_sent(login());
  EXPECT_FALSE(fs::is_symlink(kept()));
}

TEST_P(BootstrapScript, NamesDirectoryAtPathOfAgent) {
  fs::create_directories(kept());
  EXPECT_THAT(start(login()).why, HasSubstr("cannot move the agent to " + kept().string()));
}

TEST_P(BootstrapScript, RefusesDirectoriesWritableByOthers) {
  expect_sent(login());
  for (const fs::path& path : {kept().parent_path(), kept().parent_path().parent_path(), home_ / ".cache", home_}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, before | fs::perms::group_write);
    EXPECT_THAT(refused(login()), HasSubstr("other users can write to " + path.string() + " (run chmod go-w)"));
    fs::permissions(path, before);
  }
  expect_found(login());
}

TEST_P(BootstrapScript, UsesHomeInsteadOfForeignCache) {
  ONLY_AS_ROOT();
  const fs::path cache = homes_.path / "foreign";
  plant(cache);
  expect_sent(with_cache(cache));
  EXPECT_TRUE(fs::exists(kept()));
  expect_found(with_cache(cache));
}

TEST_P(BootstrapScript, UsesHomeInsteadOfFilesPlantedInSharedCache) {
  ONLY_AS_ROOT();
  const fs::path cache = homes_.path / "shared";
  plant(cache);
  ASSERT_EQ(::chown(cache.c_str(), 0, 0), 0);
  fs::permissions(cache, fs::perms::all | fs::perms::sticky_bit);
  expect_sent(with_cache(cache));
  EXPECT_TRUE(fs::exists(kept()));
}

TEST_P(BootstrapScript, AcceptsSharedStickyDirectory) {
  const fs::path cache = homes_.path / "shared";
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms::all | fs::perms::sticky_bit);
  expect_sent(with_cache(cache));
  expect_found(with_cache(cache));
  EXPECT_FALSE(fs::exists(kept()));
}

TEST_P(BootstrapScript, DoesNotFollowLinkIntoDirectoryOfAnotherUser) {
  ONLY_AS_ROOT();
  const fs::path foreign = homes_.path / "foreign";
  plant(foreign);
  fs::create_symlink(foreign, home_ / ".cache");
  EXPECT_THAT(refused(login()), HasSubstr(foreign.string() + " belongs to user 4321"));
  const fs::path empty = homes_.path / "empty";
  fs::create_directory(empty);
  ASSERT_EQ(::chown(empty.c_str(), kOther, kOther), 0);
  fs::remove(home_ / ".cache");
  fs::create_symlink(empty, home_ / ".cache");
  EXPECT_THAT(refused(login()), HasSubstr(empty.string() + " belongs to user 4321"));
  EXPECT_TRUE(fs::is_empty(empty));
}

TEST_P(BootstrapScript, FollowsLinkIntoOwnDirectory) {
  const fs::path scratch = homes_.path / "scratch of mine";
  fs::create_directory(scratch);
  fs::create_symlink(scratch, home_ / ".cache");
  expect_sent(login());
  EXPECT_TRUE(fs::exists(directory_in(scratch) / "dlaunch-agent"));
  expect_found(login());
}

TEST_P(BootstrapScript, UsesTheTemporaryDirectoryWithoutHome) {
  const fs::path programs = homes_.path / "bin";
  fs::create_directory(programs);
  std::ofstream(programs / "id") << "#!/bin/sh\necho nosuchuser\n";
  fs::permissions(programs / "id", fs::perms::owner_all);
  Login homeless = login();
  homeless.home.clear();
  homeless.path = programs.string() + ":" + std::getenv("PATH");
  EXPECT_THAT(refused(homeless), HasSubstr("HOME and TMPDIR are not absolute paths"));
  homeless.temporary = homes_.path / "temporary";
  expect_sent(homeless);
  expect_found(homeless);
  EXPECT_TRUE(fs::exists(directory_in(homeless.temporary + "/dlaunch-nosuchuser") / "dlaunch-agent"));
  homeless.cache = homes_.path / "cache";
  expect_sent(homeless);
  expect_found(homeless);
}

TEST_P(BootstrapScript, RefusesForeignHome) {
  ONLY_AS_ROOT();
  ASSERT_EQ(::chown(home_.c_str(), kOther, kOther), 0);
  EXPECT_THAT(refused(login()), HasSubstr(home_.string() + " belongs to user 4321"));
}

TEST_P(BootstrapScript, SurvivesParallelFirstStarts) {
  std::vector<Started> all(8);
  std::vector<std::thread> hosts;
  for (size_t i = 0; i < all.size(); ++i) {
    hosts.emplace_back([&, i] { all[i] = start(login(), std::string("nonce") + static_cast<char>('a' + i)); });
  }
  for (std::thread& host : hosts) host.join();
  for (const Started& each : all) EXPECT_TRUE(each.ran) << each.why;
  expect_found(login());
  // Runs the agent; the agent is complete.
  EXPECT_EQ(std::distance(fs::directory_iterator(kept().parent_path()), {}), 2);
}

TEST_P(BootstrapScript, RefusesDamagedUploadAndLeavesNoFile) {
  const HostShell shell(login());
  Bootstrap b("abc", {fake_image().machine});
  shell.write(bootstrap_script({fake_image()}, "abc", ""));
  ASSERT_EQ(shell.until(b), Bootstrap::Next::upload);
  shell.write(std::string(fake_image().bytes.size(), 'x'));
  EXPECT_EQ(shell.until(b), Bootstrap::Next::failed);
  EXPECT_THAT(b.why(), HasSubstr("wrong checksum"));
  EXPECT_TRUE(fs::is_empty(kept().parent_path()));
}

TEST_P(BootstrapScript, KeepsTheAgentForItsMachineTypeFromAllAgents) {
  if (!GetParam().tools.empty()) return;  // head reads ahead, but nodes of batch systems have GNU tools
  const std::string other(100'000, '\n');
  const AgentImage own = image_of("#!/bin/sh\n[ \"$1\" = --probe ] && exit 0\nread -r x; read -r x; echo got $x\n");
  for (const bool first : {true, false}) {
    std::vector<AgentImage> images = {own, image_of(other, "other")};
    if (!first) std::swap(images[0], images[1]);
    Login with_script = login();  // stdin has only the contact and the agents
    with_script.shell.insert(with_script.shell.end(), {"-c", bootstrap_script(images, "abc", "", kPieceLimit, "n1")});
    const HostShell shell(with_script);
    shell.write("\ncontact\n");
    for (const AgentImage& image : images) shell.write(image.bytes);
    shell.write("\ncontact\n");
    EXPECT_THAT(shell.rest(),
                AllOf(HasSubstr("dlaunch:abc n1 ready " + own.machine + '\n'), EndsWith("got contact\n")));
    fs::remove_all(home_ / ".cache");
  }
}

TEST(BootstrapUpload, StalledUploadEndsShell) {
  const Homes homes;
  Login login;
  login.home = homes.path;
  const HostShell shell(login);
  Bootstrap b("abc", {fake_image().machine});
  shell.write(bootstrap_script({fake_image()}, "abc", "", std::chrono::seconds(1)));
  ASSERT_EQ(shell.until(b), Bootstrap::Next::upload);
  shell.write(fake_image().bytes.substr(1));
  EXPECT_EQ(shell.until(b), Bootstrap::Next::failed);
  EXPECT_THAT(b.why(), HasSubstr("timed out after 1 s waiting for 64 KiB"));
  EXPECT_TRUE(fs::is_empty(homes.path / ".cache/dlaunch" / fake_image().hash));
}

TEST_P(BootstrapScript, NamesFileInPlaceOfCacheDirectory) {
  std::ofstream(home_ / ".cache") << "a file in the way";
  EXPECT_THAT(refused(login()), HasSubstr("cannot create " + home_.string() + "/.cache"));
}

TEST_P(BootstrapScript, UsesInstalledAgentOrReportsMissingAgent) {
  EXPECT_THAT(start(login(), "abc", "/no/such agent's").why, HasSubstr("/no/such agent's"));
  EXPECT_TRUE(start(login(), "abc", "/bin/true").ran);
  EXPECT_THAT(start(login(), "abc", "/no/{machine}/it's").why, EndsWith("/no/" + fake_image().machine + "/it's"));
}

INSTANTIATE_TEST_SUITE_P(Shells, BootstrapScript,
                         testing::Values(Kind{"sh", {"/bin/sh"}, ""}, Kind{"bash", {"/bin/bash"}, ""},
                                         Kind{"busybox", {"/bin/busybox", "sh"}, "/bin/busybox"},
                                         Kind{"toybox", {"/bin/sh"}, "/bin/toybox"}, Kind{"ksh93", {"/bin/ksh93"}, ""},
                                         Kind{"mksh", {"/bin/mksh"}, ""}, Kind{"yash", {"/bin/yash"}, ""},
                                         Kind{"zsh", {"/bin/zsh"}, ""}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace dlaunch::transport
