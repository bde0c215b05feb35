// Archives round-trip with any cut of the stream. Malformed archives are an Error.
#include "wire/archive.h"

#include <gmock/gmock.h>

namespace dlaunch::wire {
namespace {

using Kind = ArchiveItem::Kind;

struct Item {
  ArchiveItem head;
  std::string content;
  bool ended = false;
  bool operator==(const Item&) const = default;
};

/// Collects the items of a reader.
struct Seen {
  std::vector<Item> items;
  ArchiveReader reader{{[this](const ArchiveItem& head) {
                          items.push_back({head, "", false});
                          return Result<void>{};
                        },
                        [this](std::string_view bytes) {
                          items.back().content += bytes;
                          return Result<void>{};
                        },
                        [this] {
                          items.back().ended = true;
                          return Result<void>{};
                        }}};
};

std::vector<Item> some() {
  return {{{Kind::file, 0755, 5, "go.sh"}, "hello", true},
          {{Kind::directory, 0700, 0, "conf"}, "", true},
          {{Kind::file, 0600, 0, "conf/empty"}, "", true},
          {{Kind::link, 0, 5, "conf/link"}, "empty", true}};
}

std::string packed(const std::vector<Item>& items) {
  std::string archive;
  for (const Item& item : items) {
    append_item(item.head, archive);
    archive += item.content;
  }
  return archive;
}

TEST(Archive, RoundTripsWithAnyCut) {
  const std::string archive = packed(some());
  for (size_t cut = 0; cut <= archive.size(); ++cut) {
    Seen seen;
    ASSERT_TRUE(seen.reader.feed(std::string_view(archive).substr(0, cut)));
    ASSERT_TRUE(seen.reader.feed(std::string_view(archive).substr(cut)));
    EXPECT_EQ(seen.items, some()) << "cut at " << cut;
    EXPECT_TRUE(seen.reader.complete());
  }
}

TEST(Archive, IsIncompleteWhileBytesAreMissing) {
  const std::string archive = packed({some().front()});
  for (size_t cut = 1; cut < archive.size(); ++cut) {
    Seen seen;
    ASSERT_TRUE(seen.reader.feed(std::string_view(archive).substr(0, cut)));
    EXPECT_FALSE(seen.reader.complete()) << "cut at " << cut;
  }
}

class ArchiveRefuses : public testing::TestWithParam<std::pair<const char*, ArchiveItem>> {};

TEST_P(ArchiveRefuses, InvalidItem) {
  Seen seen;
  std::string archive;
  append_item(GetParam().second, archive);
  EXPECT_FALSE(seen.reader.feed(archive + "x"));
  EXPECT_TRUE(seen.items.empty());
}

INSTANTIATE_TEST_SUITE_P(Broken, ArchiveRefuses,
                         testing::Values(std::pair{"up", ArchiveItem{Kind::file, 0, 1, "../x"}},
                                         std::pair{"absolute", ArchiveItem{Kind::file, 0, 1, "/x"}},
                                         std::pair{"up_within", ArchiveItem{Kind::file, 0, 1, "a/../../x"}},
                                         std::pair{"dot", ArchiveItem{Kind::file, 0, 1, "."}},
                                         std::pair{"no_name", ArchiveItem{Kind::file, 0, 1, ""}},
                                         std::pair{"nul", ArchiveItem{Kind::file, 0, 1, std::string("a\0b", 3)}},
                                         std::pair{"too_long", ArchiveItem{Kind::file, 0, 1, std::string(4097, 'a')}},
                                         std::pair{"too_large", ArchiveItem{Kind::file, 0, kMaxStaged + 1, "x"}},
                                         std::pair{"kind", ArchiveItem{static_cast<Kind>(3), 0, 1, "x"}}),
                         [](const auto& row) { return std::string(row.param.first); });

TEST(Archive, PropagatesTheErrorOfAHandler) {
  ArchiveReader reader(
      {[](const ArchiveItem&) -> Result<void> { return fail({.where = "", .what = "full", .why = "", .hint = ""}); },
       [](std::string_view) { return Result<void>{}; }, [] { return Result<void>{}; }});
  const auto fed = reader.feed(packed(some()));
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().what, "full");
}

}  // namespace
}  // namespace dlaunch::wire
