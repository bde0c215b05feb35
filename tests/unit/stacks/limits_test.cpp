// The limits of a sample: a hostile process must not exhaust the reader.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "stacks/modules.h"
#include "stacks/python.h"
#include "stacks/sample.h"
#include "stacks/sampler.h"
#include "sys/files.h"

namespace dlaunch::stacks {
namespace {

using testing::HasSubstr;

constexpr Budget::Limits kEnough{.bytes = 64u << 20, .work = 1u << 30};

TEST(Budget, IsUsedUpByMemoryWorkAndTime) {
  Budget budget({.bytes = 10, .work = 10});
  EXPECT_TRUE(budget.keep(10));
  EXPECT_TRUE(budget.spend(10));
  EXPECT_FALSE(budget.used_up());
  EXPECT_FALSE(budget.spend(1));
  EXPECT_TRUE(budget.used_up());
  EXPECT_FALSE(budget.out_of_memory());
  Budget memory({.bytes = 10, .work = 10});
  EXPECT_FALSE(memory.keep(11));
  EXPECT_FALSE(memory.spend(1));
  EXPECT_TRUE(memory.out_of_memory());
  Budget late({.bytes = 10, .work = 10}, Clock::now());
  EXPECT_FALSE(late.spend(1));
  EXPECT_FALSE(late.out_of_memory());
}

TEST(Budget, PartGivesItsMemoryBack) {
  Budget whole({.bytes = 10, .work = 0});
  for (int i = 0; i < 3; ++i) {
    Budget part({.bytes = 100, .work = 0}, Time::max(), whole);
    EXPECT_TRUE(part.keep(6));
    Budget other({.bytes = 100, .work = 0}, Time::max(), whole);
    EXPECT_FALSE(other.keep(6));
    EXPECT_TRUE(other.used_up());
    EXPECT_TRUE(part.keep(4));
  }
  EXPECT_FALSE(whole.used_up());
}

/// The structures of CPython 3.11 with `threads` threads of 256 frames; each frame has its own code object.
class FalsePython {
 public:
  FalsePython(std::uint64_t threads, std::uint64_t name_size, std::uint64_t table_size) {
    put(kRuntime + 40, kInterpreter);
    put(kInterpreter + 16, kThreads);
    put(kText + 16, name_size);
    put(kText + 32, 0x64);  // compact, ASCII
    put(kTable + 16, table_size);
    for (std::uint64_t t = 0; t < threads; ++t) {
      const std::uint64_t thread = kThreads + t * 1024;
      put(thread + 8, t + 1 < threads ? thread + 1024 : 0);
      put(thread + 160, t + 1);
      put(thread + 56, thread + 512);
      put(thread + 512 + 8, kFrames + t * kOfAThread);
    }
  }
  ReadMemory reader() {
    return [this](std::uint64_t at, std::span<char> into) {
      read_ += into.size();
      std::ranges::fill(into, '\x80');
      if (into.size() > 8) return true;
      std::uint64_t value = word(at & ~7u) >> (at % 8 * 8);
      std::memcpy(into.data(), &value, into.size());
      return true;
    };
  }
  std::size_t read() const { return read_; }

 private:
  static constexpr std::uint64_t kRuntime = 1u << 16;
  static constexpr std::uint64_t kInterpreter = 2u << 16;
  static constexpr std::uint64_t kText = 3u << 16;
  static constexpr std::uint64_t kTable = 4u << 16;
  static constexpr std::uint64_t kThreads = 1u << 20;
  static constexpr std::uint64_t kFrames = 1u << 30;
  static constexpr std::uint64_t kOfAThread = 256 * 512;

  void put(std::uint64_t at, std::uint64_t value) { words_[at] = value; }
  std::uint64_t word(std::uint64_t at) const {
    if (const auto known = words_.find(at); known != words_.end()) return known->second;
    if (at < kFrames) return 0;
    const std::uint64_t frame = at / 512 * 512;
    const std::uint64_t code = frame + 256;
    if (at == frame + 32) return code;
    if (at == frame + 48) return frame % kOfAThread == kOfAThread - 512 ? 0 : frame + 512;
    if (at == frame + 56) return code + 184;  // the first instruction
    if (at == code + 8) return kInterpreter;  // a type
    if (at == code + 112 || at == code + 128) return kText;
    return at == code + 136 ? kTable : 0;
  }

  std::map<std::uint64_t, std::uint64_t> words_;
  std::size_t read_ = 0;
};

constexpr std::uint64_t kRuntime = 1u << 16;
constexpr std::uint32_t kVersion = 0x030b07f0;

TEST(StacksLimits, FalsePythonIsReadUpToALimitOfMemory) {
  for (const std::uint64_t table : {0u, 1u << 18}) {
    FalsePython python(1024, 512, table);
    Budget budget(Sampler::kOfAProcess);
    const PythonStacks stacks = read_python(python.reader(), kRuntime, kVersion, budget);
    EXPECT_TRUE(budget.out_of_memory());
    std::size_t bytes = 0;
    for (const PythonThread& thread : stacks.threads) bytes += bytes_of(thread.frames);
    EXPECT_LE(bytes, Sampler::kOfAProcess.bytes);
    EXPECT_LT(python.read(), 2 * Sampler::kOfAProcess.bytes);
  }
}

TEST(StacksLimits, FalsePythonIsReadUpToALimitOfWork) {
  FalsePython python(64, 16, 1u << 18);
  Budget budget({.bytes = 1u << 30, .work = 1u << 20});
  const PythonStacks stacks = read_python(python.reader(), kRuntime, kVersion, budget);
  EXPECT_TRUE(budget.used_up());
  EXPECT_FALSE(budget.out_of_memory());
  EXPECT_LT(python.read(), 4u << 20);
}

TEST(StacksLimits, UsualPythonIsWithinTheLimits) {
  FalsePython python(16, 20, 1000);
  Budget budget(Sampler::kOfAProcess);
  const PythonStacks stacks = read_python(python.reader(), kRuntime, kVersion, budget);
  EXPECT_FALSE(budget.used_up());
  EXPECT_EQ(stacks.threads.size(), 16u);
  EXPECT_EQ(stacks.threads.back().frames.size(), kMostFrames);
}

Sample sample_of(pid_t pid, std::size_t threads, std::size_t bytes) {
  Sample sample;
  sample.pid = pid;
  sample.threads.resize(threads);
  for (ThreadStack& thread : sample.threads) {
    thread.native.push_back({.function = std::string(bytes, 'a'), .file = "/usr/lib/libc.so.6"});
  }
  return sample;
}

TEST(StacksLimits, KeptSamplesAreUpToALimit) {
  SampleCache cache(64u << 10);
  const SwitchCounts counts = {{1, {"1 1", "34 0x0 0x0"}}};
  cache.keep(sample_of(1, 10, 1000), 7, counts, true);
  EXPECT_EQ(cache.bytes(), 0u);  // a large one
  for (pid_t pid = 1; pid <= 1000; ++pid) cache.keep(sample_of(pid, 1, 1000), 7, counts, true);
  EXPECT_LE(cache.bytes(), 64u << 10);
  EXPECT_GT(cache.bytes(), 32u << 10);
  EXPECT_NE(cache.find(1, 7, counts, true), nullptr);
  EXPECT_EQ(cache.find(1000, 7, counts, true), nullptr);
  for (int i = 0; i < 1000; ++i) cache.keep(sample_of(1, 1, 1000), 7, counts, true);  // replaces
  for (int i = 0; i < 100; ++i) cache.begin_sampling();
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(StacksLimits, CachedRowsAndNamesAreUpToALimit) {
  ModuleCache cache(64u << 10);
  KnownModule* module = cache.of({.path = "/a"}, "elf");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(cache.of({.path = "/a"}, "elf"), module);
  const CallFrame row{.expression = std::string(100, 'x')};
  for (std::uint64_t i = 0; i < 1000; ++i) cache.keep(*module, i, row);
  for (std::uint64_t i = 0; i < 1000; ++i) cache.keep(*module, i, std::string(100, 'n'));
  EXPECT_LE(cache.bytes(), 64u << 10);
  EXPECT_GT(module->rows.size(), 10u);
  EXPECT_LT(module->rows.size(), 64u);
  for (int i = 0; i < 1000; ++i) cache.of({.path = "/" + std::to_string(i)}, std::string(kBeginning, 'e'));
  EXPECT_LE(cache.bytes(), 64u << 10);
  EXPECT_EQ(cache.of({.path = "/999"}, std::string(kBeginning, 'e')), nullptr);
  cache.forget_some();
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_NE(cache.of({.path = "/999"}, "elf"), nullptr);
}

TEST(StacksLimits, TreeWithoutMemoryHasNoFrames) {
  Sampler sampler{.deadline = Clock::now() + std::chrono::seconds(10)};
  EXPECT_TRUE(sampler.budget.keep(Sampler::kMostBytes - 1));
  const Tree tree = take_tree(::getpid(), sampler);
  EXPECT_TRUE(tree.timed_out);
  EXPECT_TRUE(tree.processes.front().threads.front().native.empty());
  EXPECT_THAT(tree.processes.front().remarks.front(), HasSubstr("not enough memory"));
}

TEST(StacksLimits, ReportIsUpToALimit) {
  Sample sample = sample_of(1, 1000, 1000);
  for (std::size_t i = 0; i < sample.threads.size(); ++i) sample.threads[i].name = std::to_string(i);
  const std::string text = picture_of(sample, true, 10'000);
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_THAT(text, HasSubstr("further threads are left out"));
  EXPECT_THAT(picture_of(sample, true, 10u << 20), testing::Not(HasSubstr("left out")));
}

/// This program as a mapped file.
class Own {
 public:
  Own() {
    struct stat facts = {};
    ::stat("/proc/self/exe", &facts);
    beginning = sys::read_file("/proc/self/exe", kBeginning).value_or("");
    for (const Mapping& mapping : parse_maps(sys::read_file("/proc/self/maps", 8u << 20).value_or(""))) {
      if (first.path.empty() && mapping.offset == 0) first = mapping;
    }
  }
  Mapping first = {};
  std::string beginning;
};

TEST(StacksLimits, NamesOfALargeFileAreLeftOut) {
  const Own own;
  Budget whole(kEnough);
  Budget time(kEnough);
  ModuleNames names(whole);
  EXPECT_NE(names.of(::getpid(), own.first, own.beginning, time), nullptr);
  EXPECT_FALSE(names.left_out());
  ModuleNames few(whole, 100u << 10);
  const FunctionNames* none = few.of(::getpid(), own.first, own.beginning, time);
  EXPECT_TRUE(none == nullptr || none->at(0x10000).empty());
  EXPECT_TRUE(few.left_out());
  Budget late(kEnough, Clock::now());
  ModuleNames again(whole);
  EXPECT_EQ(again.of(::getpid(), own.first, own.beginning, late), nullptr);
  EXPECT_NE(again.of(::getpid(), own.first, own.beginning, time), nullptr);  // the next process finds them
}

/// A process may replace the file of a mapping by anything.
class Replaced : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::canonical(::testing::TempDir()).string() + "/stacks_limits_" + std::to_string(::getpid());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const FunctionNames* names(const std::string& file) {
    Mapping mapping = own_.first;
    mapping.path = path_;
    if (!file.empty()) mapping.file = file;
    found_ = std::make_unique<ModuleNames>(whole_);
    return found_->of(::getpid(), mapping, own_.beginning, time_);
  }
  std::string id(bool other = false) const {
    struct stat facts = {};
    ::stat(path_.c_str(), &facts);
    char text[64];
    std::snprintf(text, sizeof text, "%02x:%02x %lu", major(facts.st_dev), minor(facts.st_dev),
                  static_cast<unsigned long>(facts.st_ino) + (other ? 1 : 0));
    return text;
  }

  Own own_;
  std::string path_;
  Budget whole_{kEnough};
  Budget time_{kEnough};
  std::unique_ptr<ModuleNames> found_;
};

TEST_F(Replaced, RegularFileHasNamesIfItIsTheMappedOne) {
  std::filesystem::copy_file("/proc/self/exe", path_);
  EXPECT_NE(names(id()), nullptr);
  EXPECT_EQ(names(id(true)), nullptr);
}

TEST_F(Replaced, SymbolicLinkIsNotFollowed) {
  std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe"), path_);
  EXPECT_EQ(names(id()), nullptr);
}

TEST_F(Replaced, FifoIsNotOpened) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const sys::Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(watch.get(), path_.c_str(), IN_OPEN), 0);
  EXPECT_EQ(names(id()), nullptr);
  char events[4096];
  EXPECT_EQ(::read(watch.get(), events, sizeof events), -1);
  const sys::Fd opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  EXPECT_GT(::read(watch.get(), events, sizeof events), 0);  // the watch works
}

}  // namespace
}  // namespace dlaunch::stacks
