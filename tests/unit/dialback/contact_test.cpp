#include "dialback/job_key.h"

#include <gtest/gtest.h>

namespace dlaunch::dialback {
namespace {

const LauncherContact kContact{{"fd00::1", 4711}, std::string(64, 'k')};

TEST(Contacts, AreFoundAfterAnyBytes) {
  std::string text(100'000, 'x');
  text += "\n#dlaunch:abc ca";  // only the start of a mark
  text += contact_line(kContact, "abc");
  for (const size_t piece : {size_t{1}, size_t{7}, text.size()}) {
    ContactReader reader("abc");
    std::optional<LauncherContact> contact;
    for (size_t at = 0; at < text.size() && !contact; at += piece)
      contact = reader.feed(std::string_view(text).substr(at, piece));
    ASSERT_TRUE(contact) << piece;
    EXPECT_EQ(contact->at, kContact.at);
    EXPECT_EQ(contact->key, kContact.key);
  }
}

TEST(Contacts, OfMaximumSizeAreReadInAnyChunks) {
  const std::string at = to_string(kContact.at) + ' ';
  for (const size_t size : {kMostContact, kMostContact + 1}) {
    const std::string text = contact_line({kContact.at, std::string(size - at.size(), 'k')}, "abc");
    for (const size_t piece : {size_t{1}, text.size()}) {
      ContactReader reader("abc");
      std::optional<LauncherContact> contact;
      for (size_t from = 0; from < text.size() && !contact && !reader.broken(); from += piece)
        contact = reader.feed(std::string_view(text).substr(from, piece));
      EXPECT_EQ(contact.has_value(), size == kMostContact) << size << " in pieces of " << piece;
      EXPECT_EQ(reader.broken(), size != kMostContact) << size << " in pieces of " << piece;
    }
  }
}

TEST(Contacts, OfAnotherStartAreIgnored) {
  ContactReader reader("abd");
  EXPECT_FALSE(reader.feed(contact_line(kContact, "abc")));
  EXPECT_FALSE(reader.broken());
}

TEST(Contacts, InvalidContactIsReported) {
  for (const std::string text :
       {"\n#dlaunch:abc call nonsense\n", "\n#dlaunch:abc call a:99999 key\n", "\n#dlaunch:abc call \n"}) {
    ContactReader reader("abc");
    EXPECT_FALSE(reader.feed(text)) << text;
    EXPECT_TRUE(reader.broken()) << text;
  }
  ContactReader reader("abc");
  EXPECT_FALSE(reader.feed("\n#dlaunch:abc call " + std::string(10'000, 'x')));
  EXPECT_TRUE(reader.broken());
}

}  // namespace
}  // namespace dlaunch::dialback
