"""Tests the checker of chaos: it reports each kind of broken promise, and nothing for a job that kept all."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import promises  # noqa: E402
import rounds  # noqa: E402
import slowness  # noqa: E402
from draw import KILL_WAIT, REACH, ROUND, Fault, Step, draw, draw_named, silent  # noqa: E402
from lines import line  # noqa: E402
from faults import Done  # noqa: E402
from run_step import Rank, Seen, commands_of  # noqa: E402

RANKS, LINES, LENGTH = 2, 3, 20
SILENT = 20  # seconds until the agent of a silent host has ended


def text(*numbers, rank=0, stream="o"):
    return b"".join(line(rank, stream, number, LENGTH) + b"\n" for number in numbers)


class StepCase(unittest.TestCase):
    def setUp(self):
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH)
        self.seen = Seen(code=0, started=100, ended=101, settled=101, witness={0: Rank("head", 0, 100.9), 1: Rank("head", 0, 100.9)})
        self.seen.out = text(1, 2, 3) + text(1, 2, 3, rank=1)
        self.seen.err = text(1, 2, 3, stream="e") + text(1, 2, 3, rank=1, stream="e")

    def assert_broken(self, *promises_):
        found = promises.broken(self.step, self.seen)
        self.assertEqual(sorted({one.split(":")[0] for one in found}), sorted(promises_), found)


class Promises(StepCase):
    def test_perfect_job_keeps_all_promises(self):
        self.assert_broken()

    def test_wrong_output_breaks_the_bytes_promise(self):
        good = text(1, 2, 3, rank=1)
        torn = text(1, 2, 3).replace(b":2:", b":2:" + good)
        for name, out in (("lost at the end", text(1, 2) + good), ("lost in the middle", text(1, 3) + good), ("twice", text(1, 2, 2, 3) + good),
                          ("mixed", torn), ("cut", text(1, 2, 3)[:-2] + b"\n" + good), ("another's", text(1, 2, 3) + b"hello\n" + good),
                          ("order", text(2, 1, 3) + good), ("one letter", text(1, 2, 3).replace(b"c", b"x", 1) + good)):
            with self.subTest(name):
                self.seen.out = out
                self.assert_broken("bytes")

    def test_indented_lines_belong_to_dlaunch(self):
        self.seen.err += b"dlaunch: timed out after 2.0 s; stacks of 2 ranks (main thread):\n  no answer from node1 (ranks 0-1)\n"
        self.assert_broken()
        self.seen.err += b"no answer from node1 (ranks 0-1)\n"
        self.assert_broken("bytes")

    def test_stacks_next_to_the_files_belong_to_dlaunch(self):
        self.step.mode = "streams"
        self.seen.out = self.seen.err = b""
        self.seen.logs = {f"/t/logs/{rank}.{stream}": text(1, 2, 3, rank=rank, stream=stream[0] if stream == "out" else "e") for rank in range(2) for stream in ("out", "err")}
        self.assert_broken()
        self.seen.logs["/t/logs/1/stacks.1"] = b"== rank 0 (head, pid 7)\n"
        self.assert_broken()
        self.seen.logs["/t/logs/1/rank.2"] = b"== rank 0 (head, pid 7)\n"
        self.assert_broken("bytes")

    def test_output_of_an_ended_rank_may_end_early(self):
        self.step.codes = {1: 3}
        self.seen.witness = {0: Rank("head"), 1: Rank("head", 3, 100.9)}
        self.seen.code = 3
        self.seen.err += b"dlaunch: rank 1 (host head, pid 7) exited with code 3\n"
        for out, good in ((text(1, 2), True), (text(1) + text(2)[:-3] + b"\n", True), (text(1) + text(2)[:-3] + b"\n" + text(3), False)):
            with self.subTest(out):
                self.seen.out = out + text(1, 2, 3, rank=1)
                self.assert_broken(*([] if good else ["bytes"]))

    def test_labels_and_json_must_name_the_right_rank(self):
        self.step.mode = "label"
        self.seen.out = b"[1] " + text(1)
        self.assert_broken("bytes")
        self.step.mode = "jsonl"
        self.seen.err = b""
        self.seen.out = b'{"rank":1,"stream":"stdout","text":"0:o:1:"}\n'
        self.assert_broken("bytes")

    def test_wrong_or_missing_cause_is_reported(self):
        self.seen.witness[1] = Rank("head", 3, 100.9)
        self.step.codes = {1: 3}
        self.assert_broken("cause")  # code 0, but a rank failed
        self.seen.code = 4
        self.assert_broken("cause")  # the code of another rank
        self.seen.code = 3
        self.assert_broken("cause")  # no message names the rank
        self.seen.err += b"dlaunch: rank 0 (host head, pid 7) exited with code 3\n"
        self.assert_broken("cause")  # the message names another rank
        self.seen.err += b"dlaunch: rank 1 (host head, pid 7) exited with code 3\n"
        self.assert_broken()

    def test_cause_of_a_fault_must_be_named(self):
        self.seen.done = [Done(Fault(0.1, "kill", "worker"), 100.1, True)]
        self.seen.witness = {}
        self.seen.code = 0
        self.assert_broken("cause")
        self.seen.code = 125
        self.assert_broken("cause")
        self.seen.err += b"dlaunch: a host was lost: head\n"
        self.assert_broken()
        self.seen.done[0].hit = False  # no process was killed
        self.assert_broken("cause")

    def test_stopped_launcher_notices_causes_late(self):
        self.step.timeout = 2
        self.seen.done = [Done(Fault(0.1, "pause", "all"), 100.1, True, 102.1), Done(Fault(0.2, "kill", "guardian"), 100.2, True)]
        self.seen.witness, self.seen.ended, self.seen.code = {}, 102.2, 124
        self.seen.out = b""
        self.seen.err = b"dlaunch: timed out after 2.1 s\n"
        self.assert_broken()
        self.seen.done[0].until = 100.15  # the launcher continued before
        self.assert_broken("cause")

    def test_late_end_is_reported(self):
        self.seen.ended = 100.9 + promises.TOLD + 0.1
        self.assert_broken("time")
        self.seen.code = None
        self.assert_broken("time")

    def test_limits_are_longer_on_a_slow_machine(self):
        self.seen.slow, self.seen.ended = 3, 100.9 + 2 * promises.TOLD
        self.assert_broken()
        self.seen.slow = 1
        self.assert_broken("time")
        self.seen.slow, self.seen.ended = slowness.MOST, 100.9 + slowness.MOST * promises.TOLD + 0.1
        self.assert_broken("time")

    def test_slowness_is_between_its_limits(self):
        for factor in (0.1, 2, 1000):
            with self.subTest(factor):
                least = slowness.of_seconds(0)
                self.assertEqual(slowness.of_seconds(factor * slowness.QUIET), max(least, min(factor, slowness.MOST)))

    def test_causes_on_a_slow_machine_may_be_reordered(self):
        """The launcher noticed the end of the rank 1.5 s late, after the user's signal."""
        self.seen.witness[1] = Rank("head", 3, 100.9)
        self.step.codes, self.seen.code, self.seen.ended = {1: 3}, 143, 103
        self.seen.err += b"dlaunch: ended by SIGTERM\n"
        self.seen.done = [Done(Fault(2.4, "term", "launcher"), 102.4, True)]
        self.assert_broken("cause")
        self.seen.slow = 2
        self.assert_broken()

    def test_silent_host_delays_the_end(self):
        self.step.timeout = 2
        self.seen.witness, self.seen.out, self.seen.err = {}, b"", b"dlaunch: timed out after 23.1 s\n"
        self.seen.ended, self.seen.code = 123.1, 124
        self.seen.done = [Done(Fault(0.1, "stop", "worker"), 100.1, True)]
        self.assert_broken()
        self.seen.done[0].hit = False
        self.assert_broken("time")

    def test_silent_host_may_leave_processes_for_longer(self):
        soon = promises.settles(self.seen)
        link = Fault(0.5, "down", "link", seconds=60)
        self.seen.done = [Done(link, self.seen.ended - 1, True)]
        self.assertAlmostEqual(promises.settles(self.seen), soon + SILENT - 1)
        self.seen.done[0].time = self.seen.ended - SILENT - 5  # the silence was over before the end of the job
        self.assertEqual(promises.settles(self.seen), soon)
        link.seconds = 3
        self.seen.done[0].time = self.seen.ended
        self.assertEqual(promises.settles(self.seen), soon)

    def test_stopped_worker_reports_its_ranks_late(self):
        self.step.timeout, self.seen.ended, self.seen.code = 2, 102.5, 124
        self.step.codes = {1: 42}
        self.seen.witness = {0: Rank("head"), 1: Rank("head", 42, 100.54)}
        self.seen.err += b"dlaunch: timed out after 2.5 s: ranks 0-1 were still running\n"
        self.assert_broken("cause")
        self.seen.done = [Done(Fault(0.46, "pause", "worker", seconds=2), 100.46, True, 102.46)]
        self.assert_broken()
        self.seen.done[0].until = 100.5  # the worker continued before
        self.assert_broken("cause")

    def test_cause_on_a_host_with_a_cut_link_is_noticed_late(self):
        """The launcher notices an event on a host with a cut link once the link is up; the time limit may come first.
        """
        self.step.timeout, self.seen.ended, self.seen.code = 2, 103.75, 124
        self.seen.witness = {}
        self.seen.out = self.seen.err = b""
        down = Done(Fault(0.2, "down", "link", host="node2", seconds=3), 100.2, True)
        self.seen.err = b"dlaunch: timed out after 3.7 s: ranks 0-1 were still running\n"
        self.seen.done = [Done(Fault(0.4, "kill", "worker", host="node2"), 100.4, True)]
        self.assert_broken("cause")
        self.seen.done.insert(0, down)
        self.assert_broken()
        down.fault.host = "node1"
        self.assert_broken("cause")

    def test_left_processes_and_files_are_reported(self):
        self.seen.left = {7: "sleep"}
        self.assert_broken("left behind")
        self.seen.left, self.seen.files = {}, ["/dev/shm/x"]
        self.assert_broken("left behind")
        self.seen.files = ["head: /dev/shm/ucx_shm_posix_2ef805fc", "head: /dev/shm/mpich_shar_tmpwj6Me3"]
        self.assert_broken("left behind")
        self.step.mpi = "mpich"
        self.assert_broken()


def text_of_round(round_, rank=0, stream="o"):
    return text(*(round_ * ROUND + number for number in range(1, LINES + 1)), rank=rank, stream=stream)


class Rounds(unittest.TestCase):
    """Rank 1 fails in round 0 at 100.5, and all ranks succeed in round 1."""

    def setUp(self):
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH, restarts=2, codes={1: 3}, fails=1)
        self.seen = Seen(code=0, started=100, ended=102, settled=102)
        self.seen.rounds = [{0: Rank("head"), 1: Rank("head", 3, 100.5)}, {0: Rank("head", 0, 101.9), 1: Rank("head", 0, 101.9)}]
        self.seen.witness = self.seen.rounds[-1]
        self.seen.told = [(100.6, "dlaunch: rank 1 (host head, pid 7) exited with code 3 after 0.5 s; restart 1 of 2")]
        self.seen.report = {"exit_code": 0, "round": 1, "earlier_rounds": [{}]}
        self.seen.out = b"".join(text_of_round(round_, rank) for round_ in range(2) for rank in range(RANKS))
        self.seen.err = b"".join(text_of_round(1, rank, "e") for rank in range(RANKS))

    def assert_broken(self, *promises_):
        found = rounds.broken(self.step, self.seen)
        self.assertEqual(sorted({one.split(":")[0] for one in found}), sorted(promises_), found)

    def ends_in_round_0(self, code, *said):
        self.seen.code, self.seen.rounds = code, self.seen.rounds[:1]
        self.seen.witness, self.seen.told = self.seen.rounds[0], [(100.6, line) for line in said]
        self.seen.ended, self.seen.report = 101, {"exit_code": code, "round": 0, "earlier_rounds": []}
        self.seen.out, self.seen.err = b"".join(text_of_round(0, rank) for rank in range(RANKS)), b""

    def test_perfect_job_with_a_restart_keeps_all_promises(self):
        self.assert_broken()

    def test_output_of_each_round_is_checked(self):
        parts = {(round_, rank): text_of_round(round_, rank) for round_ in range(2) for rank in range(RANKS)}
        for name, order, good in (("rounds of a rank the other way round", ((1, 0), (0, 0), (0, 1), (1, 1)), False),
                                  ("one lost", ((0, 0), (0, 1), (1, 0)), False), ("one twice", ((0, 0), (0, 1), (1, 0), (1, 1), (1, 1)), False),
                                  ("lost of a rank that was ended", ((0, 1), (1, 0), (1, 1)), True)):
            with self.subTest(name):
                self.seen.out = b"".join(parts[key] for key in order)
                self.assert_broken(*([] if good else ["bytes"]))

    def test_files_of_each_round_are_checked(self):
        self.step.mode = "streams"
        self.seen.out = b""
        both = {round_: text_of_round(round_) + text_of_round(round_, stream="e") for round_ in range(2)}
        other = {round_: text_of_round(round_, 1) + text_of_round(round_, 1, "e") for round_ in range(2)}
        names = {(round_, rank): f"/t/logs/1/{'round.1/' if round_ else ''}rank.{rank}/stdout" for round_ in range(2) for rank in range(2)}
        logs = {names[0, 0]: both[0], names[0, 1]: other[0], names[1, 0]: both[1], names[1, 1]: other[1]}
        self.seen.err = b""
        self.seen.logs = logs
        self.assert_broken()
        self.seen.logs = {**logs, names[0, 0]: both[1], names[1, 0]: both[0]}
        self.assert_broken("bytes")

    def test_wrong_number_of_restarts_is_reported(self):
        line = self.seen.told[0][1]
        for name, told in (("none told", []), ("another number", [(100.6, line.replace("restart 1 of 2", "restart 2 of 2"))]),
                           ("another limit", [(100.6, line.replace("1 of 2", "1 of 3"))]), ("twice", [(100.6, line), (100.7, line)])):
            with self.subTest(name):
                self.seen.told = told
                self.assertIn("rounds", {text.split(":")[0] for text in rounds.broken(self.step, self.seen)})

    def test_fault_reported_before_its_recorded_time_is_a_cause(self):
        self.step.codes = {}
        self.seen.rounds[0] = {rank: Rank("head") for rank in range(RANKS)}
        self.seen.done = [Done(Fault(0.5, "term", "rank", 1), 100.7, True)]
        self.seen.told = [(100.6, "dlaunch: rank 1 (host head, pid 7) killed by signal 15 (SIGTERM) after 0.5 s; restart 1 of 2")]
        self.assert_broken()
        self.seen.done[0].time = 101.8
        self.assert_broken("cause")

    def test_wrong_report_is_reported(self):
        for report in (None, {"exit_code": 3, "round": 1, "earlier_rounds": [{}]}, {"exit_code": 0, "round": 0, "earlier_rounds": [{}]},
                       {"exit_code": 0, "round": 1, "earlier_rounds": []}):
            self.seen.report = report
            self.assert_broken("rounds")

    def test_overlapping_rounds_are_reported(self):
        self.seen.overlap = "1\n"
        self.assert_broken("rounds")

    def test_rounds_may_overlap_only_on_a_frozen_host(self):
        self.step.way, self.step.hosts, self.step.pairs = "ssh", {"node1": 1, "node2": 1}, True
        self.seen.rounds = [{0: Rank("node1"), 1: Rank("node2", 3, 100.5)}, {0: Rank("node1", 0, 101.9), 1: Rank("node2", 0, 101.9)}]
        self.seen.witness, self.seen.overlap = self.seen.rounds[1], "1\n"
        self.seen.done = [Done(Fault(1.8, "pause", "host", host="node1", seconds=60), 101.8, True)]
        self.assert_broken()
        self.seen.done[0].fault.whom, self.seen.done[0].fault.act = "link", "down"
        self.assert_broken("rounds")

    def test_wrong_cause_of_a_round_is_reported(self):
        self.seen.told = [(100.6, "dlaunch: rank 0 (host head, pid 7) exited with code 3 after 0.5 s; restart 1 of 2")]
        self.assert_broken("cause")

    def test_missing_restart_is_reported(self):
        failed = "dlaunch: rank 1 (host head, pid 7) exited with code 3 after 0.5 s"
        self.ends_in_round_0(3, failed)
        self.assert_broken("rounds")
        self.ends_in_round_0(3, failed, "dlaunch: no restart: the job failed in the same way 3 times")
        self.assert_broken("rounds")  # it was the first failure

    def test_lost_host_without_spare_ends_the_job(self):
        self.ends_in_round_0(125, "dlaunch: a host was lost after 0.5 s: head: its agent was killed", "dlaunch: no restart: head is lost, and no spare host is left")
        self.seen.rounds[0][1] = Rank("head")
        self.assert_broken("cause", "rounds")
        self.seen.done = [Done(Fault(0.5, "kill", "worker"), 100.5, True)]
        self.assert_broken()

    def test_signal_ends_the_job(self):
        self.seen.done = [Done(Fault(0.5, "term", "launcher"), 100.45, True)]
        self.assert_broken()  # at nearly the same time as the failure
        self.seen.told = [(102.6, self.seen.told[0][1])]
        self.seen.ended, self.seen.rounds[0][1].end = 103, 102.5
        self.seen.rounds[1] = {rank: Rank("head", 0, 102.9) for rank in range(RANKS)}
        self.assert_broken("cause")

    def test_spare_host_takes_the_ranks(self):
        self.step.way, self.step.hosts, self.step.spares, self.step.codes = "ssh", {"node1": 1, "node2": 1}, ["node3"], {}
        self.seen.rounds = [{0: Rank("node1"), 1: Rank("node2")}, {0: Rank("node1", 0, 101.9), 1: Rank("node3", 0, 101.9)}]
        self.seen.done = [Done(Fault(0.5, "kill", "worker", host="node2"), 100.5, True)]
        self.seen.told = [(100.6, "dlaunch: node2: the link to its agent ended; restart 1 of 2"), (100.6, "dlaunch: node3 takes the ranks of node2")]
        self.assert_broken()
        self.seen.told.pop()
        self.assert_broken("touched")

    def test_late_end_of_a_round_is_reported(self):
        self.seen.told = [(100.5 + promises.TOLD + 0.1, self.seen.told[0][1])]
        self.seen.ended = self.seen.told[0][0] + 1
        self.seen.rounds[1] = {rank: Rank("head", 0, self.seen.ended) for rank in range(RANKS)}
        self.assert_broken("time")


class SameLine(StepCase):
    def setUp(self):
        super().setUp()
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH, way="same-line", hosts={"head": 1, "node1": 1}, wait=6)
        self.seen.witness[1] = Rank("node1", 0, 100.9)
        self.seen.nodes = {"node1": 0}

    def fault(self, act, whom="node", at=100.5):
        self.seen.done = [Done(Fault(at - 100, act, whom, host="node1"), at, True)]

    def test_each_node_ends_with_the_code_of_the_job(self):
        self.seen.nodes = {"node1": 125}
        self.assert_broken("cause")
        self.fault("kill")
        self.seen.code, self.seen.err = 125, b"dlaunch: node1: the connection closed\n"
        self.seen.out = b""
        self.seen.witness = {0: Rank("head"), 1: Rank("node1")}
        self.assert_broken()
        self.seen.done[0].fault.host = "node2"
        self.assert_broken("cause")

    def test_signal_to_a_node_ends_the_job_with_its_code(self):
        for act, code in (("term", 143), ("int", 130)):
            with self.subTest(act):
                self.fault(act)
                self.seen.code, self.seen.nodes = code, {"node1": code}
                self.seen.err = f"dlaunch: interrupted by SIG{act.upper()}\n".encode()
                self.seen.out, self.seen.witness = b"", {0: Rank("head"), 1: Rank("node1")}
                self.assert_broken()
                self.seen.code = 1
                self.assert_broken("cause")

    def test_missing_node_delays_the_end(self):
        self.fault("kill", at=100.01)
        self.seen.code, self.seen.ended, self.seen.settled, self.seen.witness, self.seen.out = 125, 106.1, 106.1, {}, b""
        self.seen.err = b"dlaunch: --same-line: timed out waiting for node 1 at 10.77.0.1:29400\n"
        self.assert_broken()

    def test_connections_of_strangers_end_nothing(self):
        self.fault("call", "door")
        self.assert_broken()
        self.seen.code = self.seen.nodes["node1"] = 125
        self.assert_broken("cause")


class SameLineRounds(StepCase):
    """Node 1 was lost in round 0, and the spare node 2 has its rank in round 1."""

    def setUp(self):
        super().setUp()
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH, way="same-line", hosts={"head": 1, "node1": 1}, spares=["node2"], wait=6, restarts=2)
        self.seen.ended = self.seen.settled = 113
        self.seen.rounds = [{0: Rank("head"), 1: Rank("node1")}, {0: Rank("head", 0, 112.9), 1: Rank("node2", 0, 112.9)}]
        self.seen.witness = self.seen.rounds[1]
        self.seen.done = [Done(Fault(0.5, "kill", "node", host="node1"), 100.5, True)]
        self.seen.told = [(100.6, "dlaunch: node1: the connection closed after 0.5 s; restart 1 of 2 in 12 s"), (112.6, "dlaunch: node2 takes the ranks of node1")]
        self.seen.report = {"exit_code": 0, "round": 1, "earlier_rounds": [{}]}
        self.seen.out = text_of_round(1) + text_of_round(1, 1)
        self.seen.err = text_of_round(1, stream="e") + text_of_round(1, 1, "e")
        self.seen.nodes = {"node1": -9, "node2": 0}

    def assert_broken(self, *promises_):
        found = rounds.broken(self.step, self.seen)
        self.assertEqual(sorted({one.split(":")[0] for one in found}), sorted(promises_), found)

    def test_perfect_job_with_a_spare_node_keeps_all_promises(self):
        self.assert_broken()

    def test_spare_node_ends_with_the_code_of_the_job(self):
        self.seen.nodes["node2"] = 125
        self.assert_broken("cause")

    def test_ranks_of_a_lost_node_run_on_the_announced_node(self):
        self.seen.rounds[1][1] = Rank("node1", 0, 112.9)
        self.assert_broken("touched")

    def test_undisturbed_node_is_not_a_cause(self):
        self.seen.done[0].fault.host = "node2"
        self.assert_broken("cause")

    def test_lost_spare_node_ends_nothing(self):
        self.seen.done.append(Done(Fault(0.2, "kill", "node", host="node2"), 100.2, True))
        self.seen.rounds = [{0: Rank("head", 0, 100.9), 1: Rank("node1", 0, 100.9)}]
        self.seen.done, self.seen.told, self.seen.ended = self.seen.done[1:], [], 101
        self.seen.report = {"exit_code": 0, "round": 0, "earlier_rounds": []}
        self.seen.witness, self.seen.nodes = self.seen.rounds[0], {"node1": 0, "node2": -9}
        self.seen.out, self.seen.err = text_of_round(0) + text_of_round(0, 1), text_of_round(0, stream="e") + text_of_round(0, 1, "e")
        self.assert_broken()

    def test_signal_to_a_node_ends_the_job(self):
        self.seen.done.append(Done(Fault(3, "term", "node", host="node2"), 103.0, True))
        self.assert_broken("cause")
        self.seen.done[1].fault.host = "node1"  # the node is lost and may be unable to notify the launcher
        self.assert_broken()


class Pairs(StepCase):
    """node2 is silent from 100.1 on, and a rank of node1 is killed at 100.3."""

    def setUp(self):
        super().setUp()
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH, way="ssh", hosts={"node1": 1, "node2": 1}, pairs=True, heartbeat=2)
        self.seen.witness = {0: Rank("node1"), 1: Rank("node2")}
        self.seen.done = [Done(Fault(0.1, "down", "link", host="node2", seconds=60), 100.1, True),
                          Done(Fault(0.3, "kill", "rank", rank=0, host="node1"), 100.3, True)]
        self.seen.code, self.seen.ended, self.seen.settled, self.seen.out = 137, 120, 120, b""
        self.seen.err = b"dlaunch: rank 0 (host node1, pid 7) killed by signal 9 (SIGKILL)\n"

    def test_both_faults_may_be_the_cause(self):
        self.assert_broken()
        self.seen.code, self.seen.err = 125, b"dlaunch: a host was lost: node2: the agent stopped sending heartbeats\n"
        self.assert_broken()
        self.seen.err = b"dlaunch: a host was lost: node1: the agent stopped sending heartbeats\n"
        self.assert_broken("cause")

    def test_silence_long_after_the_failure_is_not_the_cause(self):
        self.seen.done.reverse()
        self.seen.done[1].time = 102
        self.seen.code, self.seen.err = 125, b"dlaunch: a host was lost: node2: the agent stopped sending heartbeats\n"
        self.assert_broken("cause")

    def test_kill_and_new_logins_delay_the_end(self):
        latest = 100.3 + KILL_WAIT + REACH + promises.TOLD
        self.seen.ended = latest + 0.5  # within the time of the heartbeats
        self.assert_broken()
        self.seen.ended = 100.1 + 6 + REACH + promises.TOLD + 0.1
        self.assert_broken("time")

    def with_spare(self, told):
        self.step.restarts, self.step.spares, self.step.pairs = 2, ["node3"], True
        self.seen.rounds = [{0: Rank("node1"), 1: Rank("node2")}, {0: Rank("node1", 0, told + 1), 1: Rank("node3", 0, told + 1)}]
        self.seen.witness, self.seen.code, self.seen.ended, self.seen.settled = self.seen.rounds[1], 0, told + 1.1, told + 1.1
        self.seen.told = [(106, "dlaunch: node2: the agent stopped sending heartbeats after 6.1 s; restart 1 of 2 in 8 s"),
                          (told, "dlaunch: node3 takes the ranks of node2")]
        self.seen.report = {"exit_code": 0, "round": 1, "earlier_rounds": [{}]}
        self.seen.out = b"".join(text_of_round(1, rank) for rank in range(RANKS))
        self.seen.err = b"".join(text_of_round(1, rank, "e") for rank in range(RANKS))

    def assert_rounds_broken(self, *promises_):
        found = rounds.broken(self.step, self.seen)
        self.assertEqual(sorted({one.split(":")[0] for one in found}), sorted(promises_), found)

    def test_spare_host_continues_in_time(self):
        self.with_spare(114)
        self.assert_rounds_broken()
        self.with_spare(100.1 + 4 * 2 + 1 + KILL_WAIT + 1.1)
        self.assert_rounds_broken("time")

    def test_unused_spare_host_is_reported(self):
        self.with_spare(114)
        self.seen.rounds, self.seen.told, self.seen.out, self.seen.err = self.seen.rounds[:1], [], b"", b""
        self.seen.told = [(107, "dlaunch: a host was lost after 6.1 s: node2: the agent stopped sending heartbeats"),
                          (107, "dlaunch: no restart: node2 is lost, and no spare host is left")]
        self.seen.witness, self.seen.code, self.seen.report = self.seen.rounds[0], 125, {"exit_code": 125, "round": 0, "earlier_rounds": []}
        self.assert_rounds_broken("rounds")
        self.seen.done[1] = Done(Fault(0.3, "term", "launcher"), 100.3, True)
        self.assert_rounds_broken()

    def test_commands_of_unreached_hosts_are_found(self):
        self.assertEqual(commands_of(self.seen.err), {})
        one = b"dlaunch: processes of the job may still run on node2; this command kills them:\ndlaunch:   echo 'x' | ssh node2 sh\n"
        self.assertEqual(commands_of(self.seen.err + one), {"node2": "echo 'x' | ssh node2 sh"})
        two = b"dlaunch: processes of the job may still run on node[1-2]; these commands kill them:\n" \
            b"dlaunch:   echo 'x' | ssh node1 sh\ndlaunch:   echo 'x' | ssh -T node2 sh\n"
        self.assertEqual(set(commands_of(two)), {"node1", "node2"})


class DrawnSteps(unittest.TestCase):
    def test_same_line_steps_with_restarts_have_a_line_per_node(self):
        steps = [draw_named(5, f"{number}sr") for number in range(1, 40)]
        self.assertEqual(steps, [draw_named(5, f"{number}sr") for number in range(1, 40)])
        self.assertEqual({step.name for step in steps}, {f"{number}sr" for number in range(1, 40)})
        self.assertTrue(any(step.spares for step in steps) and any(fault.host in step.spares for step in steps for fault in step.faults))
        for step in steps:
            self.assertEqual(set(step.starts), {*step.hosts, *step.spares})
            words = step.words(node=1)
            self.assertEqual(words[words.index("--nodes") + 1], str(len(step.starts)))
            self.assertIn("--restarts", words)

    def test_same_line_steps_have_a_line_per_node(self):
        step = draw_named(5, "7s")
        self.assertEqual((step.name, step), ("7s", draw_named(5, "7s")))
        self.assertEqual(step.ranks, sum(step.hosts.values()))
        for node, host in enumerate(step.hosts):
            words = step.words(node=node)
            self.assertEqual((host == "head", words[words.index("--node-rank") + 1]), (node == 0, str(node)))

    def test_pairs_have_a_silent_host_and_a_second_fault(self):
        steps = [draw_named(5, f"{number}p") for number in range(1, 60)]
        self.assertEqual(steps, [draw_named(5, f"{number}p") for number in range(1, 60)])
        self.assertEqual({step.name for step in steps}, {f"{number}p" for number in range(1, 60)})
        for step in steps:
            quiet, = (fault for fault in step.faults if silent(fault))
            second, = (fault for fault in step.faults if not silent(fault))
            self.assertNotEqual(quiet.host, second.host)
            self.assertEqual(set(step.clocks), {*step.hosts, *step.spares})
            self.assertEqual(len(step.hostfile().splitlines()), len(step.clocks))
        self.assertEqual({fault.whom for step in steps for fault in step.faults}, {"link", "host", "machine", "rank", "launcher"})
        self.assertEqual({bool(step.restarts) for step in steps}, {True, False})
        orders = {step.faults[0].whom in ("rank", "launcher") for step in steps}
        self.assertEqual(orders, {True, False})

    def test_steps_with_restarts_do_not_change_other_steps(self):
        self.assertEqual(draw_named(5, "7"), draw(5, 7))
        step = draw_named(5, "7r")
        self.assertEqual((step.name, step), ("7r", draw_named(5, "7r")))
        self.assertIn("--restarts", step.words())

    def test_seed_determines_the_steps(self):
        self.assertEqual(draw(5, 7), draw(5, 7))
        self.assertNotEqual(draw(5, 7), draw(5, 8))
        self.assertNotEqual(draw(5, 7), draw(6, 7))


if __name__ == "__main__":
    unittest.main(verbosity=2)
