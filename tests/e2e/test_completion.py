"""Completes command lines in real shells: bash and zsh on a terminal, fish by `complete -C`."""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time

from support import Case, DLAUNCH, SANITIZED, TIMEOUT, main, sh, wait_until

LONGEST = 0.05 if not SANITIZED else 1.0  # seconds per completion
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>(][B0]?|\r|\x07")


class Shell:
    """An interactive shell on a terminal. Input during a completion waits in the terminal."""

    def __init__(self, argv, cwd, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, environment)
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)

    def read_until(self, end):
        text, until = "", time.monotonic() + TIMEOUT
        while end not in text:
            ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
            assert ready, f"no {end!r} in {text!r}"
            text += SEQUENCE.sub("", os.read(self.fd, 1 << 16).decode(errors="replace"))
        return text

    def run(self, keys):
        """Types the keys, and returns the screen up to the end of the next command."""
        self.number += 1
        os.write(self.fd, f"{keys}echo en''d{self.number}\n".encode())
        return self.read_until(f"end{self.number}")

    def line_after_tab(self, line):
        """zsh removes a space at the end of the completed line if no letter follows."""
        screen = self.run(f"{line}\tX\x01printf 'li%sne<%s>\\n' '' '\x05'\n")
        return re.findall(r"line<(.*)X>", screen)[-1]


class Completion(Case):
    def setUp(self):
        super().setUp()
        self.home = self.dir
        (self.home / "hosts").write_text("alpha slots=2\nbeta\n")
        (self.home / "my hosts").write_text("alpha slots=2\nbeta\n")
        (self.home / "report.json").write_text("")
        (self.home / "results").mkdir()
        (self.home / "my results").mkdir()
        (self.home / "train.py").write_text("")
        bin_directory = self.home / "bin"
        bin_directory.mkdir()
        (bin_directory / "dlaunch").symlink_to(DLAUNCH)
        self.env |= {"PATH": f"{bin_directory}:/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        for shell in ("bash", "zsh", "fish"):
            (self.home / f"dlaunch.{shell}").write_text(self.output("completion", shell))

    def output(self, *words):
        return self.assert_succeeds(*words).decode()

    def words(self, *words):
        """The candidates, and the instruction for the shell."""
        *lines, by_shell = self.output("__complete", *words).splitlines()
        return [line.split("\t")[0] for line in lines], by_shell

    def shell(self, name):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        argv = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[name]
        prepare = {"bash": "PS1='$ '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; "
                           "test ! -e /usr/share/bash-completion/bash_completion || . /usr/share/bash-completion/bash_completion; ",
                   "zsh": "PS1='$ '; unsetopt zle_bracketed_paste prompt_sp; LISTMAX=1000; autoload -U compinit; compinit -u -D; "
                          "bindkey -e; "}[name]
        shell = Shell(argv, self.home, self.env)
        shell.run(f"{prepare}. ./dlaunch.{name}\n")
        return shell

    def check_lines(self, shell, lines):
        for line, completed in lines.items():
            with self.subTest(line):
                self.assertEqual(shell.line_after_tab(line), completed)

    def check_quoted(self, shell):
        """zsh removes quotes that a word does not need."""
        for line, completed in self.QUOTED.items():
            with self.subTest(line):
                self.assertEqual(shlex.split(shell.line_after_tab(line)), shlex.split(completed))

    COMMON = {  # as typed: as completed
        "dlaunch --colo": "dlaunch --color ",
        "dlaunch --color al": "dlaunch --color always ",
        "dlaunch --color=al": "dlaunch --color=always ",
        "dlaunch stac": "dlaunch stacks ",
        "dlaunch help exit": "dlaunch help exit-codes ",
        "dlaunch --hostfile hosts -H al": "dlaunch --hostfile hosts -H alpha ",
        "dlaunch --hostfile hosts -H alpha:2,b": "dlaunch --hostfile hosts -H alpha:2,beta ",
        "dlaunch --as torchrun --nproc": "dlaunch --as torchrun --nproc-per-node ",
        "dlaunch --as torchrun trai": "dlaunch --as torchrun train.py ",
        "dlaunch --report rep": "dlaunch --report report.json ",
        "dlaunch --report=rep": "dlaunch --report=report.json ",
        "dlaunch --wdir re": "dlaunch --wdir results/",
        "dlaunch -n 4 ./trai": "dlaunch -n 4 ./train.py ",
        "dlaunch -n 4 python3 trai": "dlaunch -n 4 python3 train.py ",
        "dlaunch -n 4 --label chmod --recu": "dlaunch -n 4 --label chmod --recursive ",
        "dlaunch check -- chmod --recu": "dlaunch check -- chmod --recursive ",
        "dlaunch chaos --seed 1 -- -n 2 --colo": "dlaunch chaos --seed 1 -- -n 2 --color ",
        "dlaunch chaos --seed 1 -- -n 2 chmod --recu": "dlaunch chaos --seed 1 -- -n 2 chmod --recursive ",
        "nice dlaunch --colo": "nice dlaunch --color ",
        "  dlaunch  -n  1 --colo": "  dlaunch  -n  1 --color ",
        "FOO=1 dlaunch --colo": "FOO=1 dlaunch --color ",
        "true; dlaunch --colo": "true; dlaunch --color ",
        "~/bin/dlaunch --hostfile ~/hosts -H al": "~/bin/dlaunch --hostfile ~/hosts -H alpha ",
        "dlaunch --env-for torch,horo": "dlaunch --env-for torch,horovod ",
        "dlaunch --map-by ppr": "dlaunch --map-by ppr:N:node ",
        "dlaunch -n 1 cat hosts : -n 2 cat trai": "dlaunch -n 1 cat hosts : -n 2 cat train.py ",
        "dlaunch --unknown al": "dlaunch --unknown al",
        'dlaunch --hostfile "my hosts" -H al': 'dlaunch --hostfile "my hosts" -H alpha ',
        "dlaunch --hostfile my\\ hosts -H alpha,be": "dlaunch --hostfile my\\ hosts -H alpha,beta ",
    }
    REDIRECTED = {
        "dlaunch > log --colo": "dlaunch > log --color ",
        "dlaunch -n 4 2>log chmod --recu": "dlaunch -n 4 2>log chmod --recursive ",
        "dlaunch -n 4 --label > rep": "dlaunch -n 4 --label > report.json ",
        "dlaunch -n 4 chmod >rep": "dlaunch -n 4 chmod >report.json ",
        "dlaunch >out --colo": "dlaunch >out --color ",
        "dlaunch 2>err --color al": "dlaunch 2>err --color always ",
        "dlaunch -n 4 <in >>out chmod --recu": "dlaunch -n 4 <in >>out chmod --recursive ",
        "dlaunch --hostfile \"my hosts\" >\"my log\" -H al": "dlaunch --hostfile \"my hosts\" >\"my log\" -H alpha ",
        "dlaunch -n 4 chmod \"a>b\" --recu": "dlaunch -n 4 chmod \"a>b\" --recursive ",
    }
    QUOTED = {  # an open quote
        'dlaunch --color "al': 'dlaunch --color "always" ',
        "dlaunch --color 'al": "dlaunch --color 'always' ",
        'dlaunch --color="al': 'dlaunch --color="always" ',
        'dlaunch --hostfile hosts -H "alpha,be': 'dlaunch --hostfile hosts -H "alpha,beta" ',
        'dlaunch --report "rep': 'dlaunch --report "report.json" ',
        'dlaunch --hostfile "my ho': 'dlaunch --hostfile "my hosts" ',
        'dlaunch -n 4 cat "trai': 'dlaunch -n 4 cat "train.py" ',
    }

    def test_bash_completes_each_kind_of_word(self):
        (self.home / "train.py").chmod(0o755)
        with self.shell("bash") as shell:
            self.check_lines(shell, self.COMMON | self.REDIRECTED)
            self.check_quoted(shell)

    def test_bash_completes_without_bash_completion(self):
        (self.home / "bin/only-this-program").symlink_to("/bin/true")
        with self.shell("bash") as shell:
            shell.run("unset -f _command_offset\n")
            self.check_lines(shell, {"dlaunch -n 4 only-th": "dlaunch -n 4 only-this-program ",
                                     "dlaunch -n 4 cat trai": "dlaunch -n 4 cat train.py "})

    def test_zsh_completes_each_kind_of_word(self):
        (self.home / "train.py").chmod(0o755)
        with self.shell("zsh") as shell:
            self.check_lines(shell, self.COMMON | self.REDIRECTED)
            self.check_quoted(shell)

    def test_zsh_shows_descriptions(self):
        shown = r"--config +-- read defaults from FILE"
        with self.shell("zsh") as shell:
            for _ in range(10):  # on a busy machine, a key may arrive before the line editor of the shell is ready
                screen = shell.run("dlaunch --co\t\x15\n")
                if re.search(shown, screen):
                    break
        self.assertRegex(screen, shown)

    def fish(self, line):
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        done = subprocess.run(["fish", "-c", "source dlaunch.fish; complete -C $argv[1]", line], check=True,
                              capture_output=True, text=True, timeout=TIMEOUT, cwd=self.home, env=self.env)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_fish_completes_each_kind_of_word(self):
        (self.home / "train.py").chmod(0o755)
        # bash begins a command after "&"
        more = {"dlaunch -n 4 2>&1 &>>log chmod --recu": "dlaunch -n 4 2>&1 &>>log chmod --recursive "}
        for line, completed in (self.COMMON | self.REDIRECTED | self.QUOTED | more).items():
            with self.subTest(line):
                *_, last = shlex.split(completed.replace(">", " > "))  # shlex does not split at ">"
                found = [line.split("\t")[0] for line in self.fish(line)]
                self.assertEqual(found, [] if completed == line else [last])

    def test_fish_completes_files_and_directories_with_spaces(self):
        for line in ("--wdir 'my re", "--wdir=\"my re", "--wdir my\\ re", "--hostfile=my\\ ho", "--report=~/my\\ ho"):
            with self.subTest(line):
                found = [line.split("\t")[0] for line in self.fish(f"dlaunch {line}")]
                option = re.match(r"--\w+=(~/)?|", line)[0]
                self.assertEqual(found, [option + ("my results/" if "wdir" in line else "my hosts")])

    def test_fish_shows_descriptions(self):
        self.assertIn("--config\tread defaults from FILE", self.fish("dlaunch --co"))

    def test_running_job_is_completed(self):
        job = self.start("-n", "1", *sh("echo $DLAUNCH_JOB_ID; exec sleep 100"), stdout=subprocess.PIPE, text=True)
        job_id = job.stdout.readline().strip()
        wait_until(lambda: job_id in self.words("stacks", "")[0])
        self.assertEqual(self.words("stacks", job_id[:12]), ([job_id], ":"))
        job.kill()
        job.communicate()

    def test_user_preference_names_the_hosts(self):
        (self.home / ".config/dlaunch").mkdir(parents=True)
        (self.home / ".config/dlaunch/config.toml").write_text('default-hostfile = "~/hosts"\n')
        self.assertEqual(self.words("-H", "")[0], ["alpha", "beta"])

    def test_unusual_hostfile_has_no_candidates(self):
        os.mkfifo(self.home / "fifo")
        (self.home / "wrong").write_bytes(b"a slots=x\n\0\x1b[1m\n")
        for name in ("fifo", "wrong", "missing", "results"):
            with self.subTest(name):
                self.assertEqual(self.words("--hostfile", name, "-H", ""), ([], ":"))

    def test_completion_is_fast(self):
        (self.home / "hosts").write_text("".join(f"node{i} slots=8\n" for i in range(1000)))
        for words in (["--hostfile", "hosts", "-H", ""], ["--"], ["stacks", ""], ["--as", "srun", "--"]):
            times = []
            until = time.monotonic() + 10  # other processes may run at the same time
            while len(times) < 5 or (min(times) >= LONGEST and time.monotonic() < until):
                begin = time.monotonic()
                self.output("__complete", *words)
                times.append(time.monotonic() - begin)
            with self.subTest(words):
                self.assertLess(min(times), LONGEST)


if __name__ == "__main__":
    main(side_by_side=3)
