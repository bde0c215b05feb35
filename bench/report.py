"""Makes the Markdown table from the samples, with a description of the machine above the table."""
import os
import platform
import re
import shutil
import statistics
import subprocess
import textwrap
import time
from dataclasses import dataclass, field

import rows

COLUMNS = ("dlaunch", "before", "floor", "Hydra", "Open MPI", "torchrun", "ssh")
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass
class Result:
    row: rows.Row
    samples: dict = field(default_factory=dict)   # column -> [Sample], one per round
    verified: dict = field(default_factory=dict)  # column -> Sample of its verify run
    hangs: dict = field(default_factory=dict)     # column -> (hung, tries)
    again: dict = field(default_factory=dict)     # column -> number of hung and repeated runs

    def good(self, column):
        return [sample for sample in self.samples.get(column, []) if sample.status == "ok"]

    def ratio(self, against):
        """Median over the rounds of dlaunch's time divided by the time of `against`; for rates, of the quotient of rates."""
        pairs = [(own, other) for own, other in zip(self.samples.get("dlaunch", []), self.samples.get(against, []))
                 if own.status == other.status == "ok"]
        if not pairs:
            return None
        if self.row.watch:
            return statistics.median(own.peak / other.peak for own, other in pairs)
        rate = self.row.moved > 0
        return statistics.median(other.wall / own.wall if rate else own.wall / other.wall for own, other in pairs)

    def damage(self, sample):
        """The errors that slow_reader --check found in the output."""
        return {name: sample.read[name] for name in ("damaged", "disorder", "missing") if sample.read.get(name)}

    def faults(self):
        """The errors of dlaunch. A slow run is not an error."""
        own = [*self.samples.get("dlaunch", []), *([self.verified["dlaunch"]] if "dlaunch" in self.verified else [])]
        found = [sample.why for sample in own if sample.status != "ok"]
        found += [str(self.damage(sample)) for sample in own if self.damage(sample)]
        found += [f"{sample.left} processes left" for sample in own if sample.left]
        return found

    def sound(self):
        return not self.faults()

    def met(self):
        if not self.samples.get("dlaunch"):
            return "–"
        if self.faults():
            return f"**broken**: {self.faults()[0]}"
        goal = self.row.goal
        if goal is None:
            return "–"
        if isinstance(goal, rows.Limit):
            return "yes" if max(sample.peak for sample in self.good("dlaunch")) <= goal.resident else "**no**"
        if isinstance(goal, rows.Within):
            return "yes" if statistics.median(sample.wall for sample in self.good("dlaunch")) <= goal.seconds else "**no**"
        if isinstance(goal, rows.AtLeast):
            rate = self.row.moved / statistics.median(sample.wall for sample in self.good("dlaunch"))
            return "yes" if rate >= goal.rate else "**no**"
        ratio = self.ratio(goal.against)
        if self.row.cpu_a_host and self.cpu("dlaunch") > self.row.cpu_a_host * self.row.hosts:
            return "**no**"
        return "–" if ratio is None else "yes" if goal.met(ratio) else "**no**"

    def goal(self):
        text = self.row.goal.text() if self.row.goal else "–"
        return f"{text}, cpu ≤ {self.row.cpu_a_host * 1000:g} ms per host" if self.row.cpu_a_host else text

    def cpu(self, column):
        """Seconds, median of the rounds."""
        return statistics.median(sample.cpu for sample in self.good(column))

    def figure(self, column):
        """A cell: median (best), CPU, errors."""
        good, everyone = self.good(column), self.samples.get(column, [])
        parts = []
        if everyone and self.row.watch:
            parts.append(f"{max(sample.peak for sample in everyone) / rows.MIB:.0f} MiB")
        elif good:
            walls = [sample.wall for sample in good]
            cpu = self.cpu(column)
            parts.append(f"{self.shown(statistics.median(walls))} ({self.shown(min(walls), bare=True)})")
            parts.append(f"cpu {cpu * 1000:.0f} ms")
        bad = len(everyone) - len(good)
        if bad:
            parts.append(f"**{bad} of {len(everyone)} failed**")
        if column in self.again:
            parts.append(f"{self.again[column]} hung and repeated")
        if column in self.hangs:
            parts.append("default options: hung in {} of {}".format(*self.hangs[column]))
        checked = self.verified.get(column) or (good[-1] if good else None)
        if checked and self.damage(checked):
            parts.append(", ".join(f"{count} {name}" for name, count in self.damage(checked).items()))
        label = self.row.contestants[column].label if column in self.row.contestants else ""
        return (f"{label}: " if label and parts else "") + (", ".join(parts) or "–")

    def shown(self, wall, bare=False):
        if self.row.moved:
            return f"{self.row.moved / wall / 1e6:.0f}" + ("" if bare else " MB/s")
        return f"{wall * 1000:.1f}" + ("" if bare else " ms")

    def ratios(self):
        found = [(column, self.ratio(column)) for column in COLUMNS[1:]]
        return ", ".join(self.ratio_text(column, ratio) for column, ratio in found if ratio is not None) or "–"

    def ratio_text(self, column, ratio):
        own = self.row.contestants[column].label
        name = own if column == "ssh" and own else column
        if not self.row.hosts or not self.cpu(column):
            return f"{ratio:.2f} × {name}"
        return f"{ratio:.2f} × {name} (cpu {self.cpu('dlaunch') / self.cpu(column):.2f})"


def output_of(argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def first(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else "?"


def facts(launchers):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = first(r"^model name\s*:\s*(.*)$", file.read())
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(first(r"^MemTotal:\s*(\d+)", file.read())) / (1 << 20)
    with open("/etc/os-release", encoding="utf-8") as file:
        system = first(r'^PRETTY_NAME="(.*)"', file.read())
    said = [f"{len(os.sched_getaffinity(0))} CPUs ({cpu}), {memory:.0f} GiB", f"{system}, Linux {platform.release()}",
            "load at the start " + " ".join(f"{load:.2f}" for load in os.getloadavg())]
    if launchers.dlaunch:
        said.append((output_of([launchers.dlaunch, "--version"]).splitlines() or ["dlaunch ?"])[0])
    if launchers.hydra:
        said.append("Hydra " + first(r"Version:\s*(\S+)", output_of([launchers.hydra, "--version"])))
    if launchers.mpirun:
        said.append("Open MPI " + first(r"(\d[\d.]*)\s*$", output_of([launchers.mpirun, "--version"]).split("\n")[0]))
    if shutil.which("pdsh"):
        said.append("pdsh " + first(r"pdsh-(\S+)", output_of(["pdsh", "-V"])))
    return [time.strftime("%Y-%m-%d"), *said]


def markdown(results, machine, notes):
    columns = [column for column in COLUMNS if any(column in result.row.contestants for result in results)]
    text = [textwrap.fill("; ".join(machine) + ".", 120), "",
            "| work | goal | " + " | ".join(columns) + " | dlaunch is | met |", "|---" * (len(columns) + 4) + "|"]
    for result in results:
        cells = [result.row.title, result.goal(), *(result.figure(column) for column in columns), result.ratios(), result.met()]
        text.append("| " + " | ".join(cells) + " |")
    text += ["", *notes] if notes else []
    return "\n".join(text)


def write(path, text, part=""):
    """Writes the table between its marks. `part` selects the marks of a separate table."""
    begin, end = (mark.replace("bench:", f"bench:{part}:" if part else "bench:") for mark in (BEGIN, END))
    with open(path, encoding="utf-8") as file:
        page = file.read()
    head, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"bench: {path}: missing {begin} … {end}\nadd both lines at the place of the table")
    tail = rest.partition(end)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n{text}\n{end}{tail}")
