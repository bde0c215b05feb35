#include "cli/job_id.h"

#include <sys/random.h>

#include <array>
#include <cstdio>

#include "sys/io.h"

namespace dlaunch::cli {

std::string make_job_id() {
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) sys::throw_errno("getrandom");
  std::string id;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    id += digits;
  }
  return id;
}

}  // namespace dlaunch::cli
