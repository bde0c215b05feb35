"""Tests the report of a hung job, with the stack of every rank, and that a working job is not reported. The time
windows are short: a rank without progress for a whole window hangs; a rank with progress in each quarter of the window
does not."""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

from hosts_case import HostsCase, lines
from promises import BAD_DISK, DEADLINE, ENDS, FAILURE, FAKE_HOSTS, HANG, LOSES_NOTHING, MPI, NAMES_FIRST, READER, RESTARTS, promise
from support import Case, TIMEOUT, cause, main, sh, wait_until

PYTHON = "/usr/bin/python3"
HUNG = "no rank makes progress; stacks of"

# Ranks 0 and 2 wait for a message that never arrives, rank 1 for a lock that it already holds.
STUCK = """
import os, socket, threading
def in_lock():
    lock = threading.Lock()
    lock.acquire()
    print(os.environ["DLAUNCH_JOB_ID"], flush=True)
    lock.acquire()
def in_recv():
    one, other = socket.socketpair()
    print(os.environ["DLAUNCH_JOB_ID"], flush=True)
    one.recv(1)
in_lock() if os.environ["DLAUNCH_RANK"] == "1" else in_recv()
"""

# Computes without output for sys.argv[1] seconds.
SILENT = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
step = 0
while time.monotonic() < end:
    step += 1
print("done")
"""

# Ranks 0 and 2 wait; then rank 1 crashes.
CRASHES = """
import ctypes, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def waits():
    open("waits." + os.environ["DLAUNCH_RANK"], "w").close()
    time.sleep(1000)
def crashes():
    ctypes.string_at(0)
if os.environ["DLAUNCH_RANK"] != "1":
    waits()
while not (os.path.exists("waits.0") and os.path.exists("waits.2")):
    time.sleep(0.01)
crashes()
"""


class Hangs(Case):
    def stuck(self, *args):
        return self.run_dlaunch("-n", 3, *args, PYTHON, "-c", STUCK)

    def assert_quiet(self, result):
        self.assert_exit(result, 0)
        self.assertNotIn(b"no rank has written", result.stderr)

    def test_stacks_of_all_ranks_are_printed_once_and_the_job_continues(self):
        with self.start("-n", 3, "--hang-after", 2, PYTHON, "-c", STUCK, stdout=-1, stderr=subprocess.PIPE) as job:
            seen = b""
            while b"to stop a hanging job" not in seen:
                line = job.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            self.assertIsNone(job.poll())
            time.sleep(3)
            job.send_signal(signal.SIGTERM)
            _, rest = job.communicate(timeout=TIMEOUT)
        title = "dlaunch: no rank has written for 2.0 s and no rank makes progress; stacks of 3 ranks (main thread):"
        self.assertEqual(lines(seen).count(title), 1)
        text = seen.decode()
        text = text[text.index(title):]  # a rank that started late may have been in an earlier report
        self.assertRegex(text, r"\n  1 rank: 1 \(.*\) +blocked, .* CPU")
        self.assertRegex(text, r"\n  2 ranks: 0,2 \(.*\) +blocked, .* CPU")
        self.assertLess(text.index("in_lock (<string>:7)"), text.index("in_recv (<string>:11)"), "the smaller group is first")
        self.assertIn("rank 1 differs from all other ranks: only this rank is in in_lock (<string>:7)", text)
        self.assertNotIn(b"no rank has written", rest)
        self.assertEqual(job.returncode, 143)

    @promise(ENDS, mode=HANG)
    def test_on_hang_end_ends_the_job(self):
        result = self.stuck("--hang-after", 2, "--on-hang", "end", "--report", f"{self.dir}/record", "--output-filename", f"{self.dir}/logs")
        self.assert_exit(result, 124)
        self.assertRegex(cause(result.stderr), r"^dlaunch: hung after .* s: no rank wrote or made progress for 2\.0 s$")
        record = json.loads((self.dir / "record").read_text())
        self.assertEqual(record["cause"], "hung")
        self.assertEqual([hang["every_rank"] for hang in record["hangs"]].count(True), 1)
        path = pathlib.Path(record["hangs"][-1]["stacks"])
        self.assertEqual(path.parent, self.dir / "logs/1")
        self.assertIn(f"all threads: {path}", result.stderr.decode())
        self.assertIn("== rank 1 (", path.read_text())
        self.assertIn("in_lock", path.read_text())

    @promise(LOSES_NOTHING, mode=(HANG, DEADLINE, BAD_DISK))
    def test_stacks_that_cannot_be_written_are_not_announced(self):
        disk = self.mount_small_disk()
        full = f"head -c 1000000 /dev/zero > {disk}/filler; " + "sleep 1000"
        gone = f"rm -r {disk}/logs/1; sleep 1000"
        for options, code in ((("--hang-after", 2, "--on-hang", "end"), 124), (("--timeout", 2), 124)):
            for script, reason in ((full, "No space left on device"), (gone, "No such file or directory")):
                with self.subTest(script=script, options=options):
                    subprocess.run(f"rm -rf {disk}/*", shell=True, check=True)
                    result = self.run_dlaunch("-n", 1, "--output-filename", disk / "logs:nocopy", "--report", self.dir / "record",
                                              *options, *sh("exec 2>/dev/null; " + script))
                    self.assert_exit(result, code)
                    self.assertIn(f"  all threads: cannot write {disk}/logs/1/stacks.1: {reason}\n", result.stderr.decode())
                    hangs = json.loads((self.dir / "record").read_text()).get("hangs", [])
                    self.assertTrue(all(hang["stacks"] is None for hang in hangs), hangs)

    @promise(ENDS, mode=HANG, place=FAKE_HOSTS)
    def test_thousand_sleeping_ranks_are_one_group(self):
        """All agents share this machine, so an expensive sample would time out and never detect the hang."""
        result = self.run_dlaunch("--fake-hosts", "64x16", "--oversubscribe", "--hang-after", 5, "--on-hang", "end", "--timeout", 90,
                                  "sh", "-c", "sleep 1000", timeout=4 * TIMEOUT)
        self.assert_exit(result, 124)
        self.assertRegex(cause(result.stderr), r"^dlaunch: hung after ")
        picture = result.stderr.decode().split("no rank makes progress; stacks of 1024 ranks (main thread):\n")[-1]
        # A sample makes its rank run for a moment. On a busy machine, the next sample may see the rank running.
        groups = re.findall(r"(?m)^  (\d+) ranks?: \S+ \(fake\S+\) +(\w+), ", picture)
        self.assertEqual(sum(int(ranks) for ranks, _ in groups), 1024, picture)
        asleep = [int(ranks) for ranks, does in groups if does != "running"]
        self.assertTrue(len(asleep) == 1 and asleep[0] >= 1000, picture)
        self.assertRegex(picture, r"(?m)^  \d+ ranks: \S+ \(fake\[1-64\]\) +blocked, ")
        self.assertNotIn("no time", picture)

    @promise(ENDS, mode=(HANG, RESTARTS))
    def test_on_hang_restart_restarts_the_job(self):
        script = STUCK.replace("import os,", "import os, sys,").replace('in_lock() if', 'os.environ["DLAUNCH_ROUND"] == "1" and sys.exit()\nin_lock() if')
        result = self.run_dlaunch("-n", 3, "--hang-after", 2, "--on-hang", "restart", "--restarts", 1, PYTHON, "-c", script)
        self.assert_exit(result, 0)
        self.assertRegex(result.stderr.decode(), r"dlaunch: hung after .* s: no rank wrote or made progress for 2\.0 s; restart 1 of 1")

    def test_on_hang_restart_requires_restarts(self):
        result = self.run_dlaunch("-n", 1, "--on-hang", "restart", "true")
        self.assert_exit(result, 2)

    def test_running_rank_is_named_and_the_job_continues(self):
        script = 'import os, sys\nif os.environ["DLAUNCH_RANK"] == "2":\n' + "\n".join("    " + line for line in SILENT.splitlines()) + \
            "\n    os._exit(5)\n" + STUCK
        result = self.run_dlaunch("-n", 3, "--hang-after", 2, "--on-hang", "end", PYTHON, "-c", script, "8")
        self.assert_exit(result, 5)
        self.assertIn("no rank has written for 2.0 s: ranks 0-1 wait; rank 2 is running; stacks of 3 ranks", result.stderr.decode())
        self.assertNotIn(HUNG.encode(), result.stderr)

    def test_silent_computation_is_not_a_hang(self):
        self.assert_quiet(self.run_dlaunch("-n", 2, "--hang-after", 2, "--on-hang", "end", PYTHON, "-c", SILENT, "6"))

    def test_computing_child_process_is_not_a_hang(self):
        script = "import subprocess, sys\nsubprocess.run(sys.argv[1:], check=True)"
        busy = "i=0; end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do i=$((i+1)); done"
        self.assert_quiet(self.run_dlaunch("-n", 2, "--hang-after", 2, "--on-hang", "end", PYTHON, "-c", script, "sh", "-c", busy))

    def test_stopped_rank_is_not_a_hang(self):
        with self.start("-n", 2, "--hang-after", 2, "--on-hang", "end", *sh("echo $$; exec sleep 1000"), stdout=-1, stderr=subprocess.PIPE) as job:
            pids = [int(job.stdout.readline()) for _ in range(2)]
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(6)
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGTERM)
            _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 143, err)
        self.assertNotIn(HUNG.encode(), err)

    @promise(LOSES_NOTHING, mode=READER)
    def test_paused_reader_is_not_a_hang(self):
        with self.start("-n", 2, "--hang-after", 2, "--on-hang", "end", *sh("yes | head -c 3000000; exec true"), stdout=-1, stderr=subprocess.PIPE) as job:
            time.sleep(6)
            self.assertIsNone(job.poll())
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(len(out), 6000000)
        self.assertNotIn(b"no rank has written", err)

    def test_hang_after_0_disables_the_check(self):
        result = self.stuck("--hang-after", 0, "--on-hang", "end", "--timeout", 4)
        self.assert_exit(result, 124)
        self.assertNotIn(b"no rank has written", result.stderr)

    @promise(ENDS, mode=DEADLINE)
    def test_timeout_prints_stacks_first(self):
        for _ in range(5):  # the stack report has 2 s, which is too short on a very busy machine
            result = self.stuck("--timeout", 3)
            self.assert_exit(result, 124)
            text = result.stderr.decode()
            if "in_lock (<string>:7)" in text:
                break
        self.assertIn("in_lock (<string>:7)", text)
        self.assertIn("dlaunch: time limit reached; stacks of 3 ranks (main thread):", text)
        self.assertRegex(cause(result.stderr), r"timed out after .*: ranks 0-2 were still running")

    def crash(self, *args, **options):
        for file in self.dir.glob("waits.*"):
            file.unlink()
        result = self.run_dlaunch("-n", 3, *args, PYTHON, "-c", CRASHES, cwd=self.dir, **options)
        self.assert_exit(result, 128 + signal.SIGSEGV)
        self.assertRegex(cause(result.stderr), r"rank 1 \(.*\) killed by signal 11 \(SIGSEGV\)")
        return result.stderr.decode()

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_crash_prints_stacks_of_the_others(self):
        for _ in range(5):  # the stack report has 2 s, which is too short on a very busy machine
            text = self.crash()
            if "waits (<string>:6)" in text:
                break
        self.assertIn("dlaunch: rank 1 killed by signal 11 (SIGSEGV); stacks of 2 ranks (main thread):\n  2 ranks: 0,2 ", text)
        self.assertIn("      waits (<string>:6)\n      <module> (<string>:10)\n", text)
        self.assertIn("Fatal Python error: Segmentation fault", text)
        self.assertRegex(text, r"dlaunch:   \|   File .*, line 8 in crashes\n")  # in its last stderr lines

    def test_crash_before_a_restart_does_not_wait_for_stacks(self):
        text = self.crash("--restarts", 1, env={"PYTHONFAULTHANDLER": ""})
        self.assertIn("restart 1 of 1", text)
        self.assertNotIn("; stacks of", text.partition("restart 1 of 1")[0])
        self.assertNotIn("Fatal Python error", text)


MPI_STUCK = """
#include <mpi.h>
#include <unistd.h>
static void exchange(int from) { int value; MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) pause();
  exchange(1);
}
"""

# Exchanges messages for 6 s without output. The sum is a variable on the stack.
MPI_BUSY = """
#include <mpi.h>
#include <time.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int go = 1;
  volatile long sum = 0;
  for (time_t end = time(0) + 6; go;) {
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
    go = time(0) < end;
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
"""


class MpiHangs(Case):
    """MPI libraries poll while they wait. The function that a rank executes distinguishes a wait from a computation."""

    def compiled(self, kind, source):
        if not shutil.which(f"mpicc.{kind}"):
            self.skipTest(f"no mpicc.{kind}: scripts/install-packages mpi")
        (self.dir / "program.c").write_text(source)
        subprocess.run([f"mpicc.{kind}", "-O1", "-o", self.dir / kind, self.dir / "program.c"], check=True, timeout=TIMEOUT)
        return str(self.dir / kind)

    @promise(ENDS, mode=(HANG, MPI))
    def test_missing_message_is_a_hang(self):
        for kind in ("openmpi", "mpich"):
            with self.subTest(kind):
                program = self.compiled(kind, MPI_STUCK)
                result = self.run_dlaunch("-n", 3, "--hang-after", 3, "--on-hang", "end", program)
                self.assert_exit(result, 124)
                text = result.stderr.decode()
                self.assertIn(HUNG, text)
                self.assertRegex(text, r"\n  2 ranks: 0,2 \(.*\) +(polling|blocked).*\n      P?MPI_Recv \(lib")
                self.assertIn("rank 1 differs from all other ranks: the other ranks wait in ", text)

    def test_continuous_messages_are_not_a_hang(self):
        for kind in ("openmpi", "mpich"):
            with self.subTest(kind):
                result = self.run_dlaunch("-n", 2, "--hang-after", 2, "--on-hang", "end", self.compiled(kind, MPI_BUSY))
                self.assert_exit(result, 0)
                self.assertNotIn(HUNG.encode(), result.stderr)


class StacksCommand(Case):
    def test_stacks_command_prints_stacks_of_a_running_job(self):
        with self.start("-n", 3, PYTHON, "-c", STUCK, stdout=-1, stderr=subprocess.PIPE) as job:
            mine = {job.stdout.readline().decode().strip() for _ in range(3)}
            self.assertEqual(len(mine), 1)
            mine = mine.pop()
            self.assertTrue(wait_until(lambda: mine in lines(self.run_dlaunch("stacks").stdout)))
            result = self.run_dlaunch("stacks", mine)
            self.assert_exit(result, 0)
            text = result.stdout.decode()
            self.assertIn(f"dlaunch: job {mine}; stacks of 3 ranks (main thread):", text)
            self.assertIn("rank 1 differs from all other ranks: only this rank is in in_lock (<string>:7)", text)
            whole = self.run_dlaunch("stacks", "--all", mine).stdout.decode()
            for rank in range(3):
                self.assertIn(f"== rank {rank} (", whole)
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=TIMEOUT)
        self.assert_exit(self.run_dlaunch("stacks", mine), 2)

    def test_launcher_that_ends_during_a_question(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0dlaunch/{os.geteuid()}/ending")
            listener.listen()
            with self.start("stacks", "ending", stderr=subprocess.PIPE) as command:
                client = listener.accept()[0]
                select.select([client], [], [], TIMEOUT)
                client.close()  # the question is unread, so the client gets ECONNRESET
                said = command.communicate(timeout=TIMEOUT)[1]
        self.assertIn(b"the round or the job has just ended", said)

    def test_job_between_two_rounds_is_named(self):
        result = self.run_dlaunch("stacks", "missing")
        self.assert_exit(result, 2)
        self.assertIn(b"or between two rounds", result.stderr)


class SeveralHosts(HostsCase):
    @promise(ENDS, mode=HANG)
    def test_ranks_of_all_hosts_are_in_one_report(self):
        result = self.run_dlaunch("-H", "node1:2,node2:1", "--hang-after", 3, "--on-hang", "end", PYTHON, "-c", STUCK)
        self.assert_exit(result, 124)
        text = result.stderr.decode()
        self.assertRegex(text, r"\n  1 rank: 1 \(node1\) +blocked")
        self.assertRegex(text, r"\n  2 ranks: 0,2 \(node\[1-2\]\) +blocked")
        self.assertIn("rank 1 differs from all other ranks: only this rank is in in_lock (<string>:7)", text)


if __name__ == "__main__":
    main(side_by_side=3)
