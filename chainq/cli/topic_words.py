"""The words that users of other programs type after `chainq help`, and what is said of those without options."""

from collections.abc import Mapping

from chainq.cli.glossary import TERMS


def by_word(words: Mapping[str, str]) -> dict[str, str]:
    """Return what each word stands for, given the words for it with blanks between."""
    return {word: meant for meant, text in words.items() for word in text.split()}


WORDS = by_word(
    {
        "range": "ranges date dates time times pagination paging pages paginate offset cursor age duration recent",
        "filter": "filters filtering condition conditions expression expressions regex regexp jq grep",
        "resume": "resuming checkpoints following incremental daemon state continue poll stream live append watch "
        "keep-up keeping-up new-blocks new-rows keep-up-date up-date update-file",
        "output": "formats files tsv pipe pipes redirect ndjson txt excel xlsx yaml plugin "
        "plugins plug-in file stdout template print pretty indent compact",
        "service": "server servers connection network endpoint node connect http https api",
        "chart": "charts plot graph histogram",
        "environment": "env environ variable variables envvars less",
        "exit-codes": "exit exit-code exit-status code codes status-codes error errors failure "
        "signal signals ctrl-c sigint sigterm sighup sigpipe kill lock locked",
        "topics": "topic list words word glossary terms",
        "latest": "newest-block latest-block last-block current-block newest-height latest-height last-height "
        "current-height highest-block tip-height",
        "balance": "private-balance public-balance",
        "owned": "my-records own-records records-view-key",
        "sql": "query-sql",
        "completion": "shell bash zsh fish autocomplete tab tab-completion alias",
        "--color": "colors colour colours ansi theme no-color nocolor",
        "HTTPS_PROXY": "proxy proxies",
        "--columns": "column fields cols select nested array arrays",
        "--concurrency": "parallel threads jobs",
        "--end": "stop until-height",
        "--hashes": "hash",
        "--last": "tail",
        "--limit": "head first top max",
        "--max-age": "alert alerts alerting monitor monitoring stale staleness freshness",
        "--max-memory": "memory ram",
        "--network": "mainnet testnet",
        "--output": "overwrite overwriting replace clobber save-file write-file file-name",
        "--quiet": "silent progress progress-bar warnings",
        "--retries": "retry backoff 500 502 503 504",
        "--since": "hour hours day days minute minutes week weeks month months yesterday today ago last-hour last-day "
        "last-week last-month last-minutes",
        "--start": "from begin",
        "--timeout": "timeouts max-time",
        "--verbose": "debug log logs logging trace",
        "--where": "case case-sensitive case-insensitive null nulls quote quotes quoting",
    }
)
"""The topic, the command, the variable or the option that a word stands for."""
CONFIG = "config"
CRON = (
    "*/5 * * * *  $HOME/.local/bin/chainq records --profile main --start -100 --checkpoint $HOME/records.ckpt "
    "-o $HOME/records.jsonl --strict"
)
"""The example for cron, of the manual and of docs/cookbook.md too."""
PLACES = {
    **TERMS,
    "cache": (
        "delete remove clean cleanup erase history",
        "chainq keeps the dialects of servers in ~/.cache/chainq, and what was typed at the prompt of chainq sql in "
        "sql_history in ~/.local/state/chainq; both can be deleted. A checkpoint belongs to its output file: delete "
        "both or neither. An export is a folder or a bucket that can be deleted as a whole. See chainq help config, "
        "and chainq help environment.",
    ),
    CONFIG: (
        "configuration config.toml config-file profile profile-file settings",
        "The configuration file, config.toml, contains profiles of services: see man 5 chainq, or Configuration "
        "file in docs/reference.md. chainq profiles lists them, and chainq doctor --save NAME adds one.\n"
        "A profile for --profile main:\n"
        "  [profiles.main]\n"
        '  url = "https://rpc.example.org/"\n'
        "  timeout = 20",
    ),
    "authentication": (
        "token tokens auth authorization bearer api-key apikey login password secret secrets credentials headers user",
        "--header 'Authorization: Bearer TOKEN' sends a header with every request, and --cert FILE a client "
        "certificate: see chainq help header. For tokens of the chain see chainq help balance.\n"
        "A profile in config.toml takes a secret from the variable CHAINQ_TOKEN:\n"
        "  [profiles.main]\n"
        '  url = "https://rpc.example.org/"\n'
        '  headers = { Authorization = "env:CHAINQ_TOKEN" }',
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
        "table in -o FILE has whole values. The other formats print everything. See chainq help no-trunc.",
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
        "by 1'. See chainq help sql. For values such as 123group see chainq help field.",
    ),
    "units": (
        "unit credit credits microcredits microcredit decimals supply",
        "Amounts and fees are in microcredits: 1 credit is 1,000,000 microcredits. chainq COMMAND "
        "--columns help names the unit of other columns. Fees: see chainq help fees.",
    ),
    "fees": (
        "fee daily-fees fees-chart fees-day fees-block fees-sum total-fees average-fee gas",
        "Fees are in microcredits: 1 credit is 1,000,000 microcredits. chainq show ID prints the fee of a transaction. "
        "For sums, query an export with SQL: see Examples in docs/tables.md, and chainq help sql. An export begins at "
        "a multiple of --partition: the query leaves out the part of a day before --since.\n"
        "Fees by day, in credits:\n"
        "  chainq export chain --to DEST --since 2024-05-11 --until 2024-05-13 --partition 1K\n"
        "  chainq sql DEST \"select date_trunc('day', b.timestamp) as day, sum(i.value_number) / 1e6 as credits from "
        "inputs i join calls c using (transition_id) join blocks b on b.height = c.height where c.kind = 'fee' and "
        "i.value_type = 'u64' and b.timestamp >= '2024-05-11' group by 1 order by 1\" --format chart",
    ),
    "cron": (
        "crontab schedule scheduled timer systemd every-minute every-hour every-day hourly daily nightly periodically "
        "rotate rotation logrotate",
        "A run with --checkpoint adds the rows that are new since the last run. If the last run is still busy, "
        "it exits with code 75 and changes nothing. Write the full path of chainq and a profile, because cron does not "
        "know your PATH and CHAINQ_URL. See A file that keeps up, from cron, in docs/cookbook.md, also for logrotate, "
        "and chainq help resume.\n"
        f"A line for crontab -e:\n  {CRON}",
    ),
    "copy": (
        "mirror backup archive sync synchronize download dump snapshot replicate whole-chain entire-chain "
        "complete-chain",
        "chainq export chain records ownership transitions --to DEST copies a chain as Parquet files into a folder or "
        "a bucket, and the next run adds what is new. chain alone writes the tables that full blocks fill, without "
        "records, ownership and transitions. --url DEST and chainq sql read them, chainq serve --lake DEST serves "
        "them, and chainq verify DEST checks them. See chainq help export.",
    ),
    "chain": (
        "blockchain aleo snarkvm",
        "chainq reads the Aleo chain from a service, which --url, CHAINQ_URL or a profile names. To copy all of it "
        "see chainq help copy.",
    ),
    "compare": (
        "comparing diff duplicate duplicates dedup deduplicate validate validation "
        "audit integrity consistency corrupt check-data data-set-check",
        "chainq verify finds missing, duplicate, altered and misplaced rows: of a service, of files, and of an export, "
        "also compared with a second service (--witness). See chainq help verify.",
    ),
    "reward": (
        "rewards coinbase ratification staking validator validators mining miner",
        "The coinbase reward is for solutions of the puzzle: chainq blocks --columns height,coinbase_reward prints it, "
        "in microcredits. Full blocks list block and puzzle rewards in ratifications. See chainq help full-blocks.",
    ),
    "row": (
        "rows",
        "What a command prints for each block, transaction, record or transition: a line of jsonl, csv and tables. "
        "--columns selects fields, --where rows, and --limit N stops after N rows. See chainq help output, and chainq "
        "help filter.",
    ),
    "last": (
        "last-blocks newest-blocks recent-blocks",
        "--last N selects the last N blocks, and --since TIME those since a time: --since 1h is the last hour. chainq "
        "latest prints the newest block. See chainq help range.",
    ),
    "types": (
        "integer integers number numbers precision decimal bigint digits",
        "chainq keeps every digit of a number. Other programs may round integers above 2**53: see Integers that do not "
        "fit in docs/cookbook.md. chainq COMMAND --columns help lists the type of each column: see chainq help "
        "columns.",
    ),
    "timezone": (
        "zone tz utc epoch unix iso8601 rfc3339 local-time",
        "Times are in UTC. --since and --until also take a time with an offset, such as 2024-06-02T11:36+02:00, and "
        "Unix seconds. See chainq help since.",
    ),
    "stdin": (
        "- input xargs batch standard-input ids",
        "block, transactions, transaction and show read heights or IDs from standard input, one per line, if their "
        "argument is -. A line can also be a row as jsonl: chainq blocks --last 5 --jsonl | chainq transactions -. An "
        "invalid line ends the run with exit code 2; after one that is not found the run continues, and its exit code "
        "is 1. See chainq help block. For the inputs of transitions see chainq help inputs.",
    ),
    "parquet": (
        "parquet-file",
        "Parquet files need the extra parquet: see chainq help install. Other formats: see chainq help output.\n"
        "Example:\n"
        "  chainq records --last 100 -o records.parquet",
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
        "documentation manual man man-page license changelog contributing guide tutorial example examples recipe "
        "recipes cookbook quickstart readme",
        "man chainq and docs/reference.md describe all commands and options, docs/cookbook.md has recipes, and chainq "
        "COMMAND --help has examples. CHANGELOG.md and CONTRIBUTING.md are beside README.md. chainq has the MIT "
        "license.",
    ),
    "install": (
        "installation installing upgrade update uninstall deinstall extras pip pipx uv windows macos docker kubernetes",
        "docs/install.md describes how to install chainq and its extras, and how to upgrade and remove it. "
        "docs/cookbook.md runs it in a container and on Kubernetes.",
    ),
    "wallet": (
        "wallets key keys private-key sample-key test-key demo-key published-key example-key",
        "chainq owned prints the records that your view keys own, and chainq balance adds them up. Both read the "
        "keys from --view-key-file FILE or CHAINQ_VIEW_KEY: see chainq help owned.\n"
        "A published test key, which owns records of the sample chain:\n"
        "  export CHAINQ_VIEW_KEY=AViewKey1ccEt8A2Ryva5rxnKcAbn7wgTaTsb79tzkKHFpeKsm9NX\n"
        "  chainq balance --end 500 --url demo:",
    ),
    "privacy": (
        "confidential anonymity anonymous tracking telemetry",
        "chainq sends requests to the service only: it learns which blocks, transactions and addresses you ask for. "
        "Keys stay on your machine. Which of your records a service can recognize: see What the service learns in "
        "docs/cookbook.md, and chainq help owned. With --url DEST chainq reads an export only.",
    ),
    "demo": (
        "demo: sample sample-chain offline mock test testing",
        "--url demo: is a built-in sample chain that needs no network. chainq serve serves it over HTTP: see "
        "chainq help serve. With --url DEST commands read an export without a network, as chainq sql DEST does.",
    ),
    "tables": (
        "schema describe query duckdb database db sqlite warehouse",
        "chainq export writes the tables of a chain, and chainq sql queries them: see chainq help sql. "
        "docs/tables.md lists them with their columns, as chainq sql DEST 'describe blocks' does for one. chainq "
        "COMMAND --columns help lists those of a command.",
    ),
    "proof": (
        "proofs belief witness complete completeness incomplete grade missing gaps lost losing",
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
        "s3 gs gcs az azure minio bucket upload cloud",
        "chainq export writes to s3://, gs:// and az:// URLs, and --url and --lake read exports there: see "
        "docs/export.md, and chainq help export.",
    ),
    "rate-limit": (
        "429 rate-limits rate-limiting throttling throttle requests-per-second limit-requests limit-speed slow-down "
        "too-many-requests",
        "If a server limits requests (HTTP 429), chainq waits and sends them again; --rate N and -j N send "
        "fewer. chainq doctor names a rate that the server accepts. See Rate limits in docs/protocol.md.",
    ),
    "speed": (
        "slow fast performance benchmark faster throughput",
        "-j N sends more or fewer requests at a time, and --rate N limits how many a second. --lake DEST reads what an "
        "export contains from there. chainq doctor measures a server. See docs/performance.md.",
    ),
    "extra": (
        "",
        "The last column of Parquet files and exports: fields that have no column, and values that do not fit "
        "theirs, as JSON. See docs/tables.md.",
    ),
}
"""The words for a topic without options of its own to list, and what is said of it, with examples in lines."""
REMEDIES = {
    "1": "Check the height or the ID. chainq latest prints the newest block.",
    "2": "The message says what is wrong, and chainq COMMAND --help lists the options. For the URL of the service see "
    "chainq help service.",
    "3": "The message has the error of the service. chainq doctor examines a server, and finds its dialect and its "
    "methods. A server that requires credentials: see chainq help authentication.",
    "4": "Check the URL, or run the command again later: the message says how to resume. --timeout, --retries and "
    "--rate help with slow and busy servers. See chainq help service.",
    "5": "Check the URL: it may be that of a web page or of another service. chainq doctor examines a server.",
    "6": "Run the command again; the message says how to resume. If rows near the tip are missing, end the range some "
    "blocks below it, such as --end -10. After a reorg use --rewind N with the N of the message. chainq verify names "
    "the rows that are wrong and the commands that fetch them again: report those that stay to the operator of the "
    "server. See What ends in exit code 6 in docs/completeness.md.",
    "7": "Free space on the disk, or check the path and its permissions. If memory is short, lower -j, -w or "
    "--max-memory.",
    "70": "Report it with the traceback, which CHAINQ_DEBUG=1 shows.",
    "75": "Wait until the other run ends, or give this one another checkpoint, file or folder. In cron it needs "
    "nothing: the next run adds the rows.",
}
"""What to do after an exit code."""
