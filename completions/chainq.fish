# Completion of chainq for fish (3.0 and later).
# It starts no program and sends no request: everything is in this file, except the profiles of the configuration file.

# The words before the cursor without options and their values: the command, then its arguments.
function __chainq_words
    set -l words (commandline -opc)
    set -e words[1]
    set -l command
    set -l option
    for word in $words
        if test -n "$option"
            set option
        else if string match -qr -- '^-.' $word
            contains -- "$command $word" $__chainq_takers; and set option $word
        else
            test -n "$command"; or set command $word
            echo $word
        end
    end
end

# Whether the command is one of these; without any, whether there is no command yet.
function __chainq_in
    set -l words (__chainq_words)
    test -z "$words[1]$argv[1]"; or contains -- "$words[1]" $argv
end

# Whether the cursor is at the position $argv[1], or at any, of one of the commands that follow.
function __chainq_at
    set -l words (__chainq_words)
    test -n "$argv[2]"; and set -e words[1]
    __chainq_in $argv[2..-1]; and contains -- $argv[1] any (math (count $words) + 1)
end

# The words of a list, each with a note behind a tab, after a comma; those that are there already are left out.
function __chainq_list
    set -l typed (commandline -ct | string replace -r -- '^--[a-z-]+=' '')
    set -l before (string match -r -- '^.*,' "$typed")
    set -l chosen (string split , -- "$before")
    for offered in $argv
        contains -- (string split \t -- $offered)[1] $chosen; or echo "$before$offered"
    end
end

# The functions whose program is the first argument.
function __chainq_function
    set -l words (__chainq_words)
    for offered in $argv
        set -l pair (string split \t -- $offered)
        test "$pair[2]" = "$words[2]"; and echo $pair[1]
    end
end

function __chainq_profile
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

# The rows that follow are of these commands; without any, of the program itself.
function _chainq_for
    set -g __chainq_commands $argv
end

# _chainq_row NAMES|POSITION KIND HELP [WORD NOTE]...: tell fish.
function _chainq_row
    set -l words
    set -q argv[4]; and set words (printf '%s\t%s\n' $argv[4..-1] | string trim -r -c \t | string escape)
    set -l switches -x
    switch $argv[2]
        case flag
            set switches
        case 'path*'
            set switches -r -F -k -a "$words"
        case 'words*'
            set switches -x -k -a "$words"
        case 'list*'
            set switches -x -a "(__chainq_list $words)"
        case function profile
            set switches -x -a "(__chainq_$argv[2] $words)"
    end
    switch $argv[1]
        case '-*'
            for name in (string split ' ' -- $argv[1])
                switch $name
                    case '--*'
                        set -a switches -l (string sub -s 3 -- $name)
                    case '*'
                        set -a switches -s (string sub -s 2 -- $name)
                end
                test $argv[2] = flag; or set -ga __chainq_takers $__chainq_commands" "$name
            end
            complete -c chainq -n "__chainq_in $__chainq_commands" -d $argv[3] $switches
        case '*'
            complete -c chainq -n "__chainq_at $argv[1] $__chainq_commands" $switches
    end
end

set -g __chainq_takers
complete -c chainq -f
# table:begin, by python -m chainq._docgen
_chainq_for
_chainq_row '--version -V' flag 'Print the version and exit'
_chainq_row '--help -h' flag 'Show this message and exit'
_chainq_row 1 words command blocks 'block summaries for a height range' block 'block summaries by height' latest 'block summary of the latest block' full-blocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' transaction 'full details of transactions by ID' program-transactions 'transactions that call a program'"'"'s function, once for each call' records 'records produced in a height range' ownership 'minimal ownership data of records in a height range' transitions 'transitions that have no record inputs, in a height range' address-transactions 'IDs of public transactions of an address in a height range' owned 'ownership rows that your view keys own' balance 'private balance of your view keys' show 'show a block, transaction, address or program on one screen' export 'write Parquet partitions into a folder or an object store' sql 'query an export, or the last blocks, with SQL' rpc 'call any method and print its result' doctor 'examine a server: dialect, methods, pagination, limits' verify 'find missing, duplicate, altered and misplaced rows' status 'show how far a checkpoint or an export has come' profiles 'list the profiles in config.toml' serve 'serve the sample chain over HTTP, with optional faults' completion 'print the completion script of a shell' help 'explain a command, option or topic; see help topics' version 'print the version'
_chainq_for blocks full-blocks transactions records ownership transitions address-transactions owned export sql verify
_chainq_row --start text 'First height; -100: the last 100 blocks. With only an end, the range starts at height 0'
_chainq_row --end text 'End height, exclusive. Default: through the tip. `latest` is the default, too'
_chainq_row --since text 'First block time (UTC): 2024-06-02T11:36, yesterday or 2h. Also 2024-06-02, a time with an offset (2024-06-02T11:36+02:00), today, now, '"'"'2 days ago'"'"' or Unix seconds. Days begin at 00:00 UTC. Units are s, m or min, h, d, w, mo and y, or words'
_chainq_row --until text 'End block time (UTC), exclusive; also today or now'
_chainq_for blocks full-blocks records ownership transitions owned sql verify
_chainq_row --last text 'The last N blocks. Default: the last 10 blocks. Of address-transactions and a new export: the whole chain'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned
_chainq_row --reverse flag 'Highest heights first'
_chainq_row --lag text 'Leave out the last N blocks'
_chainq_row --rewind text 'Fetch the last N or more blocks again. The run then resumes'
_chainq_row --adopt flag 'Without a checkpoint, resume 10 heights back in -o FILE'
_chainq_row --max-age text 'Exit with code 6 if the tip is older: 10m, 2h, 7d. Needs --checkpoint or --follow'
_chainq_row '--follow -f' flag 'Keep running and print new blocks. Without --checkpoint, -o FILE must be new or empty'
_chainq_for blocks full-blocks transactions program-transactions records ownership transitions address-transactions owned
_chainq_row --limit text 'Stop after N rows'
_chainq_for blocks full-blocks
_chainq_row --no-verify flag 'Skip the check for missing and unlinked blocks'
_chainq_row --hashes flag 'Recompute block hashes. Exit with code 6 before the first wrong row'
_chainq_row '--workers -w' text 'Processes that recompute hashes. Default: one per core'
_chainq_for blocks
_chainq_row --where text+ 'Rows that meet it: '"'"'coinbase_reward != null and height ~ 0$'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned balance verify
_chainq_row --checkpoint path 'Resume the last run; start the first at --start or 0. Not with --last (use --start -N), --since or --until'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned balance
_chainq_row --interval text 'Seconds between polls'
_chainq_for blocks block full-blocks transactions records transitions owned sql verify
_chainq_row --format words 'table, jsonl, json, csv, tsv, text, parquet, chart. Default: table, or jsonl in a pipe. A chart needs rows with heights; sql also draws a number over a text or a time. Or a format of a plug-in. The extension of FILE and CHAINQ_FORMAT take precedence over the default' table '' jsonl '' json '' csv '' text '' tsv '' parquet '' chart ''
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify
_chainq_row --table flag 'Human-readable table'
_chainq_row --jsonl flag 'One JSON object per line. Rows of the service are as it sent them'
_chainq_row --json flag 'A JSON array, or an object if the result is one'
_chainq_row --csv flag 'CSV with a header (RFC 4180). A null is an empty field, as an empty text is'
_chainq_row --text flag 'Values only, separated by tabs, one row per line'
_chainq_row --no-header flag 'csv or tsv without its header'
_chainq_row --no-trunc flag 'Do not abbreviate values. If they do not fit the terminal, each row is lines of fields'
_chainq_row '--output -o' path 'Output file; its extension selects the format. An existing file is replaced when the output is complete. Runs with --checkpoint or --follow append to it'
_chainq_for blocks block
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' id 'row id of the stored block' height 'block height' block_hash 'hash of the block' previous_hash 'hash of the previous block' previous_state_root 'root hash of the previous state' transactions_root 'root hash of the block'"'"'s transactions' round 'round number' coinbase_target 'difficulty for all solutions together' proof_target 'least difficulty of a solution in the next block' last_coinbase_target 'coinbase target at the last coinbase' last_coinbase_timestamp 'seconds since 1970' timestamp 'time of the block, seconds since 1970' coinbase_reward 'in microcredits; may be null' finalize_root 'root hash of the block'"'"'s changes of mappings' network 'network identifier' ratifications_root 'root hash of the block'"'"'s ratifications' solutions_root 'root hash of the block'"'"'s solutions' subdag_root 'root hash of the block'"'"'s certificates' cumulative_weight 'difficulty of all solutions so far, added up' cumulative_proof_target 'the same since the last coinbase' total_supply_in_microcredits 'in older blocks only, in microcredits' all 'every column' help 'list the columns'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions
_chainq_row --flatten flag 'jsonl with a key for each column (b.c). Nested objects become keys, too'
_chainq_row --receipt flag 'Write FILE.receipt.json for chainq verify FILE. It contains the range, the row count and the SHA-256'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show sql rpc verify
_chainq_row --color words 'When to use colors. auto: on a terminal, unless NO_COLOR is set' auto '' always '' never ''
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned balance show export sql rpc doctor verify
_chainq_row --url path 'URL of the service, or folder or URL of an export; demo: is a built-in sample' demo: 'the sample chain, with no network' http://127.0.0.1:8545 'the default of chainq serve'
_chainq_row --profile profile 'Profile from config.toml'
_chainq_row --dialect words 'chain, aleo, or auto to detect it' chain '' aleo '' auto ''
_chainq_row --timeout text 'Seconds per request'
_chainq_row --deadline text 'Exit with code 4 if it takes longer: 90s, 10m, 2h'
_chainq_row --retries text 'Retries for failures except HTTP 429.  [default: 5] HTTP 429 is retried for 2 minutes, and with 0 not at all'
_chainq_row '--concurrency -j' text 'Parallel requests'
_chainq_row --max-memory text 'Memory for responses: 512M, 2G. Units are powers of 1,024, as in messages'
_chainq_row --rate text 'Maximum requests per second'
_chainq_row --header text+ 'HTTP header for every request. VALUE may be env:VARIABLE. Keep secrets in a profile'
_chainq_row --cert path 'Client certificate (PEM). KEY is its key, if that is not in FILE'
_chainq_row '--quiet -q' flag 'Suppress warnings and progress'
_chainq_row --log-format words 'Format of the lines on stderr' text '' json ''
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned balance show export sql rpc doctor verify serve
_chainq_row '--verbose -v' flag 'Log every request to stderr'
_chainq_for blocks block full-blocks records ownership transitions owned balance
_chainq_row --lake path 'Read what an export in DEST contains from there'
_chainq_for blocks full-blocks records ownership transitions
_chainq_row --fill flag 'First add missing partitions (10,000 heights) to it'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned
_chainq_row --no-check flag 'Skip argument checks'
_chainq_for blocks full-blocks program-transactions records ownership transitions address-transactions owned export
_chainq_row --strict flag 'Exit with code 6 before rows without proof. That is, before rows that are not proved complete. A few heights are compared with their full blocks, too'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned rpc
_chainq_row --dry-run flag 'Print the requests as JSON Lines and send none'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned balance show export sql rpc doctor verify status profiles serve completion help version
_chainq_row '--help -h' flag 'Show this message and exit'
_chainq_for latest transaction program-transactions ownership address-transactions
_chainq_row --format words 'table, jsonl, json, csv, tsv, text, parquet. Default: table, or jsonl in a pipe. Or a format of a plug-in. The extension of FILE and CHAINQ_FORMAT take precedence over the default' table '' jsonl '' json '' csv '' text '' tsv '' parquet ''
_chainq_for latest
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' id 'row id of the stored block' height 'block height' block_hash 'hash of the block' previous_hash 'hash of the previous block' previous_state_root 'root hash of the previous state' transactions_root 'root hash of the block'"'"'s transactions' round 'round number' coinbase_target 'difficulty for all solutions together' proof_target 'least difficulty of a solution in the next block' last_coinbase_target 'coinbase target at the last coinbase' last_coinbase_timestamp 'seconds since 1970' timestamp 'time of the block, seconds since 1970' coinbase_reward 'in microcredits; may be null' finalize_root 'root hash of the block'"'"'s changes of mappings' network 'network identifier' ratifications_root 'root hash of the block'"'"'s ratifications' solutions_root 'root hash of the block'"'"'s solutions' subdag_root 'root hash of the block'"'"'s certificates' cumulative_weight 'difficulty of all solutions so far, added up' cumulative_proof_target 'the same since the last coinbase' all 'every column' help 'list the columns'
_chainq_row --max-age text 'Exit with code 6 if the tip is older: 10m, 2h, 7d'
_chainq_for full-blocks records transitions
_chainq_row --program text+ 'Rows of this program, or of any if it is repeated. For example credits.aleo'
_chainq_row --function text+ 'Rows of this function, or of any if it is repeated'
_chainq_for full-blocks
_chainq_row --where text+ 'Rows that meet it: '"'"'transactions[].type = deploy'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' block_hash 'hash of the block' previous_hash 'hash of the previous block' header.previous_state_root 'root hash of the previous state' header.transactions_root 'root hash of the block'"'"'s transactions' header.finalize_root 'root hash of the block'"'"'s changes of mappings' header.ratifications_root 'root hash of the block'"'"'s ratifications' header.solutions_root 'root hash of the block'"'"'s solutions' header.subdag_root 'root hash of the block'"'"'s certificates' header.metadata.network 'network identifier' header.metadata.round 'round number' header.metadata.height 'block height' header.metadata.cumulative_weight 'sent as a number of any size' header.metadata.cumulative_proof_target 'sent as a number' header.metadata.coinbase_target 'sent as a number' header.metadata.proof_target 'sent as a number' header.metadata.last_coinbase_target 'sent as a number' header.metadata.last_coinbase_timestamp 'seconds since 1970, sent as a number' header.metadata.timestamp 'seconds since 1970, sent as a number' authority.type 'such as quorum' authority.signature 'of a block of a beacon' authority.subdag.subdag 'certificates by round number' authority.subdag.election_certificate_ids 'array of string' ratifications 'type and amount; may be null' transactions 'status, type, index and transaction' aborted_transaction_ids 'IDs of aborted transactions' header.coinbase_accumulator_point 'in older blocks only' header.metadata.total_supply_in_microcredits 'in older blocks only, in microcredits' coinbase 'solutions, in older blocks only' signature 'of the proposer, in older blocks only' all 'every column' help 'list the columns'
_chainq_for transactions
_chainq_row --last text 'The last N blocks'
_chainq_row --where text+ 'Rows that meet it: '"'"'index > 0 and status = rejected'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' height 'height of the block, added by chainq; in json only if --columns names it, in jsonl also with --flatten' id 'row id of the stored transaction' block_id 'the block: its height in the published interface, its row id on deployed servers' transaction_id 'bech32, prefix at' type 'such as Execute' index 'index within the block' status 'such as accepted; may be null' all 'every column' help 'list the columns'
_chainq_for transaction
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' status 'such as accepted; may be null' type 'such as execute' index 'index within the block' transaction.type 'such as execute' transaction.id 'transaction ID' transaction.execution.transitions 'array of Transition' transaction.execution.global_state_root 'state root that the proof refers to' transaction.execution.proof 'zero-knowledge proof' transaction.fee.transition.id 'transition ID' transaction.fee.transition.program 'program ID' transaction.fee.transition.function 'function name' transaction.fee.transition.inputs 'type, id, value, tag' transaction.fee.transition.outputs 'type, id, checksum, value' transaction.fee.transition.tpk 'transition public key (group element)' transaction.fee.transition.tcm 'transition commitment (field element)' transaction.fee.global_state_root 'state root that the proof refers to' transaction.fee.proof 'zero-knowledge proof' finalize 'type, mapping_id, index, key_id, value_id' finalizedAt 'seconds since 1970' transaction.fee.transition.scm 'signer commitment (field element)' transaction.owner 'of a deployment' transaction.deployment 'program that is deployed' rejected 'what a rejected transaction would have done' all 'every column' help 'list the columns'
_chainq_for program-transactions records ownership transitions address-transactions
_chainq_row --page text 'Print one page of one request, unverified'
_chainq_for program-transactions records ownership transitions address-transactions owned
_chainq_row --page-size text 'Initial page size'
_chainq_for program-transactions
_chainq_row --newest flag 'The newest rows first, as many as --limit'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' status 'such as accepted; may be null' type 'such as execute' index 'index within the block' transaction.type 'such as execute' transaction.id 'transaction ID' transaction.execution.transitions 'array of Transition' transaction.execution.global_state_root 'state root that the proof refers to' transaction.execution.proof 'zero-knowledge proof' transaction.fee.transition.id 'transition ID' transaction.fee.transition.program 'program ID' transaction.fee.transition.function 'function name' transaction.fee.transition.inputs 'type, id, value, tag' transaction.fee.transition.outputs 'type, id, checksum, value' transaction.fee.transition.tpk 'transition public key (group element)' transaction.fee.transition.tcm 'transition commitment (field element)' transaction.fee.global_state_root 'state root that the proof refers to' transaction.fee.proof 'zero-knowledge proof' finalize 'type, mapping_id, index, key_id, value_id' finalizedAt 'seconds since 1970' all 'every column' help 'list the columns'
_chainq_for records
_chainq_row --where text+ 'Rows that meet it: '"'"'output_index > 0 and program_id ~ token'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' record_ciphertext 'ciphertext of the record' program_id 'program that generated the record' block_id 'the block'"'"'s row id on deployed servers, not its height' height 'block height where the record was produced' id 'row id of the record' timestamp 'time of creation, seconds since 1970' block_hash 'hash of the block' transition_id 'transition ID' transaction_id 'transaction ID' function_name 'function executed in the transition' output_index 'index of the output within the transition' all 'every column' help 'list the columns'
_chainq_for ownership
_chainq_row --where text+ 'Rows that meet it: '"'"'output_index > 0'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' nonce_x 'x-coordinate of the record'"'"'s nonce' nonce_y 'y-coordinate of the nonce' owner_x 'x-coordinate that only the owner'"'"'s view key explains' transition_id 'transition that generated the record' output_index 'index of the output within the transition' all 'every column' help 'list the columns'
_chainq_for transitions
_chainq_row --where text+ 'Rows that meet it: '"'"'program ~ token and function_name != join'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all'
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' transition_id 'transition ID' transaction_id 'containing transaction' program 'source text of the program; tables and conditions have its ID' function_name 'function executed in the transition' height 'block height' tpk 'transition public key (group element)' tcm 'transition commitment (field element)' timestamp 'seconds since 1970' program_id 'program ID, which chainq reads in program; only with --columns' all 'every column' help 'list the columns'
_chainq_for address-transactions export
_chainq_row --last text 'The last N blocks. Default: the whole chain'
_chainq_for address-transactions
_chainq_row --columns list+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`' transaction_id 'bech32, prefix at' all 'every column' help 'list the columns'
_chainq_row --no-details flag 'Do not look up the transactions of a table'
_chainq_for owned balance
_chainq_row --view-key-file path+ 'View keys, one per line; - for stdin. Default: CHAINQ_VIEW_KEY, else a hidden prompt'
_chainq_row --insecure-key-file flag 'Accept a key file that others can access'
_chainq_row --network words 'Fail unless the service is on mainnet, or on testnet' mainnet '' testnet ''
_chainq_row '--workers -w' text 'Processes that compare rows. Default: one per core'
_chainq_for owned
_chainq_row --records flag 'Add the record of each row, with its height'
_chainq_row --decrypt flag 'Add the record, its plaintext and sender, and check it'
_chainq_row --unspent flag 'Only records that are not spent; reads all full blocks up to the tip'
_chainq_row --spent flag 'Only spent records, with what spends them; reads the same'
_chainq_row --as-of text 'Count spends up to block H, where a range without an end ends, too'
_chainq_for owned verify
_chainq_row --columns text+ 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`'
_chainq_for balance
_chainq_row --start text 'Height before the first record'
_chainq_row --end text 'End height, exclusive: balance as of the block before. Not with --checkpoint'
_chainq_row --jsonl flag 'One JSON object per line'
_chainq_row --csv flag 'CSV with a header (RFC 4180)'
_chainq_row --watch flag 'Keep running and print each change'
_chainq_for balance show
_chainq_row --no-trunc flag 'Do not abbreviate values'
_chainq_for balance doctor status profiles
_chainq_row --json flag 'JSON instead of a table. Without CHAINQ_FORMAT=json, a table is the default in a pipe, too'
_chainq_for show
_chainq_row --last text 'Newest blocks to look at. Default: 500K for an address, 1000 for a record or block hash, else 100'
_chainq_row --json flag 'All parts as one JSON object'
_chainq_for export
_chainq_row --to path 'Folder, or s3://, gs:// or az:// URL'
_chainq_row --partition text 'Heights in a partition'
_chainq_row --no-full-blocks flag 'With chain: leave out the table of the full blocks themselves'
_chainq_row --lag text 'Leave out the last N blocks'
_chainq_row '--workers -w' text 'Worker processes. Default: one per core'
_chainq_row --engine words 'Who does the work' local '' dask ''
_chainq_row --scheduler text 'Dask scheduler, such as tcp://host:8786'
_chainq_row --delta flag 'Commit full partitions to a Delta table for each command'
_chainq_row --iceberg flag 'Commit full partitions to an Iceberg table for each command'
_chainq_row --repair path 'Write again the partitions that findings of verify name (jsonl, no COMMAND), or all of the range'
_chainq_row --hashes flag 'Recompute block hashes before partitions of blocks and full-blocks are written'
_chainq_row --no-lock flag 'Do not keep other exports out; for disjoint partitions'
_chainq_row --dry-run flag 'List the partitions to write, write none'
_chainq_for sql
_chainq_row --partial flag 'Query the partitions that are there, though heights are missing'
_chainq_for doctor
_chainq_row --save text 'Save as a profile in config.toml'
_chainq_row --default flag 'With --save: make it the default profile'
_chainq_for verify
_chainq_row --commands list+ 'Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all' blocks '' full-blocks '' transactions '' records '' ownership '' transitions ''
_chainq_row --witness text 'Second service to compare with, or its profile, as far as its chain goes'
_chainq_row --sample text 'Compare N random heights of an export or a file with the service. Of a service: compare the transactions of N heights. Default there: 64'
_chainq_row --full flag 'Compare all heights instead of a sample'
_chainq_row '--workers -w' text 'Processes that read an export, or recompute hashes. Default: one per core'
_chainq_row --hashes flag 'Recompute block hashes, roots and IDs from the rows'
_chainq_row --anchor text 'Trusted block hash; proves all blocks up to it'
_chainq_for status
_chainq_row --max-age text 'Exit with code 6 if the last success is older (90s, 10m, 2h), or an export lacks heights or was killed'
_chainq_row --prometheus flag 'Gauges in the text format of Prometheus, for node_exporter'
_chainq_row '--quiet -q' flag 'Print errors only, for a job with --max-age'
_chainq_for serve
_chainq_row --port text 'TCP port; 0: any free one'
_chainq_row --host text 'A loopback address; any address with --lake'
_chainq_row --dialect words 'chain or aleo' chain '' aleo ''
_chainq_row '--tip --newest' text 'Tip height; -1: an empty chain'
_chainq_row --grow text 'Seconds between new blocks; 0: no new blocks'
_chainq_row --now flag 'The newest block is seconds old, and new ones come as their times are reached'
_chainq_row --seed text 'Seed for the chain'
_chainq_row --dense-height text 'Number of records at height H'
_chainq_row --owner text 'Plant records of this address, not of the published test key. No transaction spends them'
_chainq_row --sealed text 'A chain of N blocks with true hashes; making 50 takes about a second'
_chainq_row '--shuffle --no-shuffle' flag 'Shuffle the rows inside each height'
_chainq_row --gzip flag 'Compress responses for clients that accept it'
_chainq_row --lake path 'Serve the export in this folder or at this URL instead'
_chainq_row --latency text 'Seconds before each response'
_chainq_row --drip text 'Seconds between single bytes of a response'
_chainq_row --rate-limit text 'HTTP 429 after N calls of a method'
_chainq_row --rate-window text 'Length of the rate-limit window'
_chainq_row --retry-after text 'Retry-After header of a 429 response'
_chainq_row --fail-rate text 'Share of 503 responses'
_chainq_row --database-down text 'JSON-RPC error 57P01 for the first N calls, or for calls A:B'
_chainq_row --heavy-rows text 'Query timeout for responses of more than N rows'
_chainq_row --truncate-rate text 'Share of bodies that end early'
_chainq_row --wrong-id-rate text 'Share of responses with a wrong id'
_chainq_row --clamp-heights text 'Silently serve only the first N heights of a range'
_chainq_row --empty-above text 'Empty results for ranges of more than N heights'
_chainq_row --exclusive-start flag 'Leave out the first height of a range'
_chainq_row --inclusive-end flag 'Include the end height of a range'
_chainq_row --neighbour-rows flag 'Include the first row after the range'
_chainq_row --row-cap text 'Silently cap responses at N rows'
_chainq_row --cap-varies flag 'Double the row cap of half of the calls, at random'
_chainq_row --byte-cap text 'Silently cap responses at N bytes of rows'
_chainq_row --ignore-page-size flag 'Ignore the page size'
_chainq_row --page-offset text 'Page offset: page number times the size asked, or the size given'
_chainq_row --no-pages flag 'Empty results for every page but page 0'
_chainq_row --repeat-pages flag 'Ignore the page number'
_chainq_row --result-window text 'No pages beyond the first N rows of a range'
_chainq_row --empty-rate text 'Share of empty results'
_chainq_row --duplicate-rate text 'Share of rows that are sent twice'
_chainq_row --shuffle-heights flag 'Return rows in random order of height'
_chainq_row --missing-height text 'Leave out a block'
_chainq_row --broken-link text 'Give a block a wrong previous_hash'
_chainq_row --deployed-lists flag 'Leave out of lists what deployed servers do not list'
_chainq_row --plant text+ 'Hold one row wrongly, such as lost-record:672. KIND is lost, doubled, altered or misplaced, with -record, -transition or -transaction (such as lost-record); lost, doubled or altered with -ownership or -block; or a fault of the whole block: link (a wrong previous hash), time (older than the block before), round (lower than the one before), checksum (a wrong character in an ID) or count (a gap in the numbers of its transactions)'
_chainq_row --fault words+ 'A list that is wrong in one plain way, such as height-cap:5' shift-up 'The range one height higher.' shift-down 'The range one height lower.' last-height 'The last height of a range is left out.' next-range 'The rows of the next range too, as far as the page has room.' end-ignored 'The end of a range counts for page 0 only.' text-order 'Heights are sorted as text: 10 before 9.' newest-first 'Heights are sorted in descending order.' stored-again: 'Block N was stored again: a higher row id, so its rows come last.' first-block 'Only the rows of the first height that has any.' height-cap: 'Only N rows of a height, if the range has several heights.' range-empty: 'Nothing, if the range has more than N rows.' distinct 'A transaction (of ownership rows: a transition) is listed once.' ownership-behind: 'No ownership rows of the last N blocks.' cached-rows 'After --reorg-at, the old rows of heights that were requested before it.' page-0-empty 'Page 0 is empty.' page-0-skipped 'Page 0 has the rows of page 1.' repeated-page: 'Page N has the rows of the page before it.' late-pages 'Every page but page 0 begins one row late.' shards: 'Heights are on N shards, each of which gives its part of the page size.' heavy-empty: 'Nothing, if the page would have more than N rows.' busy-pool: 'Error 0 for a page of a function'"'"'s transactions that has rows of a block with more than N, if more than N are requested, or with more than 4 calls at a time.' short-pages 'A full page lacks its last row.' page-gaps: 'A full page lacks every N-th row.' reversed-pages 'The rows of a page come in descending order of height.' long-row-ends: 'No rows in a page after one of more than N bytes.' long-row-hides: 'Neither a row of more than N bytes in a page nor those after it.' text-heights 'Every second row has its height as text; as a number, if it is text.' null-lists 'null for an empty list.'
_chainq_row --stale-tip-rate text 'Share of latest/block calls with an old tip'
_chainq_row --lag-blocks text 'Hide the last N blocks from all methods but latest/block'
_chainq_row --lag-rate text 'Share of calls that --lag-blocks is about'
_chainq_row --late-records text 'Calls until a new block'"'"'s records appear'
_chainq_row --reorg-at text 'Replace the blocks from H on'
_chainq_row --reorg-after text 'Calls before --reorg-at takes effect'
_chainq_row --fault-seed text 'Seed for faults'
_chainq_for blocks
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for block
_chainq_row any words height... latest 'the block at the tip' - 'one per line on standard input'
_chainq_for latest
_chainq_for full-blocks
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for transactions
_chainq_row any words '[height]...' latest 'the block at the tip' - 'one per line on standard input'
_chainq_for transaction
_chainq_row any text id...
_chainq_for program-transactions
_chainq_row 1 words program credits.aleo '' token_registry.aleo '' wrapped_credits.aleo '' hello_hello.aleo '' tile_gallery.aleo '' wide_library.aleo ''
_chainq_row 2 function function transfer_public credits.aleo transfer_private credits.aleo transfer_public_as_signer credits.aleo transfer_private_to_public credits.aleo transfer_public_to_private credits.aleo bond_public credits.aleo bond_validator credits.aleo claim_unbond_public credits.aleo unbond_public credits.aleo set_validator_state credits.aleo mint credits.aleo split credits.aleo join credits.aleo fee_public credits.aleo fee_private credits.aleo mint_public token_registry.aleo transfer_public token_registry.aleo transfer_from_public token_registry.aleo transfer_private token_registry.aleo transfer_public_to_private token_registry.aleo deposit_credits_private wrapped_credits.aleo withdraw_credits_private wrapped_credits.aleo hello hello_hello.aleo claim tile_gallery.aleo show tile_gallery.aleo run wide_library.aleo
_chainq_for records
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for ownership
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for transitions
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for address-transactions
_chainq_row 1 text address
_chainq_row 2 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for owned
_chainq_row 1 words range latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_row any path '[keyfile]...'
_chainq_for balance
_chainq_row any path '[keyfile]...'
_chainq_for show
_chainq_row any words object... latest 'the block at the tip' - 'one per line on standard input'
_chainq_for export
_chainq_row any words 'command... [range]' chain '' blocks '' full-blocks '' records '' ownership '' transitions '' transactions '' calls '' inputs '' outputs '' finalize '' ratifications ''
_chainq_for sql
_chainq_row any path '[range|dest] [query]' latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for rpc
_chainq_row 1 words method getBlocks 'block summaries for a height range' block 'block summaries by height' latest/block 'block summary of the latest block' getChainBlocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' chainTransaction 'full details of transactions by ID' chainTransactionsForProgram 'transactions that call a program'"'"'s function, once for each call' records/all 'records produced in a height range' records/isOwner 'minimal ownership data of records in a height range' transitionsWithoutRecordInputs 'transitions that have no record inputs, in a height range' getPublicTransactionsForAddress 'IDs of public transactions of an address in a height range'
_chainq_row 2 text params
_chainq_for doctor
_chainq_for verify
_chainq_row 1 path 'range|dest|file' latest 'the block at the tip' -100: 'the last 100 blocks' 0:100 'blocks 0 to 99'
_chainq_for status
_chainq_row any path 'checkpoint|dest...'
_chainq_for profiles
_chainq_for serve
_chainq_for completion
_chainq_row 1 words shell bash '' zsh '' fish ''
_chainq_for help
_chainq_row any words '[topic]...' blocks 'block summaries for a height range' block 'block summaries by height' latest 'block summary of the latest block' full-blocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' transaction 'full details of transactions by ID' program-transactions 'transactions that call a program'"'"'s function, once for each call' records 'records produced in a height range' ownership 'minimal ownership data of records in a height range' transitions 'transitions that have no record inputs, in a height range' address-transactions 'IDs of public transactions of an address in a height range' owned 'ownership rows that your view keys own' balance 'private balance of your view keys' show 'show a block, transaction, address or program on one screen' export 'write Parquet partitions into a folder or an object store' sql 'query an export, or the last blocks, with SQL' rpc 'call any method and print its result' doctor 'examine a server: dialect, methods, pagination, limits' verify 'find missing, duplicate, altered and misplaced rows' status 'show how far a checkpoint or an export has come' profiles 'list the profiles in config.toml' serve 'serve the sample chain over HTTP, with optional faults' completion 'print the completion script of a shell' help 'explain a command, option or topic; see help topics' version 'print the version' range '' filter '' resume '' output '' service '' chart '' environment '' exit-codes '' topics '' address '' authority '' puzzle '' state-root '' execution '' deployment '' mapping '' finalize '' record '' nonce '' transition '' inputs '' future '' private '' fee-public '' zk-proof '' tpk '' field '' prefix '' view-key '' ownership-row '' tip '' reorg '' dialect '' lake '' partition '' tag '' serial-number '' commitment '' accepted '' receipt '' manifest '' finding '' settled '' height '' cache '' config '' authentication '' tls '' width '' sort '' aggregate '' units '' fees '' cron '' copy '' chain '' compare '' reward '' row '' last '' types '' timezone '' stdin '' parquet '' compression '' search '' methods '' docs '' install '' wallet '' privacy '' demo '' tables '' proof '' --version '' python '' object-store '' rate-limit '' speed '' extra ''
_chainq_row --start flag 'First height; -100: the last 100 blocks. With only an end, the range starts at height 0.'
_chainq_row --end flag 'End height, exclusive. Default: through the tip. `latest` is the default, too.'
_chainq_row --last flag 'The last N blocks. Default: the last 10 blocks. Of address-transactions and a new export: the whole chain.'
_chainq_row --since flag 'First block time (UTC): 2024-06-02T11:36, yesterday or 2h. Also 2024-06-02, a time with an offset (2024-06-02T11:36+02:00), today, now, '"'"'2 days ago'"'"' or Unix seconds. Days begin at 00:00 UTC. Units are s, m or min, h, d, w, mo and y, or words.'
_chainq_row --until flag 'End block time (UTC), exclusive; also today or now.'
_chainq_row --reverse flag 'Highest heights first.'
_chainq_row --limit flag 'Stop after N rows.'
_chainq_row --no-verify flag 'Skip the check for missing and unlinked blocks.'
_chainq_row --hashes flag 'Recompute block hashes, roots and IDs from the rows.'
_chainq_row --workers flag 'Processes that read an export, or recompute hashes. Default: one per core.'
_chainq_row --where flag 'Rows that meet it: '"'"'program ~ token and function_name != join'"'"'. Operators: = != < <= > >= ~ !~ and or not ( ). ~ finds a regex, case-sensitive; put ( ) in quotes. FIELD = null finds rows without a value, FIELD != null the others; of a[].b, neither finds an empty a, but a = [] does. (?i) before the text ignores case. !~ is the opposite of ~. A text with spaces or ( ) needs quotes: FIELD ~ "(?i)text". Conditions on a[].b and a[].c may be met by different items of a; for one item use jq, or sql on an export. If repeated, rows must meet all.'
_chainq_row --checkpoint flag 'Resume the last run; start the first at --start or 0. Not with --last (use --start -N), --since or --until.'
_chainq_row --lag flag 'Leave out the last N blocks.'
_chainq_row --rewind flag 'Fetch the last N or more blocks again. The run then resumes.'
_chainq_row --adopt flag 'Without a checkpoint, resume 10 heights back in -o FILE.'
_chainq_row --max-age flag 'Exit with code 6 if the last success is older (90s, 10m, 2h), or an export lacks heights or was killed.'
_chainq_row --follow flag 'Keep running and print new blocks. Without --checkpoint, -o FILE must be new or empty.'
_chainq_row --interval flag 'Seconds between polls.'
_chainq_row --format flag 'table, jsonl, json, csv, tsv, text, parquet, chart. Default: table, or jsonl in a pipe. A chart needs rows with heights; sql also draws a number over a text or a time. Or a format of a plug-in. The extension of FILE and CHAINQ_FORMAT take precedence over the default.'
_chainq_row --table flag 'Human-readable table.'
_chainq_row --jsonl flag 'One JSON object per line. Rows of the service are as it sent them.'
_chainq_row --json flag 'JSON instead of a table. Without CHAINQ_FORMAT=json, a table is the default in a pipe, too.'
_chainq_row --csv flag 'CSV with a header (RFC 4180). A null is an empty field, as an empty text is.'
_chainq_row --text flag 'Values only, separated by tabs, one row per line.'
_chainq_row --no-header flag 'csv or tsv without its header.'
_chainq_row --columns flag 'Columns; `--columns help` lists them. Separated by commas, also a.b[].c of the items of an array, or `all`.'
_chainq_row --no-trunc flag 'Do not abbreviate values. If they do not fit the terminal, each row is lines of fields.'
_chainq_row --output flag 'Output file; its extension selects the format. An existing file is replaced when the output is complete. Runs with --checkpoint or --follow append to it.'
_chainq_row --flatten flag 'jsonl with a key for each column (b.c). Nested objects become keys, too.'
_chainq_row --receipt flag 'Write FILE.receipt.json for chainq verify FILE. It contains the range, the row count and the SHA-256.'
_chainq_row --color flag 'When to use colors. auto: on a terminal, unless NO_COLOR is set.'
_chainq_row --url flag 'URL of the service, or folder or URL of an export; demo: is a built-in sample.'
_chainq_row --profile flag 'Profile from config.toml.'
_chainq_row --dialect flag 'chain or aleo.'
_chainq_row --timeout flag 'Seconds per request.'
_chainq_row --deadline flag 'Exit with code 4 if it takes longer: 90s, 10m, 2h.'
_chainq_row --retries flag 'Retries for failures except HTTP 429.  [default: 5] HTTP 429 is retried for 2 minutes, and with 0 not at all.'
_chainq_row --concurrency flag 'Parallel requests.'
_chainq_row --max-memory flag 'Memory for responses: 512M, 2G. Units are powers of 1,024, as in messages.'
_chainq_row --rate flag 'Maximum requests per second.'
_chainq_row --header flag 'HTTP header for every request. VALUE may be env:VARIABLE. Keep secrets in a profile.'
_chainq_row --cert flag 'Client certificate (PEM). KEY is its key, if that is not in FILE.'
_chainq_row --quiet flag 'Print errors only, for a job with --max-age.'
_chainq_row --verbose flag 'Log every request to stderr.'
_chainq_row --log-format flag 'Format of the lines on stderr.'
_chainq_row --lake flag 'Serve the export in this folder or at this URL instead.'
_chainq_row --fill flag 'First add missing partitions (10,000 heights) to it.'
_chainq_row --no-check flag 'Skip argument checks.'
_chainq_row --strict flag 'Exit with code 6 before rows without proof. That is, before rows that are not proved complete. A few heights are compared with their full blocks, too.'
_chainq_row --dry-run flag 'Print the requests as JSON Lines and send none.'
_chainq_row --program flag 'Rows of this program, or of any if it is repeated. For example credits.aleo.'
_chainq_row --function flag 'Rows of this function, or of any if it is repeated.'
_chainq_row --page flag 'Print one page of one request, unverified.'
_chainq_row --page-size flag 'Initial page size.'
_chainq_row --newest flag 'The newest rows first, as many as --limit.'
_chainq_row --no-details flag 'Do not look up the transactions of a table.'
_chainq_row --view-key-file flag 'View keys, one per line; - for stdin. Default: CHAINQ_VIEW_KEY, else a hidden prompt.'
_chainq_row --insecure-key-file flag 'Accept a key file that others can access.'
_chainq_row --network flag 'Fail unless the service is on mainnet, or on testnet.'
_chainq_row --records flag 'Add the record of each row, with its height.'
_chainq_row --decrypt flag 'Add the record, its plaintext and sender, and check it.'
_chainq_row --unspent flag 'Only records that are not spent; reads all full blocks up to the tip.'
_chainq_row --spent flag 'Only spent records, with what spends them; reads the same.'
_chainq_row --as-of flag 'Count spends up to block H, where a range without an end ends, too.'
_chainq_row --watch flag 'Keep running and print each change.'
_chainq_row --to flag 'Folder, or s3://, gs:// or az:// URL.'
_chainq_row --partition flag 'Heights in a partition.'
_chainq_row --no-full-blocks flag 'With chain: leave out the table of the full blocks themselves.'
_chainq_row --engine flag 'Who does the work.'
_chainq_row --scheduler flag 'Dask scheduler, such as tcp://host:8786.'
_chainq_row --delta flag 'Commit full partitions to a Delta table for each command.'
_chainq_row --iceberg flag 'Commit full partitions to an Iceberg table for each command.'
_chainq_row --repair flag 'Write again the partitions that findings of verify name (jsonl, no COMMAND), or all of the range.'
_chainq_row --no-lock flag 'Do not keep other exports out; for disjoint partitions.'
_chainq_row --partial flag 'Query the partitions that are there, though heights are missing.'
_chainq_row --save flag 'Save as a profile in config.toml.'
_chainq_row --default flag 'With --save: make it the default profile.'
_chainq_row --commands flag 'Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all.'
_chainq_row --witness flag 'Second service to compare with, or its profile, as far as its chain goes.'
_chainq_row --sample flag 'Compare N random heights of an export or a file with the service. Of a service: compare the transactions of N heights. Default there: 64.'
_chainq_row --full flag 'Compare all heights instead of a sample.'
_chainq_row --anchor flag 'Trusted block hash; proves all blocks up to it.'
_chainq_row --prometheus flag 'Gauges in the text format of Prometheus, for node_exporter.'
_chainq_row --port flag 'TCP port; 0: any free one.'
_chainq_row --host flag 'A loopback address; any address with --lake.'
_chainq_row --tip flag 'Tip height; -1: an empty chain.'
_chainq_row --grow flag 'Seconds between new blocks; 0: no new blocks.'
_chainq_row --now flag 'The newest block is seconds old, and new ones come as their times are reached.'
_chainq_row --seed flag 'Seed for the chain.'
_chainq_row --dense-height flag 'Number of records at height H.'
_chainq_row --owner flag 'Plant records of this address, not of the published test key. No transaction spends them.'
_chainq_row --sealed flag 'A chain of N blocks with true hashes; making 50 takes about a second.'
_chainq_row --shuffle flag 'Shuffle the rows inside each height.'
_chainq_row --gzip flag 'Compress responses for clients that accept it.'
_chainq_row --latency flag 'Seconds before each response.'
_chainq_row --drip flag 'Seconds between single bytes of a response.'
_chainq_row --rate-limit flag 'HTTP 429 after N calls of a method.'
_chainq_row --rate-window flag 'Length of the rate-limit window.'
_chainq_row --retry-after flag 'Retry-After header of a 429 response.'
_chainq_row --fail-rate flag 'Share of 503 responses.'
_chainq_row --database-down flag 'JSON-RPC error 57P01 for the first N calls, or for calls A:B.'
_chainq_row --heavy-rows flag 'Query timeout for responses of more than N rows.'
_chainq_row --truncate-rate flag 'Share of bodies that end early.'
_chainq_row --wrong-id-rate flag 'Share of responses with a wrong id.'
_chainq_row --clamp-heights flag 'Silently serve only the first N heights of a range.'
_chainq_row --empty-above flag 'Empty results for ranges of more than N heights.'
_chainq_row --exclusive-start flag 'Leave out the first height of a range.'
_chainq_row --inclusive-end flag 'Include the end height of a range.'
_chainq_row --neighbour-rows flag 'Include the first row after the range.'
_chainq_row --row-cap flag 'Silently cap responses at N rows.'
_chainq_row --cap-varies flag 'Double the row cap of half of the calls, at random.'
_chainq_row --byte-cap flag 'Silently cap responses at N bytes of rows.'
_chainq_row --ignore-page-size flag 'Ignore the page size.'
_chainq_row --page-offset flag 'Page offset: page number times the size asked, or the size given.'
_chainq_row --no-pages flag 'Empty results for every page but page 0.'
_chainq_row --repeat-pages flag 'Ignore the page number.'
_chainq_row --result-window flag 'No pages beyond the first N rows of a range.'
_chainq_row --empty-rate flag 'Share of empty results.'
_chainq_row --duplicate-rate flag 'Share of rows that are sent twice.'
_chainq_row --shuffle-heights flag 'Return rows in random order of height.'
_chainq_row --missing-height flag 'Leave out a block.'
_chainq_row --broken-link flag 'Give a block a wrong previous_hash.'
_chainq_row --deployed-lists flag 'Leave out of lists what deployed servers do not list.'
_chainq_row --plant flag 'Hold one row wrongly, such as lost-record:672. KIND is lost, doubled, altered or misplaced, with -record, -transition or -transaction (such as lost-record); lost, doubled or altered with -ownership or -block; or a fault of the whole block: link (a wrong previous hash), time (older than the block before), round (lower than the one before), checksum (a wrong character in an ID) or count (a gap in the numbers of its transactions).'
_chainq_row --fault flag 'A list that is wrong in one plain way, such as height-cap:5.'
_chainq_row --stale-tip-rate flag 'Share of latest/block calls with an old tip.'
_chainq_row --lag-blocks flag 'Hide the last N blocks from all methods but latest/block.'
_chainq_row --lag-rate flag 'Share of calls that --lag-blocks is about.'
_chainq_row --late-records flag 'Calls until a new block'"'"'s records appear.'
_chainq_row --reorg-at flag 'Replace the blocks from H on.'
_chainq_row --reorg-after flag 'Calls before --reorg-at takes effect.'
_chainq_row --fault-seed flag 'Seed for faults.'
_chainq_for version
# table:end
