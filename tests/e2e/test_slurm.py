"""Tests jobs in allocations of a real Slurm: agents and ranks run in steps of the job, and the settings of Slurm apply.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from hosts_case import PATIENCE, HostsCase, lines, own_lines
from manager_case import ROWS, ManagerCase
from mpi_case import hellos
from promises import (DEADLINE, ENDS, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, ORPHANS, RUN, SIGNAL,
                      SLURM, START, promise)
from side_by_side import takes_long
from support import DLAUNCH, kill_together, main, of_process, open_files, program, sh, wait_until

import slurm  # of the testbed, by hosts_case's path

WHY_NOT = slurm.why_not()
STEP = sh("scontrol listpids $SLURM_JOB_ID | grep -w $$ | { read pid job step rest; echo $step; }")
# The variables of Slurm 23.11 and later for --gpus-per-task=1, instead of those of Slurm 22.05.
AS_NEWER_SLURM = ["env", "-u", "SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK=cpu=1,gres/gpu=1", "SLURM_TRES_BIND=gres/gpu:per_task:1"]


class SlurmCase(HostsCase):
    place = SLURM
    scheduler = "builtin"
    kill_wait = 5
    more = ()
    proctrack = "linuxproc"
    constraints = ()
    cpus = {}
    leaves = clean_within = 60

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()
        self.slurm = slurm.Slurm(self.bed, self.scheduler, cpus=self.cpus, kill_wait=self.kill_wait, more=self.more,
                                 proctrack=self.proctrack, constraints=self.constraints)
        self.addCleanup(self.slurm.close)
        self.slurm.__enter__()
        self.env.update(self.slurm.environment())

    def tearDown(self):
        self.assert_hosts_clean()
        self.assertTrue(wait_until(lambda: not self.slurm.steps(), PATIENCE), "steps are left")
        super().tearDown()

    def in_job(self, options, *words, by=(), **given):
        """Runs dlaunch to its end in an allocation with these options of salloc; `by`: a command line that starts
        dlaunch."""
        return self.run_dlaunch(*words, before=["salloc", "-Q", *options, *by], timeout=PATIENCE, **given)

    def start_in_job(self, options, *words):
        job = self.start(*words, before=["salloc", "-Q", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        return job

    def sleepers(self):
        return [pid for host in self.bed.hosts.values() for pid, line in host.strangers().items() if line.startswith("sleep ")]

    def launchers(self):
        return [pid for pid, line in self.bed.head.strangers().items() if line.startswith(DLAUNCH)]

    def assert_reason(self, number, code, said):
        """The message is the same whether ranks, agents or dlaunch get Slurm's SIGTERM first, and no rank is named as
        the cause."""
        self.assertEqual(code, 143, said)
        self.assertRegex(said, rf"(?m)^dlaunch:   Slurm job {number} was cancelled or reached its time limit")
        self.assertIn("interrupted by SIGTERM after", said)
        self.assertIn("stopped 4 ranks", said)
        for wrong in ("rank 0", "failed", "lost", "may still run"):
            self.assertNotIn(wrong, said)


class Promises(ManagerCase, SlurmCase):
    row = ROWS[SLURM]

    def enter(self):
        return ["salloc", "-Q", "-N2", "--ntasks-per-node=2"]

    def launchers_of(self, job):
        return self.launchers()

    def break_command(self):
        srun = self.dir / "bin" / "srun"
        srun.parent.mkdir()
        srun.write_text("#!/bin/sh\necho 'srun: error: Unable to create step for job 1: Requested nodes are busy' >&2\nexit 1\n")
        srun.chmod(0o755)
        self.env["PATH"] = f"{srun.parent}:{self.env['PATH']}"
        return ("srun: error: Unable to create step for job 1: Requested nodes are busy",)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(SIGNAL, ORPHANS))
    def test_cancelled_job_leaves_no_process(self):
        for program in (sh("setsid sleep 1000 & yes; exec sleep 1000"), ["sleep", "1000"], ["sleep", "1000"]):
            with self.subTest(program):
                job = self.start_in_job(["-N2", "--ntasks-per-node=2"], *program)
                self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4, PATIENCE))
                number, = self.slurm.jobs()
                self.slurm.tell("scancel", number)
                _, err = job.communicate(timeout=PATIENCE)
                self.assert_hosts_clean()
                self.assert_reason(number, job.returncode, err.decode())

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_killed_command_leaves_no_process(self):
        """Kills srun, its child (which would cancel the step), and both."""
        for killed in (slice(0, 1), slice(1, 2), slice(0, 2)):
            with self.subTest(killed):
                job = self.start_in_job(["-N2", "--ntasks-per-node=2"], *sh("setsid sleep 1000 & exec sleep 1000"))
                self.assertTrue(wait_until(lambda: len(self.sleepers()) == 8, PATIENCE))
                sruns = sorted(pid for pid, line in self.bed.head.strangers().items() if line.startswith("srun "))
                self.assertEqual(len(sruns), 2)
                kill_together(*sruns[killed])
                if killed == slice(1, 2):  # the job does not depend on the child
                    os.kill(self.launchers()[0], signal.SIGTERM)
                _, err = job.communicate(timeout=PATIENCE)
                # Slurm kills the processes of the step one by one, and killed a rank before its agent.
                if b"(SIGKILL)" in err:
                    self.assertIn(b"dlaunch did not send SIGKILL", err)
                    self.assertEqual(job.returncode, 137, err)
                else:
                    self.assertEqual(job.returncode, 143 if killed == slice(1, 2) else 125, err)
                self.assertNotIn(b"cpu binding", err)  # srun's remark on its start is not a reason
                self.assert_hosts_clean()


class InAnAllocation(SlurmCase):
    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_are_in_a_step_without_ssh(self):
        """Slurm lists each rank as a process of a step."""
        for host in self.bed.hosts.values():
            host.kill_sshd()
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--label", *sh("scontrol listpids $SLURM_JOB_ID | grep -w $$"))
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        found = sorted(line.split() for line in lines(done.stdout))
        self.assertEqual([row[0] for row in found], ["[0]", "[1]", "[2]", "[3]"])
        self.assertTrue(all(row[3].isdigit() for row in found), found)  # a step's number, not "batch" or "extern"

    def test_ranks_have_the_variables_of_their_own_node(self):
        show = 'echo $SLURM_NODEID $SLURMD_NODENAME $SLURM_JOB_NODELIST $CUDA_VISIBLE_DEVICES; env | grep -E "^SLURM_(PROCID|LOCALID|STEP_ID|STEP_NUM|NTASKS|TASKS)"; true'
        done = self.in_job(["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"], *sh(show))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["0 node1 node[1-2] 0,1"] * 2 + ["1 node2 node[1-2] 0,1"] * 2)

    def test_env_for_slurm_sets_task_variables(self):
        show = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $(env | grep -c SLURM_NODEID)"
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--env-for", "slurm", *sh(show))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["0 0 0 4 1", "1 1 0 4 1", "2 0 1 4 1", "3 1 1 4 1"])

    def test_launcher_runs_in_a_step_of_one_task(self):
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--label", "hostname", by=["srun", "-N1", "-n1"])
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(sorted(lines(done.stdout)), ["[0] node1", "[1] node1", "[2] node2", "[3] node2"])

    def test_copies_are_rejected(self):
        done = self.in_job(["-N2"], "true", by=["srun", "-n2"])
        self.assert_exit(done, 2)
        self.assertEqual(sum("2 copies" in line for line in own_lines(done.stderr)), 2)

    def test_copies_with_same_line_are_one_job(self):
        key = self.dir / "key"
        key.write_text("a key of this test's only")
        key.chmod(0o600)
        done = self.in_job(["-N2"], "--same-line", "--key-file", key, "-N", 1, *sh("echo $RANK_ID $(hostname)"),
                           by=["srun", "-N2", "-n2"])
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(sorted(lines(done.stdout)), ["0 node1", "1 node2"])

    def test_slots_follow_the_options_of_slurm(self):
        for options, slots in ((["-N2", "--exclusive"], "8 8"), (["-N2", "--ntasks-per-node=3"], "3 3"), (["-N2", "--ntasks-per-node=1"], "1 1"),
                               (["-N2", "--ntasks-per-node=1", "--gpus-per-node=3"], "3 3"),
                               (["-N2", "--ntasks=5", "--gpus-per-task=1"], "4 1")):
            with self.subTest(options):
                done = self.in_job(options, "hosts", "--format", "json")
                self.assert_exit(done, 0)
                hosts = json.loads(done.stdout)["hosts"]
                self.assertEqual(" ".join(str(host["slots"]) for host in hosts), slots)

    def test_more_ranks_than_tasks_per_node_are_accepted(self):
        done = self.in_job(["-N2", "--ntasks-per-node=1", "-c4"], "-N", "4", "hostname")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["node1"] * 4 + ["node2"] * 4)
        self.assert_exit(self.in_job(["-N2", "--ntasks-per-node=1", "-c4"], "-N", "5", "hostname"), 2)

    def test_report_and_list_of_hosts_name_the_job(self):
        report, options = self.dir / "report.json", ["-N2", "--ntasks-per-node=3"]
        done = self.in_job(options, "-v", "--report", report, "true")
        self.assert_exit(done, 0)
        self.assertIn("dlaunch: Slurm job 1: 2 nodes × 3 slots, by srun\n", done.stderr.decode())
        self.assertIn("Slurm job 1: 2 nodes × 3 slots, by srun", json.loads(report.read_text())["plan"]["notes"])
        self.assertRegex(self.in_job(options, "hosts", "--format", "json").stdout.decode(), r"Slurm job \d+: 2 nodes × 3 slots, by srun")

    def test_options_that_override_slurm_are_reported(self):
        (self.dir / "hosts").write_text("localhost slots=2\n")
        for words, way in ((["--transport", "ssh"], r": 2 nodes × 3 slots, by ssh \(--transport ssh\)"),
                           (["--transport", "slurm"], r": 2 nodes × 3 slots, by srun \(--transport slurm\)"),
                           (["-H", "localhost"], r" is not used \(-H\): 1 node × 1 slot, this machine"),
                           (["--hostfile", self.dir / "hosts"], r" is not used \(--hostfile\): 1 node × 2 slots, this machine"),
                           (["--ignore-resource-manager"], r" is not used \(--ignore-resource-manager\): 1 node × \d+ slots?, this machine")):
            with self.subTest(words):
                self.assertRegex(self.in_job(["-N2", "--ntasks-per-node=3"], "hosts", *words).stdout.decode(), r"Slurm job \d+" + way)
        done = self.in_job(["-N2", "--ntasks-per-node=3"], "-v", "-H", "localhost", "true")
        self.assertRegex(done.stderr.decode(), r"(?m)^dlaunch: Slurm job \d+ is not used \(-H\): 1 node × 1 slot, this machine$")

    def test_slots_known_to_the_nodes_only_are_reported(self):
        """With one task per node and GPUs, dlaunch queries each node."""
        options = ["-N2", "--ntasks-per-node=1", "--gpus-per-node=3"]
        for words in (["hosts"], ["--dry-run", "true"]):
            self.assertRegex(self.in_job(options, *words).stdout.decode(), r"Slurm job \d+: 2 nodes × 3 slots, by srun\n")

    def test_exclusive_nodes_with_all_memory(self):
        done = self.in_job(["-N2", "--exclusive", "--mem=0"], "-N", 2, "hostname")
        self.assert_exit(done, 0)
        self.assertEqual((sorted(lines(done.stdout)), done.stderr), (["node1"] * 2 + ["node2"] * 2, b""))

    def test_each_agent_has_all_gpus_of_its_node(self):
        """GPUs may be distributed unevenly, which only scontrol shows. No connection uses ssh."""
        for host in self.bed.hosts.values():
            host.kill_sshd()
        for options, by in ((["-N2", "--gpus=6"], ()), (["-N2", "--ntasks=8", "--gpus-per-task=1"], ()),
                            (["-N2", "--ntasks=5", "--gpus-per-task=1"], ()),
                            (["-N2", "--ntasks=5", "--gpus-per-task=1"], AS_NEWER_SLURM),
                            (["-N2", "--ntasks=5", "--gpus-per-task=1"], [*AS_NEWER_SLURM, "SLURM_TRES_PER_TASK=gres/gpu=one"])):
            with self.subTest(options, by=by):
                job = self.slurm.gpus(options)
                self.assertEqual(sorted(job), ["node1", "node2"])
                done = self.in_job(options, "-N", 1, "--oversubscribe", *sh("echo $(hostname) $CUDA_VISIBLE_DEVICES"), by=by)
                self.assert_exit(done, 0)
                seen = dict(line.split() for line in lines(done.stdout))
                self.assertEqual({node: len(devices.split(",")) for node, devices in seen.items()}, job)

    def test_source_of_slots_is_named_in_a_step_of_one_task(self):
        for options, rule, slots in ((["-N2", "--ntasks-per-node=3"], "SLURM_NTASKS_PER_NODE", [3, 3]),
                                     (["-N1", "--ntasks=4"], "SLURM_JOB_CPUS_PER_NODE", [4]),
                                     (["-N2", "--exclusive"], "SLURM_JOB_CPUS_PER_NODE", [8, 8])):
            with self.subTest(options):
                done = self.in_job(options, "hosts", "--format", "json", by=["srun", "-N1", "-n1"])
                self.assert_exit(done, 0)
                hosts = json.loads(done.stdout)["hosts"]
                self.assertEqual([(host["slots"], host["slots_from"]) for host in hosts], [(each, rule) for each in slots])

    def test_batch_script_runs_jobs(self):
        script = self.dir / "script"
        script.write_text(f"#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=2\n{DLAUNCH} --label hostname; {DLAUNCH} sh -c 'exit 7'; echo code $?\n")
        self.bed.head.run(["sbatch", "-W", "-o", self.dir / "out", script], env=self.env)
        said = lines((self.dir / "out").read_bytes())
        self.assertEqual(sorted(line for line in said if line.startswith("[")), ["[0] node1", "[1] node1", "[2] node2", "[3] node2"])
        self.assertEqual(said[-1], "code 7", said)

    def test_mpi_programs_are_one_world(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                if not shutil.which(f"mpicc.{library}"):
                    self.skipTest(f"no mpicc.{library}: scripts/install-packages mpi")
                for _ in range(4):  # MPICH over UCX sometimes hangs in MPI_Finalize, under any launcher (docs/mpi.md)
                    done = self.in_job(["-N2", "--ntasks-per-node=2"], "--timeout", 30, "-x", "UCX_TCP_PUT_ENABLE=n",
                                       "--transport", "slurm", program(f"{library}/mpi_hello"))
                    if done.returncode != 124:
                        break
                self.assert_exit(done, 0)
                self.assertEqual({rank: (size, host) for rank, (size, host, _, _) in hellos(done.stdout).items()},
                                 {0: (4, "node1"), 1: (4, "node1"), 2: (4, "node2"), 3: (4, "node2")})


class GpusOfAJob(SlurmCase):
    """Only Slurm knows which GPUs of a node belong to the job. dlaunch queries each node if the plan can use GPUs."""

    def in_batch(self, options, *lines):
        """The output of a batch script of these lines in a job with these options of sbatch."""
        script, said = self.dir / "script", self.dir / "said"
        script.write_text("\n".join(("#!/bin/sh", *lines, "echo the end", "")))
        self.bed.head.run(["sbatch", *options, "-o", said, script], env=self.env)
        self.assertTrue(wait_until(lambda: said.exists() and said.read_text().endswith("the end\n"), PATIENCE), "no end")
        return said.read_text().splitlines()[:-1]

    def hosts_in_job(self, options):
        done = self.in_job(options, "hosts", "--format", "json")
        self.assert_exit(done, 0)
        return json.loads(done.stdout)["hosts"]

    def test_devices_are_known_if_a_task_is_a_rank(self):
        options = ["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"]
        self.assertEqual([(host["slots"], host["devices"]) for host in self.hosts_in_job(options)], [(2, [0, 1])] * 2)
        show = sh("echo $DLAUNCH_LOCAL_RANK $CUDA_VISIBLE_DEVICES $DEVICE_ID")
        for visible, seen in (("rank", ["0 0 0", "1 1 0"]), ("host", ["0 0,1 0", "1 0,1 1"])):
            with self.subTest(visible):
                done = self.in_job(options, "--visible", visible, *show)
                self.assert_exit(done, 0)
                self.assertEqual(sorted(lines(done.stdout)), sorted(seen * 2))

    def test_each_rank_has_a_device_of_its_node(self):
        """The GPUs may be divided into three and one. Tasks share devices, and the number of ranks stays the same."""
        for options, words, ranks in ((["-N2", "--gpus=4", "--ntasks-per-node=2"], (), 4),
                                      (["-N2", "--ntasks=4", "--gpus-per-task=1"], (), 4),
                                      (["-N2", "--gpus-per-node=2", "--ntasks-per-node=1"], ("-N", 4), 8)):
            with self.subTest(options):
                done = self.in_job(options, *words, *sh("echo $DEVICE_ID $CUDA_VISIBLE_DEVICES"))
                self.assert_exit(done, 0)
                said = [line.split() for line in lines(done.stdout)]
                self.assertEqual(len(said), ranks)
                self.assertEqual([line for line in said if line[0] not in line[1].split(",")], [])

    def test_ranks_on_exclusive_nodes_have_the_gpus_of_the_script(self):
        for options in (["-N2", "--exclusive"], ["-N2", "--exclusive", "--mem=0"]):
            with self.subTest(options):
                said = self.in_batch(options, "echo $CUDA_VISIBLE_DEVICES", f"{DLAUNCH} -N 1 sh -c 'echo $CUDA_VISIBLE_DEVICES'")
                self.assertEqual(said, ["0,1,2,3"] * 3)
                (self.dir / "said").unlink()

    def test_job_without_gpus_has_no_devices(self):
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--visible", "rank", "true")
        self.assert_exit(done, 2)
        self.assertIn(b"unknown devices of node1", done.stderr)

    def test_nodes_are_not_queried_without_need(self):
        """The plan is made without a node: the srun in PATH always fails."""
        here = self.dir / "bin"
        here.mkdir()
        (here / "srun").write_text("#!/bin/sh\nexit 1\n")
        (here / "srun").chmod(0o755)
        self.env["PATH"] = f"{here}:{self.env['PATH']}"
        self.assert_exit(self.in_job(["-N2", "--ntasks-per-node=2"], "--dry-run", "true"), 0)
        self.assert_exit(self.in_job(["-N2", "--ntasks-per-node=1"], "--dry-run", "-N", 1, "true"), 0)
        self.assert_exit(self.in_job(["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"], "--dry-run", "true"), 125)


class AgentsThatConnect(SlurmCase):
    """One srun starts all agents, and each agent connects to the launcher."""
    more = ("SrunPortRange=50000-50099",)

    def connected_to(self, err):
        return [line.rsplit(b" ", 1)[1].decode() for line in err.splitlines() if b" connect to " in line]

    def test_agents_start_with_a_single_srun_and_a_port_of_its_range(self):
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "-v", *STEP)
        self.assert_exit(done, 0)
        self.assertEqual(lines(done.stdout), ["0"] * 4)
        (address, port), = [at.split(":") for at in self.connected_to(done.stderr)]
        self.assertEqual(address, self.bed.addresses()["head"])
        self.assertIn(int(port), range(50000, 50100))

    def test_agents_with_uneven_gpus_start_with_a_single_srun_of_newer_slurm(self):
        done = self.in_job(["-N2", "--gpus=6"], "-v", "-N", 1, "--oversubscribe", *STEP)
        self.assert_exit(done, 0)
        newer = self.slurm.version() >= (23, 11)
        self.assertEqual((len(set(lines(done.stdout))), len(self.connected_to(done.stderr))), (1, 1) if newer else (2, 0))

    def test_agents_start_next_to_steps_that_use_all_cpus_and_gpus(self):
        script = 'srun -Q --exact -N2 -n2 -c8 --gpus-per-node=4 sleep 1000 & until squeue -hs | grep -q sleep; do sleep 0.1; done; "$@"'
        show = sh("echo $(hostname) $CUDA_VISIBLE_DEVICES $(nproc) $(env | grep -cE 'EXTERNAL_LAUNCHER|OOM_KILL')")
        options = ["-N2", "--exclusive", "--gpus-per-node=4"]
        done = self.in_job(options, "-N", 1, *show, by=["sh", "-c", script, "sh"])
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), [f"{name} 0,1,2,3 {len(os.sched_getaffinity(0))} 0" for name in ("node1", "node2")])

    def test_steps_of_ranks_use_all_cpus_and_gpus(self):
        step = "srun -Q -I5 --exact -N2 -n2 -c8 --mem=800 --gpus-per-node=4 sh -c 'echo $(hostname) $CUDA_VISIBLE_DEVICES'"
        done = self.in_job(["-N2", "--exclusive", "--gpus-per-node=4"], "-n", 1, *sh(step))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["node1 0,1,2,3", "node2 0,1,2,3"])

    def test_no_port_is_open_once_all_agents_are_connected(self):
        job = self.start_in_job(["-N2"], "-v", "-N", 1, *sh("exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 2, PATIENCE))
        pid, = self.launchers()
        with open(f"/proc/{pid}/net/tcp") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        # salloc's own socket, which listens on all addresses, is open in its child processes.
        listening = {row[9] for row in rows if row[3] == "0A" and not row[1].startswith("00000000:")}
        self.assertEqual([inode for inode in listening if f"socket:[{inode}]" in open_files(pid)], [])
        os.kill(pid, signal.SIGTERM)
        job.communicate(timeout=PATIENCE)

    def test_key_is_not_visible_to_others(self):
        """The key is not in arguments, environments, logs, reports and plans. It has 64 digits, as the hash in the path
        of the agent."""
        report = self.dir / "report.json"
        job = self.start_in_job(["-N2"], "-vv", "--report", report, "-N", 1, *sh("env; exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 2, PATIENCE))
        seen = []
        for host in self.bed.hosts.values():
            for pid in host.strangers():
                for file in ("cmdline", "environ"):
                    seen.append(of_process(pid, file))
        self.assertTrue(any(b"--dial" in text for text in seen))
        for pid in self.launchers():
            os.kill(pid, signal.SIGTERM)
        seen += [*job.communicate(timeout=PATIENCE), report.read_bytes()]
        words = {word for text in seen for word in re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", text)}
        agents = {word for text in seen for word in re.findall(rb"dlaunch/([0-9a-f]{64})/dlaunch-agent", text)}
        self.assertEqual(len(agents), 1)
        self.assertEqual(words, agents)

    def test_port_is_open_at_one_address_and_the_key_is_in_no_file(self):
        """The srun in PATH records its input and waits for a file. Until then, the port is open and no agent is
        connected."""
        said, go, wrapper, real = self.dir / "said", self.dir / "go", self.dir / "bin" / "srun", shutil.which("srun")
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\numask 077\nuntil [ -e "{go}" ]; do sleep 0.05; done\ntee -a "{said}" | {real} "$@"\n')
        wrapper.chmod(0o755)
        self.env["PATH"] = f"{wrapper.parent}:{self.env['PATH']}"
        begun = self.dir / "begun"
        begun.touch()
        job = self.start_in_job(["-N2"], "-N", 1, "sleep", "1000")
        self.assertTrue(wait_until(lambda: self.launchers() and self.opened_by(self.launchers()[0]), PATIENCE), "no port is open")
        pid, = self.launchers()
        addresses = self.opened_by(pid)
        self.assertEqual(len(addresses), 1, addresses)
        self.assertRegex(addresses[0], rf"^{re.escape(self.bed.addresses()['head'])}:500\d\d$")
        go.touch()
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 2, PATIENCE))
        key = b"\n".join(sorted(set(re.findall(rb" call \S+ ([0-9a-f]{64})\n", said.read_bytes()))))
        self.assertTrue(key)
        self.assertEqual(self.files_of_others(key, begun), [], "while it runs")
        os.kill(pid, signal.SIGTERM)
        job.communicate(timeout=PATIENCE)
        self.assertEqual(self.files_of_others(key, begun), [], "behind its end")

    @staticmethod
    def opened_by(pid):
        """ADDRESS:PORT of each TCP socket on which the process listens, without sockets inherited from salloc."""
        parent = next(line.split()[1] for line in open(f"/proc/{pid}/status") if line.startswith("PPid:"))
        own = open_files(pid) - open_files(parent)
        rows = [line.split() for table in pathlib.Path(f"/proc/{pid}/net").glob("tcp*") for line in table.read_text().splitlines()[1:]]
        places = [row[1].split(":") for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
        return [f"{'.'.join(str(byte) for byte in reversed(bytes.fromhex(address)))}:{int(port, 16)}" for address, port in places]

    @promise(NAMES_FIRST, mode=START)
    def test_node_that_cannot_connect_gets_its_own_srun(self):
        """The node allows the ports of Slurm's programs, but not the port of the launcher."""
        self.bed.hosts["node2"].sh("ip rule add ipproto tcp dport 40001 unreachable")
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "-v", "--port", 40001, "--label", "hostname")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["[0] node1", "[1] node1", "[2] node2", "[3] node2"])
        self.assertEqual(self.connected_to(done.stderr)[0].rsplit(":", 1)[1], "40001")
        self.assertIn(b"node2: cannot connect to", done.stderr)
        self.assertIn(b"node2: started by a separate command", done.stderr)
        self.assertNotIn(b"node1: started by a separate", done.stderr)

    @promise(ONLY_SSHD, mode=RUN)
    def test_missing_agent_is_sent_to_a_node(self):
        for host in self.bed.hosts.values():
            host.sh("mkdir -p /root/.cache && mount -t tmpfs none /root/.cache")
        self.assert_exit(self.in_job(["-w", "node1"], "true"), 0)
        done = self.in_job(["-N2"], "-N", 1, *sh("hostname; ls /root/.cache/dlaunch/*/dlaunch-agent"))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(name for name in lines(done.stdout) if name.startswith("node")), ["node1", "node2"])
        self.assertEqual(done.stdout.count(b"/dlaunch-agent"), 2)

    def test_slurm_export_env_none_keeps_the_environment(self):
        done = self.in_job(["-N2"], "-N", 1, *sh("echo $HOME"), by=["env", "SLURM_EXPORT_ENV=NONE"])
        self.assert_exit(done, 0)
        self.assertEqual(lines(done.stdout), ["/root"] * 2)

    def test_users_settings_for_steps_do_not_apply_to_agents(self):
        own = ["SLURM_DEBUG=3", "SLURM_NO_KILL=1", "SLURM_STDINMODE=none", "SLURM_LABELIO=1", "SLURM_GRES=gpu:9", "SLURM_TIMELIMIT=1"]
        for options in (["-N2"], ["-N2", "--gpus=2"]):  # one srun for all nodes, and one srun per node
            with self.subTest(options):
                self.assert_exit(self.in_job(options, "-N", 1, "true", by=["env", *own]), 0)

    def test_missing_path_variable_is_accepted(self):
        for unset in (["-u", "PATH"], ["PATH="]):
            with self.subTest(unset):
                self.assert_exit(self.in_job(["-N2"], "-N", 1, "/bin/true", by=["env", *unset]), 0)


class DeafRanks(SlurmCase):
    """Ranks and daemons that ignore TERM. dlaunch kills them before Slurm kills the agents, and confirms the end."""
    kill_wait = 2
    DEAF = sh('trap "" HUP INT TERM; setsid sleep 1000 & echo up; while :; do sleep 1000; done')

    def alive(self, pids):
        return [pid for pid in pids if of_process(pid, "cmdline")]

    def assert_cancelled(self, *words, by=()):
        job = self.start("-N", 1, "--grace", 60, *words, *self.DEAF, before=["salloc", "-Q", "-N2", *by],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with job:
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"up\n")
            self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4, PATIENCE))
            pids = [pid for host in self.bed.hosts.values() for pid, line in host.strangers().items() if "sleep 1000" in line]
            self.assertEqual(len(self.alive(pids)), 6, "a shell, its daemon and its child per node")
            self.slurm.tell("scancel", *self.slurm.jobs())
            first = next((line for line in job.stderr if b"interrupted by SIGTERM" in line), b"")
            left = self.alive(pids)
            said = first + job.stderr.read()
        self.assertEqual(left, [], "dlaunch printed the end before")
        self.assertEqual(job.returncode, 143, said)
        self.assertIn(b"stopped 2 ranks (2 needed KILL)", said)
        self.assertNotIn(b"connected again", said)
        self.assertNotIn(b"batch system ends", said)
        self.assertNotIn(b"may ", said)

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_cancelled_job_ends_before_slurm_kills_its_agents(self):
        for words in ((), ("--transport", "slurm")):
            with self.subTest(words):
                self.assert_cancelled(*words)

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_limit_is_known_without_a_configuration_file(self):
        """As on a cluster that sends its configuration to the nodes: scontrol reports the limit. Slurm's own programs
        find the file by its default path."""
        for host in (self.bed.head, *self.bed.hosts.values()):
            host.sh(f"mount -t tmpfs none /etc/slurm && ln -s {self.slurm.dir}/slurm.conf {self.slurm.dir}/gres.conf /etc/slurm")
        self.assert_cancelled(by=["env", "-u", "SLURM_CONF"])


class DeafRanksWithALongerKillWait(DeafRanks):
    kill_wait = 5


class InAnInteractiveStep(SlurmCase):
    """salloc starts a user's shell on the first node of the job, in a step without srun."""

    @property
    def more(self):
        return ("LaunchParameters=use_interactive_step", f'InteractiveStepOptions="--interactive --preserve-env {self.dir}/shell"')

    def test_launcher_runs_in_an_interactive_step(self):
        shell = self.dir / "shell"
        shell.write_text(f"#!/bin/sh\nhostname\necho step $SLURM_STEP_ID\nexec {DLAUNCH} --label hostname\n")
        shell.chmod(0o755)
        done = self.bed.head.run(["salloc", "-Q", "-N2", "--ntasks-per-node=2"], env=self.env, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, step, *said = done.stdout.splitlines()
        self.assertEqual((first, step), ("node1", f"step {0xfffffffa}"))
        self.assertEqual(sorted(said), ["[0] node1", "[1] node1", "[2] node2", "[3] node2"])


class InAHeterogeneousJob(SlurmCase):
    count = 3
    scheduler = "backfill"
    more = ("SchedulerParameters=bf_interval=1,sched_interval=1",)

    def test_each_group_has_its_own_steps(self):
        for host in self.bed.hosts.values():
            host.kill_sshd()
        options = ["-N2", "--ntasks-per-node=1", "-c2", ":", "-N1", "--ntasks-per-node=3"]
        done = self.in_job(options, "--label", *sh("echo $(hostname) $SLURM_NODEID; scontrol listpids | grep -cw $$"))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), sorted([f"[{rank}] {said}" for rank, said in enumerate(
            ("node1 0", "node2 1", "node3 2", "node3 2", "node3 2"))] + [f"[{rank}] 1" for rank in range(5)]))
        self.assertIn(b"3 nodes with 5 slots in total, by srun", self.in_job(options, "--dry-run", "true").stdout)

    def test_agents_of_a_group_start_with_a_single_srun_of_newer_slurm(self):
        done = self.in_job(["-N2", "--gpus=3", ":", "-N1"], "-v", "-N", 1, "--label", *sh("hostname; cat"), input=b"to rank 0\n")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["[0] node1", "[0] to rank 0", "[1] node2", "[2] node3"])
        groups = [b"agents of node3 connect to", b"agents of node[1-2] connect to"]
        self.assertEqual([text in done.stderr for text in groups], [self.slurm.version() >= (23, 11)] * 2, done.stderr)

    def test_each_agent_has_all_gpus_of_its_node(self):
        for host in self.bed.hosts.values():
            host.kill_sshd()
        options = ["-N2", "--gpus=3", ":", "-N1", "--gpus-per-node=2"]
        done = self.in_job(options, "-N", 1, "--oversubscribe", *sh("echo $(hostname) $CUDA_VISIBLE_DEVICES"))
        self.assert_exit(done, 0)
        seen = [len(devices.split(",")) for _, devices in sorted(line.split() for line in lines(done.stdout))]
        self.assertEqual((sum(seen[:2]), seen[2]), (3, 2), done.stdout)


class Ends(SlurmCase):
    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=SIGNAL)
    def test_cancelled_step_ends_the_job_with_a_reason(self):
        """Slurm kills the step at once; no agent gets a signal before. Slurm prints no reason for a step that was
        cancelled within 0.1 s of its start: slurmstepd kills the tasks before srun receives the message."""
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], "sleep", "1000")
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4, PATIENCE))
        time.sleep(0.5)
        step, = self.slurm.steps()
        self.slurm.tell("scancel", step)
        _, err = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 143, err)
        self.assertRegex(err.decode(), r"Slurm job 1 was cancelled or reached its time limit: .*\*\*\* STEP 1\.0 ")
        self.assertNotIn(b"rank 0", err)
        self.assert_hosts_clean()

    @promise(ENDS, NAMES_FIRST, mode=SIGNAL)
    def test_job_with_a_failed_node_ends_without_a_failed_rank(self):
        """dlaunch prints the reason of Slurm, unless an agent gets SIGTERM before srun prints the reason."""
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], "sleep", "1000")
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4, PATIENCE))
        self.slurm.tell("scontrol", "update", "NodeName=node2", "State=DOWN", "Reason=test")
        _, err = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 143, err)
        self.assertRegex(err.decode(), r"(?m)Slurm job 1 (lost a node: .* DUE TO NODE FAILURE|was cancelled or reached its time limit$)")
        for wrong in (b"rank 0", b"failed", b"may still run"):
            self.assertNotIn(wrong, err)

    @promise(ENDS, NAMES_FIRST, mode=SIGNAL)
    def test_cancelled_batch_script_reports_the_reason(self):
        for attempt in range(3):
            script, said = self.dir / "script", self.dir / f"said{attempt}"
            script.write_text(f"#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=2\nexec {DLAUNCH} sleep 1000\n")
            self.bed.head.run(["sbatch", "-o", said, script], env=self.env)
            self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4, PATIENCE))
            number, = self.slurm.jobs()
            self.slurm.tell("scancel", number)
            self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE))
            self.assertTrue(wait_until(lambda: "interrupted" in said.read_text(), PATIENCE), said.read_text())
            self.assert_reason(number, 143, said.read_text())

    @promise(LOSES_NOTHING, mode=SIGNAL)
    def test_ranks_of_a_cancelled_job_have_the_grace_period(self):
        """dlaunch may get the signal after its agents. Such a signal does not count as a second one, which would kill
        at once."""
        script, said = self.dir / "script", self.dir / "said"
        # Slurm signals one process after the other. A shell must not end because its child was signalled first.
        ranks = "trap 'trap : TERM; sleep 1; echo saved; exit' TERM; while :; do sleep 1000 & wait; done"
        script.write_text(f"#!/bin/sh\n#SBATCH -N2 --ntasks-per-node=1\nexec {DLAUNCH} -n 2 sh -c \"{ranks}\"\n")
        self.bed.head.run(["sbatch", "-o", said, script], env=self.env)
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 2, PATIENCE))
        self.slurm.tell("scancel", *self.slurm.jobs())
        self.assertTrue(wait_until(lambda: "interrupted" in said.read_text(), PATIENCE), said.read_text())
        self.assertEqual(said.read_text().count("saved"), 2, said.read_text())

    @promise(LEAVES_NOTHING, LOSES_NOTHING, mode=SIGNAL)
    def test_output_of_a_cancelled_job_has_whole_lines_in_order(self):
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], "--label",
                                *sh("i=0; while :; do i=$((i+1)); echo $i; [ $((i % 1000)) != 0 ] || sleep 0.01; done"))
        first = job.stdout.read1()
        self.assertTrue(first)
        time.sleep(0.5)  # let all ranks write
        self.slurm.tell("scancel", "1")
        out, _ = job.communicate(timeout=PATIENCE)
        numbers = {}
        for line in (first + out).splitlines():
            label, number = re.fullmatch(rb"\[(\d)\] (\d*)", line).groups()
            numbers.setdefault(label, []).append(number)
        for of_rank in numbers.values():
            of_rank.pop()  # the end of the rank may cut its last line
            self.assertEqual(of_rank, [b"%d" % number for number in range(1, len(of_rank) + 1)])
        self.assert_hosts_clean()

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(DEADLINE, ORPHANS))
    @takes_long
    def test_time_limit_ends_the_job_with_a_reason(self):
        job = self.start_in_job(["-N2", "--ntasks-per-node=2", "-t", "0:01"], *sh("setsid sleep 1000 & exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 8, PATIENCE))
        self.slurm.update(1, "EndTime=now+2")
        _, err = job.communicate(timeout=PATIENCE)
        self.assertIn(b"Slurm job 1 was cancelled or reached its time limit", err)
        self.assertNotIn(b"may still run", err)
        self.assert_hosts_clean()


if __name__ == "__main__":
    main(side_by_side=3)
