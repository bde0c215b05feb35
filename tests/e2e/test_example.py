"""Tests the first command of the README."""
import re

import support
from promises import FAILURE, FILES, LOSES_NOTHING, NAMES_FIRST, RUN, promise
from support import Case

TRAIN = str(support.pathlib.Path(__file__).parents[2] / "examples" / "train.py")


class Example(Case):
    def train(self, *options, arguments=()):
        return self.run_dlaunch("-n", 8, "--fake-devices", 8, *options, "python3", TRAIN, *arguments)

    @promise(LOSES_NOTHING, mode=(RUN, FILES))
    def test_eight_ranks_print_whole_lines_and_write_logs(self):
        result = self.train("--output-filename", "logs")
        self.assert_exit(result, 0)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 8 * 8)
        for line in lines:
            self.assertRegex(line, r"^(rank \d of 8 on device \d, 256 samples|epoch \d step \d+ loss \d\.\d{4}|done: y = .*)$")
        for rank in range(8):
            log = (self.dir / "logs" / "1" / f"rank.{rank}" / "stdout").read_text()
            self.assertTrue(log.startswith(f"rank {rank} of 8 on device {rank}"), log)
            self.assertEqual(len(re.findall("loss", log)), 6)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_summary_names_the_failing_rank(self):
        result = self.train(arguments=["--fail-rank", 5, "--fail-code", 3])
        self.assert_exit(result, 3)
        self.assertIn(b"device 5: out of memory", result.stderr)
        self.assertRegex(support.cause(result.stderr), r"rank 5 .*exited with code 3")


if __name__ == "__main__":
    support.main()
