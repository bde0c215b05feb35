"""Compares docs/environment.md with the variables that --show-env prints, and loads the example of docs/configuration.md."""
import json
import pathlib
import re

import support
from support import Case

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/environment.md").read_text()
CONFIGURATION = (ROOT / "docs/configuration.md").read_text()
NAME = re.compile(r"`([A-Z][A-Z0-9_]+)`")
DEVICES = {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
# Values of settings of accelerate, in the form of a variable.
VALUES = {"FULL_SHARD", "LOCAL_MACHINE", "MEGATRON_LM", "NO_SHARD"}
SAME_AS = {"torchrun": "torch"}  # the row "all variables of `torch`"


def literals(folder, pattern):
    return {name for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h")
            for name in re.findall(pattern, path.read_text())}


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title):
    return [line.split("|")[1:-1] for line in section(title).splitlines() if line.startswith("|")][2:]


def framework_variables():
    """{framework: names in its rows}, without variables that a rank gets only in a batch job."""
    found = {}
    framework = None
    for first, variables, meaning in rows("Variables of frameworks"):
        framework = first.strip().strip("`") or framework
        if meaning.strip().startswith("only if srun"):
            continue
        found.setdefault(framework, set()).update(NAME.findall(variables))
    for framework, other in SAME_AS.items():
        found[framework] |= found[other]
    return found


class EnvironmentPage(Case):
    def variables(self, *options):
        shown = self.run_dlaunch("-n", 2, "--mpi", "none", "--fake-devices", 2, *options, "--show-env", 1, "true")
        self.assert_exit(shown, 0)
        return {line.partition("=")[0] for line in shown.stdout.decode().splitlines()}

    def test_page_lists_the_variables_of_every_rank(self):
        named = {name for row in rows("Variables of every rank") for name in NAME.findall(row[0])}
        self.assertLessEqual(named, self.variables())
        self.assertEqual({name for name in self.variables() if name.startswith(("DLAUNCH_", "RANK_", "DEVICE_"))} - named, set())

    def test_page_lists_the_variables_of_frameworks(self):
        plain = self.variables()
        for framework, named in framework_variables().items():
            with self.subTest(framework):
                self.assertEqual(self.variables("--env-for", framework) - plain - DEVICES, named)

    def test_page_lists_the_variables_of_batch_systems(self):
        named = set(re.findall(r"`([A-Z][A-Z0-9_]+\*?)`", PAGE))
        texts = literals("src/place", r'"((?:[A-Z][A-Z0-9_]{3,}\*? ?)+)"')  # one name, or a list of a batch system
        read = {name.rstrip("*") for text in texts for name in text.split()}
        self.assertGreater(len(read), 150)
        self.assertEqual(sorted(name for name in read if not {name, name + "*"} & named), [])

    def test_page_lists_the_variables_of_launchers(self):
        named = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", PAGE))
        starts = tuple(set(re.findall(r"`([A-Z][A-Z0-9_]+_)\*`", PAGE)) - {"SLURM_"})
        read = {name for module in ("src/grammars", "src/mpirun") for name in literals(module, r'"([A-Z][A-Z0-9]*_[A-Z0-9_]+)=?"')}
        read |= {name for names in literals("src/grammars/srun", r'"((?:S(?:LURM|RUN)_[A-Z_]+ ?)+)"') for name in names.split()}
        self.assertGreater(len(read), 150)
        missing = {name for name in read if name not in named and not name.startswith(("DLAUNCH_", "MULTI_", *starts))}
        self.assertEqual(sorted(missing - VALUES), [])

    def test_page_lists_every_framework(self):
        refused = self.run_dlaunch("-n", 1, "--env-for", "?", "true").stderr.decode()
        for framework in framework_variables():
            self.assertIn(framework, refused)

    def test_json_has_the_variables_and_their_values(self):
        line = ("-n", 2, "-x", "QUOTED=a\"b=c", "--env-for", "torch", "--show-env", 1)
        shown = dict(text.split("=", 1) for text in self.assert_succeeds(*line, "true").decode().splitlines())
        named = json.loads(self.assert_succeeds(*line, "--format", "json", "true"))
        self.assertEqual(named["QUOTED"], "a\"b=c")
        self.assertEqual(named.keys(), shown.keys())
        changing = {"DLAUNCH_JOB_ID", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}
        self.assertEqual({name for name in named if named[name] != shown[name]} - changing, set())

    def test_example_of_the_configuration_file_loads(self):
        example = [line.strip() for line in CONFIGURATION.splitlines() if line.startswith("    ")]
        (self.dir / "config.toml").write_text("\n".join(example))
        shown = self.assert_succeeds("--config", "config.toml", "--show-config").decode().splitlines()
        values = dict(line.split(" = ") for line in example)
        self.assertGreater(len(values), 2)
        for name, value in values.items():
            line = next(line for line in shown if line.split()[:1] == [name])
            self.assertIn(value.strip('"').strip(), line)
            self.assertIn("config", line)


if __name__ == "__main__":
    support.main()
