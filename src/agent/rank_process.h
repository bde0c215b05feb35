// A rank of this host, with its streams. Owned by Ranks.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>

#include "agent/process_spawner.h"
#include "agent/rank_start.h"
#include "agent/stdin_feeder.h"
#include "link/pipe_reader.h"
#include "sys/fd.h"

namespace dlaunch::agent {

/// A rank, from its spawn to the end of the job. Passive.
struct RankProcess {
  pid_t pid = 0;  // 0 after the reap, because the pid may then belong to another process
  RankProgram program;
  const SpawnFailure* failure = nullptr;
  std::array<std::unique_ptr<link::PipeReader>, 2> readers;
  std::array<std::uint32_t, 2> credit{};  // of its output streams
  std::unique_ptr<StdinFeeder> in;
  sys::Fd terminal;        // kept to set its size
  bool signalled = false;  // with HUP, INT, QUIT or TERM
};

}  // namespace dlaunch::agent
