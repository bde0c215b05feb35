#include "sys/randomness.h"

#include <sys/random.h>

#include <cerrno>

#include "sys/io.h"

namespace dlaunch::sys {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    const ssize_t got = ::getrandom(bytes.data() + have, count - have, 0);
    if (got >= 0) {
      have += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw_errno("getrandom");
    }
  }
  return bytes;
}

std::string random_hex(std::size_t bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : random_bytes(bytes)) {
    text += kDigits[static_cast<unsigned char>(each) >> 4];
    text += kDigits[each & 15];
  }
  return text;
}

}  // namespace dlaunch::sys
