#include "dlaunch/exit_status.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace dlaunch {
namespace {

// A wait status as Linux encodes it: code in the second byte; signal in the low seven bits, 0x80 with a core.
TEST(ExitStatus, KeepsEveryExitCode) {
  for (int code = 0; code < 256; ++code) {
    const ExitStatus status = ExitStatus::from_wait(code << 8);
    EXPECT_EQ(status, ExitStatus(Exited{code}));
    EXPECT_EQ(status.shell_code(), code);
    EXPECT_EQ(status.ok(), code == 0);
  }
}

TEST(ExitStatus, KeepsEverySignalWithAndWithoutCore) {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    for (const bool core : {false, true}) {
      const ExitStatus status = ExitStatus::from_wait(signal | (core ? 0x80 : 0));
      EXPECT_EQ(status, ExitStatus(Signaled{signal, core, false}));
      EXPECT_EQ(status.shell_code(), 128 + signal);
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.describe().find(signal_name(signal)), std::string::npos);
    }
  }
}

TEST(ExitStatus, ReadsTheStatusOfARealChild) {
  const pid_t child = fork();
  if (child == 0) _exit(42);
  int wait_status = 0;
  ASSERT_EQ(waitpid(child, &wait_status, 0), child);
  EXPECT_EQ(ExitStatus::from_wait(wait_status).shell_code(), 42);
}

TEST(ExitStatus, NotStartedDistinguishesNotFoundFromNotExecutable) {
  EXPECT_EQ(ExitStatus(NotStarted{ENOENT, "./a"}).shell_code(), 127);
  EXPECT_EQ(ExitStatus(NotStarted{EACCES, "./a"}).shell_code(), 126);
  EXPECT_EQ(ExitStatus(NotStarted{ENOEXEC, "./a"}).shell_code(), 126);
  EXPECT_EQ(ExitStatus(NotStarted{ENOENT, "./a"}).describe(), "did not start: ./a: No such file or directory");
  EXPECT_EQ(ExitStatus(NotStarted{0, "cannot bind it: no CPU is left"}).describe(),
            "did not start: cannot bind it: no CPU is left");
  EXPECT_EQ(ExitStatus(NotStarted{0, "cannot bind it"}).shell_code(), 126);
}

TEST(ExitStatus, LostHostHasExitCode125) { EXPECT_EQ(ExitStatus(Lost{"link cut"}).shell_code(), 125); }

TEST(ExitStatus, TreatsAFailureOfMpiAsAFailure) {
  EXPECT_EQ(ExitStatus(Aborted{7}).shell_code(), 7);
  EXPECT_EQ(ExitStatus(Aborted{7}).describe(), "called MPI_Abort with code 7");
  EXPECT_EQ(ExitStatus(Aborted{0}).shell_code(), 1);
  EXPECT_EQ(ExitStatus(LeftMpi{}).shell_code(), 1);
  EXPECT_FALSE(ExitStatus(Aborted{0}).ok());
  EXPECT_FALSE(ExitStatus(LeftMpi{}).ok());
}

TEST(SignalName, NamesKnownRealTimeAndUnknownSignals) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
  EXPECT_EQ(signal_name(99), "signal 99");
}

}  // namespace
}  // namespace dlaunch
