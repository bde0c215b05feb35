"""Tests the upload of the agent to a host: into an empty home, a home that several hosts share, or a home that cannot
store it, and through any login shell."""
import os
import shutil
import subprocess

import support
from promises import COMMAND, LEAVES_NOTHING, NAMES_FIRST, ONLY_SSHD, RUN, START, promise
from hosts_case import AGENTS, HostsCase, lines

SHELLS = ("bash", "dash", "zsh", "fish", "tcsh")
RC_FILES = {"bash": ".bashrc", "zsh": ".zshenv", "fish": ".config/fish/config.fish", "tcsh": ".tcshrc"}


class Homes(HostsCase):
    @promise(ONLY_SSHD, mode=RUN)
    def test_agent_is_uploaded_once(self):
        self.assert_succeeds("-H", "node1,node2", "true")
        for number in (1, 2):
            [agent] = self.agents(number)
            self.assertRegex(agent, rf"^{AGENTS}/[0-9a-f]{{64}}/dlaunch-agent$")
            self.assertEqual(self.host(number).sh(f"stat -c %a {agent} {os.path.dirname(agent)}").split(), ["700", "700"])
        before = self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'")
        self.assert_succeeds("-H", "node1,node2", "true")
        self.assertEqual(self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'"), before)

    def bind(self, number, path, text):
        """Replaces a file on one host."""
        shim = self.bed.dir / f"{os.path.basename(path)}.{number}"
        shim.write_text(text)
        shim.chmod(0o755)
        self.host(number).sh(f"mount --bind {shim} {path}")

    def fake_other_machine(self, number):
        self.bind(number, "/usr/bin/uname", "#!/bin/sh\necho riscv64\n")
        if os.path.exists("/proc/sys/kernel/arch"):
            self.bind(number, "/proc/sys/kernel/arch", "riscv64\n")

    @promise(ONLY_SSHD, mode=RUN)
    def test_damaged_agent_is_uploaded_again(self):
        self.run_dlaunch("-H", "node1", "true")
        agent, = self.agents(1)
        for damage in (": >{0}", "truncate -s 100000 {0}", "printf damage | dd of={0} bs=1 seek=5000 conv=notrunc status=none"):
            self.host(1).sh(damage.format(agent))
            self.assert_succeeds("-H", "node1", "true")
        self.assertEqual(self.host(1).sh(f"sha256sum <{agent}").split()[0], os.path.basename(os.path.dirname(agent)))

    def test_agent_of_another_user_never_runs(self):
        """As root on the host, in a shared cache and in a cache of the other user."""
        self.assert_succeeds("-H", "node1", "true")
        agent, = self.agents(1)
        self.host(1).sh(f"mv {AGENTS} /run/{os.path.basename(AGENTS)}; mkdir -p /run/planted; cp -r /run/dlaunch /run/planted;"
                        f" printf '#!/bin/sh\ntouch /run/was-run\n' >/run/planted/{os.path.relpath(agent, os.path.dirname(AGENTS))};"
                        " chown -R 4321:4321 /run/planted")
        way = f"nsenter -t {self.host(1).pid} -a env HOME=/root XDG_CACHE_HOME=/run/planted"
        for mode, owner in (("755", "4321"), ("1777", "0")):
            self.host(1).sh(f"chmod {mode} /run/planted; chown {owner} /run/planted")
            self.assert_succeeds("--exec", way, "-H", "node1", "true")
            self.assertEqual(self.host(1).sh("ls /run/was-run 2>/dev/null || true"), "")
        self.assertEqual(self.agents(1), [agent])
        self.host(1).sh(f"rm -r {AGENTS}; ln -s /run/planted/dlaunch {AGENTS}")
        result = self.run_dlaunch("-H", "node1", "sleep", "1000")
        self.assert_told(result, 125, "node1", "/run/planted/dlaunch belongs to user 4321", "--agent-path")

    @promise(ONLY_SSHD, mode=START)
    def test_read_only_home_is_replaced_by_the_temporary_directory(self):
        self.host(2).sh("mount -o remount,ro /root; mkdir /run/t")
        way = f"nsenter -t {self.host(2).pid} -a env HOME=/root TMPDIR=/run/t"
        for _ in range(2):  # dlaunch sends the agent, then finds it
            self.assert_succeeds("--exec", way, "-H", "node2", "true")
        self.assertIn("dlaunch-agent", self.host(2).sh("find /run/t/dlaunch-0"))
        self.host(2).sh("mv /run/t/dlaunch-0 /run/t/other; ln -s other /run/t/dlaunch-0")
        result = self.run_dlaunch("--exec", way, "-H", "node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "read-only", os.path.dirname(AGENTS))

    @promise(NAMES_FIRST, mode=START)
    def test_full_home_is_reported(self):
        self.host(2).sh("mount -o remount,size=64k /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "full", AGENTS)
        self.assertEqual(self.agents(2), [])

    @promise(NAMES_FIRST, mode=START)
    def test_noexec_home_is_reported(self):
        self.host(2).sh("mount -o remount,noexec /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "noexec", AGENTS)

    @promise(NAMES_FIRST, mode=START)
    def test_foreign_machine_type_is_reported(self):
        self.fake_other_machine(2)
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "riscv64", "x86_64", "--agent-path")
        self.assertEqual(self.agents(2), [])

    @promise(NAMES_FIRST, mode=START)
    def test_foreign_machine_type_with_shared_home_is_reported(self):
        self.assert_succeeds("-H", "node2", "true")
        self.fake_other_machine(2)
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "riscv64", "x86_64", "--agent-path")

    def test_agent_path_starts_the_installed_agent(self):
        self.assert_succeeds("-H", "node1", "true")
        for number in (1, 2):
            shutil.copyfile(f"/proc/{self.host(1).pid}/root{self.agents(1)[0]}",
                            f"/proc/{self.host(number).pid}/root/run/dlaunch-agent")
            self.host(number).sh("chmod 755 /run/dlaunch-agent")
        self.host(1).sh(f"rm -r {AGENTS}")
        options = "-H", "node1,node2", "--agent-path"
        self.assertEqual(sorted(lines(self.assert_succeeds(*options, "/run/dlaunch-agent", "uname", "-n"))), ["node1", "node2"])
        self.assertEqual(self.agents(1) + self.agents(2), [])
        self.host(2).sh("rm /run/dlaunch-agent")
        result = self.run_dlaunch(*options, "/run/dlaunch-agent", "sleep", "1000")
        self.assert_told(result, 125, "node2", "agent not found or not executable: /run/dlaunch-agent")

    @promise(LEAVES_NOTHING, mode=RUN)
    def test_agents_unused_for_a_month_are_removed(self):
        self.host(1).sh(f"mkdir -p {AGENTS}/old {AGENTS}/used; echo a >{AGENTS}/old/dlaunch-agent; echo b >{AGENTS}/used/dlaunch-agent;"
                        f" echo half >{AGENTS}/old/new.1; touch -d '40 days ago' {AGENTS}/old/*; touch -d '20 days ago' {AGENTS}/used/*;"
                        f" mkdir {AGENTS}/empty; touch -d '2 days ago' {AGENTS}/empty")
        self.assert_succeeds("-H", "node1", "true")
        self.assertEqual(self.host(1).sh(f"cd {AGENTS}; ls -d old used empty 2>/dev/null; ls old 2>/dev/null; true").split(), ["old", "used"])
        self.assertEqual(len(self.agents(1)), 2)

    @promise(ONLY_SSHD, mode=RUN, place=COMMAND)
    def test_many_jobs_share_one_empty_home(self):
        """Without ssh, because 50 logins would test sshd, not the home."""
        home = self.bed.dir / "home"
        home.mkdir()
        for host in self.bed.hosts.values():
            host.sh(f"mount --bind {home} /root")
            (self.dir / f"{host.name}.pid").write_text(f"{host.pid}\n")
        enter = " ".join(self.host(1).command([])).replace(str(self.host(1).pid), "$(cat {host}.pid)", 1)
        jobs = [self.start("--exec", enter, "-H", "node1,node2", "echo", str(number), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) for number in range(50)]
        for number, job in enumerate(jobs):
            result, _ = self.finish(job, 60)
            self.assert_exit(result, 0)
            self.assertEqual(result.stdout, f"{number}\n".encode() * 2)
        self.assertEqual(len(self.agents(1)), 1)
        self.assertEqual(self.agents(1), self.agents(2))


class OneHome(HostsCase):
    count = 8

    @promise(ONLY_SSHD, mode=RUN)
    def test_first_starts_in_parallel_share_one_upload(self):
        home = self.bed.dir / "home"
        home.mkdir()
        for host in self.bed.hosts.values():
            host.sh(f"mount --bind {home} /root")
        names = [host.name for host in self.bed.hosts.values()]
        self.assertEqual(sorted(lines(self.assert_succeeds("-H", ",".join(names), "uname", "-n"))), names)
        self.assertEqual(len(self.agents(1)), 1)


class Shells(HostsCase):
    there = [shell for shell in SHELLS if shutil.which(shell)]
    shells = {f"node{number}": shutil.which(shell) for number, shell in enumerate(there, start=1)}
    count = len(there)

    def run_on_all(self):
        print("login shells:", *self.there, end=" ", flush=True)
        return self.assert_succeeds("-H", ",".join(self.shells), "sh", "-c", 'echo "$(uname -n) is $DLAUNCH_RANK"')

    @promise(ONLY_SSHD, mode=RUN)
    def test_every_login_shell_starts_the_agent(self):
        self.assertEqual(sorted(lines(self.run_on_all())), [f"node{rank + 1} is {rank}" for rank in range(self.count)])

    @promise(ONLY_SSHD, mode=RUN)
    def test_rc_files_that_print_have_no_effect(self):
        """Each rc file prints 100 kB to stdout and to stderr."""
        noise = ("sh -c 'head -c 100000 /dev/zero | tr \"\\0\" x; echo; echo dlaunch: hello; "
                 "head -c 100000 /dev/zero | tr \"\\0\" y >&2; echo >/root/was-read'\n")
        noisy = [number for number, shell in enumerate(self.there, start=1) if shell in RC_FILES]
        for number in noisy:
            rc = RC_FILES[self.there[number - 1]]
            self.host(number).run(["sh", "-c", f"mkdir -p $(dirname /root/{rc}) && cat >/root/{rc}"], input=noise)
        self.assertEqual(sorted(lines(self.run_on_all())), [f"node{rank + 1} is {rank}" for rank in range(self.count)])
        for number in noisy:
            self.host(number).sh("[ -e /root/was-read ]")


if __name__ == "__main__":
    support.main()
