#include "dialback/fresh.h"

#include <cstring>
#include <string>

#include "sys/randomness.h"

namespace dlaunch::dialback {

Fresh make_fresh() {
  Fresh fresh;
  const std::string bytes = sys::random_bytes(fresh.nonce.size() + Secret::kSize);
  std::memcpy(fresh.nonce.data(), bytes.data(), fresh.nonce.size());
  std::memcpy(fresh.seed.data(), bytes.data() + fresh.nonce.size(), Secret::kSize);
  return fresh;
}

}  // namespace dlaunch::dialback
