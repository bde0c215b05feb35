#include "base/digest.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Base64, EncodesAndDecodes) {
  const std::pair<std::string_view, std::string_view> kVectors[] = {// RFC 4648
                                                                    {"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_base64(to_base64(all)), all);
}

TEST(Base64, RejectsMalformedText) {
  for (const char* text : {"A", "AAAAA", "AA AA", "AA-A", "A=AA", "\n"}) EXPECT_FALSE(from_base64(text)) << text;
}

std::string hex(const HmacSha1::Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

TEST(HmacSha1, MatchesTheTestVectorsOfRfc2202) {
  EXPECT_EQ(hex(HmacSha1(std::string(20, '\x0b')).of("Hi There")), "b617318655057264e28bc0b6fb378c8ef146be00");
  EXPECT_EQ(hex(HmacSha1("Jefe").of("what do ya want for nothing?")), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(hex(HmacSha1(std::string(20, '\xaa')).of(std::string(50, '\xdd'))),
            "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
  EXPECT_EQ(hex(HmacSha1(std::string(80, '\xaa')).of("Test Using Larger Than Block-Size Key - Hash Key First")),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
  EXPECT_EQ(hex(HmacSha1(std::string(80, '\xaa'))
                    .of("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data")),
            "e8e99d0f45237d786d6bbaa7965c7808bbff1a91");
}

}  // namespace
}  // namespace dlaunch
