// Converts the values of libpmix to those of messages and back. Without ownership.
#pragma once

#include <pmix_server.h>

#include <optional>
#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch::pmix {

/// The text of pmix/collectives.h.
std::string members_of(const pmix_proc_t* processes, size_t count);

/// The strings of a null-terminated list.
std::vector<std::string> list(char** words);

/// The value as bytes for unpack() on another host.
std::string packed(const pmix_value_t& value);
/// Returns false for malformed bytes.
bool unpack(const std::string& bytes, pmix_value_t& value);

std::string packed(const pmix_info_t* infos, size_t count);

/// The infos in the bytes of packed(), for libpmix.
class Unpacked {
 public:
  /// Empty for malformed bytes.
  explicit Unpacked(const std::string& bytes);
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  ~Unpacked();

  const pmix_info_t* data() const { return infos_; }
  size_t size() const { return size_; }

 private:
  pmix_info_t* infos_ = nullptr;
  size_t size_ = 0;
};

/// The spawn request of a PMIx client; the caller sets rank and id. nullopt: a number is out of range.
std::optional<wire::SpawnAsk> spawn_ask(const pmix_info_t* job, size_t job_size, const pmix_app_t* apps, size_t count);

}  // namespace dlaunch::pmix
