// Converts the calls of libpmix's server into messages for the launcher, and the answers back. libpmix calls from its
// own thread, in which data is only copied and posted to the loop. An answer never comes before the return of the call
// (libpmix would wait for its own locks). Owned by main; one object per process, as libpmix requires. Loop and states
// must outlive it.
#pragma once

#include <pmix_server.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dlaunch/error.h"
#include "pmix/bridge/registry.h"
#include "pmix/states.h"
#include "wire/message.h"

namespace dlaunch::pmix {

// The kinds of PmixCollect.
inline constexpr std::uint8_t kFence = 0;
inline constexpr std::uint8_t kConnect = 1;
inline constexpr std::uint8_t kDisconnect = 2;
inline constexpr std::uint8_t kConstructGroup = 3;
inline constexpr std::uint8_t kDestructGroup = 4;
inline constexpr std::uint64_t kFirstGroup = 1u << 16;  ///< Open MPI uses small numbers itself

class PmixServer {
 public:
  using Send = std::function<void(const wire::Message&)>;
  PmixServer(asio::io_context& io, States& states, Send send);
  ~PmixServer();

  /// Starts libpmix. Calls `ready` after another world is known, or with the reason why PMIx is not served (any more).
  void start(const wire::PmixStart& start, std::function<void(Result<void>)> ready);
  /// Adds a world. Call in the order of worlds.
  void add(const wire::PmixWorld& world);
  /// Returns true if clients of that world may connect.
  bool knows(std::string_view space) const { return registry_ && registry_->knows(space); }
  /// The listening port of libpmix, for clients only.
  Result<std::uint16_t> port() const;

  void shared(wire::PmixShared&& shared);
  void answer(wire::PmixAnswer&& answer);
  void modex_asked(const wire::PmixModexAsk& asked);
  void happened(const wire::PmixEvent& event);

 private:
  struct Upcalls;  // the functions for libpmix. The callers in libpmix that wait for an answer:
  struct Op {
    pmix_op_cbfunc_t call;
    void* data;
  };
  struct Modex {
    pmix_modex_cbfunc_t call;
    void* data;
  };
  struct Lookup {
    pmix_lookup_cbfunc_t call;
    void* data;
  };
  struct Spawn {
    pmix_spawn_cbfunc_t call;
    void* data;
  };
  struct Group {
    pmix_info_cbfunc_t call;
    void* data;
    std::vector<pmix_proc_t> members;
  };
  struct Gathering {
    std::variant<Op, Modex, Group> waits;
    std::string data;
  };

  static void refuse(const Op& op, int status);
  static void refuse(const Modex& modex, int status);
  static void refuse(const Lookup& lookup, int status);
  static void refuse(const Group& group, int status);
  static void refuse(const Spawn& spawn, int status);
  void collect(std::uint8_t kind, std::string members, std::string data, std::variant<Op, Modex, Group> waits);
  void construct(std::string members, std::string data, Group waits);
  void constructed(const wire::PmixShared& shared, Gathering done);
  void want(const pmix_proc_t& of, Modex waits);
  void names(const pmix_proc_t& who, wire::PmixNames asked, std::variant<Op, Lookup> waits);
  void spawn(const pmix_proc_t& who, wire::SpawnAsk ask, Spawn waits);
  void abort(std::uint32_t id, int code, Op waits);
  void found(const wire::PmixAnswer& answer, const Lookup& waits) const;

  asio::io_context& io_;
  States& states_;
  Send send_;
  std::string space_;  // number of this host in the job
  std::optional<Registry> registry_;
  bool started_ = false;
  std::uint32_t next_ = 0;
  std::uint64_t next_group_ = kFirstGroup;
  std::map<std::pair<std::uint8_t, std::string>, Gathering> gatherings_;
  std::map<std::uint32_t, std::variant<Op, Modex, Lookup, Spawn>> waiting_;
};

}  // namespace dlaunch::pmix
