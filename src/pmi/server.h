// PMI as one host serves it to its ranks of one world: what each says goes in, what is to be done comes out. PURE: no
// descriptors, no clock. Owned by the agent.
//
// Rules
// - A client asks, waits for the answer, asks again. One that breaks PMI is hung up on and named; it harms nobody else.
// - A key that is not there is answered at once: what other hosts put is here after the next fence.
// - A fence waits for every rank of the world. One that can never come (it ended, or its connection did) ends the
// fence:
//   all that wait in it are hung up on, for their MPI would wait for ever.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/actions.h"
#include "pmi/line.h"
#include "pmi/space.h"
#include "pmi/spawn.h"

namespace dlaunch::pmi {

/// What all ranks are told of their world. Their numbers here are those of the job, not those in their world.
struct World {
  std::string space;           ///< the name of its key-value space
  std::uint32_t size = 0;      ///< ranks
  std::uint32_t universe = 0;  ///< slots
  std::string mapping;         ///< process_mapping(); empty: not told
  std::uint32_t here = 0;      ///< ranks on this host
  bool alone = true;           ///< there is no other host
  int number = 1;              ///< 1 is the job as it was started
  std::uint32_t first = 0;     ///< number of its rank 0
  std::uint32_t first_app = 0;
};

class Server {
 public:
  explicit Server(World world) : world_(std::move(world)) {}
  /// In the space from the start: key, value, …
  void preload(const std::vector<std::string>& pairs) { space_.take(pairs); }

  /// A rank has a connection from here on. `app`: its program's number.
  void join(std::uint32_t rank, std::uint32_t app);
  Actions received(std::uint32_t rank, std::string_view bytes);
  /// Its connection ended, the rank itself did, or it was never started. Nothing is sent to it any more.
  Actions gone(std::uint32_t rank);
  /// Between MPI_Init and MPI_Finalize.
  bool in_mpi(std::uint32_t rank) const;

  /// What all hosts put before the fence; ends it when `last`. `broken`: it cannot be, all that wait are hung up on.
  Actions shared(const std::vector<std::string>& pairs, bool last, bool broken);
  /// The answer to AskName.
  Actions name_answered(std::uint32_t rank, bool ok, const std::string& port);
  /// The answer to AskSpawn. `space`: the name of the new world's.
  Actions spawn_answered(std::uint32_t rank, bool ok, const std::string& space);

 private:
  enum class State { fresh, initialized, finalized };
  enum class Wait { none, fence, name, spawn };
  struct Client {
    std::uint32_t app = 0;
    State state = State::fresh;
    Wait wait = Wait::none;
    NameOp asked = NameOp::publish;
    bool gone = false;
    bool aborted = false;
    std::optional<SpawnReader> spawn = {};  ///< while it says what to spawn
    LineReader lines;
  };
  using Handler = void (Server::*)(std::uint32_t, Client&, const Line&);
  struct Command;
  static const Command kCommands[];

  void take_line(std::uint32_t rank, Client& client, const std::string& text);
  void take_spawn_line(std::uint32_t rank, Client& client, const std::string& text);
  void on_init(std::uint32_t rank, Client& client, const Line& line);
  void on_maxes(std::uint32_t rank, Client& client, const Line& line);
  void on_appnum(std::uint32_t rank, Client& client, const Line& line);
  void on_space_name(std::uint32_t rank, Client& client, const Line& line);
  void on_universe_size(std::uint32_t rank, Client& client, const Line& line);
  void on_put(std::uint32_t rank, Client& client, const Line& line);
  void on_get(std::uint32_t rank, Client& client, const Line& line);
  void on_barrier(std::uint32_t rank, Client& client, const Line& line);
  void on_finalize(std::uint32_t rank, Client& client, const Line& line);
  void on_abort(std::uint32_t rank, Client& client, const Line& line);
  void on_name(std::uint32_t rank, Client& client, const Line& line);

  void answer(std::uint32_t rank, std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);
  std::string name(std::uint32_t rank) const;
  void refuse_put(std::uint32_t rank, std::string_view why);
  void break_off(std::uint32_t rank, const std::string& why);
  void leave(Client& client);
  void fence_when_all_wait();
  void end_fence(bool broken);
  Actions take_actions() { return std::exchange(actions_, {}); }

  const World world_;
  Space space_;
  std::map<std::uint32_t, Client> clients_;
  std::uint32_t waiting_ = 0;  // in the fence
  std::uint32_t gone_ = 0;
  bool fenced_ = false;  // the others were told that all here wait
  Actions actions_;      // gathered by one call
};

}  // namespace dlaunch::pmi
