"""What the manual says that belongs to no command: ranges, output, exit codes, files, the configuration, formats."""

from chainq.errors import ExitCode

PURPOSE = "explore a chain data service from the command line"

DESCRIPTION = (
    "chainq asks a read-only chain data service for blocks, transactions, transitions and records, and gives every "
    "row exactly once, with no digit changed.",
    "Such services return the rows of one block in an order that changes from call to call, so that walking their "
    "pages loses rows and repeats others. chainq does not walk pages: it takes an answer as whole only when a call "
    "has proved it, and divides the range otherwise.",
    "Options stand after the command. A page for each command tells its options and columns.",
)

RANGES = (
    "`--start` is included and `--end` excluded, as in the service; without `--end` the newest block is the last. A "
    "height is a whole number, also written `12_345`, `12K` or `1.5M`. As the value of `--start` or `--end` a negative "
    "one counts back from the end: `--start -100` is the newest hundred blocks.",
    "`--last` N is the newest N blocks. `--since` and `--until` go by block time: a date or time of RFC 3339, or an "
    "age such as `90m`, `2h` or `7d`. With no range at all the newest ten blocks are meant, and the whole chain for "
    "`address-transactions`.",
    "A range of any length works: it is cut to what a call may ask for, fetched by several calls at a time, and put "
    "together in height order. `--reverse` gives the newest heights first; `--limit` N stops after N rows, with no "
    "call more than that needs.",
    "Where heights or IDs are arguments, several are asked for side by side and come out in the order given; `-` in "
    "their place reads them from standard input, one a line.",
)

OUTPUT = (
    "Data goes to standard output and nothing else does; progress, warnings and errors go to standard error, an error "
    "as one line. On a terminal the format is `table`, in a pipe or file `jsonl`.",
    "`jsonl` is one row a line: every field, in the order of the service, with every digit. `json` is the same as one "
    "array, or one object where a single one was asked for. `csv` is RFC 4180 with a header; nested objects spread to "
    "dotted columns, arrays are compact JSON, null is empty. `table` is for people.",
    "`--columns` a,b.c picks columns in any format, and `--columns help` lists them. `-o` FILE writes a file that "
    "appears whole or not at all.",
)

SOURCE = (
    "`--url` or the variable CHAINQ_URL says where the service is; or `--profile` or CHAINQ_PROFILE names a profile of "
    "the configuration file. Flags beat the environment, and the environment beats the file.",
    "`--url demo:` is a sample chain that answers every command in process, with no network and no set-up.",
)

ENDING = (
    "What was already written to standard output is a whole prefix of the answer, and the message says how to get the "
    "rest: `resume with --start 41000 --end 90000`."
)

EXIT_CODES = {
    ExitCode.OK: "Done, all of it.",
    ExitCode.NOT_FOUND: "A block or transaction asked for by name does not exist; the others were printed.",
    ExitCode.USAGE: "Usage: a bad argument, no URL, a bad configuration file.",
    ExitCode.SERVICE: "The service answered with an error.",
    ExitCode.UNREACHABLE: "The service could not be reached, timed out, or kept refusing after all retries.",
    ExitCode.ANSWER: "The answer was not a valid JSON-RPC answer to the question.",
    ExitCode.INCOMPLETE: "The data is incomplete or contradicts itself.",
    ExitCode.OUTPUT: "Output could not be written.",
    ExitCode.BUG: "A bug in chainq, not in the data; with CHAINQ_DEBUG=1 the traceback is shown.",
    ExitCode.BUSY: "Another run holds the checkpoint, or appends to the file.",
}
SIGNALS = {"130, 143, 129, 141": "Ended by SIGINT, SIGTERM, SIGHUP, or a closed pipe, as shells show it."}

VARIABLES = {
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": "Proxies, as curl knows them.",
    "SSL_CERT_FILE, SSL_CERT_DIR": "Certificates to trust in place of those that come with chainq's libraries.",
    "NO_COLOR": "Not empty: no colours on the terminal.",
    "XDG_CONFIG_HOME": "The folder of the configuration file's folder `chainq`, in place of `~/.config`.",
    "XDG_CACHE_HOME": "The folder in whose folder `chainq` the dialects that `--dialect auto` found are remembered, in "
    "place of `~/.cache`.",
}

CONFIG_FILE = "~/.config/chainq/config.toml"

PIPELINES = (
    ("The transactions of the newest fifty heights that have records, whole:", (
        "chainq records --last 50 --columns transaction_id --csv | tail -n +2 | sort -u | chainq transaction - --jsonl",
    )),
    ("A file that is replaced only when all of it has come:", (
        "chainq blocks --start 0 --end 100K --csv -o blocks.csv",
    )),
    ("Every ten minutes what is new since the last run, each row once (a line for crontab):", (
        "*/10 * * * * chainq records --profile main --checkpoint ~/records.state -o ~/records.jsonl -q",
    )),
)  # fmt: skip

CONFIG = (
    "The file is TOML. Each table `[profiles.NAME]` is a server under a name of your own, chosen by `--profile` NAME "
    "or the variable CHAINQ_PROFILE; the key `default-profile`, at the top of the file, names the one that is used "
    "when nothing else says where the service is.",
)
CONFIG_KEYS = {
    "url": "Where the service is: an `http://` or `https://` URL, or `demo:`.",
    "dialect": "How the server speaks; `--dialect` of each command lists the dialects.",
    "rate": "At most so many requests a second.",
    "timeout": "Seconds that a call may take.",
    "headers": "HTTP headers, by name, that are sent with every call to the profile's own host, and to no other. A "
    "value `env:NAME` stands for the environment variable NAME, so that secrets need not stand in the file.",
    "methods": "Methods that the server calls otherwise than its dialect: the service document's name, then the name "
    "there.",
    "parameters": "For each method, by the service document's name, a table of parameters that the server calls "
    "otherwise.",
    "transactions-by-row-id": "Whether `transactions` wants the block's row id in place of its height, where that "
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
    "Flags beat the environment, and the environment beats the file. A file that is no TOML, an unknown key or a value "
    "of the wrong type ends a command with exit code 2 before any call.",
)

FORMATS = (
    "A format turns rows into bytes. It is a callable, found by its name in the entry-point group `chainq.formats` of "
    "any installed package, and chosen by `--format` NAME or the variable CHAINQ_FORMAT.",
    "chainq calls it once for each output, as `format(out, sheet)`, and uses what it returns: `write(rows)` for the "
    "next rows as they arrive, and `close()` after the last one. After a failure `close` is not called.",
    "Rows are JSON objects as the server sent them, compact, of the type `msgspec.Raw`, which `bytes` makes bytes of. "
    "`chainq.rows.Picker` cuts the values of dotted paths out of them without decoding the rest, and "
    "`chainq.rows.text_of` gives the text of a value; so no digit is lost.",
    "A format knows of no network, no heights and no files. It writes to `out`, by `out.write(data)` with bytes, and "
    "holds no more than it must: a range can have millions of rows.",
)
SHEET = {
    "command": "Whose rows they are, as in `records`.",
    "columns": "The columns of the command, or those that `--columns` picked, in that order; each has a `path`, a "
    "`type`, a `note`, a `kind` (how a person reads it) and `brief` (shown in a table by default).",
    "chosen": "Whether columns were picked.",
    "single": "The answer is one object by nature, not a list of one.",
    "width": "Characters in a line of the terminal.",
    "color": "Styles may be used.",
    "trunc": "Long values may be shortened.",
    "terminal": "A person is looking.",
    "continued": "What stands before the first row was written by an earlier run.",
    "warn": "Called with a line for standard error.",
}
FORMAT_EXAMPLE = '''\
"""The format tsv: tab-separated values, no header."""

from chainq.rows.fields import Picker, text_of


class Tsv:
    def __init__(self, out, sheet):
        self.out = out
        self.pick = Picker([column.path for column in sheet.columns])

    def write(self, rows):
        for row in rows:
            self.out.write("\\t".join(map(text_of, self.pick(row))).encode() + b"\\n")

    def close(self):
        pass
'''
FORMAT_ENTRY = """\
[project.entry-points."chainq.formats"]
tsv = "my_package:Tsv"
"""
