"""Layers, class names and lengths of files; and tests of these checks."""
import pathlib
import re
import sys
import tempfile
import unittest

from layers import Layer, circles, declared_twice, escapes, long_files, not_public, read_layers, tries_within, unguarded, \
    unused

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/sim/mutants"))
from list import MUTANTS  # noqa: E402

SRC = ROOT / "src"
PUBLIC = ROOT / "include"
MOST_LINES = 450
LONGER = {  # file: reason
    "cli/option_table.cpp": "the table of options",
}
NOT_GUARDED = {  # file: reason
    "agent/agent.cpp": "the agent ends after its loop",
    "agent/launcher_watch.cpp": "the agent ends after its loop",
    "agent/termination_notices.cpp": "the agent ends after its loop",
    "pmix/bridge/connection_proxy.cpp": "the proxy ends after its loop",
}
MANAGER_VARIABLE = r"\b(?:SLURM_|SLURMD_|SRUN_|PBS_|LSB_|FLUX_|PE_HOSTFILE|SGE_|COBALT_|PALS_|AWS_BATCH_|NHOSTS)"
# The body of a commit that raises a limit has the reason. A commit that reaches a lower figure lowers the limit.
FIGURES = {
    "lines of src and include": 84_474,
    "lines of src/app": 1_577,
    "files outside cli and grammars with a function that changes options": 0,
    "source files that connect by TCP": 1,
    "definitions of is_loopback": 1,
    "heartbeats of dial-back connections": 1,
    "files outside place that judge a line of a manager's stderr": 1,
    "files outside place that read the place": 2,  # main, and the functions of the library
    "files outside place that use a name of place/variables.h": 5,
    "files outside place and srun's grammar with a manager's variable": 4,
}
SLACK = 0.01  # of a figure; a limit must not be higher than this above the figure
WRITTEN_BY_CMAKE = sys.argv.pop()
# The start of a library's header names.
LIBRARIES = {"CLI11": "CLI/", "toml++": "toml++/", "nlohmann/json": "nlohmann/", "spdlog": "spdlog/", "fmt": "fmt/", "Asio": "asio",
             "libssh": "libssh/", "nettle": "nettle/", "libsodium": "sodium", "hwloc": "hwloc", "libpmix": "pmix", "tl::expected": "tl/",
             "RE2": "re2/"}


class Project(unittest.TestCase):
    layers = read_layers(pathlib.Path(WRITTEN_BY_CMAKE).read_text())

    def test_every_include_has_a_dependency(self):
        found = [f"{of} → {to}: {path} includes {included}" for of, to, path, included in escapes(self.layers, SRC, PUBLIC)]
        self.assertEqual(found, [], "\n" + "\n".join([*found, "add the layer to DEPS in its CMakeLists.txt, or remove the include"]))

    def test_every_dependency_has_an_include(self):
        self.assertEqual(unused(self.layers, SRC, PUBLIC), [], "remove the layer from DEPS in its CMakeLists.txt")

    def test_every_source_belongs_to_a_layer(self):
        named = {source for layer in self.layers for source in layer.sources}
        self.assertEqual([str(path) for path in SRC.rglob("*.cpp") if path not in named and path.parent != SRC
                          and "sanitizer" not in path.name and "stubs" not in path.name], [])

    def test_every_public_header_belongs_to_one_layer(self):
        named = [header for layer in self.layers for header in layer.public]
        self.assertEqual(sorted(named), sorted(PUBLIC.rglob("*.h")))

    def test_public_headers_include_only_public_headers(self):
        self.assertEqual(list(not_public(PUBLIC)), [])

    def test_design_lists_users_of_each_library(self):
        rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|", (ROOT / "docs/design.md").read_text(), re.MULTILINE)
        modules = {library: re.findall(r"`([^`]+)`", where) for library, where in rows}
        users = {library: set() for library in LIBRARIES}
        for path in [*SRC.rglob("*.cpp"), *SRC.rglob("*.h"), *PUBLIC.rglob("*.h")]:
            for header in re.findall(r"^#include <([^>]+)>", path.read_text(), re.MULTILINE):
                for library in (name for name, prefix in LIBRARIES.items() if header.startswith(prefix)):
                    users[library].add(path.relative_to(SRC if path.is_relative_to(SRC) else ROOT).as_posix())
        for library, paths in users.items():
            def of(module):
                return {path for path in paths if f"{path}/".startswith(f"{module}/")}
            with self.subTest(library=library):
                self.assertEqual(paths - {"report/version.cpp"} - set().union(*map(of, modules[library])), set())
                self.assertEqual([module for module in modules[library] if "." not in module and not of(module)], [])

    def test_design_lists_modules_and_dependencies(self):
        text = (ROOT / "docs/design.md").read_text()
        rows = re.findall(r"^\| `([\w-]+)` \| [^|]+ \|((?: `[\w-]+`)*) \|$", text[text.index("| module |"):], re.MULTILINE)
        documented = {module: set(re.findall(r"`([^`]+)`", uses)) for module, uses in rows}
        names = {layer.name for layer in self.layers}
        programs = {"dlaunch", "dlaunch-agent"}  # only main.cpp
        self.assertEqual(documented, {layer.name: layer.deps & names - {"base"} for layer in self.layers
                                      if layer.name not in programs})

    def test_layers_have_no_cycle(self):
        self.assertEqual(circles(self.layers), [])

    def test_class_names_are_unique(self):
        twice = declared_twice([SRC, SRC.parent / "include"])
        self.assertEqual(twice, {}, "two classes have the same name: rename one of them")

    def test_try_is_never_inside_an_expression(self):
        self.assertEqual([*tries_within(SRC), *tries_within(SRC.parent / "tests")], [])

    def test_callbacks_of_a_loop_are_guarded(self):
        found = [place for place in unguarded(SRC) if place.split(":")[0] not in NOT_GUARDED]
        self.assertEqual(found, [], "wrap the callback with Lifetime::guard() (base/lifetime.h)")

    def test_variables_of_managers_are_named_only_in_place(self):
        """The grammar of srun has srun's own variables, and --env-for slurm sets the variables of a task."""
        allowed = {"plan/framework_table.cpp"}
        named = {str(path.relative_to(SRC)) for path in [*SRC.rglob("*.cpp"), *SRC.rglob("*.h")]
                 if re.search('"' + MANAGER_VARIABLE, re.sub(r"//[^\n]*", "", path.read_text()))}
        outside = {path for path in named if not path.startswith(("place/", "grammars/srun/"))}
        self.assertEqual(outside, allowed, "add the name to src/place/variables.h or to the row of the manager")

    def test_figures_are_at_their_limits(self):
        for name, figure in figures().items():
            with self.subTest(name):
                self.assertLessEqual(figure, FIGURES[name], "reduce it, or raise FIGURES in a commit that says why")
                self.assertGreaterEqual(figure, int(FIGURES[name] * (1 - SLACK)), "lower the limit in FIGURES")

    def test_long_files_have_a_reason(self):
        found = long_files(SRC, MOST_LINES)
        self.assertEqual({name: lines for name, lines in found.items() if name not in LONGER}, {},
                         f"more than {MOST_LINES} lines: split the file, or add the reason to LONGER")
        self.assertEqual(LONGER.keys() - found.keys(), set(), "remove these files from LONGER")

    def test_each_mutant_applies_to_its_source(self):
        def times(mutant):
            path = ROOT / mutant["file"]
            return path.read_text().count(mutant["old"]) if path.is_file() else 0
        self.assertEqual([mutant["name"] for mutant in MUTANTS if times(mutant) != 1], [],
                         "adapt file, old and new in tests/sim/mutants/list.py: `old` must occur once in `file`")


def figures():
    """{name: figure} for FIGURES."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text()
             for root in (SRC, PUBLIC) for pattern in ("*.cpp", "*.h") for path in root.rglob(pattern)}

    def files(pattern, *, outside="-", inside=""):
        return sum(bool(re.search(pattern, text)) for path, text in texts.items()
                   if path.startswith(inside) and not path.startswith(outside))

    def lines(folder):
        return sum(text.count("\n") for path, text in texts.items() if path.startswith(folder))

    return {
        "lines of src and include": lines(""),
        "lines of src/app": lines("src/app/"),
        "files outside cli and grammars with a function that changes options": files(
            r"(?<!const )cli::Options&", outside=("src/cli/", "src/grammars/")),
        "source files that connect by TCP": files(r"TCP_NODELAY(?s:.)*::connect\("),
        "definitions of is_loopback": files(r"bool is_loopback\([^)]*\)\s*\{"),
        "heartbeats of dial-back connections": files(r"\bHeartbeat>", inside="src/dialback/"),
        "files outside place that judge a line of a manager's stderr": files(r"\bmeaning_of\(", outside="src/place/"),
        "files outside place that read the place": files(r"\bread_place\(", outside="src/place/"),
        "files outside place that use a name of place/variables.h": files(r"\bplace::k[A-Z]", outside="src/place/"),
        "files outside place and srun's grammar with a manager's variable": files(
            MANAGER_VARIABLE, outside=("src/place/", "src/grammars/srun/")),
    }


class Checks(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root, self.public = pathlib.Path(directory.name) / "src", pathlib.Path(directory.name) / "include"
        for name, text in {"src/low/a.cpp": '#include "low/a.h"\n', "src/low/a.h": "", "src/low/only.h": "",
                           "src/high/b.cpp": '#include "high/b.h"\n#include <low/a.h>\n', "src/high/b.h": "",
                           "include/x/of_high.h": "#include <vector>\n#include <tl/expected.hpp>\n"}.items():
            path = pathlib.Path(directory.name) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def layers(self, **deps):
        sources = {"low": [self.root / "low/a.cpp"], "high": [self.root / "high/b.cpp"]}
        public = {"low": [], "high": [self.public / "x/of_high.h"]}
        return [Layer(name, sources[name], public[name], set(deps.get(name, ()))) for name in sources]

    def escapes(self, **deps):
        return list(escapes(self.layers(**deps), self.root, self.public))

    def test_upward_include_is_found(self):
        (self.root / "low/only.h").write_text('#include "high/b.h"\n')
        self.assertEqual(self.escapes(high=["low"]), [("low", "high", "only.h", "high/b.h")])

    def test_dependency_permits_include(self):
        (self.root / "high/b.h").write_text('#include "low/only.h"\n#include "low/a.h"\n')
        self.assertEqual(self.escapes(high=["low"]), [])
        self.assertEqual(len(self.escapes()), 2)

    def test_public_header_belongs_to_its_layer(self):
        (self.root / "low/only.h").write_text('#include "x/of_high.h"\n')
        self.assertEqual(self.escapes(high=["low"]), [("low", "high", "only.h", "x/of_high.h")])

    def test_private_include_of_public_header_is_found(self):
        self.assertEqual(list(not_public(self.public)), [])
        (self.public / "x/of_high.h").write_text('#include "low/a.h"\n#include <asio.hpp>\n#include <x/of_high.h>\n')
        self.assertEqual(list(not_public(self.public)), [("x/of_high.h", "low/a.h"), ("x/of_high.h", "asio.hpp")])

    def test_duplicate_class_name_is_found(self):
        (self.root / "low/a.h").write_text("class Twice;\nstruct Own {\n  struct Inner {};\n};\nclass Twice : Own {\n};\n")
        (self.root / "high/b.h").write_text("enum class Twice : int { one };\nstruct Inner {};\nstruct Own::Inner {};\n")
        (self.root / "low/only.h").write_text("class Own;\n")
        self.assertEqual(declared_twice([self.root]), {"Twice": [str(self.root / "high/b.h"), str(self.root / "low/a.h")]})

    def test_long_file_is_found(self):
        (self.root / "low/only.h").write_text("\n" * 4)
        self.assertEqual(long_files(self.root, 3), {"low/only.h": 4})
        self.assertEqual(long_files(self.root, 4), {})

    def test_unguarded_callback_is_found(self):
        (self.root / "low/only.h").write_text('''asio::post(io, [this] { f(); });
asio::post(io, lifetime_.guard([this] { f(); }));
timer_.async_wait([self = shared_from_this()](asio::error_code error) { self->f(error); });
timer_.async_wait(
    [&run](asio::error_code) { run.end(); });
asio::post(io, std::move(ready));
asio::async_write(socket, asio::buffer(text), [weak = std::weak_ptr(client)](asio::error_code, size_t) {});
''')
        self.assertEqual(unguarded(self.root), ["low/only.h:1", "low/only.h:4"])

    def test_try_inside_an_expression_is_found(self):
        (self.root / "low/only.h").write_text('''auto a = TRY(b());
            TRY(c());
            return Pair{.first = {}, .second = TRY(d())};
            return Pair{TRY(e()), 1};
            return f(1, TRY(g()));
            if (h) return TRY(i());  // TRY(j())
''')
        self.assertEqual(tries_within(self.root), ["low/only.h:3", "low/only.h:4", "low/only.h:5"])

    def test_cycle_is_found(self):
        self.assertEqual(circles(self.layers(high=["low"], low=["high"])), ["low", "high"])
        self.assertEqual(circles(self.layers(high=["low"])), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
