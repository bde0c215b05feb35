#include "dialback/job_key.h"

#include <sodium.h>

#include <stdexcept>
#include <string>

#include "base/text.h"

namespace dlaunch::dialback {
namespace {

constexpr std::string_view kUse = "dlaunch job key";  // the same text gives a different key if used for other purposes

}  // namespace

Secret::~Secret() { ::sodium_memzero(bytes_.data(), bytes_.size()); }

Result<Secret> job_key(std::string_view text) {
  if (::sodium_init() < 0) throw std::runtime_error("cannot initialize libsodium");
  text = trim(text);
  if (text.size() < kLeastKeyText || text.size() > kMostKeyText) {
    return fail({.where = "",
                 .what = "invalid key of " + count(text.size(), "byte"),
                 .why = "expected " + std::to_string(kLeastKeyText) + " to " + std::to_string(kMostKeyText) + " bytes",
                 .hint = "run openssl rand -hex 32 to make a key for each job"});
  }
  Secret key;
  ::crypto_generichash(key.data(), Secret::kSize, reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                       reinterpret_cast<const unsigned char*>(kUse.data()), kUse.size());
  return key;
}

}  // namespace dlaunch::dialback
