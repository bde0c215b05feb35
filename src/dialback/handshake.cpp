#include "dialback/handshake.h"

#include <sodium.h>

#include <algorithm>

namespace dlaunch::dialback {
namespace {

static_assert(crypto_kx_SEEDBYTES == Secret::kSize && crypto_kx_SECRETKEYBYTES == Secret::kSize &&
              crypto_kx_SESSIONKEYBYTES == Secret::kSize && crypto_kx_PUBLICKEYBYTES == kPublicSize &&
              crypto_auth_BYTES == kProofSize && crypto_auth_KEYBYTES == Secret::kSize);

constexpr std::string_view kOfLauncher = "dlaunch dial-back, launcher";
constexpr std::string_view kOfNode = "dlaunch dial-back, node";

const unsigned char* bytes_at(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string text_of(const auto& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string greeting_of(const HandshakeRandom& random, const KeyPair& pair) {
  return std::string(kMagic) + text_of(random.nonce) + text_of(pair.open);
}

std::string_view public_key_in(std::string_view greeting) {
  return greeting.substr(kMagic.size() + kNonceSize, kPublicSize);
}

/// Appends at most the missing bytes. Returns false if the bytes do not start like dlaunch's messages.
bool take_greeting(std::string& greeting, size_t size, std::string_view bytes) {
  greeting += bytes.substr(0, size - greeting.size());
  const size_t seen = std::min(greeting.size(), kMagic.size());
  return std::string_view(greeting).substr(0, seen) == kMagic.substr(0, seen);
}

std::string proof_over(std::string_view label, const std::string& transcript, const Secret& key) {
  const std::string text = std::string(label) + transcript;
  std::array<unsigned char, kProofSize> proof{};
  ::crypto_auth(proof.data(), bytes_at(text), text.size(), key.data());
  return text_of(proof);
}

bool is_proof_over(std::string_view proof, std::string_view label, const std::string& transcript, const Secret& key) {
  const std::string text = std::string(label) + transcript;
  return ::crypto_auth_verify(bytes_at(proof), bytes_at(text), text.size(), key.data()) == 0;
}

/// The key of one direction: depends on the job's key and on each byte sent by both sides.
Secret bound_key(const Secret& exchanged, const std::string& transcript, const Secret& job) {
  Secret key;
  crypto_generichash_state state;
  ::crypto_generichash_init(&state, job.data(), Secret::kSize, Secret::kSize);
  ::crypto_generichash_update(&state, exchanged.data(), Secret::kSize);
  ::crypto_generichash_update(&state, bytes_at(transcript), transcript.size());
  ::crypto_generichash_final(&state, key.data(), Secret::kSize);
  ::sodium_memzero(&state, sizeof state);
  return key;
}

}  // namespace

KeyPair::KeyPair(const Secret& seed) { ::crypto_kx_seed_keypair(open.data(), hidden.data(), seed.data()); }

// ---- the side that connected ----

HandshakeClient::HandshakeClient(const Secret& key, const HandshakeRandom& random)
    : key_(key), pair_(random.seed), hello_(greeting_of(random, pair_)) {}

HandshakeState HandshakeClient::feed(std::string_view bytes) {
  if (!take_greeting(answer_, kAnswerSize, bytes)) return HandshakeState::refused;
  if (wanted() > 0) return HandshakeState::more;
  return agree() ? HandshakeState::proven : HandshakeState::refused;
}

bool HandshakeClient::agree() {
  const std::string transcript = hello_ + answer_.substr(0, kHelloSize);
  if (!is_proof_over(std::string_view(answer_).substr(kHelloSize), kOfLauncher, transcript, key_)) return false;
  Secret receive;
  Secret send;
  const auto* theirs = bytes_at(public_key_in(answer_));
  if (::crypto_kx_client_session_keys(receive.data(), send.data(), pair_.open.data(), pair_.hidden.data(), theirs) != 0)
    return false;
  keys_ = {bound_key(send, hello_ + answer_, key_), bound_key(receive, hello_ + answer_, key_)};
  return true;
}

std::string HandshakeClient::proof() const { return proof_over(kOfNode, hello_ + answer_, key_); }
SessionKeys HandshakeClient::keys() const { return keys_; }

// ---- the side that listened ----

HandshakeServer::HandshakeServer(const Secret& key, const HandshakeRandom& random) : key_(key), random_(random) {}

HandshakeState HandshakeServer::feed(std::string_view bytes) {
  if (answer_.empty()) {
    const size_t taken = std::min(bytes.size(), wanted());
    if (!take_greeting(hello_, kHelloSize, bytes)) return HandshakeState::refused;
    if (hello_.size() < kHelloSize) return HandshakeState::more;
    answer();
    bytes.remove_prefix(taken);
  }
  proof_ += bytes.substr(0, wanted());
  if (wanted() > 0) return HandshakeState::more;
  return agree() ? HandshakeState::proven : HandshakeState::refused;
}

void HandshakeServer::answer() {
  answer_ = greeting_of(random_, KeyPair(random_.seed));
  answer_ += proof_over(kOfLauncher, hello_ + answer_, key_);
  reply_ = answer_;
}

/// The key exchange is computed only for peers with the job's key.
bool HandshakeServer::agree() {
  if (!is_proof_over(proof_, kOfNode, hello_ + answer_, key_)) return false;
  const KeyPair pair(random_.seed);
  Secret receive;
  Secret send;
  const auto* theirs = bytes_at(public_key_in(hello_));
  if (::crypto_kx_server_session_keys(receive.data(), send.data(), pair.open.data(), pair.hidden.data(), theirs) != 0)
    return false;
  keys_ = {bound_key(send, hello_ + answer_, key_), bound_key(receive, hello_ + answer_, key_)};
  return true;
}

SessionKeys HandshakeServer::keys() const { return keys_; }

}  // namespace dlaunch::dialback
