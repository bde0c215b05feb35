"""Checks of the source tree: includes between layers, duplicate class names, long files.

CMake writes one line per layer: NAME|SOURCE;SOURCE…|HEADER;HEADER…|DEP;DEP…

A public header (below include) belongs to the layer whose PUBLIC list has its name. Another header belongs to the layer of
the source with the same name. A header without a source belongs to its directory: the header may use the dependencies of
all layers in this directory, and users of one of these layers may include the header."""
import pathlib
import re
from dataclasses import dataclass

DECLARED = re.compile(r"^(?:class|struct|enum(?: class)?)\s+(?:\[\[\w+\]\]\s+)?(\w+)(?!\w|::)[^;{]*\{", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r'^#include [<"]([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Layer:
    name: str
    sources: list
    public: list
    deps: set


def read_layers(text):
    lines = (line.split("|") for line in text.splitlines())
    paths = lambda text: [pathlib.Path(path) for path in text.split(";") if path]
    return [Layer(name, paths(sources), paths(public), set(filter(None, deps.split(";"))))
            for name, sources, public, deps in lines]


def directory_of(path, root):
    """The directory of the layer's CMakeLists.txt, directly below the root: src/pmix for src/pmix/bridge/connection_proxy.cpp."""
    return path.relative_to(root).parts[0]


def includes(layers, root, public):
    """(names of its layers, file, names of the other layers, included file) of each include of a file of the project."""
    owner, together = {}, {}
    for layer in layers:
        for source in layer.sources:
            owner[source] = owner[source.with_suffix(".h")] = {layer.name}
            together.setdefault(directory_of(source, root), set()).add(layer.name)
        owner.update({header: {layer.name} for header in layer.public})

    def owners(path):
        return owner.get(path) or (together.get(directory_of(path, root), set()) if path.is_relative_to(root) else set())

    for path in sorted([*root.rglob("*.cpp"), *root.rglob("*.h"), *public.rglob("*.h")]):
        for included in INCLUDE.findall(path.read_text()):
            found = [base / included for base in (root, public) if (base / included).exists()]
            yield owners(path), path, owners(found[0]) if found else set(), included


def escapes(layers, root, public):
    """(layer, other layer, file, included file) of each include without a dependency in CMakeLists.txt."""
    deps = {layer.name: layer.deps | {layer.name} for layer in layers}
    for mine, path, theirs, included in includes(layers, root, public):
        if theirs and not theirs & set().union(*(deps[name] for name in mine)):
            yield "/".join(sorted(mine)), "/".join(sorted(theirs)), path.name, included


def unused(layers, root, public):
    """["layer → other layer"] of each dependency in CMakeLists.txt without an include."""
    used = {(mine, other) for of, _, to, _ in includes(layers, root, public) for mine in of for other in to}
    names = {layer.name for layer in layers}
    return [f"{layer.name} → {dep}" for layer in layers for dep in sorted(layer.deps & names) if (layer.name, dep) not in used]


def not_public(public):
    """(header, included) of each include of a public header, except public headers, the standard library and tl::expected."""
    for path in sorted(public.rglob("*.h")):
        for included in ANY_INCLUDE.findall(path.read_text()):
            standard = re.fullmatch(r"[a-z_]+", included) or included == "tl/expected.hpp"
            if not standard and not (public / included).exists():
                yield str(path.relative_to(public)), included


def circles(layers):
    """The names of layers in a cycle of dependencies."""
    deps = {layer.name: layer.deps for layer in layers}

    def reached(name):
        seen, ahead = set(), list(deps[name])
        while ahead:
            dep = ahead.pop()
            if dep not in seen:
                seen.add(dep)
                ahead += deps.get(dep, ())
        return seen

    return [name for name in deps if name in reached(name)]


def declared_twice(roots):
    """{name: [header, …]} of classes, structs and enums that several headers declare directly in a namespace."""
    headers = {}
    for path in sorted(path for root in roots for path in root.rglob("*.h")):
        for name in set(DECLARED.findall(path.read_text())):
            headers.setdefault(name, []).append(str(path))
    return {name: found for name, found in headers.items() if len(found) > 1}


def long_files(root, most):
    """{file: lines} of files with more than `most` lines."""
    lengths = {str(path.relative_to(root)): len(path.read_text().splitlines()) for path in [*root.rglob("*.cpp"), *root.rglob("*.h")]}
    return {name: lines for name, lines in lengths.items() if lines > most}


def unguarded(root):
    """["file:line"] of each callback that a loop may call after the end of its owner (see base/lifetime.h): a callback
    with `this` or a reference, without Lifetime::guard()."""
    found = []
    for path in sorted([*root.rglob("*.cpp"), *root.rglob("*.h")]):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for use in re.finditer(r"\basync_\w+\(|\basio::(?:post|defer|dispatch)\(", text):
            end, depth = use.end(), 1
            while depth > 0:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            first = re.search(r"\[(?!\])[^\[\]]*\]\s*(?:\(|\{|mutable)", text[use.end():end])
            guarded = "guard(" in text[use.end():end]
            if first and not guarded and re.search(r"\bthis\b(?!_)|&", first.group()) and "shared_from_this" not in first.group():
                found.append(f"{path.relative_to(root)}:{text.count(chr(10), 0, use.start()) + 1}")
    return found


def tries_within(root):
    """["file:line"] of each TRY inside a larger expression (see base/try.h)."""
    found = []
    for path in sorted([*root.rglob("*.cpp"), *root.rglob("*.h")]):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for use in re.finditer(r"(?<!define )\bTRY\(", text):
            before = text[:use.start()].rstrip()
            part = before.endswith(("(", ",", ":")) or re.search(r"\w{$|{\s*\.\w+ =$|,\s*\.\w+ =$", before)
            if part:
                found.append(f"{path.relative_to(root)}:{text.count(chr(10), 0, use.start()) + 1}")
    return found
