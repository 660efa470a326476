"""The completion script of bash (3.2 and later, with or without the package bash-completion)."""

from chainq._docgen.shell import HEADER, positional, quoted, takers, words
from chainq._docgen.surface import Option, Program
from chainq._docgen.values import WELL_KNOWN, Kind, Values

# Words that the line is cut into at = and : are joined again, so that `--url http://h:1/` is one value.
_FRAME = r"""
# The line up to the cursor, as the shell would read it: _chainq_line
_chainq_read() {
    local rest=${COMP_LINE:0:COMP_POINT} part i last=-1
    _chainq_line=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        if [[ $last -lt 0 || $rest == [[:space:]]* ]]; then
            rest=${rest#"${rest%%[![:space:]]*}"}
            last=$((last + 1))
            _chainq_line[last]=
        fi
        ((i == COMP_CWORD)) && part=$rest
        _chainq_line[last]+=$part
        rest=${rest#"$part"}
    done
}

# Offer a word, and what it means, if it goes on from what is typed.
_chainq_offer() {
    [[ $1 == "$_chainq_typed"* ]] || return 0
    _chainq_found+=("$1")
    _chainq_notes+=("${2-}")
}

_chainq_profiles() {
    local file line name
    for file in "${XDG_CONFIG_HOME:-$HOME/.config}/chainq/config.toml" \
        "$HOME/Library/Application Support/chainq/config.toml"; do
        [[ -r $file ]] || continue
        while IFS= read -r line || [[ -n $line ]]; do
            [[ $line =~ $_chainq_header ]] || continue
            name=${BASH_REMATCH[2]}${BASH_REMATCH[3]}${BASH_REMATCH[4]}
            [[ $'\n'${_chainq_known-} == *$'\n'"$name"$'\n'* ]] && continue
            _chainq_known+=$name$'\n'
            _chainq_offer "$name"
        done < "$file"
    done
}
_chainq_header='^[[:space:]]*\[[[:space:]]*profiles[[:space:]]*\.[[:space:]]*'
_chainq_header+='("([^"]+)"|'\''([^'\'']+)'\''|([A-Za-z0-9_-]+))[[:space:]]*[].]'

# The words of a list that stands behind a comma; those that are there already are left out.
_chainq_list() {
    local before= typed=$_chainq_typed word
    [[ $typed == *,* ]] && before=${typed%,*},
    while (($#)); do
        [[ ",$before" == *",$1,"* ]] || _chainq_offer "$before$1" "$2"
        shift 2
    done
    compopt -o nospace 2> /dev/null
}

_chainq_files() {
    local file
    compopt -o filenames 2> /dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$_chainq_typed")
}

# Put what was found into COMPREPLY: alone as it is, several with what they mean behind them.
_chainq_reply() {
    local cut= i width=0 room=$((${COLUMNS:-80} - 4)) shown
    [[ $_chainq_typed == *:* && $COMP_WORDBREAKS == *:* ]] && cut=${_chainq_typed%"${_chainq_typed##*:}"}
    for i in "${!_chainq_found[@]}"; do
        ((${#_chainq_found[i]} > width)) && width=${#_chainq_found[i]}
    done
    for i in "${!_chainq_found[@]}"; do
        shown=${_chainq_found[i]#"$cut"}
        if [[ ${#_chainq_found[@]} -gt 1 && -n ${_chainq_notes[i]} && ${COMP_TYPE:-9} != 37 && $width -lt $room ]]; then
            printf -v shown '%-*s  (%s)' "$width" "$shown" "${_chainq_notes[i]}"
            ((${#shown} > room)) && shown=${shown:0:room-3}...
        elif [[ $shown == *[!A-Za-z0-9_.,:/+@%=-]* ]]; then
            printf -v shown %q "$shown"
        fi
        COMPREPLY+=("$shown")
    done
    compopt -o nosort 2> /dev/null
}

_chainq() {
    local _chainq_line _chainq_typed _chainq_known= command= option= word i place=0 program=
    local -a _chainq_found=() _chainq_notes=()
    COMPREPLY=()
    _chainq_read
    _chainq_typed=${_chainq_line[${#_chainq_line[@]} - 1]}
    for ((i = 1; i < ${#_chainq_line[@]} - 1; i++)); do
        word=${_chainq_line[i]}
        if [[ -z $command ]]; then
            [[ $word == -* ]] || command=$word
        elif [[ -n $option ]]; then
            option=
        elif [[ $word == -?* ]]; then
            _chainq_takes "$command" "$word" && option=$word
        else
            ((place++ == 0)) && program=$word
        fi
    done
    if [[ -z $option && $_chainq_typed == --*=* ]]; then
        option=${_chainq_typed%%=*}
        _chainq_typed=${_chainq_typed#*=}
        [[ -n $command ]] && _chainq_takes "$command" "$option" || return 0
    fi
    if [[ -n $option ]]; then
        _chainq_value "$command" "$option"
    elif [[ $_chainq_typed == -* ]]; then
        _chainq_options "$command"
        [[ $_chainq_typed == - ]] && _chainq_argument "$command" "$place" "$program"
    elif [[ -z $command ]]; then
        _chainq_commands
    else
        _chainq_argument "$command" "$place" "$program"
    fi
    _chainq_reply
}
complete -F _chainq chainq
"""


def script(program: Program) -> str:
    """Return the script."""
    return "\n".join(
        (
            HEADER.format(name="bash"),
            *_commands(program),
            *_options(program),
            *_takes(program),
            *_values(program),
            *_arguments(program),
            _FRAME.strip("\n"),
            "",
        )
    )


def _offer(word: str, note: str) -> str:
    return f"_chainq_offer {quoted(word)} {quoted(note)}"


def _commands(program: Program) -> list[str]:
    lines = [f"    {_offer(command.name, command.purpose)}" for command in program.commands]
    return ["_chainq_commands() {", *lines, "}", ""]


def _offers(options: tuple[Option, ...] | list[Option], indent: str = "    ") -> list[str]:
    return [f"{indent}{_offer(name, option.brief)}" for option in options for name in option.names]


def _options(program: Program) -> list[str]:
    lines = ["_chainq_options() {"]
    lines += ["    if [[ -z $1 ]]; then", *_offers(program.options, "        "), "    fi"]
    for commands, options in program.shares.items():
        lines += [
            "    case $1 in",
            f"        {'|'.join(commands)})",
            *_offers(options, "            "),
            "            ;;",
        ]
        lines += ["    esac"]
    return [*lines, "}", ""]


def _patterns(commands: tuple[str, ...], option: Option) -> str:
    """Return the patterns that match `COMMAND OPTION`."""
    return "|".join(f"{command}{quoted(' ' + name)}" for command in commands or ("*",) for name in option.names)


def _takes(program: Program) -> list[str]:
    patterns = [f"        {_patterns(commands, option)}) ;;" for commands, option in takers(program)]
    body = ['    case "$1 $2" in', *patterns, "        *) return 1 ;;", "    esac"]
    return ["# Whether an option of a command takes a value.", "_chainq_takes() {", *body, "}", ""]


def _values(program: Program) -> list[str]:
    lines = ["_chainq_value() {", '    case "$1 $2" in']
    for commands, option in takers(program):
        if option.values.kind is not Kind.NONE:
            lines += [f"        {_patterns(commands, option)})", *_offered(option.values), "            ;;"]
    return [*lines, "    esac", "}", ""]


def _offered(values: Values) -> list[str]:
    indent = "            "
    match values.kind:
        case Kind.LIST:
            return [f"{indent}_chainq_list {words(part for pair in values.words for part in pair)}"]
        case Kind.PROFILE:
            return [f"{indent}_chainq_profiles"]
        case Kind.FILE:
            return [f"{indent}_chainq_files"]
        case Kind.FUNCTION:
            cases = [
                f"{indent}    {name}) {'; '.join(_offer(function, '') for function in functions)} ;;"
                for name, functions in WELL_KNOWN.items()
            ]
            return [f"{indent}case $3 in", *cases, f"{indent}esac"]
        case _:
            return [f"{indent}{_offer(word, note)}" for word, note in values.words]


def _arguments(program: Program) -> list[str]:
    lines = ["_chainq_argument() {", '    case "$1 $2" in']
    for name, place, many, values in positional(program):
        lines += [f"        {name}' '{'*' if many else place})", *_offered(values), "            ;;"]
    return [*lines, "    esac", "}", ""]
