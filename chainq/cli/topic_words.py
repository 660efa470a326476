"""The words that users of other programs type after `chainq help`, and what is said of those without options."""

from collections.abc import Mapping


def by_word(words: Mapping[str, str]) -> dict[str, str]:
    """Return what each word stands for, given the words for it with blanks between."""
    return {word: meant for meant, text in words.items() for word in text.split()}


WORDS = by_word(
    {
        "range": "ranges heights height date dates time times pagination paging pages "
        "paginate offset cursor age duration recent",
        "filter": "filters filtering condition conditions expression expressions regex regexp jq grep",
        "resume": "resuming checkpoints following incremental cron schedule timer "
        "systemd daemon state continue poll stream live append",
        "output": "outputs formats files tsv parquet pipe pipes redirect ndjson txt excel xlsx yaml plugin "
        "plugins plug-in file stdout template download print pretty indent compact",
        "service": "server servers connection network endpoint node connect http https api",
        "chart": "charts plot graph histogram",
        "environment": "env environ variable variables envvars less cache",
        "exit-codes": "exit exit-code exit-status code codes status-codes error errors failure "
        "signal signals ctrl-c lock locked",
        "topics": "topic list",
        "--color": "colors colour colours ansi theme",
        "HTTPS_PROXY": "proxy proxies",
        "--columns": "column fields field cols select nested array arrays",
        "--concurrency": "parallel threads jobs",
        "--end": "stop until-height",
        "--hashes": "hash",
        "--last": "tail",
        "--limit": "head first top max",
        "--max-age": "alert alerts alerting monitor monitoring stale staleness freshness",
        "--max-memory": "memory ram",
        "--network": "mainnet testnet",
        "--output": "overwrite overwriting replace clobber",
        "--quiet": "silent progress progress-bar warnings",
        "--retries": "retry backoff",
        "--start": "from begin",
        "--timeout": "timeouts max-time",
        "--verbose": "debug log logs logging trace",
        "--where": "case case-sensitive case-insensitive null nulls quote quotes quoting",
    }
)
"""The topic, the variable or the option that a word stands for."""
TERMS = {
    "address": (
        "addresses account accounts",
        "The public name of an account (aleo1...). chainq show ADDRESS shows its newest public transactions, and "
        "chainq address-transactions ADDRESS lists all. Its records need its view key: see chainq help owned.",
    ),
    "deployment": (
        "deployments deploy deployed",
        "A transaction that adds a program to the chain. chainq full-blocks --where 'transactions[].type = deploy' "
        "prints the blocks that contain one. See chainq help full-blocks.",
    ),
    "record": (
        "",
        "A private value, such as an amount of credits, encrypted for its owner. A transition makes it as an output, "
        "and a later one spends it as an input. See chainq help records.",
    ),
    "transition": (
        "",
        "One call of a function of a program, with its inputs and outputs. A transaction consists of transitions; one "
        "of them pays its fee. See chainq help transitions.",
    ),
    "view-key": (
        "view-keys viewkey",
        "The key of an account that decrypts its records and cannot spend them (AViewKey1...). chainq uses it on "
        "your machine only. See chainq help wallet.",
    ),
    "ownership-row": (
        "ownership-rows",
        "What a view key needs to recognize a record as its own, without the record itself: the nonce, the encrypted "
        "owner and the position of the output. See chainq help ownership.",
    ),
    "tip": ("", "The newest block of the chain. A range without an end ends with it. See chainq help range."),
    "reorg": (
        "reorgs fork forks rollback finality confirmations",
        "A reorganization: other blocks replace the newest blocks of the chain. If a run with --checkpoint has read "
        "the replaced blocks, chainq exits with code 6. --rewind N reads the last N blocks again. See chainq help "
        "resume.",
    ),
    "dialect": (
        "dialects",
        "The names of methods and parameters that a server expects: chain is the published interface, and aleo that "
        "of deployed open-source servers. See chainq help doctor.",
    ),
    "lake": (
        "data-lake data-set dataset",
        "An export that chainq reads in place of the service, or in front of it: the Parquet files of a chain in a "
        "folder or a bucket, with proofs that they are complete. See chainq help export.",
    ),
    "partition": (
        "partitions grid",
        "One file of a table of an export. It covers --partition heights, and begins at a multiple of that number. See "
        "chainq help export.",
    ),
}
"""The words of the chain and of this program: also those for each, and what it means."""
CONFIG = "config"
PLACES = {
    **TERMS,
    CONFIG: (
        "configuration config.toml config-file profile-file settings",
        "The configuration file, config.toml, contains profiles of services: see man 5 chainq, or Configuration "
        "file in docs/reference.md. chainq profiles lists them, and chainq doctor --save NAME adds one.",
    ),
    "authentication": (
        "token tokens auth authorization bearer api-key apikey login password secret secrets credentials headers user",
        "--header 'Authorization: Bearer TOKEN' sends a header with every request, and --cert FILE a client "
        'certificate. Keep secrets in a profile: headers = { Authorization = "env:NAME" } in config.toml takes the '
        "value from a variable. See chainq help header. For tokens of the chain see chainq help balance.",
    ),
    "tls": (
        "ssl certificate certificates mtls ca cacert insecure",
        "SSL_CERT_FILE and SSL_CERT_DIR name certificates to trust, and --cert FILE[:KEY] a client certificate: see "
        "chainq help cert. No option turns the check of certificates off.",
    ),
    "width": (
        "wide narrow wrap wrapping trunc truncate truncated truncation no-truncate abbreviate abbreviated ellipsis",
        "A table is as wide as the terminal, or COLUMNS characters if it is set. It abbreviates long values, and "
        "leaves out the least useful columns. --no-trunc prints whole values, and --columns selects columns; a "
        "table in -o FILE is whole. The other formats print everything. See chainq help no-trunc.",
    ),
    "sort": (
        "sorting order order-by newest oldest latest-first desc descending asc ascending",
        "Rows are in height order, the oldest first. --reverse prints the highest heights first, and --newest the "
        "newest rows of program-transactions. Sort by other columns with SQL: chainq sql --last 1000 'select * "
        "from records order by program_id'. See chainq help reverse, and chainq help sql.",
    ),
    "aggregate": (
        "aggregates count counts group group-by sum total totals average avg join distinct unique statistics stats",
        "Count, group and join rows with SQL: chainq sql --last 1000 'select program_id, count(*) from records group "
        "by 1'. See chainq help sql.",
    ),
    "units": (
        "unit credit credits microcredits microcredit fee fees decimals supply",
        "Amounts and fees are in microcredits: 1 credit is 1,000,000 microcredits. Columns with another unit name it: "
        "see --columns help. chainq show prints the fee of a transaction: see chainq help show.",
    ),
    "types": (
        "integer integers number numbers precision decimal bigint digits",
        "chainq keeps every digit of a number. Other programs may round integers above 2**53: see Integers that do not "
        "fit in docs/cookbook.md. --columns help lists the type of each column: see chainq help columns.",
    ),
    "timezone": (
        "timezones tz utc epoch unix iso8601 rfc3339 local-time",
        "Times are in UTC. --since and --until also take a time with an offset, such as 2024-06-02T11:36+02:00, and "
        "Unix seconds. See chainq help since.",
    ),
    "stdin": (
        "- input xargs batch standard-input ids",
        "block, transactions and transaction read heights or IDs from standard input, one per line, if their "
        "argument is -. A line can also be a row as jsonl: chainq blocks --last 5 --jsonl | chainq transactions -. See "
        "chainq help block.",
    ),
    "compression": (
        "compress gz gzip zip zstd",
        "Parquet files are compressed with zstd. Compress other formats in a pipe: chainq records --last 1000 | gzip "
        "> records.jsonl.gz. See chainq help output.",
    ),
    "search": (
        "find look lookup where-is explore explorer",
        "chainq show looks up a block, transaction, address, program or function. --where, --program and --function "
        "select rows of a range. See chainq help show, and chainq help filter.",
    ),
    "methods": (
        "method json-rpc jsonrpc raw request requests params parameters curl",
        "chainq rpc METHOD [PARAMS] sends one request and prints its result, and --dry-run prints the requests of a "
        "command. docs/protocol.md describes the methods. See chainq help rpc.",
    ),
    "docs": (
        "documentation manual man-page guide tutorial example examples recipe recipes cookbook quickstart readme",
        "man chainq and docs/reference.md describe all commands and options, docs/cookbook.md has recipes, and chainq "
        "COMMAND --help has examples.",
    ),
    "install": (
        "installation installing upgrade update uninstall extras pip pipx uv windows macos docker kubernetes",
        "docs/install.md describes how to install chainq and its extras, and how to upgrade it. docs/cookbook.md "
        "runs it in a container and on Kubernetes.",
    ),
    "shell": (
        "bash zsh fish autocomplete tab tab-completion alias",
        "chainq completion prints the completion script of bash, zsh or fish: see chainq help completion.",
    ),
    "wallet": (
        "wallets key keys private-key",
        "chainq owned prints the records that your view keys own, and chainq balance adds them up. Both read the "
        "keys from --view-key-file FILE or CHAINQ_VIEW_KEY: see chainq help owned.",
    ),
    "demo": (
        "demo: sample sample-chain offline mock test testing",
        "--url demo: is a built-in sample chain that needs no network. chainq serve serves it over HTTP: see "
        "chainq help serve.",
    ),
    "tables": (
        "schema query duckdb database db sqlite warehouse",
        "chainq export writes the tables of a chain, and chainq sql queries them: see chainq help sql. "
        "docs/tables.md lists them with their columns.",
    ),
    "proof": (
        "proofs belief witness completeness grade missing gaps",
        "chainq prints rows only if later rows, another method or repeated responses show that none is missing; "
        "-v names the proof. The last one is called belief: chainq warns, and --strict makes it an error. See "
        "docs/completeness.md, and chainq help verify.",
    ),
    "--version": ("-V", "chainq --version, -V and chainq version print the version."),
    "python": (
        "client pandas polars arrow spark pyspark jupyter notebook dataframe library async asyncio",
        "In Python, chainq.Client has a method for each command, and returns rows as Arrow tables or data "
        "frames of pandas, Polars and Spark: see docs/python.md.",
    ),
    "object-store": (
        "s3 gs gcs az azure minio bucket",
        "chainq export writes to s3://, gs:// and az:// URLs, and --url and --lake read exports there: see "
        "docs/export.md, and chainq help export.",
    ),
    "rate-limit": (
        "429 rate-limits rate-limiting throttling throttle",
        "If a server limits requests (HTTP 429), chainq waits and sends them again; --rate N and -j N send "
        "fewer. chainq doctor names a rate that the server accepts. See Rate limits in docs/protocol.md.",
    ),
    "speed": (
        "slow fast performance benchmark faster",
        "-j N sends more requests at a time, and --lake DEST reads what an export contains from there. chainq doctor "
        "measures a server. See docs/performance.md.",
    ),
    "extra": (
        "",
        "The last column of Parquet files and exports: fields that have no column, and values that do not fit "
        "theirs, as JSON. See docs/tables.md.",
    ),
}
"""The words for a topic without options of its own to list, and what is said of it."""
