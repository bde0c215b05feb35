// The messages between launcher and agent. Values; docs/wire.md has them byte by byte. PURE.
//
// Each message lists its fields once, in `fields`; the encoder and the decoder use this list. To add a message, write a
// struct with an unused kType and its fields, and add it to `Message`. Never reuse the number of a type. The number
// determines the sender (may_send in limits.h).
#pragma once

#include <variant>

#include "wire/control.h"
#include "wire/mpi.h"
#include "wire/ranks.h"

namespace dlaunch::wire {

using Message =
    std::variant<Setup, Program, Spawn, Stdin, Signal, WindowSize, Pause, Finish, Sweep, Layout, QueryHost, JobFile,
                 RunCommands, Prepare, Stage, Ping, Credit, Hello, Started, SpawnFailed, OutputData, Ended, StdinClosed,
                 Log, Clean, HostInfo, CommandResults, Prepared, StageCredit, MpiWorld, FenceOut, NameAnswer,
                 SpawnAnswer, FenceIn, NameAsk, SpawnAsk, MpiAbort, PmixShared, PmixModexAsk, PmixAnswer, PmixProgram,
                 PmixStart, PmixWorld, PmixEvent, PmixCollect, PmixWant, PmixModex, PmixNames, PmixProgramAsk,
                 PmixFailed, TerminationNotice, SampleStacks, Stacks, Uncaught, WroteError, ReadClock, ClockReading>;

}  // namespace dlaunch::wire
