"""Tests jobs inside a Flux instance, with a fake flux command (tests/testbed/flux.py)."""
import json
import os
import signal
import subprocess

from hosts_case import HostsCase
from manager_case import ROWS, ManagerCase
from promises import ENDS, FLUX, KILL, LEAVES_NOTHING, QUERY, SIGNAL, START, promise
from support import TIMEOUT, Case, main, of_process, wait_until

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


class FluxCase(HostsCase):
    place = FLUX

    def setUp(self):
        super().setUp()
        self.flux = flux.Flux(self.bed, ["head", "node1", "node2"])
        self.env |= self.flux.environment()
        for host in self.bed.hosts.values():
            host.kill_sshd()


class Promises(ManagerCase, FluxCase):
    row = ROWS[FLUX]

    def break_command(self):
        program = self.flux.dir / "flux"
        program.write_text(program.read_text().replace("rank >= len(NAMES)", "rank == 2"))
        return ("rank 2: No route to host",)


class Instance(FluxCase):
    def test_port_in_use_is_skipped(self):
        head = self.bed.addresses()["head"]
        listen = f"import socket, sys; s = socket.create_server(('{head}', 40001)); print(); sys.stdin.read()"
        with subprocess.Popen(self.bed.head.command(["python3", "-c", listen]), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            done = self.run_dlaunch("-v", "--port", "40001-40002", "-N", "1", "hostname")
        self.assert_exit(done, 0)
        self.assertIn(f"agents of node[1-2] connect to {head}:40002", done.stderr.decode())

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


if __name__ == "__main__":
    main()
