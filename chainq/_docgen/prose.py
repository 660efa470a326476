"""Texts of the manual that belong to no single command: ranges, output, exit codes, files, configuration, formats."""

PURPOSE = "explore a chain data service from the command line"

DESCRIPTION = (
    "chainq queries a read-only chain data service for blocks, transactions, transitions and records, and returns "
    "every row exactly once with no digit changed.",
    "Such services return the rows of one block in an order that changes from call to call, so walking their pages "
    "loses rows and repeats others without an error. chainq does not rely on page numbers: it accepts a response only "
    "when it is proved complete, and splits the range otherwise. What cannot be proved ends with exit code 6.",
    "Options come after the command. Each command has a manual page with its options and columns.",
)

RANGES = (
    "A range is one argument: `12345` is one height, `5:10` the heights from 5 up to but not including 10, `5:` those "
    "from 5 through the tip, `:10` those before 10, and `latest` the block at the tip. Or it is given by options, not "
    "by both.",
    "`--start` is included and `--end` is excluded, as in the service; without `--end` the range ends with the tip. A "
    "height is a whole number, also written `12_345`, `12K` or `1.5M`. In a range a negative number counts back from "
    "the tip: `--start -100`, or `-100:`, is the last hundred blocks. As an end, `latest` is through the tip.",
    "`--last` N is the last N blocks. `--since` and `--until` select by block time: a date or time as in RFC 3339, "
    "or an age such as `90m`, `2h` or `7d`. Without any of these options the range is the last ten blocks, or the "
    "whole chain for `address-transactions`.",
    "A range can have any length: it is split into calls that the service accepts, several at a time, and the rows are "
    "put back in height order. `--reverse` starts with the highest heights; `--limit` N stops after N rows and makes "
    "no more calls than those need.",
    "Commands that take heights or IDs accept several, and print them in the order given; heights may be ranges, which "
    "end with the tip at the latest. `-` reads them from standard input, one per line: as they are, or from the rows "
    "that another command prints as `jsonl`. The same one twice in a row is looked up once there.",
)

OUTPUT = (
    "Only data goes to standard output; progress, warnings and errors go to standard error, an error as one line. The "
    "default format is `table` on a terminal and `jsonl` in a pipe or file.",
    "`jsonl` has one row per line: every field, in the order of the service, with every digit. `json` is the same as "
    "one array, or as one object where the command returns a single one, indented on a terminal. `csv` follows RFC "
    "4180 with a header, which `--no-header` leaves out, and `tsv` has tabs; nested objects become dotted columns, "
    "arrays are compact JSON, null is empty. `text` has values only, with tabs between them and one row per line, for "
    "shell variables. `table` is for reading: times are UTC, an ID is abbreviated in the middle unless the line has "
    "room for it, and columns that do not fit are left out, the last ones first.",
    "`parquet` has integers of 64 bits, decimals of 38 digits for amounts and weights, timestamps in UTC, lists and "
    "structs; the member `other` of a struct has, as JSON text, what the published interface does not name. A value "
    "that does not fit is an error.",
    "`--columns` a,b.c selects columns in any format, `a[].b` takes `b` of each item of an array, and `--columns help` "
    "lists them. A table shows every column that is selected, below each other where the line is too short.",
    "`-o` FILE writes a file that appears complete or not at all. Without a format its extension selects one: .jsonl, "
    ".ndjson, .json, .csv, .tsv, .parquet or .txt (`text`).",
)

SOURCE = (
    "`--url` or the variable CHAINQ_URL names the service; or `--profile` or CHAINQ_PROFILE names a profile of the "
    "configuration file. Options take precedence over the environment, and the environment over the file.",
    "`--url demo:` is a built-in sample chain that works with every command and without a network.",
)

ENDING = (
    "When a range ends early, the rows already printed are a complete prefix that ends with the last row of a height, "
    "and the message says how to get the rest: `resume with --start 41000 --end 90000`."
)

VARIABLES = {
    "CHAINQ_FORMAT": "Format where neither an option nor the extension of `-o` FILE names one.",
    "CHAINQ_VIEW_KEY": "The view key of `chainq owned`, unless `--view-key-file` names a file.",
    "CHAINQ_DEBUG": "Not empty: show the traceback of a bug (exit code 70).",
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": "Proxies, as for curl: http, https and socks5.",
    "SSL_CERT_FILE, SSL_CERT_DIR": "Certificates to trust instead of those that come with chainq's libraries.",
    "NO_COLOR": "Not empty: no colours on the terminal, unless `--color always` is given.",
    "FORCE_COLOR": "Not empty: colours also where output is no terminal, in tables and screens.",
    "TERM": "`dumb`: no colours, unless FORCE_COLOR or `--color always` says otherwise.",
    "COLUMNS": "Width of tables, screens and help, in characters, instead of the terminal's.",
    "SOURCE_DATE_EPOCH": "Unix seconds that ages count from, instead of now.",
    "CHAINQ_PAGER, PAGER": "Pager for output to a terminal, such as `less`; the first that is set counts, and `cat` or "
    "nothing means none. LESS is FRX unless it is set.",
    "XDG_CONFIG_HOME": "Folder that holds `chainq/config.toml`, instead of `~/.config`.",
    "XDG_CACHE_HOME": "Folder of the cache `chainq/`, which holds the dialects that `--dialect auto` detected, instead "
    "of `~/.cache`.",
}

CONFIG_FILE = "~/.config/chainq/config.toml"

PIPELINES = (
    ("The full transactions behind the records of the last fifty blocks:", (
        "chainq records --last 50 --columns transaction_id --csv | tail -n +2 | sort -u | chainq transaction - --jsonl",
    )),
    ("A file that is replaced only when the new one is complete:", (
        "chainq blocks --start 0 --end 100K --csv -o blocks.csv",
    )),
    ("Every ten minutes append what is new, each row once (a line for crontab):", (
        "*/10 * * * * chainq records --profile main --checkpoint ~/records.state -o ~/records.jsonl -q",
    )),
)  # fmt: skip

CONFIG = (
    "On macOS the file is `~/Library/Application Support/chainq/config.toml`. It is TOML. Each table "
    "`[profiles.NAME]` describes a server under a name of your choice, selected by `--profile` NAME or the variable "
    "CHAINQ_PROFILE; the key `default-profile`, at the top of the file, names the one "
    "to use when no option or variable gives a service.",
)
CONFIG_KEYS = {
    "url": "URL of the service: `http://`, `https://`, or `demo:`.",
    "dialect": "Dialect of the server; the help of `--dialect` lists them.",
    "rate": "Maximum requests per second.",
    "timeout": "Seconds per request.",
    "headers": "HTTP headers by name, sent with every call to the profile's own host and to no other. A value "
    "`env:NAME` is read from the environment variable NAME, so that secrets need not be in the file.",
    "methods": "Methods with other names on this server: the published name, then the name on the server.",
    "parameters": "For each method, by its published name, a table of parameters with other names on this server.",
    "transactions-by-row-id": "Whether `transactions` takes the block's row id instead of its height, where that "
    "differs from the dialect.",
}
CONFIG_EXAMPLE = """\
default-profile = "main"

[profiles.main]
url = "https://rpc.example.org/"
timeout = 20
rate = 3
headers = { Authorization = "env:CHAINQ_TOKEN" }

[profiles.sample]
url = "demo:"

[profiles.mixed]
url = "https://mixed.example.org/"
dialect = "aleo"

[profiles.mixed.methods]
"records/all" = "records"

[profiles.mixed.parameters."records/all"]
start = "from"
end = "to"
"""
CONFIG_ORDER = (
    "Options take precedence over the environment, and the environment over the file. Invalid TOML, an unknown key or "
    "a value of the wrong type ends a command with exit code 2 before any call.",
)

FORMATS = (
    "A format turns rows into bytes. It is a callable, found by its name in the entry-point group `chainq.formats` of "
    "any installed package, and selected by `--format` NAME or the variable CHAINQ_FORMAT.",
    "chainq calls it once for each output, as `format(out, spec)`, and uses what it returns: `write(rows)` for the "
    "next rows as they arrive, and `close()` after the last one. After a failure `close` is not called.",
    "Rows are JSON objects as the server sent them, compact, of the type `msgspec.Raw`; `bytes(row)` gives its "
    "bytes. `chainq.rows.fields.Picker` picks the values of dotted paths out of them without decoding the rest, and "
    "`chainq.rows.fields.text_of` gives the text of a value, so no digit is lost.",
    "A format knows nothing of networks, heights or files. It writes bytes by `out.write(data)` and keeps in memory no "
    "more than it must: a range can have millions of rows.",
    "Public modules, which a format may import: `chainq.formats.protocol`, `chainq.rows.fields`, `chainq.text` "
    "(sanitizing, widths, styles), `chainq.catalog.methods` and `chainq.errors`.",
)
OUTPUT_SPEC = {
    "command": "Name of the command, such as `records`.",
    "columns": "The columns of the command, or those that `--columns` selected, in that order; each has a `path`, a "
    "`type`, a `note`, a `kind` (how a person reads it) and `brief` (in a table by default).",
    "selected": "Whether `--columns` selected them.",
    "height": "Path of the height in each row; None where rows have none.",
    "single": "Whether the command returns one object rather than a list.",
    "resumed": "Whether an earlier run wrote rows before these, so that a header is there already.",
    "header": "Whether csv begins with a header (`--no-header`).",
    "terminal": "Whether the output is a terminal; control characters must then be escaped.",
    "width": "Characters in a line of the terminal.",
    "color": "Whether styles may be used.",
    "abbreviate": "Whether long values may be abbreviated.",
    "detailed": "Whether lookups added columns, which `--columns` cannot select.",
    "warn": "Prints a warning to standard error.",
}
CAPABILITIES = {
    "append": "The output stays valid when a later run adds rows; needed by `--checkpoint`, and by `--follow` with "
    "`-o`.",
    "endless": "Each row is useful as soon as it is written, without `close`; needed by `--follow`.",
    "binary": "The output is not text; it is never sent to a terminal.",
    "needs_heights": "Rows must have heights; other commands refuse the format.",
    "verbatim": "Rows are written as the server sent them unless `--columns` is given, so that columns which chainq "
    "computes are not added.",
}
FORMAT_EXAMPLE = '''\
"""The format psv: values with a bar between them, no header."""

from chainq.rows.fields import Picker, text_of


class Psv:
    append = endless = True

    def __init__(self, out, spec):
        self.out = out
        self.pick = Picker([column.path for column in spec.columns])

    def write(self, rows):
        for row in rows:
            self.out.write("|".join(map(text_of, self.pick(row))).encode() + b"\\n")

    def close(self):
        pass
'''
FORMAT_ENTRY = """\
[project.entry-points."chainq.formats"]
psv = "my_package:Psv"
"""
