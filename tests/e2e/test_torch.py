"""Tests a real framework: a training with PyTorch's DistributedDataParallel over gloo has the same result on one host
and on several."""
import pathlib
import re
import subprocess

import support
from hosts_case import HostsCase

DDP = pathlib.Path(__file__).parents[2] / "examples" / "ddp.py"
PYTHON = "/usr/bin/python3"  # Debian's Python, for which python3-torch is built; hosts have it too
NO_TORCH = subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True, text=True, check=False).stderr
LOSS = re.compile(r"step (\d+) of 50 on 4 ranks: loss (\d\.\d{9})")


class Ddp(HostsCase):
    count = 4

    def setUp(self):
        if NO_TORCH:
            self.skipTest(f"{PYTHON}: {NO_TORCH.splitlines()[-1]}: scripts/install-packages torch")
        super().setUp()

    def losses(self, hosts):
        result = self.run_dlaunch("-n", 4, "-H", hosts, "--env-for", "torch", PYTHON, DDP, timeout=3 * support.TIMEOUT)
        self.assert_exit(result, 0)
        found = LOSS.findall(result.stdout.decode())
        self.assertEqual([step for step, _ in found], ["10", "20", "30", "40", "50"], result)
        return [loss for _, loss in found]

    def test_loss_on_several_hosts_equals_the_loss_on_one(self):
        one_host = self.losses("localhost:4")
        self.assertLess(float(one_host[-1]), float(one_host[0]) / 2)
        for hosts in ("node1:2,node2:2", "node1,node2,node3,node4", "localhost:2,node3:2"):
            with self.subTest(hosts):
                self.assertEqual(self.losses(hosts), one_host)


if __name__ == "__main__":
    support.main()
