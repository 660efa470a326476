"""The completion script of fish (3.0 and later)."""

from chainq._docgen.shell import HEADER, positional, takers
from chainq._docgen.surface import Option, Program
from chainq._docgen.values import WELL_KNOWN, Kind, Values

_FRAME = r"""
# The words before the cursor without options and their values: the command, then its arguments.
function __chainq_words
    set -l words (commandline -opc)
    set -e words[1]
    set -l command
    set -l option
    for word in $words
        if test -z "$command"
            string match -q -- '-*' $word; and continue
            set command $word
            echo $word
        else if test -n "$option"
            set option
        else if string match -qr -- '^-.' $word
            __chainq_takes $command $word; and set option $word
        else
            echo $word
        end
    end
end

# Whether no command stands there yet.
function __chainq_bare
    test -z (__chainq_words)[1]
end

# Whether the command is one of these.
function __chainq_in
    contains -- (__chainq_words)[1] $argv
end

# Whether the command is $argv[1], and the argument at the cursor the one of place $argv[2], or any with *.
function __chainq_at
    set -l words (__chainq_words)
    test "$words[1]" = $argv[1]; and contains -- $argv[2] '*' (math (count $words) - 1)
end

# What of these `word<Tab>note` can stand behind a comma; those that are there already are left out.
function __chainq_list
    set -l typed (commandline -ct | string replace -r -- '^--[a-z-]+=' '')
    set -l before (string match -r -- '^.*,' "$typed")
    set -l chosen (string split , -- "$before")
    for offered in $argv
        contains -- (string split \t -- $offered)[1] $chosen; or echo "$before$offered"
    end
end

function __chainq_profiles
    set -l folder $HOME/.config
    set -q XDG_CONFIG_HOME; and test -n "$XDG_CONFIG_HOME"; and set folder $XDG_CONFIG_HOME
    for file in $folder/chainq/config.toml "$HOME/Library/Application Support/chainq/config.toml"
        test -r $file; or continue
        set -l names (string match -r -- $__chainq_header <$file)
        while set -q names[1]
            echo $names[2]
            set -e names[1..2]
        end
    end
end
set -g __chainq_header '^\s*\[\s*profiles\s*\.\s*(?|"([^"]+)"|\'([^\']+)\'|([A-Za-z0-9_-]+))\s*[].]'
"""


def quoted(text: str) -> str:
    """Return a word quoted for fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def script(program: Program) -> str:
    """Return the script."""
    lines = [HEADER.format(name="fish"), _FRAME.strip("\n"), "", *_takes(program), "complete -c chainq -f"]
    lines += [f"complete -c chainq -n __chainq_bare {_option(option)}" for option in program.options]
    lines += [
        f"complete -c chainq -k -n __chainq_bare -a {command.name} -d {quoted(command.purpose)}"
        for command in reversed(program.commands)  # fish shows first what was said last, under -k
    ]
    for commands, options in program.shares.items():
        condition = quoted(f"__chainq_in {' '.join(commands)}")
        lines += [f"complete -c chainq -n {condition} {_option(option)}" for option in options]
    for name, place, many, values in positional(program):
        condition = quoted(f"__chainq_at {name} {quoted('*') if many else place}")
        if values.kind is Kind.FUNCTION:
            lines += [
                f"complete -c chainq -n {quoted(f'__chainq_at {name} {place}; and test (__chainq_words)[2] = {known}')}"
                f" -a {quoted(' '.join(functions))}"
                for known, functions in WELL_KNOWN.items()
            ]
        else:
            lines += [f"complete -c chainq -n {condition} {_offered(values)}"]
    return "\n".join((*lines, ""))


def _takes(program: Program) -> list[str]:
    lines = [
        "# Whether an option of a command takes a value.",
        "function __chainq_takes",
        '    switch "$argv[1] $argv[2]"',
    ]
    for commands, option in takers(program):
        patterns = " ".join(quoted(f"{command} {name}") for command in commands or ("*",) for name in option.names)
        lines += [f"        case {patterns}", "            return 0"]
    return [*lines, "    end", "    return 1", "end", ""]


def _option(option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = f" {_offered(option.values)}" if option.metavar else ""
    return f"{names}{value} -d {quoted(option.brief)}"


def _offered(values: Values) -> str:
    """Return the switches of `complete` for a value."""
    match values.kind:
        case Kind.LIST:
            pairs = " ".join(quoted(word) + "\\t" + quoted(note) for word, note in values.words)
            return f"-x -a {quoted(f'(__chainq_list {pairs})')}"
        case Kind.WORDS:
            pairs = " ".join(quoted(word) + ("\\t" + quoted(note) if note else "") for word, note in values.words)
            return f"-x -a {quoted(pairs)}"
        case Kind.PROFILE:
            return "-x -a '(__chainq_profiles)'"
        case Kind.FILE:
            return "-r -F"
        case _:
            return "-x"
