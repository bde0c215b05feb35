#include "dialback/call.h"

#include <gtest/gtest.h>

namespace dlaunch::dialback {
namespace {

const Call kCall{{"fd00::1", 4711}, std::string(64, 'k')};

TEST(Calls, AreFoundBehindWhateverStandsBefore) {
  std::string text(100'000, 'x');
  text += "\n#dlaunch:abc ca";  // the beginning of a mark only
  text += call_line(kCall, "abc");
  for (const size_t piece : {size_t{1}, size_t{7}, text.size()}) {
    CallReader reader("abc");
    std::optional<Call> call;
    for (size_t at = 0; at < text.size() && !call; at += piece)
      call = reader.feed(std::string_view(text).substr(at, piece));
    ASSERT_TRUE(call) << piece;
    EXPECT_EQ(call->at, kCall.at);
    EXPECT_EQ(call->key, kCall.key);
  }
}

TEST(Calls, AsLongAsTheyMayBeAreTakenHoweverTheyAreCut) {
  const std::string at = to_string(kCall.at) + ' ';
  for (const size_t size : {kMostCall, kMostCall + 1}) {
    const std::string text = call_line({kCall.at, std::string(size - at.size(), 'k')}, "abc");
    for (const size_t piece : {size_t{1}, text.size()}) {
      CallReader reader("abc");
      std::optional<Call> call;
      for (size_t from = 0; from < text.size() && !call && !reader.broken(); from += piece)
        call = reader.feed(std::string_view(text).substr(from, piece));
      EXPECT_EQ(call.has_value(), size == kMostCall) << size << " in pieces of " << piece;
      EXPECT_EQ(reader.broken(), size != kMostCall) << size << " in pieces of " << piece;
    }
  }
}

TEST(Calls, OfAnotherStartAreNone) {
  CallReader reader("abd");
  EXPECT_FALSE(reader.feed(call_line(kCall, "abc")));
  EXPECT_FALSE(reader.broken());
}

TEST(Calls, ThatCannotBeUnderstoodAreSaid) {
  for (const std::string text :
       {"\n#dlaunch:abc call nonsense\n", "\n#dlaunch:abc call a:99999 key\n", "\n#dlaunch:abc call \n"}) {
    CallReader reader("abc");
    EXPECT_FALSE(reader.feed(text)) << text;
    EXPECT_TRUE(reader.broken()) << text;
  }
  CallReader reader("abc");
  EXPECT_FALSE(reader.feed("\n#dlaunch:abc call " + std::string(10'000, 'x')));
  EXPECT_TRUE(reader.broken());
}

}  // namespace
}  // namespace dlaunch::dialback
