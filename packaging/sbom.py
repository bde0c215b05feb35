#!/usr/bin/env python3
"""sbom.py BUILD VERSION MACHINE: prints the Debian packages whose headers and libraries are compiled or linked into the
programs of a build directory for x86_64 or aarch64, as SPDX 2.3 in JSON."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # of dpkg
# Headers of libraries that dlaunch does not contain: dlaunch loads libssh, and dlaunch-pmix links libpmix dynamically.
DYNAMIC = {"libssh-dev", "libpmix-dev"}


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def used_files(build, machine):
    """The files outside the project and the build directory that ninja read to make dlaunch."""
    found = set(re.findall(r"^    (/usr/\S+)$", output("ninja", "-C", build, "-t", "deps"), re.M))
    found |= set(re.findall(r"(?<=\s)/usr/lib/\S+\.(?:a|so)\b", output("ninja", "-C", build, "-t", "commands", "dlaunch")))
    found |= {output(f"{machine}-linux-gnu-g++", f"-print-file-name={name}").strip() for name in ("libstdc++.a", "libgcc.a", "libgcc_eh.a")}
    return {os.path.normpath(name) for name in found}


def packages_of(files, architecture):
    # A path below /usr may be known to dpkg without /usr.
    asked = sorted(files | {name.removeprefix("/usr") for name in files})
    told = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True, check=False).stdout
    rows = [row.rpartition(": ")[0].split(", ") for row in told.splitlines() if not row.startswith("diversion")]
    # A cross compiler also finds the headers of packages for this machine.
    return {owner for row in rows for owner in [name for name in row if name.partition(":")[2] in ("", architecture)] or row}


def license_of(package):
    path = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    text = path.read_text(errors="replace") if path.exists() else ""
    found = re.search(r"^Files: \*\n(?:(?!Files:).*\n)*?License: *(\S+)", text, re.M)
    return f"LicenseRef-{re.sub(r'[^A-Za-z0-9.-]', '-', found[1])}" if found else "NOASSERTION"


def entry(package):
    version, source = output("dpkg-query", "-W", "-f", "${Version}\t${source:Package}", package).split("\t")
    package = package.partition(":")[0]
    return {"SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', package)}", "name": package, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": license_of(package), "copyrightText": "NOASSERTION", "sourceInfo": f"Debian source package {source}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]}


def old_glibc(build, architecture):
    """The glibc of DLAUNCH_GLIBC, which the agent contains."""
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text()
    directory = re.search(r"^DLAUNCH_GLIBC:PATH=(.+)$", cache, re.M)
    if not directory:
        return []
    library = next(pathlib.Path(directory[1]).glob("lib/*/libc-*.so"))
    return [{**entry(f"libc6-dev:{architecture}"), "SPDXID": "SPDXRef-glibc", "name": "glibc", "sourceInfo": "Debian 11",
             "versionInfo": library.stem.partition("-")[2], "externalRefs": []}]


def main():
    build, version, machine = sys.argv[1:]
    architecture = ARCHITECTURES[machine]
    owners = packages_of(used_files(build, machine), architecture)
    packages = [entry(package) for package in sorted(owners)] + old_glibc(build, architecture)
    licenses = sorted({each["licenseDeclared"] for each in packages} - {"NOASSERTION"})
    own = {"SPDXID": "SPDXRef-dlaunch", "name": "dlaunch", "versionInfo": version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION"}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-dlaunch"}]
    for each in packages:
        kind = "DYNAMIC_LINK" if each["name"] in DYNAMIC else "STATIC_LINK"
        relations.append({"spdxElementId": "SPDXRef-dlaunch", "relationshipType": kind, "relatedSpdxElement": each["SPDXID"]})
    created = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    name = hashlib.sha256(json.dumps(packages).encode()).hexdigest()[:32]
    print(json.dumps({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                      "name": f"dlaunch-{version}", "documentNamespace": f"urn:dlaunch:{version}:{name}",
                      "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: packaging/sbom.py"]},
                      "packages": [own, *packages], "relationships": relations,
                      "hasExtractedLicensingInfos": [{"licenseId": each, "extractedText": "The file copyright of the package"}
                                                     for each in licenses]}, indent=1))


if __name__ == "__main__":
    main()
