#include "transport/bootstrap.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sys/io.h"

namespace dlaunch::transport {
namespace {

using Next = Bootstrap::Next;
using testing::HasSubstr;
using testing::StartsWith;

Bootstrap bootstrap() { return Bootstrap("abc", "x86_64"); }

TEST(Bootstrap, SkipsNoiseAndKeepsTheFramesBehindTheMark) {
  Bootstrap b = bootstrap();
  EXPECT_EQ(b.feed("Welcome!\ndlaunch: not it\n"), Next::wait);
  EXPECT_EQ(b.feed("\ndlaunch:abc rea"), Next::wait);
  EXPECT_EQ(b.feed("dy x86_64\n\x01\x02"), Next::frames);
  EXPECT_EQ(b.rest(), "\x01\x02");
  EXPECT_THAT(b.noise(), StartsWith("Welcome!\n"));
}

TEST(Bootstrap, CutAnywhere) {
  const std::string all = "noise\ndlaunch:abc need x86_64\n\ndlaunch:abc ready x86_64\nREST";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    Bootstrap b = bootstrap();
    bool uploaded = false;
    Next last = b.feed(all.substr(0, cut));
    for (std::string more = all.substr(cut); last != Next::frames && last != Next::failed; more.clear()) {
      uploaded = uploaded || last == Next::upload;
      last = b.feed(more);
    }
    EXPECT_TRUE(uploaded) << cut;
    EXPECT_EQ(last, Next::frames) << cut;
    EXPECT_EQ(b.rest(), std::string("REST").substr(0, b.rest().size())) << cut;
  }
}

TEST(Bootstrap, TellsWhyNot) {
  Bootstrap failed = bootstrap();
  EXPECT_EQ(failed.feed("dlaunch:abc fail cannot make /h/.cache: is the home read-only?\n"), Next::failed);
  EXPECT_EQ(failed.why(), "cannot make /h/.cache: is the home read-only?");
  Bootstrap other = bootstrap();
  EXPECT_EQ(other.feed("dlaunch:abc need aarch64\n"), Next::failed);
  EXPECT_THAT(other.why(), HasSubstr("aarch64"));
  Bootstrap nonsense = bootstrap();
  EXPECT_EQ(nonsense.feed("dlaunch:abc what\n"), Next::failed);
}

TEST(Bootstrap, EndlessNoiseIsGivenUp) {
  Bootstrap b = bootstrap();
  const std::string noise(1 << 20, 'x');
  Next next = Next::wait;
  for (int i = 0; i < 8 && next == Next::wait; ++i) next = b.feed(noise);
  EXPECT_EQ(next, Next::failed);
}

/// A real shell with a home of its own, into which the script goes as a host's would.
class Shell {
 public:
  explicit Shell(const std::string& shell = "/bin/sh") {
    std::string name = (std::filesystem::temp_directory_path() / "dlaunch-bootstrap-XXXXXX").string();
    home_ = ::mkdtemp(name.data());
    sys::Pipe in = sys::make_pipe();
    sys::Pipe out = sys::make_pipe();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in.read.get(), 0);
      ::dup2(out.write.get(), 1);
      ::setenv("HOME", home_.c_str(), 1);
      ::unsetenv("XDG_CACHE_HOME");
      ::execl(shell.c_str(), "sh", nullptr);
      ::_exit(127);
    }
    in_ = std::move(in.write);
    out_ = std::move(out.read);
  }
  ~Shell() {
    in_.reset();
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(home_);
  }
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t took = ::write(in_.get(), text.data(), text.size());
      if (took <= 0) return;
      text.remove_prefix(static_cast<size_t>(took));
    }
  }
  /// Feeds what the shell says until something is to be done.
  Next until(Bootstrap& b) const {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(out_.get(), buffer, sizeof buffer);
      if (got <= 0) return Next::failed;
      const Next next = b.feed({buffer, static_cast<size_t>(got)});
      if (next != Next::wait) return next;
    }
  }
  const std::string& home() const { return home_; }

 private:
  std::string home_;
  pid_t pid_ = 0;
  sys::Fd in_, out_;
};

/// A script that stands for the agent: `--probe` succeeds, else it says hello.
AgentImage fake_image() {
  static const std::string bytes = "#!/bin/sh\n[ \"$1\" = --probe ] && exit 0\necho hello\n";
  return {bytes, "", "x86_64"};
}

AgentImage hashed(AgentImage image) {
  const std::string path = testing::TempDir() + "dlaunch-hash-me";
  std::ofstream(path, std::ios::binary) << image.bytes;
  FILE* pipe = ::popen(("sha256sum <" + path).c_str(), "r");
  char digits[65] = {};
  if (std::fread(digits, 1, 64, pipe) == 64) image.hash = digits;
  ::pclose(pipe);
  std::filesystem::remove(path);
  return image;
}

TEST(BootstrapScript, UploadsOnceThenFindsIt) {
  const AgentImage image = hashed(fake_image());
  const Shell first;
  first.write(bootstrap_script(image, "abc", ""));
  Bootstrap b("abc", "x86_64");
  ASSERT_EQ(first.until(b), Next::upload);
  first.write(image.bytes);
  ASSERT_EQ(first.until(b), Next::frames) << b.why();
  const std::string kept = first.home() + "/.cache/dlaunch/" + image.hash + "/dlaunch-agent";
  struct stat info{};
  ASSERT_EQ(::stat(kept.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  const Shell second;
  std::filesystem::create_directories(second.home() + "/.cache");
  std::filesystem::copy(first.home() + "/.cache", second.home() + "/.cache", std::filesystem::copy_options::recursive);
  second.write(bootstrap_script(image, "def", ""));
  Bootstrap again("def", "x86_64");
  EXPECT_EQ(second.until(again), Next::frames) << again.why();
}

TEST(BootstrapScript, ADamagedUploadIsRefusedAndLeavesNothing) {
  const AgentImage image = hashed(fake_image());
  const Shell shell;
  shell.write(bootstrap_script(image, "abc", ""));
  Bootstrap b("abc", "x86_64");
  ASSERT_EQ(shell.until(b), Next::upload);
  shell.write(std::string(image.bytes.size(), 'x'));
  EXPECT_EQ(shell.until(b), Next::failed);
  EXPECT_THAT(b.why(), HasSubstr("damaged"));
  EXPECT_TRUE(std::filesystem::is_empty(shell.home() + "/.cache/dlaunch/" + image.hash));
}

TEST(BootstrapScript, AHomeThatIsAFileIsNamed) {
  const AgentImage image = hashed(fake_image());
  const Shell shell;
  std::ofstream(shell.home() + "/.cache") << "a file in the way";
  shell.write(bootstrap_script(image, "abc", ""));
  Bootstrap b("abc", "x86_64");
  EXPECT_EQ(shell.until(b), Next::failed);
  EXPECT_THAT(b.why(), HasSubstr("cannot make " + shell.home() + "/.cache/dlaunch/"));
}

TEST(BootstrapScript, AnInstalledAgentIsUsedOrMissed) {
  const Shell missing;
  missing.write(bootstrap_script(fake_image(), "abc", "/no/such agent's"));
  Bootstrap b("abc", "x86_64");
  EXPECT_EQ(missing.until(b), Next::failed);
  EXPECT_THAT(b.why(), HasSubstr("/no/such agent's"));
  const Shell there;
  there.write(bootstrap_script(fake_image(), "abc", "/bin/true"));
  Bootstrap c("abc", "x86_64");
  EXPECT_EQ(there.until(c), Next::frames);
}

}  // namespace
}  // namespace dlaunch::transport
