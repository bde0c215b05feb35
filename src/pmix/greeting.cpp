#include "pmix/greeting.h"

#include <cstdint>
#include <cstring>

namespace dlaunch::pmix {
namespace {

/// A greeting starts with two 32-bit numbers and one 64-bit number, the size of the text after it, in host byte order.
bool is_whole(std::string_view greeting) {
  constexpr size_t kLength = 8;
  constexpr size_t kHeader = 16;
  std::uint64_t follow = 0;
  if (greeting.size() < kHeader) return false;
  std::memcpy(&follow, greeting.data() + kLength, sizeof follow);
  return greeting.size() - kHeader >= follow;
}

}  // namespace

/// A name ends with a NUL.
Greeting read_greeting(std::string_view said, std::string_view job) {
  const size_t begin = said.find(job);
  const size_t end = begin == said.npos ? begin : said.find('\0', begin);
  if (end != said.npos && is_whole(said)) return {Greeting::Is::whole, said.substr(begin, end - begin)};
  return {said.size() > kMostGreeting ? Greeting::Is::nonsense : Greeting::Is::unfinished, {}};
}

}  // namespace dlaunch::pmix
