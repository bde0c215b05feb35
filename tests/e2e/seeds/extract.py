"""Extracts the launch commands of the documents for which dlaunch was made, as a shell would get them."""
import re

VARIABLES = r"(?:[A-Z_]+=\S+[ \t]+)*"
LAUNCHES = re.compile(
    rf"{VARIABLES}\b(?:(?:mpirun|mpiexec|orterun|torchrun|msrun|deepspeed|horovodrun|srun)\s+-[^`\n]*"
    r"|bash\s+\w+\.sh[^`\n\"]*"
    r"|python3?\s+(?:-u\s+)?[\w/-]+\.py[^`\n]*"
    r"|pytest\s+-[^`\n]*"
    r"|hccn_tool\s+-[^`\n]*)")


def commands(text):
    """The commands in the order of the text, without duplicates and with single blanks."""
    found = []
    for match in LAUNCHES.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if "mpirun " in line + " " and match.group().startswith(("python", "pytest")):
            continue
        command = " ".join(match.group().split())
        if command not in found:
            found.append(command)
    return found
