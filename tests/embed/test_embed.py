"""Tests the installed library as its users do: examples/embed.cpp and docs/library.md."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(os.environ["BUILD"]), pathlib.Path(os.environ["SOURCE"])
CMAKE, CXX = os.environ["CMAKE"], os.environ["CXX"]
PAGE = (SOURCE / "docs/library.md").read_text()
HOSTS = "localhost slots=4\n"


def run(*command, code=0, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=150, **more)
    assert done.returncode == code, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def block(language, having):
    """The only example of a language on the page that contains `having`."""
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if having in text]
    assert len(found) == 1, (language, having, found)
    return found[0]


class Embed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.root = pathlib.Path(cls.directory.name)
        # The install prefix differs from the configured one: an installation can be moved.
        cls.prefix = cls.root / "somewhere"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", "devel")
        project = cls.root / "project"
        project.mkdir()
        (project / "embed.cpp").write_text((SOURCE / "examples/embed.cpp").read_text())
        # A second program, with the same lines.
        (project / "contract.cpp").write_text((SOURCE / "tests/embed/contract.cpp").read_text())
        lines = block("cmake", "find_package(dlaunch")
        (project / "CMakeLists.txt").write_text(lines + "".join(
            line.replace("embed", "contract") + "\n" for line in lines.splitlines() if line.startswith(("add_", "target_"))))
        run(CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_CXX_FLAGS=-O0")
        run(CMAKE, "--build", project / "build")
        cls.program = project / "build/embed"

    def job(self, program, *arguments, code=3):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        (work / "hosts").write_text(HOSTS)
        return work, run(program, "hosts", *arguments, code=code, cwd=work, stdin=subprocess.DEVNULL)

    def check_job(self, work, done):
        for rank in range(4):
            self.assertIn(f"rank {rank}: I am {rank} of 4\n", done.stdout)
            self.assertIn(f"rank {rank} on localhost exited with code {3 if rank == 1 else 0}\n", done.stdout)
        self.assertRegex(done.stderr, r"^dlaunch: rank 1 \(host localhost, pid \d+\) exited with code 3 after .*\n"
                         r"dlaunch: last stdout lines of rank 1:\ndlaunch:   \| I am 1 of 4\n$")
        self.assertEqual(json.loads((work / "job.json").read_text())["exit_code"], 3)

    def test_example_builds_with_the_cmake_package(self):
        self.check_job(*self.job(self.program))

    def test_run_keeps_its_contract(self):
        done = run(self.program.with_name("contract"), stdin=subprocess.DEVNULL)
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_example_builds_with_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "dlaunch",
                    env={**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.rglob("pkgconfig")))}).stdout.split()
        program = self.root / "by_pkg_config"
        run(CXX, "-std=c++20", "-O0", SOURCE / "examples/embed.cpp", "-o", program, *flags)
        self.check_job(*self.job(program))

    def test_mistake_in_a_hostfile_is_reported_with_its_line(self):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        (work / "hosts").write_text("localhost slots=many\n")
        self.assertIn("dlaunch: hosts:1:", run(self.program, "hosts", code=2, cwd=work).stderr)

    def test_rank_table_is_checked(self):
        table = (SOURCE / "tests/golden/ranktable/documents-4p.json").read_text()
        path = self.root / "table.json"
        path.write_text(table.replace('"rank_id": "2"', '"rank_id": "7"'))
        self.assertRegex(self.job(self.program, path)[1].stdout, r"table.json:\d+: \$.server_list\[0\].device\[2\]")

    def test_each_header_compiles_alone(self):
        includes = self.prefix / "include"
        for header in sorted(includes.rglob("*.h")):
            run(CXX, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", includes, "-x", "c++", "-",
                input=f"#include <{header.relative_to(includes)}>\n")

    def test_page_shows_the_output_of_the_example(self):
        def without_what_differs(text):
            return re.sub(r"(?m)^(job|directory)( +).*|pid \d+|[\d.]+ s$", r"\1\2", text)

        done = self.job(self.program)[1]
        shown = block("text", "embed hosts").split("\n", 1)[1]
        self.assertEqual(without_what_differs(shown), without_what_differs(done.stdout + done.stderr))


if __name__ == "__main__":
    unittest.main(verbosity=2)
