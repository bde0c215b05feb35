"""Tests command lines of srun in allocations of a real Slurm: the output of the ranks is the same with srun and with
dlaunch."""
import os

from support import DLAUNCH, main
from test_slurm import SlurmCase

PLACE = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_NNODES $(hostname)"
SPREAD = ["-N3", "--ntasks-per-node=2"]
WHOLE = ["-N3", "--exclusive"]


class SameAsSrun(SlurmCase):
    count = 3

    def setUp(self):
        super().setUp()
        self.script = self.dir / "lines"

    def first_nodes(self, options):
        """The words of salloc that choose nodes: the scheduler may choose other nodes for the second allocation than for
        the first, since the nodes of an allocation are busy for a moment after its end."""
        count = next((int(word[2:]) for word in options if word.startswith("-N")), self.count)
        return [] if "-w" in options else ["-w", ",".join(f"node{number}" for number in range(1, count + 1))]

    def by_both(self, options, text, files=()):
        """The sorted lines that a shell script prints in one allocation, first with the real srun, then with a link
        named srun to dlaunch."""
        links = self.dir / "links"
        links.mkdir(exist_ok=True)
        if not (links / "srun").is_symlink():
            (links / "srun").symlink_to(DLAUNCH)
        said = []
        options = [*options, *self.first_nodes(options)]
        for path in (self.env["PATH"], f"{links}:{self.env['PATH']}"):
            for name in files:
                (self.dir / name).unlink(missing_ok=True)
            self.script.write_text(f"cd {self.dir}; export PATH={path}\n{text}\n")
            done = self.bed.head.run(["salloc", "-Q", *options, "sh", self.script], env=self.env | {"PATH": os.environ["PATH"]})
            said.append(sorted(done.stdout.splitlines()))
        return said

    def assert_same(self, options, *lines):
        """Compares lines of srun in one allocation: stdout and exit codes must be the same."""
        text = "\n".join(f"echo 'line {number} code' $({line} 2>/dev/null </dev/null | sed 's/^/{number}> /' | sort; echo)"
                         for number, line in enumerate(lines))
        srun, dlaunch = self.by_both(options, text)
        self.maxDiff = None
        self.assertEqual(dlaunch, srun)
        self.assertGreater(sum(len(line) for line in srun), 20 * len(lines), srun)

    def test_ranks_run_where_srun_places_them(self):
        places = ("", "-n1", "-n4", "-n5", "-N2 -n3", "-N1 -n2", "-N1-2 -n4", "-w node2 -N1 -n2", "-w node3 -N2 -n2", "-x node2 -N2 -n4",
                  "-r1 -n2", "-m cyclic", "-m cyclic -n5", "-m plane=2 -n5", "--distribution=block:cyclic -n5")
        self.assert_same(SPREAD, *(f"srun {words} sh -c '{PLACE}'" for words in places))

    def test_each_rank_has_the_gpu_of_srun(self):
        show = "sh -c 'echo rank $SLURM_PROCID on $(hostname): $CUDA_VISIBLE_DEVICES'"
        for options in (["-N2", "--ntasks=4", "--gpus-per-task=1"], ["-N1", "-w", "node1", "--ntasks=2", "--gpus-per-task=1"]):
            with self.subTest(options):
                self.assert_same(options, f"srun {show}", f"srun -n1 -N1 {show}")
        self.assert_same(["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"], f"srun --gpus-per-task=1 {show}")

    def test_default_number_of_ranks_is_the_same(self):
        places = ("", "--ntasks-per-node=2", "-N2 --ntasks-per-node=2", "-n2 -N3", "-c4", "-c 4 -n3", "-m block,Pack -n9", "-O -n30")
        self.assert_same(WHOLE, *(f"srun {words} sh -c '{PLACE} $SLURM_CPUS_PER_TASK'" for words in places))

    def test_output_and_input_of_ranks_are_the_same(self):
        (self.dir / "programs").write_text("# a comment\n0 echo zero %t %o\n1-2 echo more %t %o\n* echo 'the  rest' \"a b\" %o\n")
        self.assert_same(WHOLE, "srun -l -n12 echo x", "srun -n4 --multi-prog programs extra", "echo hi | srun -n2 cat",
                         "srun -n2 -i none cat", "srun -n2 -D /usr pwd", "srun -n2 -o 1 sh -c 'echo $SLURM_PROCID'",
                         "FOO=1 srun -n1 --export=ALL,FOO=3,Y=4 sh -c 'echo $FOO $Y'",
                         "FOO=1 BAR=2 srun -n1 --export=FOO,X=3 /bin/sh -c 'echo $FOO $X $BAR $SLURM_PROCID'",
                         "BAR=2 srun -n1 --export=NONE /bin/sh -c 'echo $BAR-$SLURM_PROCID'", "srun -n1 -J name sh -c 'echo $SLURM_JOB_NAME'")

    def test_output_files_are_the_same(self):
        files = ("all.txt", *(f"out.1.{rank}" for rank in range(2)), *(f"err.{rank}" for rank in range(2)))
        show = "; for f in " + " ".join(files) + "; do [ -f $f ] && sed \"s/^/$f> /\" $f; done"
        program = "sh -c 'echo $SLURM_PROCID; echo e$SLURM_PROCID >&2'"
        for line in (f"srun -n2 -o out.1.%t -e err.%t {program}", f"srun -n2 -o none {program}"):
            with self.subTest(line):
                srun, dlaunch = self.by_both(["-N2", "--exclusive"], line + show, files)
                self.assertEqual(dlaunch, srun)

    def test_exit_codes_are_the_same(self):
        srun, dlaunch = self.by_both(["-N2", "--exclusive"], "\n".join(
            f"srun -n2 {words} 2>/dev/null; echo code {number} $?" for number, words in enumerate(
                ("true", "sh -c 'exit $((SLURM_PROCID + 3))'", "sh -c 'kill -9 $$'",
                 "sh -c '[ $SLURM_PROCID = 1 ] && exit 3; kill -15 $$'"))))
        self.assertEqual(dlaunch, srun)
        self.assertEqual(len(srun), 4)


if __name__ == "__main__":
    main(side_by_side=2)
