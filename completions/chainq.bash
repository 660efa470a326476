# Completion of chainq for bash, written by python -m chainq._docgen; change what it is written from.
# It starts no program and sends no request: everything is in this file, except the profiles of the configuration file.

_chainq_commands() {
    _chainq_offer 'blocks' 'block summaries for a height range'
    _chainq_offer 'block' 'block summaries by height'
    _chainq_offer 'latest' 'block summary of the latest block'
    _chainq_offer 'full-blocks' 'full block content (header, authority, ratifications, transactions) for a height range'
    _chainq_offer 'transactions' 'transaction summaries of blocks'
    _chainq_offer 'transaction' 'full details of one transaction by ID'
    _chainq_offer 'program-transactions' 'transactions that call a program'"'"'s function, once for each call'
    _chainq_offer 'records' 'records produced in a height range'
    _chainq_offer 'ownership' 'minimal ownership data of records in a height range'
    _chainq_offer 'transitions' 'transitions that have no record inputs, in a height range'
    _chainq_offer 'address-transactions' 'IDs of public transactions of an address in a height range'
    _chainq_offer 'owned' 'ownership rows that your view keys own'
    _chainq_offer 'show' 'show a block, transaction, address or program on one screen'
    _chainq_offer 'export' 'write Parquet partitions into a folder or an object store'
    _chainq_offer 'sql' 'query an export, or the last blocks, with SQL'
    _chainq_offer 'rpc' 'call any method and print its result'
    _chainq_offer 'doctor' 'examine a server: dialect, methods, pagination, limits'
    _chainq_offer 'verify' 'find missing, doubled, altered and misplaced rows'
    _chainq_offer 'profiles' 'list the profiles in config.toml'
    _chainq_offer 'serve' 'serve the sample chain over HTTP, with optional faults'
    _chainq_offer 'completion' 'print the completion script of a shell'
    _chainq_offer 'help' 'show the help of the program or of a command'
    _chainq_offer 'version' 'print the version'
}

_chainq_options() {
    if [[ -z $1 ]]; then
        _chainq_offer '--version' 'Print the version and exit'
        _chainq_offer '-V' 'Print the version and exit'
        _chainq_offer '--help' 'Show this message and exit'
        _chainq_offer '-h' 'Show this message and exit'
    fi
    case $1 in
        blocks|full-blocks|records|ownership|transitions|address-transactions|owned|export|sql|verify)
            _chainq_offer '--start' 'First height; -100: the last 100 blocks'
            _chainq_offer '--end' 'End height, exclusive. Default, and latest: through the tip'
            _chainq_offer '--last' 'The last N blocks'
            _chainq_offer '--since' 'First block time: 2024-06-02, 2024-06-02T11:36Z, 2h or '"'"'2 hours ago'"'"', yesterday, or Unix seconds'
            _chainq_offer '--until' 'End block time, exclusive'
            ;;
    esac
    case $1 in
        blocks|full-blocks|records|ownership|transitions|address-transactions|owned)
            _chainq_offer '--reverse' 'Highest heights first'
            _chainq_offer '--rewind' 'Fetch the last N or more blocks again, then resume'
            _chainq_offer '--max-age' 'Exit with code 6 if the tip is older: 10m, 2h, 7d'
            _chainq_offer '--follow' 'Keep running and print new blocks'
            _chainq_offer '-f' 'Keep running and print new blocks'
            _chainq_offer '--interval' 'Seconds between polls.  [default: 5]'
            ;;
    esac
    case $1 in
        blocks|full-blocks|program-transactions|records|ownership|transitions|address-transactions|owned)
            _chainq_offer '--limit' 'Stop after N rows'
            ;;
    esac
    case $1 in
        blocks|full-blocks)
            _chainq_offer '--no-verify' 'Skip the check for missing and unlinked blocks'
            ;;
    esac
    case $1 in
        blocks|full-blocks|records|ownership|transitions|address-transactions|owned|verify)
            _chainq_offer '--checkpoint' 'Resume where the last run ended'
            ;;
    esac
    case $1 in
        blocks|full-blocks|records|ownership|transitions|address-transactions|owned|export)
            _chainq_offer '--lag' 'Leave out the last N blocks'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|sql|verify)
            _chainq_offer '--format' 'table, jsonl, json, csv, tsv, text, chart, parquet, plug-ins. Default: by the extension of FILE, else CHAINQ_FORMAT, else table on a terminal and jsonl elsewhere'
            _chainq_offer '--table' 'Human-readable table'
            _chainq_offer '--jsonl' 'One JSON object per line, as the service sent it'
            _chainq_offer '--json' 'One JSON array, or one object'
            _chainq_offer '--csv' 'CSV with a header (RFC 4180)'
            _chainq_offer '--text' 'Values only, separated by tabs, one row per line'
            _chainq_offer '--no-header' 'csv or tsv without its header'
            _chainq_offer '--output' 'Output file, replaced when complete; its extension selects the format'
            _chainq_offer '-o' 'Output file, replaced when complete; its extension selects the format'
            ;;
    esac
    case $1 in
        blocks|block|latest)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|show|sql|verify)
            _chainq_offer '--no-trunc' 'Do not abbreviate values'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|show|sql|rpc|verify)
            _chainq_offer '--color' 'When to use colours'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|show|export|sql|rpc|doctor|verify)
            _chainq_offer '--url' 'URL of the service; demo: is a built-in sample'
            _chainq_offer '--profile' 'Profile from config.toml'
            _chainq_offer '--dialect' 'Dialect of the server: chain, aleo, or auto to detect it'
            _chainq_offer '--timeout' 'Seconds per request'
            _chainq_offer '--retries' 'Retries for transient failures'
            _chainq_offer '--concurrency' 'Parallel requests'
            _chainq_offer '-j' 'Parallel requests'
            _chainq_offer '--max-memory' 'Maximum memory for responses: 512M, 2G'
            _chainq_offer '--rate' 'Maximum requests per second'
            _chainq_offer '--header' 'HTTP header for every request; keep secrets in a profile'
            _chainq_offer '--quiet' 'Suppress warnings and progress'
            _chainq_offer '-q' 'Suppress warnings and progress'
            _chainq_offer '--verbose' 'Log every request to stderr'
            _chainq_offer '-v' 'Log every request to stderr'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned)
            _chainq_offer '--no-check' 'Skip argument checks'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|rpc)
            _chainq_offer '--dry-run' 'Print requests as JSON lines, send none'
            ;;
    esac
    case $1 in
        blocks|block|latest|full-blocks|transactions|transaction|program-transactions|records|ownership|transitions|address-transactions|owned|show|export|sql|rpc|doctor|verify|profiles|serve|completion|help|version)
            _chainq_offer '--help' 'Show this message and exit'
            _chainq_offer '-h' 'Show this message and exit'
            ;;
    esac
    case $1 in
        full-blocks)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        transactions)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        transaction|program-transactions)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        program-transactions|records|ownership|transitions|address-transactions)
            _chainq_offer '--page' 'Print one page of one request, unverified'
            ;;
    esac
    case $1 in
        program-transactions|records|ownership|transitions|address-transactions|owned)
            _chainq_offer '--page-size' 'Initial page size'
            ;;
    esac
    case $1 in
        program-transactions)
            _chainq_offer '--newest' 'The newest rows first, as many as --limit'
            ;;
    esac
    case $1 in
        records)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        ownership)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        transitions)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        address-transactions)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            _chainq_offer '--no-details' 'Do not look up the transactions of a table'
            ;;
    esac
    case $1 in
        owned)
            _chainq_offer '--view-key-file' 'View keys, one per line. Default: CHAINQ_VIEW_KEY, else a hidden prompt'
            _chainq_offer '--insecure-key-file' 'Accept a key file that others can access'
            _chainq_offer '--records' 'Add the record of each row, with its height'
            _chainq_offer '--decrypt' 'Add the record and its plaintext'
            _chainq_offer '--network' 'Fail unless the service is on mainnet, or on testnet'
            _chainq_offer '--workers' 'Processes that compare rows. Default: one per core'
            _chainq_offer '-w' 'Processes that compare rows. Default: one per core'
            ;;
    esac
    case $1 in
        owned|verify)
            _chainq_offer '--columns' 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
            ;;
    esac
    case $1 in
        show)
            _chainq_offer '--last' 'Newest blocks to look at. By default 500K for an address, 100 for a program'
            _chainq_offer '--json' 'All parts as one JSON object'
            ;;
    esac
    case $1 in
        export)
            _chainq_offer '--to' 'Folder, or s3://, gs:// or az:// URL'
            _chainq_offer '--partition' 'Heights in a partition'
            _chainq_offer '--workers' 'Worker processes. Default: one per core'
            _chainq_offer '-w' 'Worker processes. Default: one per core'
            _chainq_offer '--engine' 'Who does the work: local or dask'
            _chainq_offer '--scheduler' 'Dask scheduler, such as tcp://host:8786'
            _chainq_offer '--delta' 'Commit full partitions to a Delta table for each command'
            _chainq_offer '--repair' 'Write again the partitions that findings of verify name (jsonl), or all of the range'
            _chainq_offer '--no-lock' 'Do not keep other exports out; for disjoint partitions'
            _chainq_offer '--dry-run' 'List the partitions to write, write none'
            ;;
    esac
    case $1 in
        doctor|profiles)
            _chainq_offer '--json' 'JSON instead of a table'
            ;;
    esac
    case $1 in
        doctor)
            _chainq_offer '--save' 'Save as a profile in config.toml'
            _chainq_offer '--default' 'With --save: make it the default profile'
            ;;
    esac
    case $1 in
        verify)
            _chainq_offer '--commands' 'Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all'
            _chainq_offer '--witness' 'Second service to compare with, as far as its chain goes'
            _chainq_offer '--sample' 'Compare N heights of a data set or file, drawn at random, with the service'
            _chainq_offer '--full' 'Compare all heights of a data set or file with the service'
            ;;
    esac
    case $1 in
        serve)
            _chainq_offer '--port' 'TCP port; 0: any free one'
            _chainq_offer '--host' 'A loopback address'
            _chainq_offer '--dialect' 'chain or aleo'
            _chainq_offer '--tip' 'Tip height; -1: an empty chain'
            _chainq_offer '--newest' 'Tip height; -1: an empty chain'
            _chainq_offer '--grow' 'Seconds between new blocks; 0: no new blocks'
            _chainq_offer '--seed' 'Seed for the chain'
            _chainq_offer '--dense-height' 'Number of records at height H'
            _chainq_offer '--owner' 'Plant records of this address, not of the published test key'
            _chainq_offer '--shuffle' 'Shuffle the rows inside each height'
            _chainq_offer '--no-shuffle' 'Shuffle the rows inside each height'
            _chainq_offer '--gzip' 'Compress responses for clients that accept it'
            _chainq_offer '--verbose' 'Log every call to stderr'
            _chainq_offer '-v' 'Log every call to stderr'
            _chainq_offer '--latency' 'Seconds before each response'
            _chainq_offer '--drip' 'Seconds between single bytes of a response'
            _chainq_offer '--rate-limit' 'HTTP 429 after N calls of a method'
            _chainq_offer '--rate-window' 'Length of the rate-limit window'
            _chainq_offer '--retry-after' 'Retry-After header of a 429 response'
            _chainq_offer '--fail-rate' 'Share of 503 responses'
            _chainq_offer '--database-down' 'JSON-RPC error 57P01 for the first N calls, or for calls A:B'
            _chainq_offer '--heavy-rows' 'Query timeout for responses of more than N rows'
            _chainq_offer '--truncate-rate' 'Share of bodies that end early'
            _chainq_offer '--wrong-id-rate' 'Share of responses with a wrong id'
            _chainq_offer '--clamp-heights' 'Silently serve only the first N heights of a range'
            _chainq_offer '--empty-above' 'Empty results for ranges of more than N heights'
            _chainq_offer '--exclusive-start' 'Leave out the first height of a range'
            _chainq_offer '--inclusive-end' 'Include the end height of a range'
            _chainq_offer '--neighbour-rows' 'Include the first row after the range'
            _chainq_offer '--row-cap' 'Silently cap responses at N rows'
            _chainq_offer '--cap-varies' 'Double the row cap of half of the calls, at random'
            _chainq_offer '--byte-cap' 'Silently cap responses at N bytes of rows'
            _chainq_offer '--ignore-page-size' 'Ignore the page size'
            _chainq_offer '--page-offset' 'Page offset: page number times the size asked, or the size given'
            _chainq_offer '--no-pages' 'Empty results for every page but page 0'
            _chainq_offer '--repeat-pages' 'Ignore the page number'
            _chainq_offer '--result-window' 'No pages beyond the first N rows of a range'
            _chainq_offer '--empty-rate' 'Share of empty results'
            _chainq_offer '--duplicate-rate' 'Share of rows that are sent twice'
            _chainq_offer '--shuffle-heights' 'Return rows in random order of height'
            _chainq_offer '--missing-height' 'Leave out a block'
            _chainq_offer '--broken-link' 'Give a block a wrong previous_hash'
            _chainq_offer '--deployed-lists' 'Leave out of lists what deployed servers do not list'
            _chainq_offer '--plant' 'Hold one row wrongly, such as lost-record:672; may be repeated'
            _chainq_offer '--stale-tip-rate' 'Share of latest/block calls with an old tip'
            _chainq_offer '--lag-blocks' 'Hide the last N blocks from all methods but latest/block'
            _chainq_offer '--lag-rate' 'Share of calls that --lag-blocks is about'
            _chainq_offer '--late-records' 'Calls until a new block'"'"'s records appear'
            _chainq_offer '--reorg-at' 'Replace the blocks from H on'
            _chainq_offer '--reorg-after' 'Calls before --reorg-at takes effect'
            _chainq_offer '--fault-seed' 'Seed for faults'
            ;;
    esac
}

# Whether an option of a command takes a value.
_chainq_takes() {
    case "$1 $2" in
        *' --start') ;;
        *' --end') ;;
        blocks' --last'|full-blocks' --last'|records' --last'|ownership' --last'|transitions' --last'|address-transactions' --last'|owned' --last'|export' --last'|sql' --last'|verify' --last') ;;
        *' --since') ;;
        *' --until') ;;
        *' --rewind') ;;
        *' --max-age') ;;
        *' --interval') ;;
        *' --limit') ;;
        *' --checkpoint') ;;
        *' --lag') ;;
        *' --format') ;;
        *' --output'|*' -o') ;;
        blocks' --columns'|block' --columns'|latest' --columns') ;;
        *' --color') ;;
        *' --url') ;;
        *' --profile') ;;
        blocks' --dialect'|block' --dialect'|latest' --dialect'|full-blocks' --dialect'|transactions' --dialect'|transaction' --dialect'|program-transactions' --dialect'|records' --dialect'|ownership' --dialect'|transitions' --dialect'|address-transactions' --dialect'|owned' --dialect'|show' --dialect'|export' --dialect'|sql' --dialect'|rpc' --dialect'|doctor' --dialect'|verify' --dialect') ;;
        *' --timeout') ;;
        *' --retries') ;;
        *' --concurrency'|*' -j') ;;
        *' --max-memory') ;;
        *' --rate') ;;
        *' --header') ;;
        full-blocks' --columns') ;;
        transactions' --columns') ;;
        transaction' --columns'|program-transactions' --columns') ;;
        *' --page') ;;
        *' --page-size') ;;
        records' --columns') ;;
        ownership' --columns') ;;
        transitions' --columns') ;;
        address-transactions' --columns') ;;
        *' --view-key-file') ;;
        *' --network') ;;
        owned' --workers'|owned' -w') ;;
        owned' --columns'|verify' --columns') ;;
        show' --last') ;;
        *' --to') ;;
        *' --partition') ;;
        export' --workers'|export' -w') ;;
        *' --engine') ;;
        *' --scheduler') ;;
        *' --repair') ;;
        *' --save') ;;
        *' --commands') ;;
        *' --witness') ;;
        *' --sample') ;;
        *' --port') ;;
        *' --host') ;;
        serve' --dialect') ;;
        *' --tip'|*' --newest') ;;
        *' --grow') ;;
        *' --seed') ;;
        *' --dense-height') ;;
        *' --owner') ;;
        *' --latency') ;;
        *' --drip') ;;
        *' --rate-limit') ;;
        *' --rate-window') ;;
        *' --retry-after') ;;
        *' --fail-rate') ;;
        *' --database-down') ;;
        *' --heavy-rows') ;;
        *' --truncate-rate') ;;
        *' --wrong-id-rate') ;;
        *' --clamp-heights') ;;
        *' --empty-above') ;;
        *' --row-cap') ;;
        *' --byte-cap') ;;
        *' --page-offset') ;;
        *' --result-window') ;;
        *' --empty-rate') ;;
        *' --duplicate-rate') ;;
        *' --missing-height') ;;
        *' --broken-link') ;;
        *' --plant') ;;
        *' --stale-tip-rate') ;;
        *' --lag-blocks') ;;
        *' --lag-rate') ;;
        *' --late-records') ;;
        *' --reorg-at') ;;
        *' --reorg-after') ;;
        *' --fault-seed') ;;
        *) return 1 ;;
    esac
}

_chainq_value() {
    case "$1 $2" in
        *' --checkpoint')
            _chainq_files
            ;;
        *' --format')
            _chainq_offer 'table' ''
            _chainq_offer 'jsonl' ''
            _chainq_offer 'json' ''
            _chainq_offer 'csv' ''
            _chainq_offer 'text' ''
            _chainq_offer 'tsv' ''
            _chainq_offer 'parquet' ''
            _chainq_offer 'chart' ''
            ;;
        *' --output'|*' -o')
            _chainq_files
            ;;
        blocks' --columns'|block' --columns'|latest' --columns')
            _chainq_list 'id' 'row id of the stored block' 'height' 'block height' 'block_hash' 'hash of the block' 'previous_hash' 'hash of the previous block' 'previous_state_root' 'root hash of the previous state' 'transactions_root' 'root hash of the block'"'"'s transactions' 'round' 'round number' 'coinbase_target' 'string' 'proof_target' 'string' 'last_coinbase_target' 'string' 'last_coinbase_timestamp' 'seconds since 1970' 'timestamp' 'time of the block, seconds since 1970' 'coinbase_reward' 'may be null' 'finalize_root' 'string' 'network' 'network identifier' 'ratifications_root' 'string' 'solutions_root' 'string' 'subdag_root' 'string' 'cumulative_weight' 'string' 'cumulative_proof_target' 'string' 'all' 'every column' 'help' 'list the columns'
            ;;
        *' --color')
            _chainq_offer 'auto' ''
            _chainq_offer 'always' ''
            _chainq_offer 'never' ''
            ;;
        *' --url')
            _chainq_offer 'demo:' 'the sample chain, with no network'
            ;;
        *' --profile')
            _chainq_profiles
            ;;
        blocks' --dialect'|block' --dialect'|latest' --dialect'|full-blocks' --dialect'|transactions' --dialect'|transaction' --dialect'|program-transactions' --dialect'|records' --dialect'|ownership' --dialect'|transitions' --dialect'|address-transactions' --dialect'|owned' --dialect'|show' --dialect'|export' --dialect'|sql' --dialect'|rpc' --dialect'|doctor' --dialect'|verify' --dialect')
            _chainq_offer 'chain' ''
            _chainq_offer 'aleo' ''
            _chainq_offer 'auto' ''
            ;;
        full-blocks' --columns')
            _chainq_list 'block_hash' 'hash of the block' 'previous_hash' 'hash of the previous block' 'header.previous_state_root' 'string' 'header.transactions_root' 'string' 'header.finalize_root' 'string' 'header.ratifications_root' 'string' 'header.solutions_root' 'string' 'header.subdag_root' 'string' 'header.metadata.network' 'network identifier' 'header.metadata.round' 'round number' 'header.metadata.height' 'block height' 'header.metadata.cumulative_weight' 'sent as a number of any size' 'header.metadata.cumulative_proof_target' 'sent as a number' 'header.metadata.coinbase_target' 'sent as a number' 'header.metadata.proof_target' 'sent as a number' 'header.metadata.last_coinbase_target' 'sent as a number' 'header.metadata.last_coinbase_timestamp' 'seconds since 1970, sent as a number' 'header.metadata.timestamp' 'seconds since 1970, sent as a number' 'authority.type' 'such as quorum' 'authority.subdag.subdag' 'certificates by round number' 'authority.subdag.election_certificate_ids' 'array of string' 'ratifications' 'type and amount' 'transactions' 'status, type, index and transaction' 'aborted_transaction_ids' 'IDs of aborted transactions' 'all' 'every column' 'help' 'list the columns'
            ;;
        transactions' --columns')
            _chainq_list 'height' 'height of the block, added by chainq; in jsonl and json only where --columns names it' 'id' 'row id of the stored transaction' 'block_id' 'the block: its height in the published interface, its row id on deployed servers' 'transaction_id' 'bech32, prefix at' 'type' 'such as Execute' 'index' 'index within the block' 'status' 'such as accepted' 'all' 'every column' 'help' 'list the columns'
            ;;
        transaction' --columns'|program-transactions' --columns')
            _chainq_list 'status' 'such as accepted' 'type' 'such as execute' 'index' 'index within the block' 'transaction.type' 'such as execute' 'transaction.id' 'transaction ID' 'transaction.execution.transitions' 'array of Transition' 'transaction.execution.global_state_root' 'string' 'transaction.execution.proof' 'string' 'transaction.fee.transition.id' 'transition ID' 'transaction.fee.transition.program' 'program ID' 'transaction.fee.transition.function' 'function name' 'transaction.fee.transition.inputs' 'type, id, value, tag' 'transaction.fee.transition.outputs' 'type, id, checksum, value' 'transaction.fee.transition.tpk' 'transition public key (group element)' 'transaction.fee.transition.tcm' 'transition commitment (field element)' 'transaction.fee.global_state_root' 'string' 'transaction.fee.proof' 'string' 'finalize' 'type, mapping_id, index, key_id, value_id' 'finalizedAt' 'seconds since 1970' 'all' 'every column' 'help' 'list the columns'
            ;;
        records' --columns')
            _chainq_list 'record_ciphertext' 'ciphertext of the record' 'program_id' 'program that generated the record' 'block_id' 'the block'"'"'s row id on deployed servers, not its height' 'height' 'block height where the record was produced' 'id' 'row id of the record' 'timestamp' 'time of creation, seconds since 1970' 'block_hash' 'string' 'transition_id' 'string' 'transaction_id' 'string' 'function_name' 'function executed in the transition' 'output_index' 'index of the output within the transition' 'all' 'every column' 'help' 'list the columns'
            ;;
        ownership' --columns')
            _chainq_list 'nonce_x' 'x-coordinate of the record'"'"'s nonce' 'nonce_y' 'y-coordinate of the nonce' 'owner_x' 'x-coordinate that only the owner'"'"'s view key explains' 'transition_id' 'transition that generated the record' 'output_index' 'index of the output within the transition' 'all' 'every column' 'help' 'list the columns'
            ;;
        transitions' --columns')
            _chainq_list 'transition_id' 'string' 'transaction_id' 'containing transaction' 'program' 'source text of the program' 'function_name' 'string' 'height' 'block height' 'tpk' 'transition public key (group element)' 'tcm' 'transition commitment (field element)' 'timestamp' 'seconds since 1970' 'all' 'every column' 'help' 'list the columns'
            ;;
        address-transactions' --columns')
            _chainq_list 'transaction_id' 'bech32, prefix at' 'all' 'every column' 'help' 'list the columns'
            ;;
        *' --view-key-file')
            _chainq_files
            ;;
        *' --network')
            _chainq_offer 'mainnet' ''
            _chainq_offer 'testnet' ''
            ;;
        *' --repair')
            _chainq_offer 'FILE' ''
            _chainq_offer 'all' ''
            ;;
        serve' --dialect')
            _chainq_offer 'chain' ''
            _chainq_offer 'aleo' ''
            ;;
    esac
}

_chainq_argument() {
    case "$1 $2" in
        blocks' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        block' '*)
            _chainq_offer 'latest' 'the block at the tip'
            _chainq_offer '-' 'one per line on standard input'
            ;;
        full-blocks' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        transactions' '*)
            _chainq_offer 'latest' 'the block at the tip'
            _chainq_offer '-' 'one per line on standard input'
            ;;
        transaction' '*)
            _chainq_offer '-' 'one per line on standard input'
            ;;
        program-transactions' '0)
            _chainq_offer 'credits.aleo' ''
            _chainq_offer 'token_registry.aleo' ''
            _chainq_offer 'wrapped_credits.aleo' ''
            _chainq_offer 'hello_hello.aleo' ''
            _chainq_offer 'tile_gallery.aleo' ''
            _chainq_offer 'wide_library.aleo' ''
            ;;
        program-transactions' '1)
            case $3 in
                credits.aleo) _chainq_offer 'transfer_public' ''; _chainq_offer 'transfer_private' ''; _chainq_offer 'transfer_public_as_signer' ''; _chainq_offer 'transfer_private_to_public' ''; _chainq_offer 'transfer_public_to_private' ''; _chainq_offer 'bond_public' ''; _chainq_offer 'bond_validator' ''; _chainq_offer 'claim_unbond_public' ''; _chainq_offer 'unbond_public' ''; _chainq_offer 'set_validator_state' ''; _chainq_offer 'mint' ''; _chainq_offer 'split' ''; _chainq_offer 'join' ''; _chainq_offer 'fee_public' ''; _chainq_offer 'fee_private' '' ;;
                token_registry.aleo) _chainq_offer 'mint_public' ''; _chainq_offer 'transfer_public' ''; _chainq_offer 'transfer_from_public' ''; _chainq_offer 'transfer_private' ''; _chainq_offer 'transfer_public_to_private' '' ;;
                wrapped_credits.aleo) _chainq_offer 'deposit_credits_private' ''; _chainq_offer 'withdraw_credits_private' '' ;;
                hello_hello.aleo) _chainq_offer 'hello' '' ;;
                tile_gallery.aleo) _chainq_offer 'claim' ''; _chainq_offer 'show' '' ;;
                wide_library.aleo) _chainq_offer 'run' '' ;;
            esac
            ;;
        records' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        ownership' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        transitions' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        address-transactions' '1)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        owned' '0)
            _chainq_offer 'latest' 'the block at the tip'
            ;;
        rpc' '0)
            _chainq_offer 'getBlocks' 'block summaries for a height range'
            _chainq_offer 'block' 'block summaries by height'
            _chainq_offer 'latest/block' 'block summary of the latest block'
            _chainq_offer 'getChainBlocks' 'full block content (header, authority, ratifications, transactions) for a height range'
            _chainq_offer 'transactions' 'transaction summaries of blocks'
            _chainq_offer 'chainTransaction' 'full details of one transaction by ID'
            _chainq_offer 'chainTransactionsForProgram' 'transactions that call a program'"'"'s function, once for each call'
            _chainq_offer 'records/all' 'records produced in a height range'
            _chainq_offer 'records/isOwner' 'minimal ownership data of records in a height range'
            _chainq_offer 'transitionsWithoutRecordInputs' 'transitions that have no record inputs, in a height range'
            _chainq_offer 'getPublicTransactionsForAddress' 'IDs of public transactions of an address in a height range'
            ;;
        verify' '0)
            _chainq_offer 'RANGE' ''
            _chainq_offer 'DEST' ''
            _chainq_offer 'FILE' ''
            ;;
        completion' '0)
            _chainq_offer 'bash' ''
            _chainq_offer 'zsh' ''
            _chainq_offer 'fish' ''
            ;;
        help' '0)
            _chainq_offer 'blocks' 'block summaries for a height range'
            _chainq_offer 'block' 'block summaries by height'
            _chainq_offer 'latest' 'block summary of the latest block'
            _chainq_offer 'full-blocks' 'full block content (header, authority, ratifications, transactions) for a height range'
            _chainq_offer 'transactions' 'transaction summaries of blocks'
            _chainq_offer 'transaction' 'full details of one transaction by ID'
            _chainq_offer 'program-transactions' 'transactions that call a program'"'"'s function, once for each call'
            _chainq_offer 'records' 'records produced in a height range'
            _chainq_offer 'ownership' 'minimal ownership data of records in a height range'
            _chainq_offer 'transitions' 'transitions that have no record inputs, in a height range'
            _chainq_offer 'address-transactions' 'IDs of public transactions of an address in a height range'
            _chainq_offer 'owned' 'ownership rows that your view keys own'
            _chainq_offer 'show' 'show a block, transaction, address or program on one screen'
            _chainq_offer 'export' 'write Parquet partitions into a folder or an object store'
            _chainq_offer 'sql' 'query an export, or the last blocks, with SQL'
            _chainq_offer 'rpc' 'call any method and print its result'
            _chainq_offer 'doctor' 'examine a server: dialect, methods, pagination, limits'
            _chainq_offer 'verify' 'find missing, doubled, altered and misplaced rows'
            _chainq_offer 'profiles' 'list the profiles in config.toml'
            _chainq_offer 'serve' 'serve the sample chain over HTTP, with optional faults'
            _chainq_offer 'completion' 'print the completion script of a shell'
            _chainq_offer 'help' 'show the help of the program or of a command'
            _chainq_offer 'version' 'print the version'
            ;;
    esac
}

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
