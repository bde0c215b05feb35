#include "pmi/key_value_store.h"

#include <utility>

namespace dlaunch::pmi {

bool KeyValueStore::put(std::string key, std::string value) {
  const size_t size = size_of_pair(key, value);
  if (unsent_bytes_ + size > kMaxUnsent || !store(key, value)) return false;
  unsent_bytes_ += size;
  unsent_.push_back(std::move(key));
  unsent_.push_back(std::move(value));
  return true;
}

bool KeyValueStore::take(const std::vector<std::string>& pairs) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (!store(pairs[i], pairs[i + 1])) return false;
  }
  return true;
}

const std::string* KeyValueStore::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> KeyValueStore::take_unsent() {
  unsent_bytes_ = 0;
  return std::exchange(unsent_, {});
}

bool KeyValueStore::store(std::string key, std::string value) {
  const auto known = values_.find(key);
  const size_t before = known == values_.end() ? 0 : size_of_pair(key, known->second);
  const size_t after = bytes_ - before + size_of_pair(key, value);
  if (after > kMaxSpace) return false;
  bytes_ = after;
  values_.insert_or_assign(std::move(key), std::move(value));
  return true;
}

}  // namespace dlaunch::pmi
