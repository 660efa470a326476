"""The completion script of zsh, on its own `_arguments`."""

from chainq._docgen.shell import HEADER, quoted, words
from chainq._docgen.surface import Command, Option, Program
from chainq._docgen.values import WELL_KNOWN, Kind, Values

BRACKETS = "[]"
_FRAME = r"""
_chainq_words() {
    local -a offered
    local word note
    for word note in "$@"; do offered+=("${word//:/\\:}${note:+:$note}"); done
    _describe -t values value offered
}

_chainq_profiles() {
    local file line
    local -aU names
    for file in ${XDG_CONFIG_HOME:-$HOME/.config}/chainq/config.toml \
        "$HOME/Library/Application Support/chainq/config.toml"; do
        [[ -r $file ]] || continue
        while IFS= read -r line || [[ -n $line ]]; do
            [[ $line =~ $_chainq_header ]] && names+=("$match[2]$match[3]$match[4]")
        done < $file
    done
    _wanted profiles expl profile compadd -a names
}
typeset -g _chainq_header='^[[:space:]]*\[[[:space:]]*profiles[[:space:]]*\.[[:space:]]*'
_chainq_header+='("([^"]+)"|'\''([^'\'']+)'\''|([A-Za-z0-9_-]+))[[:space:]]*[].]'

_chainq() {
    local curcontext=$curcontext context state line ret=1
    typeset -A opt_args
    _arguments -C \
__PROGRAM__
        '1: :_chainq_commands' \
        '*:: :->command' && ret=0
    [[ $state == command ]] || return ret
    local chainq_command=$words[1]
    curcontext=${curcontext%:*:*}:chainq-$chainq_command:
    local -a specs=()
    _chainq_specs $chainq_command
    (($#specs)) && _arguments -s -S : $specs && ret=0
    return ret
}

if [[ $funcstack[1] == _chainq ]]; then
    _chainq "$@"
else
    compdef _chainq chainq
fi
"""


def script(program: Program) -> str:
    """Return the script."""
    frame = _FRAME.strip("\n").replace("__PROGRAM__", "\n".join(f"        {s} \\" for s in _program(program)))
    return "\n".join(
        (
            "#compdef chainq",
            HEADER.format(name="zsh"),
            *_commands(program),
            *_functions(),
            *_specs(program),
            frame,
            "",
        )
    )


def _commands(program: Program) -> list[str]:
    lines = ["_chainq_commands() {", "    local -a commands", "    local ret=1"]
    for heading, commands in program.headings.items():
        pairs = words(f"{command.name}:{command.purpose}" for command in commands)
        tag = heading.lower().replace(" ", "-")
        lines += [
            f"    commands=({pairs})",
            f"    _describe -t {tag}-commands {quoted(heading.lower())} commands && ret=0",
        ]
    return [*lines, "    return ret", "}", ""]


def _functions() -> list[str]:
    cases = [f"        {program}) names=({words(functions)}) ;;" for program, functions in WELL_KNOWN.items()]
    return [
        "_chainq_functions() {",
        "    local -a names",
        "    case $line[1] in",
        *cases,
        "    esac",
        "    _wanted functions expl function compadd -a names",
        "}",
        "",
    ]


def _program(program: Program) -> list[str]:
    return [spec for option in program.options for spec in _option(option, alone=True)]


def _specs(program: Program) -> list[str]:
    lines = ["_chainq_specs() {"]
    for commands, options in program.shares.items():
        lines += ["    case $1 in", f"        {'|'.join(commands)})", "            specs+=("]
        lines += [f"                {spec}" for option in options for spec in _option(option)]
        lines += ["            )", "            ;;", "    esac"]
    for command in program.commands:
        if command.arguments:
            lines += ["    case $1 in", f"        {command.name})", "            specs+=("]
            lines += [f"                {spec}" for spec in _arguments(command)]
            lines += ["            )", "            ;;", "    esac"]
    return [*lines, "}", ""]


def _escaped(text: str, special: str) -> str:
    return "".join(f"\\{letter}" if letter in special else letter for letter in text.replace("\\", "\\\\"))


def _option(option: Option, *, alone: bool = False) -> list[str]:
    """Return an option as specs of `_arguments`; each name excludes the others, unless it can be repeated."""
    others = "*" if option.repeated else f"({' '.join(('-', '*') if alone else option.names)})"
    told = _escaped(option.brief, "[]:")
    specs = []
    for name in option.names:
        joint = ("=" if name.startswith("--") else "+") if option.metavar else ""
        value = f":{_escaped(option.metavar, ':')}:{_action(option.values)}" if option.metavar else ""
        specs.append(quoted(f"{others}{name}{joint}[{told}]{value}"))
    return specs


def _arguments(command: Command) -> list[str]:
    return [
        quoted(
            f"{'*' if argument.many else place}:{_escaped(argument.metavar.lower(), ':')}:{_action(argument.values)}"
        )
        for place, argument in enumerate(command.arguments, 1)
    ]


def _action(values: Values) -> str:
    return _escaped(_call(values), ":")


def _call(values: Values) -> str:
    """Return what completes a value. A leading space keeps `_arguments` from adding words of its own."""
    match values.kind:
        case Kind.LIST:
            return f"_values -s , column {words(f'{word}[{_escaped(note, BRACKETS)}]' for word, note in values.words)}"
        case Kind.WORDS:
            return f" _chainq_words {words(part for pair in values.words for part in pair)}"
        case Kind.PROFILE:
            return " _chainq_profiles"
        case Kind.FILE:
            return "_files"
        case Kind.FUNCTION:
            return " _chainq_functions"
        case _:
            return " "
