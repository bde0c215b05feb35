"""Shells find the completion scripts of `cmake --install`, and of the Debian package: the prefix /usr."""
import os
import pathlib
import shutil
import subprocess

from support import Case, TIMEOUT, main

BUILD, CMAKE = os.environ.get("BUILD"), os.environ.get("CMAKE")


class Install(Case):
    def setUp(self):
        super().setUp()
        if not BUILD:
            self.skipTest("BUILD is not set")

    def install(self, prefix, **env):
        # The component without the library: the test `embed` installs the library.
        done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix, "--component", "Unspecified"], env=self.env | env,
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def shell(self, prefix, *argv):
        """The output of a shell with the programs and files of the installation."""
        if not shutil.which(argv[0]):
            self.skipTest(f"{argv[0]} is not installed")
        env = self.env | {"PATH": f"{prefix}/bin:/usr/bin:/bin", "XDG_DATA_DIRS": f"{prefix}/share:/usr/share", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(argv, env=env, cwd=self.dir, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def check(self, prefix, zsh_directory):
        share = prefix / "share"
        scripts = {"bash": share / "bash-completion/completions/dlaunch", "zsh": share / "zsh" / zsh_directory / "_dlaunch",
                   "fish": share / "fish/vendor_completions.d/dlaunch.fish"}
        for shell, script in scripts.items():
            self.assertEqual(script.read_bytes(), self.assert_succeeds("completion", shell))
        with self.subTest("bash"):
            loader = pathlib.Path("/usr/share/bash-completion/bash_completion")
            if not loader.exists():
                self.skipTest("bash-completion is not installed")
            self.assertIn("-F _dlaunch dlaunch", self.shell(prefix, "bash", "--norc", "-c", f"""
                . {loader}; _completion_loader dlaunch; complete -p dlaunch"""))
        with self.subTest("zsh"):
            self.assertEqual(self.shell(prefix, "zsh", "-f", "-c", f"""
                fpath=({scripts['zsh'].parent} $fpath); autoload -U compinit; compinit -u -D
                autoload +X _dlaunch && echo $_comps[dlaunch]"""), "_dlaunch")
        with self.subTest("fish"):
            self.assertEqual(self.shell(prefix, "fish", "-c", "complete -C 'dlaunch --colo'").partition("\t")[0], "--color")

    def test_shells_find_the_scripts_of_an_installation(self):
        self.install(self.dir / "local")
        self.check(self.dir / "local", "site-functions")

    def test_shells_find_the_scripts_of_the_debian_package(self):
        self.install("/usr", DESTDIR=str(self.dir))
        self.check(self.dir / "usr", "vendor-completions" if os.path.exists("/etc/debian_version") else "site-functions")


if __name__ == "__main__":
    main()
