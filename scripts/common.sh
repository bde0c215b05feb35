# The other scripts source this file. It changes to the project's root, and has functions to configure and build a
# preset.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '==> %s\n' "$*"; }
debian_12() { (. /etc/os-release && [ "$ID $VERSION_ID" = 'debian 12' ]) 2>/dev/null; }
die() { printf '%s: %s\n' "${0##*/}" "$1" >&2; [ $# -lt 2 ] || printf '  %s\n' "$2" >&2; exit 1; }

# The comment at a script's top is its help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# configure PRESET: configures once, and again if packages were installed since then, because a new package may have an
# MPI compiler or libpmix. If a CMake file changes, ninja configures again without this function.
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
