// The PMI server of one host for its ranks of one world: messages of clients go in, actions come out. PURE: no
// descriptors, no clock. Owned by the agent.
//
// The first line of a client chooses PMI-1 (pmi1.cpp) or PMI-2 (pmi2.cpp). Both use server.cpp for connections, the
// key-value space, fences, names and spawns.
//
// Rules
// - A client sends a request and waits for the answer. A client that violates PMI is named and disconnected; other
//   clients are not affected. Another thread of a client may send an abort while the request waits.
// - The server ignores messages after an abort, because they may belong to the abort.
// - A missing key is answered at once: keys of other hosts arrive with the next fence.
// - A fence waits for every rank of the world. If a rank can never arrive (the rank or its connection has ended), the
//   server closes the connections of all waiting ranks, because MPI would wait for ever.
// - The same rule applies to an attribute of the node if no living rank here can put it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/actions.h"
#include "pmi/fence_collector.h"
#include "pmi/line.h"
#include "pmi/spawn.h"

namespace dlaunch::pmi {

// The hosts of ranks in the format of the MPICH family. PURE.

/// The value of PMI_process_mapping: "(vector,(FIRST_HOST,HOSTS,RANKS_PER_HOST),…)": blocks of ranks in order, repeated
/// for further ranks. Empty above the limit of a value: then the ranks exchange the names of their hosts.
std::string process_mapping(const std::vector<int>& host_of_rank);

/// The common data of the ranks in a world. Ranks have their numbers in the job, not in the world.
struct World {
  std::string space;           ///< name of its key-value space
  std::uint32_t size = 0;      ///< ranks
  std::uint32_t universe = 0;  ///< slots
  std::string mapping;         ///< process_mapping(); empty: not sent
  std::uint32_t here = 0;      ///< ranks on this host
  bool alone = true;           ///< no other host takes part
  int number = 1;              ///< 1: the world of the start
  std::uint32_t first = 0;     ///< number of its rank 0
  std::uint32_t first_app = 0;
  std::string parent = {};  ///< space of the world that spawned this world; empty: world 1
};

class PmiServer {
 public:
  explicit PmiServer(World world) : world_(std::move(world)) {}
  /// Puts pairs into the space before the ranks start: key, value, …
  void preload(const std::vector<std::string>& pairs) { space_.take(pairs); }

  /// A rank has a connection now. `app` is the number of its program.
  void join(std::uint32_t rank, std::uint32_t app);
  Actions received(std::uint32_t rank, std::string_view bytes);
  /// The connection or the rank ended, or the rank was never started. Sends no more to the rank.
  Actions gone(std::uint32_t rank);
  /// Returns true between MPI_Init and MPI_Finalize of the rank.
  bool in_mpi(std::uint32_t rank) const;

  /// The pairs that all hosts put before the fence; `last` ends the fence. `broken`: closes the connections of all
  /// waiting clients.
  Actions shared(const std::vector<std::string>& pairs, bool last, bool broken);
  /// The answer to AskName.
  Actions name_answered(std::uint32_t rank, bool ok, const std::string& port);
  /// The answer to AskSpawn. `space` is the name of the new world's space.
  Actions spawn_answered(std::uint32_t rank, bool ok, const std::string& space);

 private:
  enum class Dialect { lines, frames };  // the version of PMI
  enum class State { fresh, initialized, finalized };
  enum class Wait { none, fence, name, attribute, spawn };
  struct Client {
    std::uint32_t app = 0;
    Dialect dialect = Dialect::lines;
    State state = State::fresh;
    Wait wait = Wait::none;
    NameOp asked = NameOp::publish;
    std::string attribute;  ///< the awaited attribute
    std::string thread;     ///< thrid of the last request (PMI-2)
    bool gone = false;
    bool aborted = false;
    bool too_much = false;                  ///< above the limit, and reported
    std::optional<SpawnReader> spawn = {};  ///< during the description of a spawn
    LineReader lines;
    FrameReader frames;
  };
  using Handler = void (PmiServer::*)(std::uint32_t, Client&, const PmiLine&);
  using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  struct Command {
    std::string_view name;
    Handler handler;
    bool before_init = false;
  };

  bool take_message(std::uint32_t rank, Client& client);
  void perform(std::uint32_t rank, Client& client, const Command* command, const PmiLine& line, std::string_view text);
  void enter_fence(Client& client);
  void raise_abort(std::uint32_t rank, Client& client, std::string_view code);
  void ask_name(std::uint32_t rank, Client& client, NameOp op, std::string_view service, std::string_view port);
  /// Returns the reason of a rejection; empty: accepted.
  std::string_view put(std::uint32_t rank, std::string_view key, std::string_view value);
  /// Null: no such key.
  const std::string* find(std::string_view space, const std::string& key) const;
  std::string name(std::uint32_t rank) const;
  void break_off(std::uint32_t rank, const std::string& why);
  void leave(Client& client);
  void fence_when_all_wait();
  void end_fence(bool broken);
  Actions take_actions() { return std::exchange(actions_, {}); }

  // pmi1.cpp
  static const Command* line_command(std::string_view name);
  void take_line(std::uint32_t rank, Client& client, const std::string& text);
  void take_spawn_line(std::uint32_t rank, Client& client, const std::string& text);
  void on_init(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_maxes(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_appnum(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_space_name(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_universe_size(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_put(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_get(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_barrier(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_finalize(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_abort(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_name(std::uint32_t rank, Client& client, const PmiLine& line);
  void name_line(std::uint32_t rank, NameOp op, bool ok, const std::string& port);
  void spawn_line(std::uint32_t rank, bool ok, const std::string& space);
  void answer(std::uint32_t rank, Pairs pairs);

  // pmi2.cpp
  static const Command* frame_command(std::string_view name);
  void take_frame(std::uint32_t rank, Client& client, const std::string& text);
  void on_full_init(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_job_id(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_put(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_get(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_put_attribute(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_get_attribute(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_job_attribute(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_name(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_abort(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_finalize(std::uint32_t rank, Client& client, const PmiLine& line);
  void on_frame_spawn(std::uint32_t rank, Client& client, const PmiLine& line);
  void spawn_frame(std::uint32_t rank, bool ok, const std::string& space);
  void on_unserved(std::uint32_t rank, Client& client, const PmiLine& line);
  void name_frame(std::uint32_t rank, Client& client, bool ok, const std::string& port);
  void answer_found(std::uint32_t rank, std::string_view command, const std::string* value);
  void answer_frame(std::uint32_t rank, std::string_view command, std::string_view error, Pairs pairs = {});
  void disconnect_attribute_waiters();

  const World world_;
  KeyValueStore space_;
  std::map<std::string, std::string, std::less<>> attributes_;  // attributes of this node
  size_t attribute_bytes_ = 0;
  std::map<std::uint32_t, Client> clients_;
  std::uint32_t waiting_ = 0;  // ranks in the fence
  std::uint32_t gone_ = 0;
  bool fenced_ = false;  // the other hosts know that all ranks here wait
  Actions actions_;      // actions of one call
};

}  // namespace dlaunch::pmi
