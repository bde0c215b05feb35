"""Tests dlaunch stacks with hostile processes: the reader's memory and time are limited, its report is printable, and the
processes do not notice it."""
import os
import re
import shutil
import subprocess
import time
import unittest

from promises import ATTACK, ENDS, QUERY, promise
from support import Case, SANITIZED, TIMEOUT, main, of_process, program, wait_until

GROWTH = (768 if SANITIZED else 64) << 20  # limit, in bytes; asan keeps freed memory
LOAD = 10  # seconds of a slow machine, added to each limit
MORE_SAMPLES = 4
ID = "DLAUNCH_JOB_ID"

# A static program whose exception table is 8 MiB of writable memory: a common entry of 64 KiB, and an entry of 25 bytes
# for each of 300,000 functions. objcopy gives the section its name.
LARGE_TABLE = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((section(".false,\"aw\",@progbits#"))) char table[8 << 20] = {1};
int main(void) {
  const uint32_t common = 0xfff8, function = 21;
  const char head[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0};
  memset(table, 0, sizeof table);
  memcpy(table, &common, 4);
  memcpy(table + 4, head, sizeof head);
  for (char *at = table + 4 + common; at + 4 + function < table + sizeof table; at += 4 + function) {
    const uint32_t back = at + 4 - table;
    const uint64_t range[] = {1, 1};
    memcpy(at, &function, 4);
    memcpy(at + 4, &back, 4);
    memcpy(at + 8, range, sizeof range);
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
"""


def peak_bytes(pid):
    """The largest resident memory of a process so far."""
    return int(re.search(rb"VmHWM:\s+(\d+) kB", of_process(pid, "status")).group(1)) * 1024


def parent(pid):
    return int(re.search(rb"PPid:\s+(\d+)", of_process(pid, "status")).group(1))


class HostileProcesses(Case):
    def setUp(self):
        super().setUp()
        self.targets = []

    def tearDown(self):
        for process in self.targets:
            process.kill()
            process.communicate()
        super().tearDown()

    def target(self, *command):
        self.targets.append(subprocess.Popen(command, env=self.env, cwd=self.dir, stdout=subprocess.PIPE))
        return self.targets[-1]

    def ready(self, *command):
        process = self.target(*command)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process.pid

    def report(self, *pids):
        began = time.monotonic()
        result = self.run_dlaunch("stacks", "--all", *pids)
        self.assert_exit(result, 0)
        self.assertLess(time.monotonic() - began, 2 * len(pids) + LOAD)
        return result.stdout.decode()

    def with_large_table(self):
        """The program of LARGE_TABLE."""
        source, plain, made = (self.dir / name for name in ("table.c", "plain", "table"))
        source.write_text(LARGE_TABLE)
        subprocess.run(["gcc", "-w", "-static", "-Wl,--no-eh-frame-hdr", "-o", plain, source], check=True, timeout=TIMEOUT)
        subprocess.run(["objcopy", "--rename-section", ".eh_frame=.unused", "--rename-section", ".false=.eh_frame", plain, made],
                       check=True, timeout=TIMEOUT)
        return str(made)

    def assert_reader_is_limited(self, *rank):
        """The agent that samples such a rank several times, in a job with a harmless rank."""
        script = f'if [ $DLAUNCH_RANK = 0 ]; then echo $$ ${ID}; exec sleep 1000; fi; exec "$@"'
        with self.start("-n", 2, "sh", "-c", script, "sh", *rank, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            lines = [job.stdout.readline().decode().split() for _ in range(2)]
            self.assertIn(["ready"], lines)
            harmless, job_id = next(line for line in lines if len(line) == 2)
            worker = parent(harmless)
            self.assertTrue(wait_until(lambda: job_id in self.run_dlaunch("stacks").stdout.decode().split()))
            before = peak_bytes(worker)
            for _ in range(MORE_SAMPLES):
                began = time.monotonic()
                result = self.run_dlaunch("stacks", "--all", job_id)
                self.assert_exit(result, 0)
                self.assertLess(time.monotonic() - began, 2 + LOAD)
                self.assertRegex(result.stdout, rb"== rank 0 \(|did not sample all of its ranks|the stack sample did not end within 2 s: the host is busy")
                self.assertFalse(b"\x1b" in result.stdout)
            self.assertLess(peak_bytes(worker) - before, GROWTH)
            self.assertIsNone(job.poll())
            job.terminate()
            job.communicate(timeout=TIMEOUT)

    @promise(ENDS, mode=(ATTACK, QUERY))
    def test_name_that_demangles_to_gigabytes(self):
        self.assert_reader_is_limited(program("hostile_stacks"), "name")
        text = self.report(self.ready(program("hostile_stacks"), "name"))
        self.assertIn("    f (", text)

    @promise(ENDS, mode=(ATTACK, QUERY))
    def test_false_structures_of_python(self):
        """Large line tables; and many threads with long names, which a cache would keep."""
        for threads, table in ((1024, 1 << 18), (150, 0)):
            with self.subTest(threads=threads):
                self.assert_reader_is_limited(program("false_python"), str(threads), str(table))
        text = self.report(self.ready(program("false_python"), "1024", str(1 << 18)))
        self.assertRegex(text, "  there was not enough (memory|time) to read the stacks of all threads\n")

    @promise(ENDS, mode=(ATTACK, QUERY))
    def test_several_false_pythons_together(self):
        script = f'for i in 1 2 3 4 5 6; do {program("false_python")} 20 0 > /dev/null & done; sleep 1; echo ready; wait'
        self.assert_reader_is_limited("sh", "-c", script)

    @promise(ENDS, mode=(ATTACK, QUERY))
    @unittest.skipUnless(shutil.which("gcc") and shutil.which("objcopy"), "this test requires gcc and objcopy")
    def test_large_exception_table(self):
        made = self.with_large_table()
        self.assert_reader_is_limited(made)
        self.report(self.ready(made))

    def test_control_characters_in_a_name_are_escaped(self):
        text = self.report(self.ready(program("hostile_stacks"), "comm"))
        self.assertIn(r": \n\x1b]0;X\x07\x1b[31m, ", text)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f]")
        self.assert_reader_is_limited(program("hostile_stacks"), "comm")

    def test_program_sees_no_interrupted_call(self):
        seconds = 6
        process = self.target(program("hostile_stacks"), "waits", str(seconds))
        until = time.monotonic() + seconds - 1
        samples = 0
        while time.monotonic() < until:
            self.assert_exit(self.run_dlaunch("stacks", "--all", *[process.pid] * 20), 0)
            samples += 20
        counts = process.communicate(timeout=TIMEOUT)[0].decode().split()
        self.assertGreater(samples, 0)
        self.assertEqual(sorted(zip(counts[::2], counts[1::2])), [("epoll_wait", "0"), ("recv", "0")], f"{samples} samples")


if __name__ == "__main__":
    main()
