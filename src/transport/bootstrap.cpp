#include "transport/bootstrap.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace dlaunch::transport {
namespace {

/// The shell script that finds or receives the agent and then runs the agent. Design:
/// - One compound command: the shell has read the whole script before a step reads from the same stdin.
/// - Few processes, because each process slows down a start of many agents on few processors. No here-documents,
///   because some shells write them to a disk. For an agent in the cache, the script only runs ls.
///
/// Variables: $n nonce, $p agent path, $o prefix of answers, $@ arguments of the agent, $e newline, $i seconds. For the
/// machine type $m: $h hash, $k checksum, $s size, $y and $z size of the agents before and after this agent.
///
/// Machine type:
/// - Without an agent for the machine type, the script still requests the agent, and the launcher refuses with the
///   reason.
/// - The type is checked before the cache, because a shared home may contain an agent for another machine type.
/// - Reading /proc/sys/kernel/arch (since Linux 6.1) avoids a process for `uname`. Without an agent for this type,
///   `uname -m` decides, because an emulator changes only uname.
///
/// Trust: only this user and root can write or replace the executed file.
/// - The file and each directory above, up to the home, belong to this user or root. Other users cannot write to these
///   directories, or the directories are sticky.
/// - Links are resolved first, so the checked path is the executed path.
/// - The home itself is trusted, as sshd does for authorized_keys. Paths outside the home are checked up to the root.
/// - Without HOME, the script uses the home of the password database.
/// - If the home is read-only, is "/" or does not exist, as in a container with a random uid, the script also tries
///   $TMPDIR.
///
/// Damage (a full disk, a power failure) remains possible:
/// - SHA-256 checks the received bytes before the agent is kept on the disk.
/// - Later starts compare the POSIX checksum, unless the file `checked` in the same directory is newer than the agent.
///   The time of `checked` is the last successful check. A checksum takes longer than the start of a process.
/// - Bytes that dd cannot flush to the disk are compared at the next start.
///
/// Limits and names:
/// - Each 64 KiB of the agent must arrive within $i seconds. Otherwise the shell would wait forever if the network of
///   the launcher fails. The script uses only GNU timeout: timeout of Busybox leaves a process for a second.
/// - Hosts with a shared home may have equal $$, and all hosts of a start share the nonce. Names of written files
///   therefore also contain $o.
/// - Agents of other versions are removed after 30 days without use.
///
/// The stdin of an agent that connects to the launcher starts with the contact (dialback/job_key.h): an empty line and
/// a second line.
constexpr std::string_view kScript = R"sh({
e='
'
set -f
say() { printf '\ndlaunch:%s %s\n' "$n" "$o$*"; }
die() { say fail "$@"; exit 1; }
real() { cd -P "$1" 2>/dev/null && r=$PWD && { cd "$OLDPWD" 2>/dev/null || cd /; }; }
safe() {
  case $2 in
    '') why="cannot run ls -ldn $1" ;;
    d????????[tT]* | ?????-??-*) [ "$4" = 0 ] || [ -O "$1" ] || why="$1 belongs to user $4" ;;
    *) why="other users can write to $1 (run chmod go-w)" ;;
  esac
  [ -z "$why" ]
}
trusted() {
  end=$1; set --
  while [ -n "$end" ] && [ "$end" != "$home" ]; do set -- "$end" "$@"; end=${end%/*}; done
  set -- "${end:-/}" "$@"
  x=$(LC_ALL=C ls -ldn "$@" 2>/dev/null)$e why=
  for f; do
    safe "$f" ${x%%"$e"*} || return
    x=${x#*"$e"}
  done
}
hashed() { x=$(sha256sum 2>/dev/null); [ "${x%% *}" = "$h" ]; }
checked() { (umask 077; echo >"$d/checked") 2>/dev/null; return 0; }
whole() {
  [ "$d/checked" -nt "$a" ] 2>/dev/null && return
  x=$(cksum 2>/dev/null <"$a")
  if [ -n "$x" ]; then [ "$x" = "$k" ]; else hashed <"$a"; fi && checked
}
kept() { real "$1/dlaunch/$h" && d=$r a=$r/dlaunch-agent && [ -f "$a" ] && [ -x "$a" ] && trusted "$a" && whole; }
made() {
  (umask 077; mkdir -p "$1") 2>/dev/null
  why="cannot create $1 (check for a read-only, full or missing home)"
  real "$1" && d=$r && trusted "$d"
}
taken() {
  x=0
  while [ "$1" -gt 0 ]; do
    [ "$1" -gt 65536 ] && x=65536 || x=$1
    eval "$l head -c $x" || return
    set -- $(($1 - x))
  done
}
placed() { made "$1" && c=$d/dlaunch && made "$c/$h" && a=$d/dlaunch-agent; }
arrived() {
  t=$d/new.$n${o% }
  [ -z "$o" ] || { read -r x; read -r x; x=; }
  say need "$m"
  case $(timeout --version 2>/dev/null) in *coreutils*) l="timeout $i" ;; *) l= ;; esac
  (umask 077; taken "$y" >/dev/null && taken "$s" >"$t" && taken "$z" >/dev/null) 2>/dev/null
  x=$?
  [ "$x" = 0 ] || rm -f "$t"
  case $x in
    0) ;;
    124) die "timed out after $i s waiting for 64 KiB of the agent" ;;
    *) die "cannot write $t: check for a full disk" ;;
  esac
  hashed <"$t" || { rm -f "$t"; die "wrong checksum of the agent in $d: check for a full disk or a missing sha256sum"; }
  flushed=
  dd conv=notrunc,fsync of="$t" </dev/null 2>/dev/null && flushed=1
  chmod 700 "$t"
  "$t" --probe </dev/null >/dev/null 2>&1 || { rm -f "$t"; die "cannot run files in $d: check for a noexec mount, or an agent for another machine type than $m"; }
  { [ ! -d "$a" ] && mv -f "$t" "$a"; } 2>/dev/null || { rm -f "$t"; die "cannot move the agent to $a"; }
  [ -z "$flushed" ] || checked
  find "$c" -mindepth 2 -maxdepth 2 -type f -atime +30 -delete 2>/dev/null
  find "$c" -mindepth 1 -maxdepth 1 -type d -empty -mmin +60 -delete 2>/dev/null
  return 0
}
m=
{ read -r m </proc/sys/kernel/arch; } 2>/dev/null
agent "$m" || { m=$(uname -m); agent "$m"; }
if [ -n "$p" ]; then
  a=$p x='{machine}'
  while :; do
    case $a in *"$x"*) a=${a%%"$x"*}$m${a#*"$x"} ;; *) break ;; esac
  done
  [ -x "$a" ] || die "agent not found or not executable: $a"
elif [ -z "$h" ]; then
  say need "$m"
  exit 1
else
  home= all= ready=
  u=$HOME
  [ -n "$u" ] || u=$(eval "echo ~$(id -un 2>/dev/null)" 2>/dev/null)
  case $u in /*) ;; *) u= ;; esac
  [ -z "$u" ] || { real "$u" && home=$r; }
  [ "$home" != / ] || u=
  b=
  { [ "${home:-/}" != / ] && [ -w "$home" ]; } || b=${TMPDIR:-/tmp}/dlaunch-$(id -u)
  [ ! -L "$b" ] || b=
  for b in "$XDG_CACHE_HOME" "${u:+$u/.cache}" "$b"; do
    case $b in /*) ;; *) continue ;; esac
    if kept "$b" || { placed "$b" && arrived; }; then ready=1; break; fi
    all="$all${all:+; }$why"
  done
  [ -n "$ready" ] || die "cannot store the agent: ${all:-HOME and TMPDIR are not absolute paths}; set --agent-path to use an installed agent"
fi
say ready "$m"
exec "$a" "$@"
}
)sh";

/// A function of the shell: sets the variables of the agent for a machine type.
std::string choice_of(const std::vector<AgentImage>& images, bool receives_all) {
  size_t before = 0;
  size_t after = 0;
  if (receives_all) {
    for (const AgentImage& image : images) after += image.bytes.size();
  }
  std::string text = "agent() { case $1 in\n";
  for (const AgentImage& image : images) {
    const size_t size = image.bytes.size();
    if (receives_all) after -= size;
    text += image.machine + ") h=" + image.hash + " k=" + shell_quote(image.checksum) + " s=" + std::to_string(size) +
            " y=" + std::to_string(before) + " z=" + std::to_string(after) + " ;;\n";
    if (receives_all) before += size;
  }
  return text + "*) h= ; return 1 ;;\nesac; }\n";
}

}  // namespace

std::string bootstrap_script(const std::vector<AgentImage>& images, const std::string& nonce,
                             const std::string& agent_path, std::chrono::seconds piece_limit,
                             const std::string& dial_in) {
  std::string arguments = "o=\n";
  if (!dial_in.empty()) arguments = "set -- --dial " + nonce + " \"" + dial_in + "\"\no=\"$3 \"\n";
  return "n=" + nonce + " i=" + std::to_string(piece_limit.count()) + " p=" + shell_quote(agent_path) + '\n' +
         choice_of(images, !dial_in.empty()) + arguments + std::string(kScript);
}

Bootstrap::Next Bootstrap::feed(std::string_view bytes) {
  buffer_ += bytes;
  if (!in_answer_ && !skip_to_mark()) {
    return noise_size_ > kMaxNoise ? fail("the shell printed more than " + std::to_string(kMaxNoise >> 20) +
                                          " MiB before the agent started")
                                   : Next::wait;
  }
  const size_t end = buffer_.find('\n', searched_);
  if (std::min(end, buffer_.size()) > kMaxAnswer) return fail("protocol error: unexpected reply from the shell");
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return Next::wait;
  }
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  in_answer_ = false;
  searched_ = 0;
  return take_answer(line);
}

bool Bootstrap::skip_to_mark() {
  const size_t mark = buffer_.find(mark_);
  in_answer_ = mark != std::string::npos;
  if (in_answer_) {
    drop_noise(mark);
    buffer_.erase(0, mark_.size());
  } else if (buffer_.size() >= mark_.size()) {
    drop_noise(buffer_.size() - (mark_.size() - 1));  // the remaining bytes may be the start of a mark
  }
  return in_answer_;
}

void Bootstrap::drop_noise(size_t size) {
  noise_size_ += size;
  noise_.append(buffer_, 0, std::min(size, kKeptNoise - noise_.size()));
  buffer_.erase(0, size);
}

Bootstrap::Next Bootstrap::take_answer(std::string_view line) {
  const size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  const std::string_view operand = blank == std::string_view::npos ? "" : line.substr(blank + 1);
  if (word == "fail") return fail(std::string(operand));
  if (word == "ready") return Next::frames;
  if (word != "need" || std::exchange(requested_, true)) return fail("protocol error: unexpected reply from the shell");
  machine_ = operand;
  if (std::ranges::find(machines_, machine_) == machines_.end()) {
    return fail("not supported: machine type " + machine_ + ": this dlaunch has agents for " + fold_names(machines_) +
                "; install dlaunch-agent on the host and set --agent-path");
  }
  return Next::upload;
}

Bootstrap::Next Bootstrap::fail(std::string why) {
  why_ = std::move(why);
  return Next::failed;
}

}  // namespace dlaunch::transport
