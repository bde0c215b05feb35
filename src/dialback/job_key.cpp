#include "dialback/job_key.h"

#include <sodium.h>

#include <stdexcept>

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

namespace {

std::string mark_of(std::string_view nonce) { return "\n#dlaunch:" + std::string(nonce) + " call "; }

}  // namespace

std::string contact_line(const LauncherContact& contact, std::string_view nonce) {
  return mark_of(nonce) + to_string(contact.at) + ' ' + contact.key + '\n';
}

ContactReader::ContactReader(std::string_view nonce) : mark_(mark_of(nonce)) {}

std::optional<LauncherContact> ContactReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  const size_t mark = buffer_.find(mark_);
  if (mark == std::string::npos) {
    if (buffer_.size() >= mark_.size()) buffer_.erase(0, buffer_.size() - (mark_.size() - 1));
    return std::nullopt;
  }
  buffer_.erase(0, mark);
  const size_t end = buffer_.find('\n', mark_.size());
  const std::string_view line = std::string_view(buffer_).substr(mark_.size(), end - mark_.size());
  broken_ = line.size() > kMostContact;
  if (end == std::string::npos || broken_) return std::nullopt;
  const size_t blank = line.find(' ');
  auto at = parse_endpoint(line.substr(0, blank));
  broken_ = !at || blank == std::string_view::npos;
  if (broken_) return std::nullopt;
  return LauncherContact{*std::move(at), std::string(line.substr(blank + 1))};
}

}  // namespace dlaunch::dialback
