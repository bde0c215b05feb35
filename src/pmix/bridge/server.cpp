#include "pmix/bridge/server.h"

#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "pmix/bridge/description.h"
#include "pmix/collectives.h"
#include "pmix/environment.h"
#include "pmix/groups.h"
#include "pmix/members.h"
#include "pmix/status.h"
#include "sys/clock.h"

namespace dlaunch::pmix {
namespace {

static_assert(static_cast<int>(Status::failed) == PMIX_ERROR);
static_assert(static_cast<int>(Status::unreachable) == PMIX_ERR_UNREACH);
static_assert(static_cast<int>(Status::bad_parameter) == PMIX_ERR_BAD_PARAM);
static_assert(static_cast<int>(Status::out_of_memory) == PMIX_ERR_NOMEM);
static_assert(static_cast<int>(Status::not_found) == PMIX_ERR_NOT_FOUND);
static_assert(static_cast<int>(Status::not_supported) == PMIX_ERR_NOT_SUPPORTED);
static_assert(static_cast<int>(Status::duplicate_key) == PMIX_ERR_DUPLICATE_KEY);
static_assert(kAllRanks != PMIX_RANK_WILDCARD);

constexpr std::uint8_t kFence = 0;
constexpr std::uint8_t kConnect = 1;
constexpr std::uint8_t kDisconnect = 2;
constexpr size_t kMaxValue = 1u << 20;  // of what is published at once

Server* the_server = nullptr;  // libpmix's calls say nothing of whose they are

std::string members_of(const pmix_proc_t* procs, size_t count) {
  std::vector<Process> members;
  for (size_t i = 0; i < count; ++i) {
    members.push_back({procs[i].nspace, procs[i].rank == PMIX_RANK_WILDCARD ? kAllRanks : procs[i].rank});
  }
  return write_members(std::move(members));
}

std::string packed(const pmix_value_t& value) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  std::string bytes;
  if (PMIx_Data_pack(nullptr, &buffer, const_cast<pmix_value_t*>(&value), 1, PMIX_VALUE) == PMIX_SUCCESS) {
    bytes.assign(buffer.base_ptr, buffer.bytes_used);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return bytes;
}

/// False when it cannot be read.
bool unpack(const std::string& bytes, pmix_value_t& value) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  buffer.base_ptr = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (!buffer.base_ptr) return false;
  std::memcpy(buffer.base_ptr, bytes.data(), bytes.size());
  buffer.unpack_ptr = buffer.base_ptr;
  buffer.pack_ptr = buffer.base_ptr + bytes.size();
  buffer.bytes_allocated = bytes.size() + 1;
  buffer.bytes_used = bytes.size();
  std::int32_t count = 1;
  const bool ok = PMIx_Data_unpack(nullptr, &buffer, &value, &count, PMIX_VALUE) == PMIX_SUCCESS;
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return ok;
}

std::vector<std::string> list(char** words) {
  std::vector<std::string> all;
  for (char** word = words; word && *word; ++word) all.emplace_back(*word);
  return all;
}

void release(void* text) { delete static_cast<std::string*>(text); }

const pmix_info_t* find_info(const pmix_info_t* infos, size_t count, std::string_view key) {
  const auto* found = std::find_if(infos, infos + count, [&](const pmix_info_t& info) { return key == info.key; });
  return found == infos + count ? nullptr : found;
}

/// libpmix lets the bytes go when it has sent them.
void give(pmix_modex_cbfunc_t call, void* data, int status, std::string bytes) {
  auto* kept = new std::string(std::move(bytes));
  call(status, kept->data(), kept->size(), data, release, kept);
}

}  // namespace

struct Server::Upcalls {
  static pmix_status_t connected(const pmix_proc_t* who, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
    if (the_server->space_ == who->nspace) the_server->states_.set(who->rank, State::in_mpi);
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t finalized(const pmix_proc_t* who, void*, pmix_op_cbfunc_t, void*) {
    if (the_server->space_ == who->nspace) the_server->states_.set(who->rank, State::left);
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t aborted(const pmix_proc_t* who, void*, int code, const char*, pmix_proc_t*, size_t,
                               pmix_op_cbfunc_t call, void* data) {
    asio::post(the_server->io_, [who = *who, code, call, data] { the_server->abort(who, code, {call, data}); });
    return PMIX_SUCCESS;
  }

  static pmix_status_t fence(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t, char* bytes,
                             size_t size, pmix_modex_cbfunc_t call, void* data) {
    std::string copy(bytes ? bytes : "", bytes ? size : 0);
    std::free(bytes);
    asio::post(the_server->io_, [members = members_of(procs, count), copy = std::move(copy), call, data]() mutable {
      the_server->collect(kFence, std::move(members), std::move(copy), Modex{call, data});
    });
    return PMIX_SUCCESS;
  }

  static pmix_status_t meet(std::uint8_t kind, const pmix_proc_t* procs, size_t count, pmix_op_cbfunc_t call,
                            void* data) {
    asio::post(the_server->io_, [kind, members = members_of(procs, count), call, data]() mutable {
      the_server->collect(kind, std::move(members), {}, Op{call, data});
    });
    return PMIX_SUCCESS;
  }

  static pmix_status_t connect(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t,
                               pmix_op_cbfunc_t call, void* data) {
    return meet(kConnect, procs, count, call, data);
  }

  static pmix_status_t disconnect(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t,
                                  pmix_op_cbfunc_t call, void* data) {
    return meet(kDisconnect, procs, count, call, data);
  }

  static pmix_status_t group(pmix_group_operation_t what, char* name, const pmix_proc_t* procs, size_t count,
                             const pmix_info_t* infos, size_t infos_count, pmix_info_cbfunc_t call, void* data) {
    if (find_info(infos, infos_count, PMIX_GROUP_LOCAL_ONLY)) return PMIX_OPERATION_SUCCEEDED;
    std::string members = members_of(procs, count) + group_mark(name);
    Group waits{call, data, {procs, procs + count}};
    if (what == PMIX_GROUP_DESTRUCT) {
      asio::post(the_server->io_, [members = std::move(members), waits = std::move(waits)]() mutable {
        the_server->collect(kDestructGroup, std::move(members), {}, std::move(waits));
      });
      return PMIX_SUCCESS;
    }
    std::string bytes;
    if (const pmix_info_t* for_others = find_info(infos, infos_count, PMIX_GROUP_ENDPT_DATA)) {
      bytes.assign(for_others->value.data.bo.bytes, for_others->value.data.bo.size);
    }
    asio::post(the_server->io_,
               [members = std::move(members), bytes = std::move(bytes), waits = std::move(waits)]() mutable {
                 the_server->construct(std::move(members), std::move(bytes), std::move(waits));
               });
    return PMIX_SUCCESS;
  }

  static pmix_status_t modex(const pmix_proc_t* of, const pmix_info_t*, size_t, pmix_modex_cbfunc_t call, void* data) {
    asio::post(the_server->io_, [of = *of, call, data] { the_server->want(of, {call, data}); });
    return PMIX_SUCCESS;
  }

  static pmix_status_t publish(const pmix_proc_t* who, const pmix_info_t* infos, size_t count, pmix_op_cbfunc_t call,
                               void* data) {
    wire::PmixNames asked;
    asked.what = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view key(infos[i].key);
      if (key == PMIX_PERSISTENCE) asked.once = infos[i].value.data.persist == PMIX_PERSIST_FIRST_READ;
      if (key.starts_with("pmix.")) continue;
      asked.keys.emplace_back(key);
      asked.values.push_back(packed(infos[i].value));
      bytes += asked.values.back().size();
    }
    if (bytes > kMaxValue) return PMIX_ERR_NOMEM;
    post_names(who, std::move(asked), Op{call, data});
    return PMIX_SUCCESS;
  }

  static pmix_status_t look_up(const pmix_proc_t* who, char** keys, const pmix_info_t* infos, size_t count,
                               pmix_lookup_cbfunc_t call, void* data) {
    wire::PmixNames asked;
    asked.what = 1;
    asked.keys = list(keys);
    for (size_t i = 0; i < count; ++i) asked.wait = asked.wait || std::string_view(infos[i].key) == PMIX_WAIT;
    post_names(who, std::move(asked), Lookup{call, data});
    return PMIX_SUCCESS;
  }

  static pmix_status_t unpublish(const pmix_proc_t* who, char** keys, const pmix_info_t*, size_t, pmix_op_cbfunc_t call,
                                 void* data) {
    wire::PmixNames asked;
    asked.what = 2;
    asked.keys = list(keys);
    post_names(who, std::move(asked), Op{call, data});
    return PMIX_SUCCESS;
  }

  static void post_names(const pmix_proc_t* who, wire::PmixNames asked, std::variant<Op, Lookup> waits) {
    asio::post(the_server->io_, [who = *who, asked = std::move(asked), waits]() mutable {
      the_server->names(who, std::move(asked), waits);
    });
  }

  // ---- the ends of what we asked libpmix for ----
  static void job_registered(pmix_status_t status, void*) {
    asio::post(the_server->io_, [status] {
      status == PMIX_SUCCESS ? the_server->register_clients() : the_server->cannot_start(status);
    });
  }

  static void client_registered(pmix_status_t status, void*) {
    asio::post(the_server->io_,
               [status] { status == PMIX_SUCCESS ? the_server->registered() : the_server->cannot_start(status); });
  }

  static void modex_ready(pmix_status_t status, char* bytes, size_t size, void* data) {
    const std::unique_ptr<std::uint32_t> id(static_cast<std::uint32_t*>(data));
    std::string copy(bytes ? bytes : "", bytes ? size : 0);
    asio::post(the_server->io_, [id = *id, status, copy = std::move(copy)]() mutable {
      if (copy.size() > kMaxPart) return the_server->send_(wire::PmixModex{id, PMIX_ERR_NOMEM, {}});
      the_server->send_(wire::PmixModex{id, status, std::move(copy)});
    });
  }
};

Server::Server(asio::io_context& io, States& states, Send send) : io_(io), states_(states), send_(std::move(send)) {
  the_server = this;
}

Server::~Server() {
  if (started_) PMIx_server_finalize();
  the_server = nullptr;
}

void Server::start(const wire::PmixStart& start, std::function<void(Result<std::uint16_t>)> ready) {
  ready_ = std::move(ready);
  space_ = start.world.pmix_space;
  const auto hosts = hosts_of_ranks(start);
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == start.world.node) local_ranks_.push_back(rank);
  }
  // A later libpmix than we were compiled with has more calls at its end, and reads them: version 5 does.
  static struct {
    pmix_server_module_t calls;
    void* none[32];
  } module_and_more{};
  pmix_server_module_t& module = module_and_more.calls;
  module.client_connected2 = Upcalls::connected;
  module.client_finalized = Upcalls::finalized;
  module.abort = Upcalls::aborted;
  module.fence_nb = Upcalls::fence;
  module.direct_modex = Upcalls::modex;
  module.publish = Upcalls::publish;
  module.lookup = Upcalls::look_up;
  module.unpublish = Upcalls::unpublish;
  module.connect = Upcalls::connect;
  module.disconnect = Upcalls::disconnect;
  module.group = Upcalls::group;
  Infos server;
  server.add(PMIX_SERVER_NSPACE, server_space(space_));
  server.add_rank(PMIX_SERVER_RANK, start.world.node);
  server.add(PMIX_SERVER_TMPDIR, start.directory);
  server.add(PMIX_SYSTEM_TMPDIR, start.directory);
  server.add(PMIX_HOSTNAME, start.world.name);
  pmix_status_t status = PMIx_server_init(&module, server.data(), server.size());
  started_ = status == PMIX_SUCCESS;
  job_ = std::make_unique<Infos>();
  if (started_ && !describe(start, *job_)) status = PMIX_ERR_BAD_PARAM;
  if (status == PMIX_SUCCESS) {
    status = PMIx_server_register_nspace(space_.c_str(), static_cast<int>(local_ranks_.size()), job_->data(),
                                         job_->size(), Upcalls::job_registered, nullptr);
  }
  if (status == PMIX_OPERATION_SUCCEEDED) return register_clients();
  if (status != PMIX_SUCCESS) cannot_start(status);
}

void Server::cannot_start(int status) { ready_(fail({"", "libpmix cannot start", PMIx_Error_string(status), ""})); }

void Server::register_clients() {
  job_.reset();
  for (const std::uint32_t rank : local_ranks_) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, space_.c_str(), rank);
    const pmix_status_t status =
        PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, Upcalls::client_registered, nullptr);
    if (status == PMIX_OPERATION_SUCCEEDED) registered();
  }
}

void Server::registered() {
  if (++registered_ == local_ranks_.size()) ready_(find_port());
}

/// It is told to clients only.
Result<std::uint16_t> Server::find_port() const {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, space_.c_str(), local_ranks_.front());
  char** words = nullptr;
  std::uint16_t port = 0;
  if (PMIx_server_setup_fork(&proc, &words) == PMIX_SUCCESS) {
    for (const std::string& word : list(words)) {
      if (!word.starts_with("PMIX_SERVER_URI")) continue;
      const size_t colon = word.rfind(':');
      std::from_chars(word.data() + colon + 1, word.data() + word.size(), port);
      if (port != 0) break;
    }
  }
  PMIX_ARGV_FREE(words);
  if (port == 0) return fail({"", "libpmix does not say where it listens", "", ""});
  return port;
}

void Server::collect(std::uint8_t kind, std::string members, std::string data, std::variant<Op, Modex, Group> waits) {
  const auto refuse = [&](int status) {
    if (const Op* op = std::get_if<Op>(&waits)) return op->call(status, op->data);
    if (const Group* group = std::get_if<Group>(&waits))
      return group->call(status, nullptr, 0, group->data, nullptr, nullptr);
    const Modex& modex = std::get<Modex>(waits);
    give(modex.call, modex.data, status, {});
  };
  if (data.size() > kMaxPart || members.size() > kMaxMembers) {
    send_(wire::Log{2, "the ranks here put " + std::to_string(data.size()) +
                           " bytes before an MPI fence; a host may put " + std::to_string(kMaxPart >> 20) + " MiB"});
    return refuse(PMIX_ERR_NOMEM);
  }
  if (!gatherings_.try_emplace({kind, members}, Gathering{waits, {}}).second) return refuse(PMIX_ERR_BAD_PARAM);
  send_(wire::PmixCollect{kind, std::move(members), std::move(data)});
}

void Server::shared(wire::PmixShared&& shared) {
  const auto found = gatherings_.find({shared.kind, shared.members});
  if (found == gatherings_.end()) return;
  found->second.data += shared.data;
  if (!shared.last) return;
  Gathering done = std::move(found->second);
  gatherings_.erase(found);
  if (const Op* op = std::get_if<Op>(&done.waits)) {
    if (op->call) op->call(shared.status, op->data);
    return;
  }
  if (std::holds_alternative<Group>(done.waits)) return constructed(shared, std::move(done));
  const Modex& modex = std::get<Modex>(done.waits);
  give(modex.call, modex.data, shared.status, done.data);
}

void Server::want(const pmix_proc_t& of, Modex waits) {
  const std::uint32_t id = next_++;
  waiting_.emplace(id, waits);
  send_(wire::PmixWant{id, of.nspace, of.rank});
}

void Server::names(const pmix_proc_t& who, wire::PmixNames asked, std::variant<Op, Lookup> waits) {
  asked.id = next_++;
  asked.rank = who.rank;
  asked.space = who.nspace;
  std::visit([&](const auto& each) { waiting_.emplace(asked.id, each); }, waits);
  send_(asked);
}

void Server::answer(wire::PmixAnswer&& answer) {
  const auto at = waiting_.find(answer.id);
  if (at == waiting_.end()) return;
  const auto waits = at->second;
  waiting_.erase(at);
  if (const Op* op = std::get_if<Op>(&waits)) {
    if (op->call) op->call(answer.status, op->data);
  } else if (const Modex* modex = std::get_if<Modex>(&waits)) {
    give(modex->call, modex->data, answer.status, std::move(answer.data));
  } else {
    found(answer, std::get<Lookup>(waits));
  }
}

void Server::found(const wire::PmixAnswer& answer, const Lookup& waits) const {
  const size_t count = std::min(answer.found.size() / 3, answer.owners.size());
  pmix_pdata_t* list = nullptr;
  if (count > 0) PMIX_PDATA_CREATE(list, count);
  pmix_status_t status = answer.status;
  for (size_t i = 0; i < count; ++i) {
    PMIX_LOAD_PROCID(&list[i].proc, answer.found[3 * i].c_str(), answer.owners[i]);
    PMIX_LOAD_KEY(list[i].key, answer.found[3 * i + 1].c_str());
    if (!unpack(answer.found[3 * i + 2], list[i].value)) status = PMIX_ERROR;
  }
  waits.call(status, list, count, waits.data);
  if (list) PMIX_PDATA_FREE(list, count);
}

void Server::abort(const pmix_proc_t& who, int code, Op waits) {
  if (space_ == who.nspace) {
    states_.set(who.rank, State::left);
    send_(wire::Aborted{who.rank, static_cast<std::uint32_t>(code) & 0xffu, sys::wall_ns()});
  }
  if (waits.call) waits.call(PMIX_SUCCESS, waits.data);
}

void Server::modex_asked(const wire::PmixModexAsk& asked) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, asked.space.c_str(), asked.of);
  auto* id = new std::uint32_t(asked.id);  // modex_ready has it, where it is called
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, Upcalls::modex_ready, id);
  if (status == PMIX_SUCCESS) return;
  delete id;
  send_(wire::PmixModex{asked.id, status, {}});
}

}  // namespace dlaunch::pmix
