"""Tests command lines of srun in allocations of a real Slurm: the output of the ranks is the same with srun and with
dlaunch."""
import os
import re
import shlex
import shutil

from hosts_case import PATIENCE
from promises import FAILURE, FILES, LOSES_NOTHING, NAMES_FIRST, STDIN, promise
from support import DLAUNCH, main, wait_until
from test_slurm import AS_NEWER_SLURM, SlurmCase

PLACE = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_NNODES $(hostname)"
SPREAD = ["-N3", "--ntasks-per-node=2"]
WHOLE = ["-N3", "--exclusive"]


class BesideSrun(SlurmCase):
    def setUp(self):
        super().setUp()
        self.script = self.dir / "lines"

    def first_nodes(self, options):
        """The words of salloc that choose nodes: the scheduler may choose other nodes for the second allocation than for
        the first, since the nodes of an allocation are busy for a moment after its end."""
        count = next((int(word[2:]) for word in options if word.startswith("-N")), self.count)
        return [] if "-w" in options else ["-w", ",".join(f"node{number}" for number in range(1, count + 1))]

    def links(self):
        links = self.dir / "links"
        links.mkdir(exist_ok=True)
        if not (links / "srun").is_symlink():
            (links / "srun").symlink_to(DLAUNCH)
        return links

    def by_both(self, options, text, files=()):
        """The sorted lines that a shell script prints in one allocation, first with the real srun, then with a link
        named srun to dlaunch."""
        said = []
        options = [*options, *self.first_nodes(options)]
        for path in (self.env["PATH"], f"{self.links()}:{self.env['PATH']}"):
            for name in files:
                (self.dir / name).unlink(missing_ok=True)
            self.script.write_text(f"cd {self.dir}; export PATH={path}\n{text}\n")
            done = self.bed.head.run(["salloc", "-Q", *options, "sh", self.script], env=self.env | {"PATH": os.environ["PATH"]})
            said.append(sorted(done.stdout.splitlines()))
        return said


class SameAsSrun(BesideSrun):
    count = 3

    def assert_same(self, options, *lines, any_nodes=()):
        """Compares lines of srun in one allocation: stdout and exit codes must be the same. For the numbers of lines in
        `any_nodes`, Slurm may choose other nodes than the first ones, because those of the line before are busy for a
        moment: only the order of the nodes counts."""
        def compared(line):
            names = {}
            free = int(line.split()[1]) in any_nodes
            return re.sub(r"node\d", lambda name: names.setdefault(name[0], f"node{len(names) + 1}"), line) if free else line
        text = "\n".join(f"echo 'line {number} code' $({line} 2>/dev/null </dev/null | sed 's/^/{number}> /' | sort; echo)"
                         for number, line in enumerate(lines))
        srun, dlaunch = self.by_both(options, text)
        self.maxDiff = None
        self.assertEqual([*map(compared, dlaunch)], [*map(compared, srun)])
        self.assertGreater(sum(len(line) for line in srun), 20 * len(lines), srun)

    def test_ranks_run_where_srun_places_them(self):
        places = ("", "-n1", "-n4", "-n5", "-N2 -n3", "-N1 -n2", "-N1-2 -n4", "-w node2 -N1 -n2", "-w node3 -N2 -n2", "-x node2 -N2 -n4",
                  "-r1 -n2", "-m cyclic", "-m cyclic -n5", "-m plane=2 -n5", "--distribution=block:cyclic -n5")
        chosen = [number for number, words in enumerate(places) if re.match("-N|-n1", words)]
        self.assert_same(SPREAD, *(f"srun {words} sh -c '{PLACE}'" for words in places), any_nodes=chosen)

    def test_each_rank_has_the_gpu_of_srun(self):
        show = "sh -c 'echo rank $SLURM_PROCID on $(hostname): $CUDA_VISIBLE_DEVICES'"
        for options in (["-w", "node[1-2]", "--ntasks=4", "--gpus-per-task=1"], ["-N1", "-w", "node1", "--ntasks=2", "--gpus-per-task=1"]):
            with self.subTest(options):
                self.assert_same(options, f"srun {show}", f"srun -n1 -N1 {show}")
        self.assert_same(["-w", "node[1-2]", "--ntasks-per-node=2", "--gpus-per-node=2"], f"srun --gpus-per-task=1 {show}")

    def test_each_rank_has_the_gpu_of_srun_with_the_variables_of_newer_slurm(self):
        """The srun of Slurm 22.05 gets its own variables, dlaunch those of Slurm 24.11 for the same job."""
        newer = " ".join(map(shlex.quote, AS_NEWER_SLURM))
        show = "sh -c 'echo rank $SLURM_PROCID on $(hostname): $CUDA_VISIBLE_DEVICES'"
        text = f"""newer=; case $(command -v srun) in */links/srun) newer={shlex.quote(newer)};; esac
        eval $newer srun {shlex.quote(show)}
        [ "$newer" ] && eval $newer SLURM_TRES_PER_TASK=gres/gpu=one srun true 2>&1 | head -n 1"""
        for options in (["-w", "node[1-2]", "--ntasks=4", "--gpus-per-task=1"], ["-N1", "-w", "node1", "--ntasks=2", "--gpus-per-task=1"]):
            with self.subTest(options):
                srun, dlaunch = self.by_both(options, text)
                wrong = [line for line in dlaunch if "invalid list of resources" in line]
                self.assertEqual([line for line in dlaunch if line not in wrong], srun)
                self.assertEqual(len(wrong), 1, dlaunch)
                devices = [line.split(": ")[1] for line in srun if "on node1" in line]
                self.assertEqual(len(set(devices)), len(devices), srun)
                self.assertGreater(len(devices), 1, srun)

    def test_default_number_of_ranks_is_the_same(self):
        places = ("", "--ntasks-per-node=2", "-N2 --ntasks-per-node=2", "-n2 -N3", "-c4", "-c 4 -n3", "-m block,Pack -n9", "-m pack -c2 -n7",
                  "-m block,pack -N3 -n9", "-O -n30")
        self.assert_same(WHOLE, *(f"srun {words} sh -c '{PLACE} $SLURM_CPUS_PER_TASK'" for words in places), any_nodes=(2, 3, 6, 7))

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_output_and_input_of_ranks_are_the_same(self):
        (self.dir / "programs").write_text("# a comment\n0 echo zero %t %o\n1-2 echo more %t %o\n* echo 'the  rest' \"a b\" %o\n")
        (self.dir / "four").write_text("0-2 echo \\\nfew %o\n3 echo last\n")
        self.assert_same(WHOLE, "srun -l -n12 echo x", "srun -n4 --multi-prog programs extra", "srun --multi-prog four",
                         "srun -n2 --multi-prog four", "srun -n5 --multi-prog four", "srun -n2 -o - echo x",
                         "echo hi | srun -n2 cat", "srun -n2 -i none cat", "srun -n2 -D /usr pwd", "srun -n2 -o 1 sh -c 'echo $SLURM_PROCID'",
                         "FOO=1 srun -n1 --export=ALL,FOO=3,Y=4 sh -c 'echo $FOO $Y'",
                         "FOO=1 BAR=2 srun -n1 --export=FOO,X=3 /bin/sh -c 'echo $FOO $X $BAR $SLURM_PROCID'",
                         "BAR=2 srun -n1 --export=NONE /bin/sh -c 'echo $BAR-$SLURM_PROCID'", "srun -n1 -J name sh -c 'echo $SLURM_JOB_NAME'")

    @promise(LOSES_NOTHING, mode=FILES)
    def test_output_files_are_the_same(self):
        files = ("5", "a%t", *(f"out.1.{rank}" for rank in range(2)), *(f"err.{rank}" for rank in range(2)))
        show = "; for f in " + " ".join(files) + "; do [ -f $f ] && sed \"s/^/$f> /\" $f; done"
        program = "sh -c 'echo $SLURM_PROCID; echo e$SLURM_PROCID >&2'"
        for line in (f"srun -n2 -o out.1.%t -e err.%t {program}", f"srun -n2 -o None {program}", f"srun -n2 -o 5 {program}",
                     f"srun -n1 -o 'a\\%t' {program}"):
            with self.subTest(line):
                srun, dlaunch = self.by_both(["-N2", "--exclusive"], line + show, files)
                self.assertEqual(dlaunch, srun)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_exit_codes_are_the_same(self):
        srun, dlaunch = self.by_both(["-N2", "--exclusive"], "\n".join(
            f"srun -n2 {words} 2>/dev/null; echo code {number} $?" for number, words in enumerate(
                ("true", "sh -c 'exit $((SLURM_PROCID + 3))'", "sh -c 'kill -9 $$'",
                 "sh -c '[ $SLURM_PROCID = 1 ] && exit 3; kill -15 $$'"))))
        self.assertEqual(dlaunch, srun)
        self.assertEqual(len(srun), 4)


# The script of a user exports these before `srun train.py`.
EXPORTED = {"MASTER_ADDR": "head", "MASTER_PORT": "29400", "WORLD_SIZE": "9", "RANK": "7", "LOCAL_RANK": "3", "NODE_RANK": "2",
            "TF_CONFIG": "{}", "JAX_COORDINATOR_ADDRESS": "head:1", "HOROVOD_RANK": "4", "OMPI_COMM_WORLD_RANK": "5", "MS_ROLE": "MS_WORKER",
            "PMIX_MCA_gds": "hash", "OMPI_MCA_btl": "self", "RANK_ID": "6", "DISPLAY": ":1", "XDG_RUNTIME_DIR": "/x", "SSH_AUTH_SOCK": "/y",
            "XAUTHORITY": "/z", "TMPDIR": "/tmp", "HOSTNAME": "exported", "USER": "somebody", "EMPTY": "", "LINES_OF": "two\nlines",
            "SBATCH_X": "1", "SLURM_OWN": "kept", "SLURM_JOB_NAME": "mine", "FOO": "old"}
NAMES_OF_NODE = {"SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR"}
OF_A_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}
# Differences between srun and dlaunch, with the reason.
ONLY_SRUN = {
    "SLURM_SRUN_COMM_HOST": "an address of the process srun", "SLURM_SRUN_COMM_PORT": "as SLURM_SRUN_COMM_HOST",
    "SLURM_STEP_LAUNCHER_PORT": "as SLURM_SRUN_COMM_HOST", "SLURM_OOM_KILL_STEP": "of the step of srun", "SLURM_UMASK": "for srun itself",
    "SLURM_PRIO_PROCESS": "for srun itself", "SLURM_WORKING_CLUSTER": "for srun itself", "SRUN_DEBUG": "for srun itself",
    "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0": "an old name that srun adds"}
ONLY_DLAUNCH = ("PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "RANK_SIZE", "RANK_ID", "DEVICE_ID", "DLAUNCH_",  # of every rank
                # for MPI programs
                "PMI_", "PMIX_", "MPI_LOCAL", "OMPI_MCA_btl_sm_backing", "OMPI_MCA_btl_vader_backing", "JSM_JSRUN_PORT", "MPIR_CVAR_PMI_VERSION")
OTHER_VALUE = {"SLURM_STEP_NODELIST": "names of hosts without brackets", "SLURM_STEP_ID": "each step has its own number",
               "SLURM_STEPID": "each step has its own number", "SLURM_TASK_PID": "each rank has its own number"}
OF_A_LOGIN = {"HOME", "USER", "LOGNAME", "SHELL"}  # dlaunch keeps these with --export=NONE


class EnvironmentOfRanks(BesideSrun):
    """The complete environment of each rank, with srun and with dlaunch."""
    count = 2

    def environments(self, start, cases):
        """{(case, rank): {name: value}}, of srun and of dlaunch in the same job. `start`: the words before a script."""
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in EXPORTED.items())
        place = self.dir / "environments"
        place.mkdir()
        lines = [f"{program} {words} /bin/sh -c '/usr/bin/env -0 >{place}/{by}.{number}.$SLURM_PROCID' </dev/null"
                 for by, program in enumerate((shutil.which("srun"), f"{DLAUNCH} --as srun")) for number, words in enumerate(cases)]
        self.script.write_text("\n".join(["#!/bin/sh", f"export PATH={os.environ['PATH']} {exports}", *lines, f"touch {place}/done", ""]))
        self.script.chmod(0o755)
        done = self.bed.head.run([*start, self.script], env=self.env | {"PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(wait_until((place / "done").exists, PATIENCE), done.stderr)
        found = [{}, {}]
        for file in place.glob("*.*.*"):
            by, number, rank = map(int, file.name.split("."))
            found[by][cases[number], rank] = dict(entry.split("=", 1) for entry in file.read_text().split("\0") if entry)
        shutil.rmtree(place)
        return found

    def assert_same_environments(self, start, cases, ranks):
        srun, dlaunch = self.environments(start, cases)
        self.assertEqual(sorted(dlaunch), sorted(srun))
        self.assertEqual(len(srun), ranks)
        for (words, rank), theirs in srun.items():
            ours = dlaunch[words, rank]
            with self.subTest(start=start[0], words=words, rank=rank):
                self.assertEqual({name for name in theirs.keys() - ours.keys() - OF_A_SHELL if name not in ONLY_SRUN}, set(), "missing")
                more = {name for name in ours.keys() - theirs.keys() - OF_A_SHELL - OF_A_LOGIN if not name.startswith(ONLY_DLAUNCH)}
                self.assertEqual(more, set(), "too many")
                other = {name: (theirs[name], ours[name]) for name in theirs.keys() & ours.keys() - OF_A_SHELL - OTHER_VALUE.keys()
                         if theirs[name] != ours[name]}
                if "-N1" in words:  # srun may choose either node
                    other = {name: values for name, values in other.items() if name not in NAMES_OF_NODE}
                self.assertEqual(other, {}, "another value: srun, dlaunch")
        return dlaunch

    CASES = ["", "--export=ALL", "-m cyclic", "-m plane=2", "-m block:cyclic", "-n2 -N2 --ntasks-per-node=1", "-r0 -n1 -N1 --export=NONE", "-r0 -n1 -N1 --export=FOO,X=3,MASTER_ADDR=b", "-r0 -n1 -N1 --export=ALL,X=3,FOO=new",
             "-r0 -n1 -N1 --export=RANK,SLURM_OWN=new"]

    def test_in_a_shell_of_salloc(self):
        ranks = self.assert_same_environments(["salloc", "-Q", "-N2", "--ntasks-per-node=2", "--gpus-per-node=2"], self.CASES, 22 + 4)
        for rank in range(4):
            self.assertEqual(EXPORTED.items() - ranks["", rank].items(), set())

    def test_in_a_job_without_gpus(self):
        self.assert_same_environments(["env", "CUDA_VISIBLE_DEVICES=3", "salloc", "-Q", "-N2", "--ntasks-per-node=1"], [""], 2)

    def test_step_and_process_of_a_rank_have_the_numbers_of_its_variables(self):
        show = '''sh -c 'scontrol listpids | grep "^$$ *$SLURM_JOB_ID *$SLURM_STEP_ID " >/dev/null &&
            echo $SLURM_PROCID: step $((SLURM_STEP_ID == SLURM_STEPID)) process $((SLURM_TASK_PID == $$))' '''
        for options in (["-N2", "--ntasks-per-node=2"], ["-N2", "--ntasks=4", "--gpus=3"]):
            with self.subTest(options):
                srun, dlaunch = self.by_both(options, f"srun true; srun {show}")
                self.assertEqual(srun, [f"{rank}: step 1 process 1" for rank in range(4)])
                self.assertEqual(dlaunch, srun)

    def test_dlaunch_in_a_rank_reads_the_job(self):
        nested = f"{DLAUNCH} hosts | grep ^node"
        srun, dlaunch = self.by_both(["-N2", "--ntasks-per-node=2"], f"srun -n1 -N1 sh -c '{nested}'; srun -n2 {DLAUNCH} true 2>&1 | grep -o '2 copies' | sort -u")
        self.assertEqual(len(srun), 3)
        self.assertEqual(dlaunch, srun)

    def test_a_rank_starts_a_step_of_the_job(self):
        step = f"{shutil.which('srun')} --overlap -n1 -N1 sh -c '[ $SLURM_JOB_ID = $1 ] && echo step' sh $SLURM_JOB_ID"
        srun, dlaunch = self.by_both(["-N2", "--ntasks-per-node=2"], f"srun -n1 -N1 {step}")
        self.assertEqual((srun, dlaunch), (["step"], ["step"]))

    def test_in_batch_jobs(self):
        for export in ("ALL", "NONE", "FOO=5,BAR"):
            start = ["sbatch", "-N2", "--ntasks-per-node=1", "-o", "/dev/null", f"--export={export}"]
            self.assert_same_environments(start, ["", "-r0 -n1 -N1 --export=ALL,X=3"], 3)


if __name__ == "__main__":
    main(side_by_side=2)
