"""The checker of chaos finds each kind of broken promise, and nothing in a job that kept them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import promises  # noqa: E402
from draw import Fault, Step, draw  # noqa: E402
from lines import line  # noqa: E402
from faults import Done  # noqa: E402
from run_step import Rank, Seen  # noqa: E402

RANKS, LINES, LENGTH = 2, 3, 20


def text(*numbers, rank=0, stream="o"):
    return b"".join(line(rank, stream, number, LENGTH) + b"\n" for number in numbers)


class Promises(unittest.TestCase):
    def setUp(self):
        self.step = Step(1, 1, ranks=RANKS, lines=LINES, length=LENGTH)
        self.seen = Seen(code=0, started=100, ended=101, settled=101, witness={0: Rank("head", 0, 100.9), 1: Rank("head", 0, 100.9)})
        self.seen.out = text(1, 2, 3) + text(1, 2, 3, rank=1)
        self.seen.err = text(1, 2, 3, stream="e") + text(1, 2, 3, rank=1, stream="e")

    def assert_broken(self, *promises_):
        found = promises.broken(self.step, self.seen)
        self.assertEqual(sorted({one.split(":")[0] for one in found}), sorted(promises_), found)

    def test_all_kept(self):
        self.assert_broken()

    def test_bytes(self):
        good = text(1, 2, 3, rank=1)
        torn = text(1, 2, 3).replace(b":2:", b":2:" + good)
        for name, out in (("lost at the end", text(1, 2) + good), ("lost in the middle", text(1, 3) + good), ("twice", text(1, 2, 2, 3) + good),
                          ("mixed", torn), ("cut", text(1, 2, 3)[:-2] + b"\n" + good), ("another's", text(1, 2, 3) + b"hello\n" + good),
                          ("order", text(2, 1, 3) + good), ("one letter", text(1, 2, 3).replace(b"c", b"x", 1) + good)):
            with self.subTest(name):
                self.seen.out = out
                self.assert_broken("bytes")

    def test_indented_lines_are_of_what_dlaunch_says(self):
        self.seen.err += b"dlaunch: time out after 2.0 s; stacks of 2 ranks (main thread):\n  no answer from node1 (ranks 0-1)\n"
        self.assert_broken()
        self.seen.err += b"no answer from node1 (ranks 0-1)\n"
        self.assert_broken("bytes")

    def test_bytes_of_a_rank_that_was_ended(self):
        self.step.codes = {1: 3}
        self.seen.witness = {0: Rank("head"), 1: Rank("head", 3, 100.9)}
        self.seen.code = 3
        self.seen.err += b"dlaunch: rank 1 (host head, pid 7) exited with code 3\n"
        for out, good in ((text(1, 2), True), (text(1) + text(2)[:-3] + b"\n", True), (text(1) + text(2)[:-3] + b"\n" + text(3), False)):
            with self.subTest(out):
                self.seen.out = out + text(1, 2, 3, rank=1)
                self.assert_broken(*([] if good else ["bytes"]))

    def test_labels_and_json(self):
        self.step.mode = "label"
        self.seen.out = b"[1] " + text(1)
        self.assert_broken("bytes")
        self.step.mode = "jsonl"
        self.seen.err = b""
        self.seen.out = b'{"rank":1,"stream":"stdout","text":"0:o:1:"}\n'
        self.assert_broken("bytes")

    def test_cause(self):
        self.seen.witness[1] = Rank("head", 3, 100.9)
        self.step.codes = {1: 3}
        self.assert_broken("cause")  # 0, and a rank failed
        self.seen.code = 4
        self.assert_broken("cause")  # another's code
        self.seen.code = 3
        self.assert_broken("cause")  # which rank, nobody says
        self.seen.err += b"dlaunch: rank 0 (host head, pid 7) exited with code 3\n"
        self.assert_broken("cause")  # another one
        self.seen.err += b"dlaunch: rank 1 (host head, pid 7) exited with code 3\n"
        self.assert_broken()

    def test_cause_of_a_fault(self):
        self.seen.done = [Done(Fault(0.1, "kill", "worker"), 100.1, True)]
        self.seen.witness = {}
        self.seen.code = 0
        self.assert_broken("cause")
        self.seen.code = 125
        self.assert_broken("cause")
        self.seen.err += b"dlaunch: a host was lost: head\n"
        self.assert_broken()
        self.seen.done[0].hit = False  # nobody was there to be killed
        self.assert_broken("cause")

    def test_a_launcher_that_stood_still_hears_late(self):
        self.step.timeout = 2
        self.seen.done = [Done(Fault(0.1, "pause", "all"), 100.1, True, 102.1), Done(Fault(0.2, "kill", "guardian"), 100.2, True)]
        self.seen.witness, self.seen.ended, self.seen.code = {}, 102.2, 124
        self.seen.out = b""
        self.seen.err = b"dlaunch: time out after 2.1 s\n"
        self.assert_broken()
        self.seen.done[0].until = 100.15  # it went on before
        self.assert_broken("cause")

    def test_time(self):
        self.seen.ended = 100.9 + promises.TOLD + 0.1
        self.assert_broken("time")
        self.seen.code = None
        self.assert_broken("time")

    def test_a_host_that_fell_silent_is_waited_for(self):
        self.step.timeout = 2
        self.seen.witness, self.seen.out, self.seen.err = {}, b"", b"dlaunch: time out after 23.1 s\n"
        self.seen.ended, self.seen.code = 123.1, 124
        self.seen.done = [Done(Fault(0.1, "stop", "worker"), 100.1, True)]
        self.assert_broken()
        self.seen.done[0].hit = False
        self.assert_broken("time")

    def test_what_fell_silent_has_longer_to_go(self):
        soon = promises.settles(self.seen)
        link = Fault(0.5, "down", "link", seconds=60)
        self.seen.done = [Done(link, self.seen.ended - 1, True)]
        self.assertAlmostEqual(promises.settles(self.seen), soon + promises.SILENT - 1)
        self.seen.done[0].time = self.seen.ended - promises.SILENT - 5  # its silence was over before the job's end
        self.assertEqual(promises.settles(self.seen), soon)
        link.seconds = 3
        self.seen.done[0].time = self.seen.ended
        self.assertEqual(promises.settles(self.seen), soon)

    def test_a_worker_that_stood_still_tells_late_of_its_ranks(self):
        self.step.timeout, self.seen.ended, self.seen.code = 2, 102.5, 124
        self.step.codes = {1: 42}
        self.seen.witness = {0: Rank("head"), 1: Rank("head", 42, 100.54)}
        self.seen.err += b"dlaunch: time out after 2.5 s: ranks 0-1 were still running\n"
        self.assert_broken("cause")
        self.seen.done = [Done(Fault(0.46, "pause", "worker", seconds=2), 100.46, True, 102.46)]
        self.assert_broken()
        self.seen.done[0].until = 100.5  # it went on before
        self.assert_broken("cause")

    def test_cause_behind_a_link_that_is_down(self):
        """What happens on a host whose link is down is heard of once it is up; the time limit may come first."""
        self.step.timeout, self.seen.ended, self.seen.code = 2, 103.75, 124
        self.seen.witness = {}
        self.seen.out = self.seen.err = b""
        down = Done(Fault(0.2, "down", "link", host="node2", seconds=3), 100.2, True)
        self.seen.err = b"dlaunch: time out after 3.7 s: ranks 0-1 were still running\n"
        self.seen.done = [Done(Fault(0.4, "kill", "worker", host="node2"), 100.4, True)]
        self.assert_broken("cause")
        self.seen.done.insert(0, down)
        self.assert_broken()
        down.fault.host = "node1"
        self.assert_broken("cause")

    def test_left(self):
        self.seen.left = {7: "sleep"}
        self.assert_broken("left behind")
        self.seen.left, self.seen.files = {}, ["/dev/shm/x"]
        self.assert_broken("left behind")
        self.seen.files = ["head: /dev/shm/ucx_shm_posix_2ef805fc", "head: /dev/shm/mpich_shar_tmpwj6Me3"]
        self.assert_broken("left behind")
        self.step.mpi = "mpich"
        self.assert_broken()


class Drawn(unittest.TestCase):
    def test_a_seed_gives_the_same_steps(self):
        self.assertEqual(draw(5, 7), draw(5, 7))
        self.assertNotEqual(draw(5, 7), draw(5, 8))
        self.assertNotEqual(draw(5, 7), draw(6, 7))


if __name__ == "__main__":
    unittest.main(verbosity=2)
