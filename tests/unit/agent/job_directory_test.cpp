// The job's directory in a TMPDIR where another user may exchange directories.
#include "agent/job_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "sys/fd.h"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JobDirectoryTest : public testing::Test {
 protected:
  JobDirectoryTest() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    std::string name = testing::TempDir() + "job-directory-XXXXXX";
    top_ = ::mkdtemp(name.data());
    fs::create_directory(top_ + "/shared");
    ::chmod((top_ + "/shared").c_str(), 0777);
    fs::create_directory(top_ + "/private");
    std::ofstream(top_ + "/private/file") << "precious";
    ::setenv("TMPDIR", (top_ + "/shared").c_str(), 1);
    files_.belong_to("0123456789abcdef");
  }
  ~JobDirectoryTest() override {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
    fs::remove_all(top_);
  }

  /// The directory of the job, with a file.
  std::string made() {
    const auto path = files_.keep("a", "bytes");
    EXPECT_TRUE(path);
    return fs::path(path.value_or("/missing/a")).parent_path();
  }

  std::string top_;
  std::optional<std::string> before_;
  JobDirectory files_;
};

TEST_F(JobDirectoryTest, IsRemovedWithItsContent) {
  const std::string path = made();
  ASSERT_TRUE(files_.make("errors"));
  fs::create_symlink(top_ + "/private", path + "/errors/link");
  EXPECT_THAT(files_.remove(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(top_ + "/shared"));
  EXPECT_TRUE(fs::exists(top_ + "/private/file"));
}

TEST_F(JobDirectoryTest, SharedMemoryIsRemovedWithoutAProcess) {
  const std::string path = "/dev/shm/dlaunch-test-" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const rlimit none{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || !files_.make_shared_memory(path)) ::_exit(3);
    std::ofstream(path + "/file") << "bytes";
    ::_exit(files_.remove().empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(path));
  fs::remove_all(path);
}

TEST_F(JobDirectoryTest, NamesADiskThatDoesNotRespond) {
  EXPECT_EQ((JobDirectory::Failure{ETIMEDOUT, "cannot create /d"}.text()),
            "cannot create /d: the disk does not respond");
}

TEST_F(JobDirectoryTest, IsRemovedAfterAMomentWithoutDescriptors) {
  made();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = sys::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::setrlimit(RLIMIT_NOFILE, &before);
  });
  EXPECT_THAT(files_.remove(), IsEmpty());
  EXPECT_TRUE(fs::is_empty(top_ + "/shared"));
}

TEST_F(JobDirectoryTest, FilesDoNotFollowAnExchangedDirectory) {
  const std::string path = made();
  fs::rename(path, top_ + "/shared/moved");
  fs::create_symlink(top_ + "/private", path);
  ASSERT_TRUE(files_.keep("file", "bytes"));
  ASSERT_TRUE(files_.make("new"));
  EXPECT_TRUE(fs::exists(top_ + "/shared/moved/new"));
  EXPECT_FALSE(fs::exists(top_ + "/private/new"));
  std::string text;
  std::ifstream(top_ + "/private/file") >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(JobDirectoryTest, AnExchangedDirectoryStays) {
  const std::string path = made();
  fs::rename(path, top_ + "/shared/moved");
  fs::rename(top_ + "/private", path);
  EXPECT_THAT(files_.remove(), ElementsAre(HasSubstr("cannot remove " + path)));
  EXPECT_TRUE(fs::exists(path + "/file"));
}

TEST_F(JobDirectoryTest, LeftDirectoryBehindALinkStays) {
  const std::string path = made();
  fs::create_symlink(top_ + "/private", top_ + "/shared/dlaunch-0123456789abcdef-0");
  EXPECT_THAT(files_.remove_left(), IsEmpty());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(top_ + "/private/file"));
}

}  // namespace
}  // namespace dlaunch::agent
