#include "stacks/python.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace dlaunch::stacks {
namespace {

constexpr std::uint64_t kBase = 0x10000;

/// A process with some objects of Python.
class Objects {
 public:
  std::uint64_t type(const char* name) {
    const std::uint64_t text = put(std::vector<std::uint64_t>(2));
    std::memcpy(bytes_.data() + (text - kBase), name, std::strlen(name) + 1);
    return put({1, 0, 0, text});
  }
  std::uint64_t put(const std::vector<std::uint64_t>& words) {
    const std::uint64_t at = kBase + bytes_.size();
    bytes_.resize(bytes_.size() + words.size() * sizeof words[0]);
    std::memcpy(bytes_.data() + (at - kBase), words.data(), words.size() * sizeof words[0]);
    return at;
  }
  void set(std::uint64_t at, std::uint64_t value) { std::memcpy(bytes_.data() + (at - kBase), &value, sizeof value); }
  ReadMemory reader() {
    return [this](std::uint64_t at, std::span<char> into) {
      if (at < kBase || at - kBase + into.size() > bytes_.size()) return false;
      std::memcpy(into.data(), bytes_.data() + (at - kBase), into.size());
      return true;
    };
  }

 private:
  std::string bytes_;
};

std::uint64_t hash_of(Objects& objects, std::uint64_t variable) {
  const ReadMemory read = objects.reader();
  const PythonLayout layout{};
  ValueHash hash(read, layout);
  hash.add_variable(variable);
  return hash.value();
}

std::uint64_t hash_of_names(Objects& objects, std::uint64_t dict, bool versions) {
  const ReadMemory read = objects.reader();
  PythonLayout layout{};
  layout.dicts_have_versions = versions;
  ValueHash hash(read, layout);
  hash.add_names(dict);
  return hash.value();
}

TEST(ValueHash, ChangesWithAValueAtTheSameAddress) {
  for (const char* name : {"int", "float", "list", "dict"}) {
    Objects objects;
    const std::uint64_t object = objects.put({1, objects.type(name), 1, 500});
    const std::uint64_t before = hash_of(objects, object);
    EXPECT_EQ(hash_of(objects, object), before) << name;
    objects.set(object + 16, 2);
    EXPECT_NE(hash_of(objects, object), before) << name;
  }
}

TEST(ValueHash, IgnoresReferenceCounts) {
  Objects objects;
  const std::uint64_t object = objects.put({1, objects.type("int"), 1, 500});
  const std::uint64_t before = hash_of(objects, object);
  objects.set(object, 2);
  EXPECT_EQ(hash_of(objects, object), before);
}

/// These bytes may belong to another object.
TEST(ValueHash, IgnoresTheContentOfUnknownTypes) {
  for (const char* name : {"Tensor", "intern", "object"}) {
    Objects objects;
    const std::uint64_t object = objects.put({1, objects.type(name), 1, 500});
    const std::uint64_t before = hash_of(objects, object);
    objects.set(object + 16, 2);
    objects.set(object + 24, 2);
    EXPECT_EQ(hash_of(objects, object), before) << name;
  }
}

TEST(ValueHash, IncludesTheContentOfCells) {
  Objects objects;
  const std::uint64_t number = objects.put({1, objects.type("int"), 1, 500});
  const std::uint64_t cell = objects.put({1, objects.type("cell"), number, 0});
  const std::uint64_t before = hash_of(objects, cell);
  objects.set(number + 24, 501);
  EXPECT_NE(hash_of(objects, cell), before);
  objects.set(cell + 16, cell);  // a cell that contains itself does not loop forever
  hash_of(objects, cell);
}

TEST(ValueHash, UsesTheVersionOfAModuleDict) {
  Objects objects;
  const std::uint64_t dict = objects.put({1, objects.type("dict"), 3, 77, 0, 0});
  const std::uint64_t before = hash_of_names(objects, dict, true);
  EXPECT_EQ(hash_of_names(objects, dict, true), before);
  objects.set(dict + 24, 78);
  EXPECT_NE(hash_of_names(objects, dict, true), before);
}

TEST(ValueHash, UsesTheEntriesOfADictWithoutAVersion) {
  Objects objects;
  const std::uint64_t number = objects.put({1, objects.type("int"), 1, 500});
  // refcount; log2 of the size, log2 of the indices' bytes (3), kind (1: keys are strings); usable; entries; indices
  const std::uint64_t keys = objects.put({1, 0x010303, 5, 2, 0, 0, 0, 0, number});
  const std::uint64_t dict = objects.put({1, objects.type("dict"), 2, 0, keys, 0});
  const std::uint64_t before = hash_of_names(objects, dict, false);
  EXPECT_EQ(hash_of_names(objects, dict, false), before);
  objects.set(number + 24, 501);
  const std::uint64_t after = hash_of_names(objects, dict, false);
  EXPECT_NE(after, before);
  objects.set(keys + 40, number);  // the first entry's key
  EXPECT_EQ(hash_of_names(objects, dict, false), after);
  objects.set(keys + 48, number);  // its value
  EXPECT_NE(hash_of_names(objects, dict, false), after);
}

TEST(ValueHash, AcceptsUnreadableMemory) {
  Objects objects;
  hash_of(objects, 8);
  hash_of(objects, objects.put({1, 12345, 1}));
  hash_of_names(objects, 16, false);
  hash_of_names(objects, objects.put({1, 0, 2, 0, 999, 0}), false);
}

}  // namespace
}  // namespace dlaunch::stacks
