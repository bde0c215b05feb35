#include "pmix/bridge/values.h"

#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "pmix/collectives.h"
#include "pmix/environment.h"
#include "wire/mpi.h"

namespace dlaunch::pmix {
namespace {

/// The buffer of libpmix: with bytes to unpack, or empty for packing.
class Buffer {
 public:
  explicit Buffer(std::string_view bytes = {}) {
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer_);
    if (bytes.empty()) return;
    buffer_.base_ptr = static_cast<char*>(std::malloc(bytes.size()));
    if (!buffer_.base_ptr) return;
    std::memcpy(buffer_.base_ptr, bytes.data(), bytes.size());
    buffer_.unpack_ptr = buffer_.base_ptr;
    buffer_.pack_ptr = buffer_.base_ptr + bytes.size();
    buffer_.bytes_allocated = bytes.size();
    buffer_.bytes_used = bytes.size();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PMIX_DATA_BUFFER_DESTRUCT(&buffer_); }

  bool pack(const void* values, size_t count, pmix_data_type_t type) {
    const auto number = static_cast<std::int32_t>(count);
    return PMIx_Data_pack(nullptr, &buffer_, const_cast<void*>(values), number, type) == PMIX_SUCCESS;
  }
  bool unpack(void* values, size_t count, pmix_data_type_t type) {
    auto number = static_cast<std::int32_t>(count);
    return buffer_.base_ptr && PMIx_Data_unpack(nullptr, &buffer_, values, &number, type) == PMIX_SUCCESS &&
           number == static_cast<std::int32_t>(count);
  }
  std::string bytes() const { return {buffer_.base_ptr, buffer_.bytes_used}; }

 private:
  pmix_data_buffer_t buffer_;
};

/// The names in "node1,node2:4"; the slots of the hosts are known.
std::vector<std::string> names_of(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const size_t colon = entry.rfind(':');
    const bool slots = colon != entry.npos && entry.find_first_not_of("0123456789", colon + 1) == entry.npos;
    if (!entry.empty()) names.emplace_back(slots ? entry.substr(0, colon) : entry);
  }
  return names;
}

void take_info(const pmix_info_t& info, SpawnProgram& program) {
  const std::string_view key(info.key);
  if (key == PMIX_SET_ENVAR && info.value.type == PMIX_ENVAR) {
    program.env.push_back(std::string(info.value.data.envar.envar) + '=' + info.value.data.envar.value);
  }
  if (info.value.type != PMIX_STRING || !info.value.data.string) return;
  const char* text = info.value.data.string;
  if (key == PMIX_WDIR) program.wdir = text;
  if (key == PMIX_HOST) program.hosts = names_of(text);
}

/// Leaves out variables of a single rank, which libraries copy for spawned ranks: the server sets new ones.
std::vector<std::string> environment_of(char** words) {
  std::vector<std::string> entries = list(words);
  std::erase_if(entries, [](const std::string& entry) { return is_own(variable_name(entry)); });
  return entries;
}

}  // namespace

std::string members_of(const pmix_proc_t* processes, size_t count) {
  std::vector<ProcId> members;
  for (size_t i = 0; i < count; ++i) {
    const pmix_proc_t& each = processes[i];
    members.push_back({each.nspace, each.rank == PMIX_RANK_WILDCARD ? kAllRanks : each.rank});
  }
  return write_members(std::move(members));
}

std::vector<std::string> list(char** words) {
  std::vector<std::string> all;
  for (char** word = words; word && *word; ++word) all.emplace_back(*word);
  return all;
}

std::string packed(const pmix_value_t& value) {
  Buffer buffer;
  return buffer.pack(&value, 1, PMIX_VALUE) ? buffer.bytes() : std::string();
}

bool unpack(const std::string& bytes, pmix_value_t& value) { return Buffer(bytes).unpack(&value, 1, PMIX_VALUE); }

std::string packed(const pmix_info_t* infos, size_t count) {
  Buffer buffer;
  if (count == 0 || !buffer.pack(&count, 1, PMIX_SIZE) || !buffer.pack(infos, count, PMIX_INFO)) return {};
  return buffer.bytes();
}

Unpacked::Unpacked(const std::string& bytes) {
  Buffer buffer(bytes);
  size_t count = 0;
  if (!buffer.unpack(&count, 1, PMIX_SIZE) || count == 0 || count > bytes.size()) return;
  PMIX_INFO_CREATE(infos_, count);
  size_ = count;
  if (buffer.unpack(infos_, count, PMIX_INFO)) return;
  PMIX_INFO_FREE(infos_, size_);
  infos_ = nullptr;
  size_ = 0;
}

Unpacked::~Unpacked() {
  if (infos_) PMIX_INFO_FREE(infos_, size_);
}

std::optional<wire::SpawnAsk> spawn_ask(const pmix_info_t* job, size_t job_size, const pmix_app_t* apps, size_t count) {
  wire::SpawnAsk ask;
  for (size_t i = 0; i < count; ++i) {
    const pmix_app_t& app = apps[i];
    if (app.maxprocs < 0) return std::nullopt;
    SpawnProgram program;
    program.ranks = static_cast<std::uint32_t>(app.maxprocs);
    program.argv = list(app.argv);
    if (program.argv.empty() && app.cmd) program.argv.emplace_back(app.cmd);
    program.env = environment_of(app.env);
    for (size_t j = 0; j < job_size; ++j) take_info(job[j], program);
    if (app.cwd) program.wdir = app.cwd;
    for (size_t j = 0; j < app.ninfo; ++j) take_info(app.info[j], program);
    wire::add(ask, std::move(program));
  }
  return ask;
}

}  // namespace dlaunch::pmix
