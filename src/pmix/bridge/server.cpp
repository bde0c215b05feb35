#include "pmix/bridge/server.h"

#include <pmix.h>

#include <algorithm>
#include <asio/post.hpp>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <utility>

#include "pmix/bridge/values.h"
#include "pmix/collectives.h"
#include "pmix/environment.h"
#include "sys/clock.h"
#include "wire/codec.h"

namespace dlaunch::pmix {
namespace {

static_assert(static_cast<int>(PmixStatus::failed) == PMIX_ERROR);
static_assert(static_cast<int>(PmixStatus::unreachable) == PMIX_ERR_UNREACH);
static_assert(static_cast<int>(PmixStatus::bad_parameter) == PMIX_ERR_BAD_PARAM);
static_assert(static_cast<int>(PmixStatus::out_of_memory) == PMIX_ERR_NOMEM);
static_assert(static_cast<int>(PmixStatus::not_found) == PMIX_ERR_NOT_FOUND);
static_assert(static_cast<int>(PmixStatus::not_supported) == PMIX_ERR_NOT_SUPPORTED);
static_assert(static_cast<int>(PmixStatus::duplicate_key) == PMIX_ERR_DUPLICATE_KEY);
static_assert(kAllRanks != PMIX_RANK_WILDCARD);

void release(void* text) { delete static_cast<std::string*>(text); }

/// libpmix frees the bytes after sending them.
void give(pmix_modex_cbfunc_t call, void* data, int status, std::string bytes) {
  auto* kept = new std::string(std::move(bytes));
  call(status, kept->data(), kept->size(), data, release, kept);
}

constexpr size_t kMaxValue = 1u << 20;  // limit of bytes published in one call
constexpr size_t kMaxEvent = 64u << 10;

}  // namespace

/// The functions that libpmix calls from its own thread: they copy the data and post it to the server's loop.
struct PmixServer::Upcalls {
  static inline PmixServer* the_server = nullptr;  // the calls of libpmix do not name their owner

  static const pmix_info_t* find_info(const pmix_info_t* infos, size_t count, std::string_view key) {
    const auto* found = std::find_if(infos, infos + count, [&](const pmix_info_t& info) { return key == info.key; });
    return found == infos + count ? nullptr : found;
  }

  static pmix_status_t connected(const pmix_proc_t*, void* object, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
    if (const auto id = Registry::id_of(object)) the_server->states_.set(*id, State::in_mpi);
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t finalized(const pmix_proc_t*, void* object, pmix_op_cbfunc_t, void*) {
    if (const auto id = Registry::id_of(object)) the_server->states_.set(*id, State::left);
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t aborted(const pmix_proc_t*, void* object, int code, const char*, pmix_proc_t*, size_t,
                               pmix_op_cbfunc_t call, void* data) {
    const auto id = Registry::id_of(object);
    if (!id) return PMIX_ERR_NOT_FOUND;
    asio::post(the_server->io_, [id = *id, code, call, data] { the_server->abort(id, code, {call, data}); });
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

  static pmix_status_t join_collective(std::uint8_t kind, const pmix_proc_t* procs, size_t count, pmix_op_cbfunc_t call,
                                       void* data) {
    asio::post(the_server->io_, [kind, members = members_of(procs, count), call, data]() mutable {
      the_server->collect(kind, std::move(members), {}, Op{call, data});
    });
    return PMIX_SUCCESS;
  }

  static pmix_status_t connect(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t,
                               pmix_op_cbfunc_t call, void* data) {
    return join_collective(kConnect, procs, count, call, data);
  }

  static pmix_status_t disconnect(const pmix_proc_t* procs, size_t count, const pmix_info_t*, size_t,
                                  pmix_op_cbfunc_t call, void* data) {
    return join_collective(kDisconnect, procs, count, call, data);
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

  static pmix_status_t spawn(const pmix_proc_t* who, const pmix_info_t* infos, size_t count, const pmix_app_t* apps,
                             size_t apps_count, pmix_spawn_cbfunc_t call, void* data) {
    auto ask = spawn_ask(infos, count, apps, apps_count);
    if (!ask) return PMIX_ERR_BAD_PARAM;
    asio::post(the_server->io_, [who = *who, ask = *std::move(ask), call, data]() mutable {
      the_server->spawn(who, std::move(ask), {call, data});
    });
    return PMIX_SUCCESS;
  }

  /// libpmix itself has informed the clients of this host.
  static pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                              pmix_info_t* infos, size_t count, pmix_op_cbfunc_t, void*) {
    wire::PmixEvent event{code, source->nspace, source->rank, range, packed(infos, count)};
    if (event.infos.size() > kMaxEvent) return PMIX_ERR_NOMEM;
    asio::post(the_server->io_, [event = std::move(event)] { the_server->send_(event); });
    return PMIX_OPERATION_SUCCEEDED;
  }

  /// All events arrive here, also without a waiting client.
  static pmix_status_t watch(pmix_status_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t unwatch(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) { return PMIX_OPERATION_SUCCEEDED; }

  // ---- completions of our own calls to libpmix ----
  static void event_told(pmix_status_t, void* data) { delete static_cast<Unpacked*>(data); }

  static void modex_ready(pmix_status_t status, char* bytes, size_t size, void* data) {
    const std::unique_ptr<std::uint32_t> id(static_cast<std::uint32_t*>(data));
    std::string copy(bytes ? bytes : "", bytes ? size : 0);
    asio::post(the_server->io_, [id = *id, status, copy = std::move(copy)]() mutable {
      if (copy.size() > kMaxPart) return the_server->send_(wire::PmixModex{id, PMIX_ERR_NOMEM, {}});
      the_server->send_(wire::PmixModex{id, status, std::move(copy)});
    });
  }
};

PmixServer::PmixServer(asio::io_context& io, States& states, Send send)
    : io_(io), states_(states), send_(std::move(send)) {
  Upcalls::the_server = this;
}

PmixServer::~PmixServer() {
  if (started_) PMIx_server_finalize();
  Upcalls::the_server = nullptr;
}

void PmixServer::start(const wire::PmixStart& start, std::function<void(Result<void>)> ready) {
  space_ = start.space;
  // A later libpmix than at compile time reads further calls after these, as version 5 does.
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
  module.spawn = Upcalls::spawn;
  module.connect = Upcalls::connect;
  module.disconnect = Upcalls::disconnect;
  module.register_events = Upcalls::watch;
  module.deregister_events = Upcalls::unwatch;
  module.notify_event = Upcalls::notify;
  module.group = Upcalls::group;
  Infos server;
  server.add(PMIX_SERVER_NSPACE, server_space(space_));
  server.add_rank(PMIX_SERVER_RANK, start.node);
  server.add(PMIX_SERVER_TMPDIR, start.directory);
  server.add(PMIX_SYSTEM_TMPDIR, start.directory);
  server.add(PMIX_HOSTNAME, start.host);
  const pmix_status_t status = PMIx_server_init(&module, server.data(), server.size());
  started_ = status == PMIX_SUCCESS;
  if (!started_) return ready(fail({"", "cannot start libpmix", PMIx_Error_string(status), ""}));
  registry_.emplace(io_, start, [ready = std::move(ready)](Result<void> result) { ready(std::move(result)); });
}

void PmixServer::add(const wire::PmixWorld& world) {
  if (registry_) registry_->add(world);
}

Result<std::uint16_t> PmixServer::port() const {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, space_.c_str(), 0);
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
  if (port == 0) return fail({"", "libpmix did not report its port", "", ""});
  return port;
}

void PmixServer::refuse(const Op& op, int status) {
  if (op.call) op.call(status, op.data);
}
void PmixServer::refuse(const Modex& modex, int status) { give(modex.call, modex.data, status, {}); }
void PmixServer::refuse(const Lookup& lookup, int status) { lookup.call(status, nullptr, 0, lookup.data); }
void PmixServer::refuse(const Group& group, int status) {
  group.call(status, nullptr, 0, group.data, nullptr, nullptr);
}
void PmixServer::refuse(const Spawn& spawn, int status) {
  pmix_nspace_t none{};
  spawn.call(status, none, spawn.data);
}

void PmixServer::collect(std::uint8_t kind, std::string members, std::string data,
                         std::variant<Op, Modex, Group> waits) {
  const auto refused = [&](int status) { std::visit([&](const auto& each) { refuse(each, status); }, waits); };
  if (data.size() > kMaxPart || members.size() > kMaxMembers) {
    send_(wire::Log{wire::Log::kWarning, "the ranks of this host put " + std::to_string(data.size()) +
                                             " bytes into an MPI fence; the limit of a host is " +
                                             std::to_string(kMaxPart >> 20) + " MiB"});
    return refused(PMIX_ERR_NOMEM);
  }
  if (!gatherings_.try_emplace({kind, members}, Gathering{waits, {}}).second) return refused(PMIX_ERR_BAD_PARAM);
  send_(wire::PmixCollect{kind, std::move(members), std::move(data)});
}

void PmixServer::shared(wire::PmixShared&& shared) {
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

void PmixServer::want(const pmix_proc_t& of, Modex waits) {
  const std::uint32_t id = next_++;
  waiting_.emplace(id, waits);
  send_(wire::PmixWant{id, of.nspace, of.rank});
}

void PmixServer::names(const pmix_proc_t& who, wire::PmixNames asked, std::variant<Op, Lookup> waits) {
  const auto id = registry_->id_of(who);
  if (!id) return std::visit([](const auto& each) { refuse(each, PMIX_ERR_NOT_FOUND); }, waits);
  asked.id = next_++;
  asked.rank = *id;
  if (!wire::fits(asked)) return std::visit([](const auto& each) { refuse(each, PMIX_ERR_NOMEM); }, waits);
  std::visit([&](const auto& each) { waiting_.emplace(asked.id, each); }, waits);
  send_(asked);
}

void PmixServer::answer(wire::PmixAnswer&& answer) {
  const auto at = waiting_.find(answer.id);
  if (at == waiting_.end()) return;
  const auto waits = at->second;
  waiting_.erase(at);
  if (const Op* op = std::get_if<Op>(&waits)) {
    if (op->call) op->call(answer.status, op->data);
  } else if (const Modex* modex = std::get_if<Modex>(&waits)) {
    give(modex->call, modex->data, answer.status, std::move(answer.data));
  } else if (const Spawn* spawned = std::get_if<Spawn>(&waits)) {
    pmix_nspace_t space;
    PMIX_LOAD_NSPACE(space, answer.data.c_str());
    spawned->call(answer.status, space, spawned->data);
  } else {
    found(answer, std::get<Lookup>(waits));
  }
}

void PmixServer::found(const wire::PmixAnswer& answer, const Lookup& waits) const {
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

void PmixServer::spawn(const pmix_proc_t& who, wire::SpawnAsk ask, Spawn waits) {
  const auto id = registry_->id_of(who);
  if (!id) return refuse(waits, PMIX_ERR_NOT_FOUND);
  ask.rank = *id;
  ask.pmix = true;
  ask.id = next_++;
  if (!wire::fits(ask)) return refuse(waits, PMIX_ERR_NOMEM);
  waiting_.emplace(ask.id, waits);
  send_(ask);
}

void PmixServer::abort(std::uint32_t id, int code, Op waits) {
  states_.set(id, State::left);
  send_(wire::MpiAbort{id, static_cast<std::uint32_t>(code) & 0xffu, sys::wall_ns()});
  if (waits.call) waits.call(PMIX_SUCCESS, waits.data);
}

void PmixServer::happened(const wire::PmixEvent& event) {
  pmix_proc_t source;
  PMIX_LOAD_PROCID(&source, event.space.c_str(), event.of);
  auto* infos = new Unpacked(event.infos);  // event_told has the pointer when it is called
  const pmix_status_t status = PMIx_Notify_event(event.code, &source, static_cast<pmix_data_range_t>(event.range),
                                                 infos->data(), infos->size(), Upcalls::event_told, infos);
  if (status != PMIX_SUCCESS) delete infos;
}

void PmixServer::modex_asked(const wire::PmixModexAsk& asked) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, asked.space.c_str(), asked.of);
  auto* id = new std::uint32_t(asked.id);  // modex_ready gets the pointer, and deletes the number
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, Upcalls::modex_ready, id);
  if (status == PMIX_SUCCESS) return;
  delete id;
  send_(wire::PmixModex{asked.id, status, {}});
}

namespace {

void release_infos(void* infos) { delete static_cast<Infos*>(infos); }

}  // namespace

void PmixServer::construct(std::string members, std::string data, Group waits) {
  collect(kConstructGroup, std::move(members), write_group_part({next_group_, std::move(data)}), std::move(waits));
}

/// A group is constructed, or destructed without a result.
void PmixServer::constructed(const wire::PmixShared& shared, Gathering done) {
  auto& group = std::get<Group>(done.waits);
  if (shared.kind != kConstructGroup || shared.status != PMIX_SUCCESS) return refuse(group, shared.status);
  auto whole = join_group_parts(done.data);
  if (!whole) return refuse(group, PMIX_ERROR);
  next_group_ = std::max(next_group_, whole->number + 1);
  auto* infos = new Infos;  // libpmix frees it after reading
  infos->add_size(PMIX_GROUP_CONTEXT_ID, whole->number);
  infos->add_processes(PMIX_GROUP_MEMBERSHIP, group.members);
  if (!whole->data.empty()) infos->add_bytes(PMIX_GROUP_ENDPT_DATA, whole->data);
  group.call(PMIX_SUCCESS, infos->data(), infos->size(), group.data, release_infos, infos);
}

}  // namespace dlaunch::pmix
