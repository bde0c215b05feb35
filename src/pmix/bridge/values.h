// Converts libpmix's values to those of messages and back. Owns nothing.
#pragma once

#include <pmix_server.h>

#include <optional>
#include <string>
#include <vector>

#include "wire/message.h"

namespace dlaunch::pmix {

/// The text that pmix/members.h describes.
std::string members_of(const pmix_proc_t* processes, size_t count);

/// The strings of a list that ends with a null.
std::vector<std::string> list(char** words);

/// The value as bytes that unpack() takes on another host.
std::string packed(const pmix_value_t& value);
/// False when the bytes cannot be read.
bool unpack(const std::string& bytes, pmix_value_t& value);

std::string packed(const pmix_info_t* infos, size_t count);

/// The infos that packed() made into bytes, for libpmix to read.
class Unpacked {
 public:
  /// Empty when the bytes cannot be read.
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

/// What a PMIx client asks to spawn; the caller sets its rank and id. nullopt where a number is out of range.
std::optional<wire::SpawnAsk> spawn_ask(const pmix_info_t* job, size_t job_size, const pmix_app_t* apps, size_t count);

}  // namespace dlaunch::pmix
