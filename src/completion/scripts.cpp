// `dlaunch completion`: a short script per shell. Each script runs `dlaunch __complete`, and completes files,
// directories and the program's own words by the means of the shell.
#include <array>

#include "base/try.h"
#include "cli/help.h"
#include "cli/values.h"
#include "completion/completion.h"

namespace dlaunch::completion {
namespace {

using std::string_view;

// Bash also splits words at '=', ':' and '@'. `words` has the words without this split, without quotes and without
// redirections, `starts` their positions in COMP_WORDS. Without candidates, bash completes files itself (-o default).
constexpr string_view kBash = R"script(# bash completion of dlaunch
_dlaunch_unquote() {
  local word=$1 quote='' c i
  unquoted=''
  for ((i = 0; i < ${#word}; i++)); do
    c=${word:i:1}
    if [[ $c == "$quote" ]]; then
      quote=''
    elif [[ -z $quote && $c == [\'\"] ]]; then
      quote=$c
    elif [[ $c == \\ && $quote != \' ]]; then
      i=$((i + 1))
      unquoted+=${word:i:1}
    else
      unquoted+=$c
    fi
  done
}
_dlaunch() {
  local rest=${COMP_LINE:0:COMP_POINT} piece='' reply line how='' prefix i unquoted
  local redirection='^[0-9]*(&?>>?[|&]?|<<?<?[&>]?)'
  local -a words=() starts=() found=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=${COMP_WORDS[i]}
    if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      words+=('')
      starts+=("$i")
    fi
    [[ $rest == "$piece"* ]] || piece=$rest
    words[-1]+=$piece
    rest=${rest#"$piece"}
  done
  for ((i = ${#words[@]} - 1; i > 0; i--)); do
    if [[ ${words[i]} =~ $redirection ]]; then
      ((i + 1 < ${#words[@]})) || return 0
      if [[ ${words[i]} == "${BASH_REMATCH[0]}" ]]; then
        ((i + 2 < ${#words[@]})) || return 0
        unset "words[i+1]" "starts[i+1]"
      fi
      unset "words[i]" "starts[i]"
    elif [[ ${words[i]} == *[\'\"\\]* ]]; then
      _dlaunch_unquote "${words[i]}"
      words[i]=$unquoted
    fi
    words=("${words[@]}") starts=("${starts[@]}")
  done
  _dlaunch_unquote "$piece"
  prefix=${words[-1]}
  [[ $piece == [=:@]* ]] || prefix=${prefix%"$unquoted"}
  reply=$("${words[0]/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null) || return
  while IFS= read -r line; do
    case $line in
      :*) how=${line#:} ;;
      *) line=${line%%$'\t'*} && found+=("${line#"$prefix"}") ;;
    esac
  done <<<"$reply"
  case $how in
    files) ;;
    directories) compopt -o dirnames +o default ;;
    program\ *)
      i=${starts[${how#program }]}
      if declare -F _command_offset >/dev/null; then
        _command_offset "$i"
      elif ((i == COMP_CWORD)); then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -c -- "$piece")
      fi ;;
    *) compopt +o default ;;
  esac
  COMPREPLY=("${found[@]}" "${COMPREPLY[@]}")
}
complete -o default -o nosort -F _dlaunch dlaunch
)script";

constexpr string_view kZsh = R"script(#compdef dlaunch
_dlaunch() {
  local reply line how result=1
  local -a found
  reply=$(${(Q)~words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null) || return 1
  for line in "${(@f)reply}"; do
    case $line in
      (:*) how=${line#:} ;;
      (*) line=${${line//\\/\\\\}//:/\\:} found+=("${${line/$'\t'/:}%:}") ;;
    esac
  done
  (( $#found )) && _describe -V -t values 'dlaunch' found && result=0
  case $how in
    (files|directories)
      [[ $PREFIX == -*=* ]] && compset -P '*='
      if [[ $how == files ]]; then _files && result=0; else _files -/ && result=0; fi ;;
    (program *)
      local -i skipped=${how#program }
      shift skipped words
      (( CURRENT -= skipped ))
      _normal && result=0 ;;
  esac
  return result
}
if [[ $funcstack[1] == _dlaunch ]]; then _dlaunch "$@"; else compdef _dlaunch dlaunch; fi
)script";

// `line` has the words before the cursor without redirections: `commandline -o` keeps the files of redirections. `word`
// is the word at the cursor without quotes, also if a quote is open.
constexpr string_view kFish = R"script(# fish completion of dlaunch
function __dlaunch_complete
    set -l typed (commandline -ct)
    set -l before (commandline -pc | string collect)
    set -l length (math (string length -- "$before") - (string length -- "$typed"))
    set before (string sub -l $length -- "$before" | string collect)
    set -l quoted '"(?:[^"\\\\]|\\\\.)*"|\'(?:[^\'\\\\]|\\\\.)*\'|\\\\.'
    set -l redirection '(?:(?<!\S)[0-9]+)?&?[<>]+[?&|]?\s*(?:'$quoted'|[^][\s<>&|;()"\'\\\\])+'
    set before (string replace -ra -- "(?s)($quoted)|$redirection" '$1' "$before" | string collect)
    printf %s "$before" | read -zlat line
    set -l word (string unescape -- "$typed"; or string unescape -- "$typed\""; or string unescape -- "$typed'")
    set -l option (string match -r -- '^-[^=]*=' "$typed")
    set -l value (string replace -- "$option" '' "$typed")
    set -l dlaunch (string replace -r '^~/' "$HOME/" -- $line[1])
    for reply in ($dlaunch __complete $line[2..] "$word" 2>/dev/null)
        switch $reply
            case ':files'
                printf "$option%s\n" (complete -C "__dlaunch_no_command $value")
            case ':directories'
                printf "$option%s\n" (__fish_complete_directories "$value" '')
            case ':program *'
                set -l first (math (string replace ':program ' '' -- $reply) + 1)
                complete -C (string join ' ' -- (string escape -- $line[$first..]) "$typed")
            case ':'
            case '*'
                echo $reply
        end
    end
end
complete -c dlaunch -f -k -a '(__dlaunch_complete)'
)script";

constexpr std::array<cli::Word<string_view>, 3> kScripts{{{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

}  // namespace

std::vector<std::string> shells() { return cli::words_of<kScripts>(); }

Result<std::string> script_for(std::span<const std::string> words) {
  std::vector<std::string> names;
  const cli::CommandSpec spec{
      .name = "completion",
      .usage = "bash|zsh|fish",
      .what = "print the script that completes command lines of dlaunch in a shell",
      .operands = &names,
      .notes =
          "The script completes options, their values, hosts, files, jobs, and the words of the program.\n"
          "cmake --install and the Debian package install the scripts for all users. To use a script without an "
          "installation:\n"
          "  source <(dlaunch completion bash)        in ~/.bashrc\n"
          "  source <(dlaunch completion zsh)         in ~/.zshrc, after compinit\n"
          "  dlaunch completion fish | source         in ~/.config/fish/config.fish\n"
          "To run a program named completion, use dlaunch -- completion."};
  const auto chosen = TRY(cli::parse_command(spec, "dlaunch completion", words));
  if (chosen.help) return cli::help_text(*chosen.command, chosen.path);
  if (names.size() > 1) return fail({"completion", "unexpected word \"" + names[1] + '"', "", "give one shell"});
  auto script = cli::one_of<kScripts>(names.front());
  if (!script) return fail({"completion", script.error().what, script.error().why, script.error().hint});
  return std::string(*script);
}

}  // namespace dlaunch::completion
