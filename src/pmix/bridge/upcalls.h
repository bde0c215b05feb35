// The functions that libpmix calls from its own thread: they copy the data and post it to the server's loop. A part of
// server.cpp.
#pragma once

#include <pmix.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "pmix/bridge/server.h"
#include "pmix/bridge/values.h"
#include "pmix/collectives.h"
#include "pmix/groups.h"

namespace dlaunch::pmix {

inline constexpr size_t kMaxValue = 1u << 20;  ///< limit of bytes published in one call
inline constexpr size_t kMaxEvent = 64u << 10;

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

}  // namespace dlaunch::pmix
