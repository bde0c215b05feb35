# Sourced by the scripts beside it: they run from the project's root and share how a preset is configured and built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '==> %s\n' "$*"; }
debian_12() { (. /etc/os-release && [ "$ID $VERSION_ID" = 'debian 12' ]) 2>/dev/null; }
die() { printf '%s: %s\n' "${0##*/}" "$1" >&2; [ $# -lt 2 ] || printf '  %s\n' "$2" >&2; exit 1; }

# The comment at a script's top is its help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# configure PRESET: once, and again when packages came since: what was not found then may be there now (an MPI compiler,
# libpmix). ninja configures again by itself when a CMake file changes.
configure() {
  [ "build/$1/configured" -nt /var/lib/dpkg/status ] && return
  say "configuring build/$1"
  cmake --preset "$1"
  touch "build/$1/configured"
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  configure "$preset"
  say "building build/$preset"
  cmake --build --preset "$preset" ${@:+--target "$@"}
}
