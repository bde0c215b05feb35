"""The project's own layers, and that a wrong one would be found."""
import pathlib
import sys
import tempfile
import unittest

from layers import Layer, circles, escapes, read_layers

SRC = pathlib.Path(__file__).parents[2] / "src"
WRITTEN_BY_CMAKE = sys.argv.pop()


class Project(unittest.TestCase):
    layers = read_layers(pathlib.Path(WRITTEN_BY_CMAKE).read_text())

    def test_every_include_is_named(self):
        found = [f"{of} → {to}: src/{path} includes {included}" for of, to, path, included in escapes(self.layers, SRC)]
        self.assertEqual(found, [], "\n" + "\n".join([*found, "name the layer after DEPS in its CMakeLists.txt, or do without"]))

    def test_every_source_is_of_a_layer(self):
        named = {source for layer in self.layers for source in layer.sources}
        self.assertEqual([str(path) for path in SRC.rglob("*.cpp") if path not in named and path.parent != SRC
                          and "sanitizer" not in path.name and "stubs" not in path.name], [])

    def test_no_circle(self):
        self.assertEqual(circles(self.layers), [])


class Found(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name, text in {"low/a.cpp": '#include "low/a.h"\n', "low/a.h": "", "low/only.h": "",
                           "high/b.cpp": '#include "high/b.h"\n#include <low/a.h>\n', "high/b.h": ""}.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)

    def layers(self, **deps):
        sources = {"low": [self.root / "low/a.cpp"], "high": [self.root / "high/b.cpp"]}
        return [Layer(name, sources[name], set(deps.get(name, ()))) for name in sources]

    def test_an_include_upwards(self):
        (self.root / "low/only.h").write_text('#include "high/b.h"\n')
        self.assertEqual(list(escapes(self.layers(high=["low"]), self.root)), [("low", "high", "low/only.h", "high/b.h")])

    def test_what_is_named_may_be_included(self):
        (self.root / "high/b.h").write_text('#include "low/only.h"\n#include "low/a.h"\n')
        self.assertEqual(list(escapes(self.layers(high=["low"]), self.root)), [])
        self.assertEqual(len(list(escapes(self.layers(), self.root))), 2)

    def test_a_circle(self):
        self.assertEqual(circles(self.layers(high=["low"], low=["high"])), ["low", "high"])
        self.assertEqual(circles(self.layers(high=["low"])), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
