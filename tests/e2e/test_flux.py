"""Tests jobs inside a Flux instance, with a fake flux command (tests/testbed/flux.py)."""
import json
import os
import signal
import subprocess

from hosts_case import HostsCase, lines
from promises import (ENDS, FAILURE, FLUX, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, ORPHANS, QUERY,
                      RUN, SIGNAL, START, promise)
from support import TIMEOUT, Case, main, of_process, sh, wait_until

import flux  # of the testbed, by hosts_case's path


class Query(Case):
    @promise(ENDS, LEAVES_NOTHING, mode=(QUERY, SIGNAL, KILL), place=FLUX)
    def test_end_during_the_query_of_flux_leaves_no_flux_process(self):
        """The flux command does not answer. It has its own session, so a signal to dlaunch does not end the flux command."""
        (self.dir / "flux").write_text("#!/bin/sh\necho $$ >asked.new\nmv asked.new asked\nexec sleep 1000\n")
        (self.dir / "flux").chmod(0o755)
        asked = self.dir / "asked"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number.name):
                job = self.start("-n", 1, "true", env={"FLUX_URI": "local:///none", "PATH": f"{self.dir}:{os.environ['PATH']}"},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertTrue(wait_until(asked.exists, TIMEOUT))
                flux_pid = int(asked.read_text())
                asked.unlink()
                job.send_signal(number)
                self.assertNotEqual(job.wait(TIMEOUT), 0)
                self.assertTrue(wait_until(lambda pid=flux_pid: not of_process(pid, "cmdline"), TIMEOUT), "the flux that was asked is left")


class ByFluxExec(HostsCase):
    place = FLUX

    def setUp(self):
        super().setUp()
        self.flux = flux.Flux(self.bed, ["head", "node1", "node2"])
        self.env |= self.flux.environment()
        for host in self.bed.hosts.values():
            host.kill_sshd()

    def start_sleepers(self):
        job = self.start(*sh("setsid sleep 1000 & exec sleep 1000"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.assertTrue(wait_until(lambda: sum(len(host.find("sleep 1000")) for host in self.bed.hosts.values()) >= 8, TIMEOUT))
        return job

    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_run_where_the_instance_has_cores(self):
        for _ in ("the agent is sent", "it is there"):
            done = self.run_dlaunch("--label", *sh("echo $(hostname) $FLUX_URI"))
            self.assert_exit(done, 0)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(sorted(lines(done.stdout)),
                             [f"[{rank}] {name} local:///run/flux/local-{broker}" for rank, (name, broker) in
                              enumerate((("head", 0), ("head", 0), ("node1", 1), ("node1", 1), ("node2", 2), ("node2", 2)))])

    def test_port_in_use_is_skipped(self):
        head = self.bed.addresses()["head"]
        listen = f"import socket, sys; s = socket.create_server(('{head}', 40001)); print(); sys.stdin.read()"
        with subprocess.Popen(self.bed.head.command(["python3", "-c", listen]), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            done = self.run_dlaunch("-v", "--port", "40001-40002", "-N", "1", "hostname")
        self.assert_exit(done, 0)
        self.assertIn(f"agents of node[1-2] connect to {head}:40002", done.stderr.decode())

    def test_transport_is_reported(self):
        for words in (["--dry-run", "true"], ["hosts"]):
            self.assertIn("Flux: 3 nodes × 2, by flux", self.run_dlaunch(*words).stdout.decode())
        self.assertIn("Flux: 3 nodes × 2, by ssh", self.run_dlaunch("--dry-run", "--transport", "ssh", "true").stdout.decode())
        done = self.run_dlaunch("-v", "--transport", "flux", "true")
        self.assert_exit(done, 0)
        self.assertRegex(done.stderr, rb"agents of node\[1-2\] connect to ")

    def test_transport_flux_outside_flux_is_rejected(self):
        self.assert_told(self.run_dlaunch("--transport", "flux", "true", env={"FLUX_URI": ""}), 2, "--transport flux", "not in a Flux instance")

    @promise(ENDS, mode=(START, QUERY))
    def test_instance_that_does_not_answer_is_an_error(self):
        (self.flux.dir / "flux").write_text("#!/bin/sh\necho 'flux-kvs: ERROR: flux_open: Connection refused' >&2\nexit 1\n")
        self.assert_told(self.run_dlaunch("true"), 2, "Connection refused")

    def test_gpus_of_r_are_the_devices(self):
        program = self.flux.dir / "flux"
        program.write_text(program.read_text().replace('"core": "0-1"}', '"core": "0-1", "gpu": "2,5-6"}'))
        done = self.run_dlaunch("--dry-run", "--format", "json", "true")
        self.assert_exit(done, 0)
        hosts = json.loads(done.stdout)["hosts"]
        self.assertEqual([(host["name"], host["slots"], host["devices"]) for host in hosts],
                         [(name, 3, [2, 5, 6]) for name in ("head", "node1", "node2")])

    def test_malformed_r_is_an_error(self):
        program = self.flux.dir / "flux"
        whole = program.read_text()
        for wrong, right in (('"R_less"', '"R_lite"'), ('"core": "x"', '"core": "0-1"'), ('"rank": "0-9"', '"rank": "0-2"'), ("{{", "{")):
            with self.subTest(wrong):
                program.write_text(whole.replace(right, wrong, 1) if right != "{" else whole.replace('\'{"version"', '\'{{"version"'))
                self.assert_told(self.run_dlaunch("true"), 2, "flux kvs get resource.R")

    def test_task_of_flux_run_is_rejected_as_a_copy(self):
        done = self.run_dlaunch("true", env={"FLUX_TASK_RANK": "1", "FLUX_JOB_SIZE": "4"})
        self.assert_told(done, 2, "flux run started 4 copies")

    @promise(NAMES_FIRST, mode=START)
    def test_error_of_flux_is_reported(self):
        program = self.flux.dir / "flux"
        program.write_text(program.read_text().replace("rank >= len(NAMES)", "rank == 2"))
        self.assert_told(self.run_dlaunch("true"), 125, "rank 2: No route to host")

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        done = self.run_dlaunch("-n", "6", "-N", "2", *sh("yes 1234567 | head -c 12582912"))
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout.count(b"1234567\n") * 8, 6 * 12582912)
        self.assertEqual(len(done.stdout), 6 * 12582912)

    @promise(ENDS, NAMES_FIRST, mode=FAILURE)
    def test_first_failure_is_named(self):
        self.assert_told(self.run_dlaunch(*sh("[ $RANK_ID != 5 ] || exit 7; exec sleep 1000")), 7, "rank 5", "node2")

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_killed_flux_exec_ends_the_job_and_leaves_no_process(self):
        job = self.start_sleepers()
        for pid in self.bed.head.find("flux exec"):
            os.kill(pid, signal.SIGKILL)
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125, err)
        self.assertRegex(err, rb"node[12[]")
        self.assert_hosts_clean()

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_host_of_a_killed_agent_is_named(self):
        job = self.start_sleepers()
        carrier, = [pid for pid, line in self.bed["node2"].strangers().items() if " --dial " in line]
        os.kill(carrier, signal.SIGKILL)
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125)
        self.assertIn(b"node2", err)
        self.assertNotIn(b"may still run", err)
        self.assert_hosts_clean()

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_leaves_no_process(self):
        job = self.start_sleepers()
        os.kill(job.pid, signal.SIGKILL)
        job.communicate(timeout=TIMEOUT)
        self.assert_hosts_clean()


if __name__ == "__main__":
    main()
