"""Tests the control group of a job's ranks on each host: all processes in it are killed together. After an agent was
killed, its successor finds them, also without the job's environment variables."""
import os
import pathlib
import re
import signal
import subprocess
import uuid

import support
from left_case import LIVES, LeftCase, environment
from promises import COMMAND, ENDS, HERE, KILL, LEAVES_NOTHING, ONLY_SSHD, ORPHANS, RUN, SILENCE, SSH, promise
from side_by_side import takes_long
from support import kill_together, oldest_first, program, wait_until

NOBODY = 65534
# Processes without the job's id in their environment.
CLEARED = ["sh", "-c", "env -i setsid sleep 1000 & env -i setsid sh -c 'trap \"\" HUP TERM; sleep 1000; :' & " + LIVES[2]]
# Prints the directory of this shell's own control group if a group can be created there; mounts cgroup2 if necessary.
FIND = """
try() {
  for m in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ "$(stat -f -c %t $m 2>/dev/null)" = 63677270 ] || continue
    own=$m$(sed -n 's/^0:://p' /proc/self/cgroup); own=${own%/}
    probe=$own/probe-$(cat /proc/sys/kernel/random/uuid)  # tests side by side have the same pids
    mkdir $probe && rmdir $probe && echo $m $own && return
  done
  false
}
try 2>/dev/null || { mount -t cgroup2 none /sys/fs/cgroup && try; }
"""
# A login of NOBODY in its own control group; NOBODY owns the named files of the group.
LOGIN = """#!/bin/sh
session={tree}/session-$$
mkdir $session && cd $session && echo $$ >cgroup.procs || exit 1
[ -z "{delegated}" ] || chown {user} {delegated}
shift
cd / && exec setpriv --reuid={user} --regid={user} --clear-groups env -i HOME={home} PATH=/usr/bin:/bin "$@"
"""


class ControlGroups(LeftCase):
    count = 2

    def setUp(self):
        super().setUp()
        self.mount, self.own = {}, {}
        for host in (self.bed.head, *self.bed.hosts.values()):
            found = host.run(["sh", "-c", FIND])
            if found.returncode != 0:
                self.skipTest(f"no control group of version 2 can be made here, as root: {found.stderr.strip()}")
            self.mount[host.name], self.own[host.name] = found.stdout.split()

    def groups(self, host, job_id="", below=""):
        """The directories of the job's control groups on a host; groups of other jobs may disappear during the scan."""
        return host.sh(f"find {below or self.mount[host.name]} -name 'dlaunch-{job_id}*' 2>/dev/null || true").split()

    def tree(self):
        """A control group on the head for this test. Cleanup kills its processes and removes it."""
        tree = f"{self.own['head']}/test-{uuid.uuid4().hex}"
        self.bed.head.sh(f"mkdir {tree}")
        self.addCleanup(self.bed.head.run, ["sh", "-c", f"echo 1 >{tree}/cgroup.kill; while grep -q 'populated 1' {tree}/cgroup.events; do sleep 0.02; done; find {tree} -depth -type d -exec rmdir {{}} +"])
        return tree

    def id_of(self, host, part="sleep 1000"):
        return {environment(pid).get(b"DLAUNCH_JOB_ID", b"").decode() for pid in host.find(part)}.difference({""}).pop()

    def test_ranks_of_a_step_of_slurm_stay_in_its_group(self):
        """Slurm lists only the processes of its own groups, as with scontrol listpids."""
        step = f"{self.tree()}/system.slice/node1_slurmstepd.scope/job_1/step_0/user/task_0"
        self.bed.head.sh(f"mkdir -p {step}")
        enter = ["sh", "-c", f'echo $$ >{step}/cgroup.procs && exec "$@"', "sh"]
        done = self.run_dlaunch("-n", 2, "sed", "-n", "s/^0:://p", "/proc/self/cgroup", before=enter)
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout.decode().splitlines(), [step.removeprefix(self.mount["head"])] * 2)

    @promise(LEAVES_NOTHING, mode=RUN, place=(HERE, SSH))
    def test_ranks_have_one_cgroup_per_host(self):
        show = ["sh", "-c", "echo $DLAUNCH_JOB_ID $(sed -n s/^0:://p /proc/self/cgroup)"]
        for where, hosts in ((("-n", 2), [self.bed.head]), (("-H", "node1:2,node2:2"), list(self.bed.hosts.values()))):
            with self.subTest(where=where):
                told = self.assert_succeeds(*where, *show).decode().split("\n")[:-1]
                groups = [line.split()[-1] for line in told]
                job_id = told[0].split()[-2]
                self.assertEqual(len(groups), 2 * len(hosts))
                self.assertEqual(len(set(groups)), len(hosts))
                for group in groups:
                    self.assertRegex(group, rf"^{self.group_of(hosts[0])}/dlaunch-{job_id}-\w+$")
                for host in hosts:
                    self.assertEqual(self.groups(host, job_id), [])

    def group_of(self, host):
        return self.own[host.name].removeprefix(self.mount[host.name])

    def test_cgroup_of_a_job_inside_a_rank_is_nested(self):
        group = self.assert_succeeds("-n", 1, support.DLAUNCH, "-n", 1, "sed", "-n", "s/^0:://p", "/proc/self/cgroup")
        self.assertRegex(group.decode().strip(), rf"^{self.group_of(self.bed.head)}/dlaunch-\w+-\w+/dlaunch-\w+-\w+$")
        outer, inner = re.findall(r"dlaunch-(\w+)-", group.decode())
        self.assertEqual(self.groups(self.bed.head, outer) + self.groups(self.bed.head, inner), [])

    def group_of_few_processes(self):
        """The file cgroup.procs of a control group with a limit of processes, or /dev/null without the pids controller of
        version 1. On a busy machine, a fork loop makes more zombies than are reaped, and other tests cannot fork."""
        group = pathlib.Path(f"/sys/fs/cgroup/pids/test-{uuid.uuid4().hex}")
        try:
            group.mkdir()
        except OSError:
            return open("/dev/null", "wb", buffering=0)
        leave = 'for p in $(cat cgroup.procs); do echo $p >../cgroup.procs; done; rmdir "$PWD"'
        self.addCleanup(wait_until, lambda: subprocess.run(["sh", "-c", leave], cwd=group, capture_output=True).returncode == 0)
        (group / "pids.max").write_text("600")
        return (group / "cgroup.procs").open("wb", buffering=0)

    @promise(ENDS, LEAVES_NOTHING, mode=ORPHANS, place=HERE)
    def test_cgroup_kill_stops_a_fork_loop(self):
        """The processes fork, exit and restart each other, so that one scan of /proc after another misses some."""
        with self.group_of_few_processes() as members:
            result = self.run_dlaunch("-n", 1, "--grace", 0.3, program("hydra"), preexec_fn=lambda: members.write(b"0"))
        self.assert_exit(result, 0)
        self.assertEqual((result.stdout, result.stderr), (b"up\n", b""))
        self.assertEqual(self.bed.head.find("/hydra"), [])

    @promise(LEAVES_NOTHING, mode=(ORPHANS, KILL))
    def test_guardian_kills_a_fork_loop_by_cgroup(self):
        with self.group_of_few_processes() as members:
            sshd = min(pid for pid, line in self.host(1).processes().items() if "sshd" in line)
            members.write(str(sshd).encode())
            job = self.job("-H", "node1", "sh", "-c", f"{program('hydra')}; sleep 1000", ranks=1)
        guardian, worker = oldest_first(self.host(1).find("dlaunch-agent"))
        os.kill(worker, signal.SIGKILL)
        self.finish(job, 30)
        self.assertTrue(wait_until(lambda: not self.host(1).find(""), 8), self.host(1).strangers())
        self.assertTrue(wait_until(lambda: not os.path.exists(f"/proc/{guardian}"), 8))

    @promise(LEAVES_NOTHING, mode=(ORPHANS, KILL))
    def test_processes_without_environment_end_after_a_killed_agent(self):
        job = self.job("-H", "node1,node2", *CLEARED)
        job_id = self.id_of(self.host(2))
        # Each host shows the groups of all hosts, because all hosts share this machine.
        self.assertEqual(len(self.groups(self.host(2), job_id)), 2)
        self.kill_agents(2)
        self.assert_swept(job, "node2")
        self.assertEqual(self.host(2).find("sleep"), [])
        self.assertEqual(self.groups(self.host(2), job_id), [])

    @promise(LEAVES_NOTHING, mode=(ORPHANS, KILL), place=HERE)
    def test_local_processes_end_after_a_killed_agent(self):
        job = self.job("-n", 1, *CLEARED, ranks=1)
        job_id = self.id_of(self.bed.head)
        kill_together(*self.bed.head.find("dlaunch-agent"))
        result, _ = self.finish(job, 30)
        self.assert_exit(result, 125)
        self.assertEqual(self.bed.head.find("sleep"), [])
        self.assertEqual(self.groups(self.bed.head, job_id), [])

    @promise(LEAVES_NOTHING, mode=(ORPHANS, SILENCE))
    @takes_long
    def test_command_for_an_unreachable_host_ends_all_processes(self):
        """The command in the last lines of stderr ends the processes without environment, too."""
        job = self.job("-H", "node1,node2", *CLEARED)
        job_id = self.id_of(self.host(2))
        self.host(2).link_down()
        self.kill_agents(2)
        result, _ = self.finish(job, 60)
        self.assert_exit(result, 125)
        self.assert_ended_by_the_command(result, 2)

    @promise(LEAVES_NOTHING, mode=(ORPHANS, KILL), place=COMMAND)
    def test_agents_of_an_ordinary_user(self):
        """Each login has its own control group. If the user owns the group, the job gets a group. If not, processes
        with the job's id are still found."""
        for delegated, ranks in ((". cgroup.procs", CLEARED), (".", LIVES), ("", LIVES)):
            with self.subTest(delegated=delegated):
                tree = self.tree()
                job = self.job("--exec", f"{self.login(tree, delegated)} {{host}}", "-H", "elsewhere", *ranks, ranks=1)
                job_id = self.id_of(self.bed.head)
                agents = self.bed.head.find("dlaunch-agent")
                remote = {*agents, *self.bed.head.find("sleep 1000")} - {job.pid}
                self.assertEqual({os.stat(f"/proc/{pid}").st_uid for pid in remote}, {NOBODY})
                self.assertEqual(len(self.groups(self.bed.head, job_id, tree)), 1 if delegated else 0)
                kill_together(*agents)
                self.assert_swept(job, "elsewhere")
                self.assertEqual(self.bed.head.find("sleep"), [])
                self.assertEqual(self.groups(self.bed.head, job_id), [])

    def login(self, tree, delegated):
        home = self.dir / "home"
        home.mkdir(exist_ok=True)
        os.chown(home, NOBODY, NOBODY)
        self.dir.chmod(0o755)
        script = self.dir / "login"
        script.write_text(LOGIN.format(tree=tree, delegated=delegated, user=NOBODY, home=home))
        script.chmod(0o755)
        return script

    @promise(ONLY_SSHD, mode=RUN)
    def test_missing_cgroup_is_silent(self):
        self.host(1).sh(f"mount -o remount,bind,ro {self.mount['node1']}")
        group = self.assert_succeeds("-H", "node1", "sed", "-n", "s/^0:://p", "/proc/self/cgroup")
        self.assertEqual(group.decode().strip(), self.group_of(self.host(1)) or "/")

    @promise(LEAVES_NOTHING, mode=KILL, place=HERE)
    def test_empty_cgroup_is_removed_by_a_later_job(self):
        """If launcher and agents are killed at once, no process is left to remove the directory."""
        tree = self.tree()
        enter = {"preexec_fn": lambda: pathlib.Path(tree, "cgroup.procs").write_text(str(os.getpid()))}
        job = self.start("-n", 1, "sh", "-c", "echo up; exec sleep 1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **enter)
        with job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            kill_together(job.pid, *self.bed.head.find("dlaunch-agent"))
        self.assertTrue(wait_until(lambda: not self.bed.head.find("sleep 1000")))
        self.assertEqual(len(self.groups(self.bed.head, below=tree)), 1)
        self.assert_succeeds("-n", 1, "sleep", 1.1, **enter)
        self.assertEqual(self.groups(self.bed.head, below=tree), [])


if __name__ == "__main__":
    support.main(side_by_side=2)
