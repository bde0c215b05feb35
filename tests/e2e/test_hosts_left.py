"""Tests the cleanup of a host after both processes of its agent were killed at once: a new agent ends the
remaining processes, or the last lines print the command to do so."""

import os
import signal

import support
from hosts_case import lines
from left_case import LIVES, PIPES, LeftCase, environment
from promises import COMMAND, ENDS, HERE, KILL, LEAVES_NOTHING, NAMES_FIRST, ORPHANS, SILENCE, SSH, promise
from support import kill_together, oldest_first, wait_until


class KilledAgents(LeftCase):
    count = 3

    def shared_memory(self, number):
        return set(self.host(number).sh("ls /dev/shm").split())

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS), place=(SSH, COMMAND))
    def test_killed_agent_leaves_no_process(self):
        """Another job of the same user on the host is not touched."""
        other = self.job("-H", "node2", *LIVES, ranks=1)
        others, = self.job_ids(2)
        self.assertTrue(wait_until(lambda: len(self.of_job(2, others)) == 4))  # the last sleep starts after "up"
        before, agents, memory = self.of_job(2, others), self.host(2).find("dlaunch-agent"), self.shared_memory(2)
        for way in ((), ("--exec", "ssh -T -o BatchMode=yes {host}")):
            with self.subTest(way=way):
                job = self.job(*way, "-H", "node1,node2", *LIVES)
                self.assertEqual(len(self.job_ids(2)), 2)
                self.assertGreater(self.shared_memory(2), memory)
                self.kill_agents(2, but=agents)
                self.assert_swept(job, "node2")
                self.assertEqual(self.job_ids(2), {others})
                self.assertEqual(self.shared_memory(2), memory)
        self.assertEqual(self.of_job(2, others), before)
        self.assertIsNone(other.poll())
        other.terminate()
        self.finish(other)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(SILENCE, ORPHANS))
    def test_stopped_agent_is_ended_with_its_processes(self):
        """A stopped guardian and worker could continue at any time, and start a rank."""
        other = self.job("-H", "node2", *LIVES, ranks=1)
        agents = self.host(2).find("dlaunch-agent")
        job = self.job("--heartbeat", 2, "-H", "node1,node2", *LIVES)
        stopped = oldest_first(set(self.host(2).find("dlaunch-agent")) - set(agents))
        self.assertEqual(len(stopped), 2)
        for pid in stopped:  # the guardian first: it kills a worker that stays stopped
            os.kill(pid, signal.SIGSTOP)
        result, took = self.finish(job, 60)
        self.assert_told(result, 125, "no process with the job's environment or control group is left on node2")
        self.assertLess(took, 30)
        self.assertEqual([pid for pid in stopped if pid in self.host(2).processes()], [])
        self.assertEqual(len(self.job_ids(2)), 1, "the processes of the other job")
        self.assertEqual(set(agents) - set(self.host(2).find("dlaunch-agent")), set())
        other.terminate()
        self.finish(other)

    @promise(LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_killed_agents_of_several_hosts_leave_no_process(self):
        job = self.job("-H", "node1,node2,node3", *LIVES, ranks=3)
        for number in (1, 2, 3):
            self.kill_agents(number)
        self.assert_swept(job, "node[1-3]")
        self.assertEqual([self.job_ids(number) for number in (1, 2, 3)], [set()] * 3)

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_agent_with_a_job_inside_a_rank_leaves_no_process(self):
        """The inner launcher is a process of the outer job and ends its own ranks."""
        inner = f"{support.DLAUNCH} -n 1 --grace 1 sh -c '{LIVES[2]}'; true"
        job = self.job("-H", "node1,node2:1", "sh", "-c", f'[ "$RANK_ID" = 1 ] || {{ echo up; exec sleep 1000; }}; {inner}')
        self.kill_agents(2, but=[pid for pid in self.host(2).find("dlaunch-agent") if environment(pid).get(b"DLAUNCH_AGENT_OF")])
        self.assert_swept(job, "node2")
        self.assert_hosts_clean(within=10)

    @promise(LEAVES_NOTHING, NAMES_FIRST, mode=(SILENCE, ORPHANS))
    def test_unreachable_host_is_named_with_a_cleanup_command(self):
        job = self.job("-H", "node1,node2", *LIVES)
        self.host(2).link_down()
        self.kill_agents(2)
        result, _ = self.finish(job, 60)
        self.assert_told(result, 125, "processes of the job may still run on node2")
        said = lines(result.stderr)
        self.assertIn("may still run on node2", said[-2])
        self.assert_ended_by_the_command(result, 2)

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS), place=HERE)
    def test_killed_local_agent_leaves_no_process(self):
        job = self.start("-n", 1, "--grace", 1, *LIVES, **PIPES)
        with job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            agents = [pid for pid in self.bed.head.find("dlaunch-agent")]
            kill_together(*sorted(agents))
            result, _ = self.finish(job, 30)
            self.assert_exit(result, 125)
            self.assertIn(b"no process with the job's environment or control group is left on", result.stderr)
            self.assertEqual(self.processes(), {})


if __name__ == "__main__":
    support.main(side_by_side=3)
