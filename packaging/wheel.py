#!/usr/bin/env python3
"""wheel.py PREFIX VERSION TAG OUT: makes a wheel (PEP 427) of the installation in PREFIX and the package in python/. Equal
files give equal bytes."""
import base64
import hashlib
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = {"bin/dlaunch": "scripts/dlaunch", "libexec/dlaunch/dlaunch-agent": "data/libexec/dlaunch/dlaunch-agent",
            "libexec/dlaunch/dlaunch-pmix": "data/libexec/dlaunch/dlaunch-pmix"}
METADATA = """Metadata-Version: 2.1
Name: dlaunch
Version: {version}
Summary: Distributed process launcher
License: Apache-2.0
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

"""


def record_row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}\n"


def main():
    prefix, version, tag, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    data, info = f"dlaunch-{version}.data", f"dlaunch-{version}.dist-info"
    files = {f"{data}/{place}": (prefix / name).read_bytes() for name, place in PROGRAMS.items() if (prefix / name).exists()}
    for path in (ROOT / "python").rglob("*"):
        if path.suffix == ".py" or path.name == "py.typed":
            files[str(path.relative_to(ROOT / "python"))] = path.read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode() + (ROOT / "README.md").read_bytes()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: dlaunch\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    rows = "".join(record_row(name, content) for name, content in sorted(files.items()))
    files[f"{info}/RECORD"] = (rows + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(out / f"dlaunch-{version}-py3-none-{tag}.whl", "w") as wheel:
        for name in sorted(files, key=lambda name: (name.startswith(info), name)):  # PEP 427: dist-info last
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name.startswith(data) else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name], compresslevel=9)


if __name__ == "__main__":
    main()
