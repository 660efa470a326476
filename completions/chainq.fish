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

<<<<<<< HEAD
# Whether an option of a command takes a value.
function __chainq_takes
    switch "$argv[1] $argv[2]"
        case '* --start'
            return 0
        case '* --end'
            return 0
        case 'blocks --last' 'full-blocks --last' 'records --last' 'ownership --last' 'transitions --last' 'address-transactions --last' 'owned --last' 'export --last' 'sql --last' 'verify --last'
            return 0
        case '* --since'
            return 0
        case '* --until'
            return 0
        case '* --rewind'
            return 0
        case '* --max-age'
            return 0
        case '* --interval'
            return 0
        case '* --limit'
            return 0
        case '* --checkpoint'
            return 0
        case '* --lag'
            return 0
        case '* --format'
            return 0
        case '* --output' '* -o'
            return 0
        case 'blocks --columns' 'block --columns' 'latest --columns'
            return 0
        case '* --color'
            return 0
        case '* --url'
            return 0
        case '* --profile'
            return 0
        case 'blocks --dialect' 'block --dialect' 'latest --dialect' 'full-blocks --dialect' 'transactions --dialect' 'transaction --dialect' 'program-transactions --dialect' 'records --dialect' 'ownership --dialect' 'transitions --dialect' 'address-transactions --dialect' 'owned --dialect' 'show --dialect' 'export --dialect' 'sql --dialect' 'rpc --dialect' 'doctor --dialect' 'verify --dialect'
            return 0
        case '* --timeout'
            return 0
        case '* --retries'
            return 0
        case '* --concurrency' '* -j'
            return 0
        case '* --max-memory'
            return 0
        case '* --rate'
            return 0
        case '* --header'
            return 0
        case 'full-blocks --columns'
            return 0
        case 'transactions --columns'
            return 0
        case 'transaction --columns' 'program-transactions --columns'
            return 0
        case '* --page'
            return 0
        case '* --page-size'
            return 0
        case 'records --columns'
            return 0
        case 'ownership --columns'
            return 0
        case 'transitions --columns'
            return 0
        case 'address-transactions --columns'
            return 0
        case '* --view-key-file'
            return 0
        case '* --network'
            return 0
        case 'owned --workers' 'owned -w'
            return 0
        case 'owned --columns' 'verify --columns'
            return 0
        case 'show --last'
            return 0
        case '* --to'
            return 0
        case '* --partition'
            return 0
        case 'export --workers' 'export -w'
            return 0
        case '* --engine'
            return 0
        case '* --scheduler'
            return 0
        case '* --repair'
            return 0
        case '* --save'
            return 0
        case '* --commands'
            return 0
        case '* --witness'
            return 0
        case '* --sample'
            return 0
        case '* --port'
            return 0
        case '* --host'
            return 0
        case 'serve --dialect'
            return 0
        case '* --tip' '* --newest'
            return 0
        case '* --grow'
            return 0
        case '* --seed'
            return 0
        case '* --dense-height'
            return 0
        case '* --owner'
            return 0
        case '* --latency'
            return 0
        case '* --drip'
            return 0
        case '* --rate-limit'
            return 0
        case '* --rate-window'
            return 0
        case '* --retry-after'
            return 0
        case '* --fail-rate'
            return 0
        case '* --database-down'
            return 0
        case '* --heavy-rows'
            return 0
        case '* --truncate-rate'
            return 0
        case '* --wrong-id-rate'
            return 0
        case '* --clamp-heights'
            return 0
        case '* --empty-above'
            return 0
        case '* --row-cap'
            return 0
        case '* --byte-cap'
            return 0
        case '* --page-offset'
            return 0
        case '* --result-window'
            return 0
        case '* --empty-rate'
            return 0
        case '* --duplicate-rate'
            return 0
        case '* --missing-height'
            return 0
        case '* --broken-link'
            return 0
        case '* --plant'
            return 0
        case '* --fault'
            return 0
        case '* --stale-tip-rate'
            return 0
        case '* --lag-blocks'
            return 0
        case '* --lag-rate'
            return 0
        case '* --late-records'
            return 0
        case '* --reorg-at'
            return 0
        case '* --reorg-after'
            return 0
        case '* --fault-seed'
            return 0
    end
    return 1
=======
# The rows that follow are of these commands; without any, of the program itself.
function _chainq_for
    set -g __chainq_commands $argv
>>>>>>> docgen
end

# _chainq_row NAMES|POSITION KIND HELP [WORD NOTE]...: tell fish.
function _chainq_row
    set -l words
    set -q argv[4]; and set words (printf '%s\t%s\n' $argv[4..-1] | string trim -r -c \t | string escape)
    set -l switches -x
    switch $argv[2]
        case flag
            set switches
        case file
            set switches -r -F
        case words
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
<<<<<<< HEAD
complete -c chainq -n __chainq_bare -l version -s V -d 'Print the version and exit'
complete -c chainq -n __chainq_bare -l help -s h -d 'Show this message and exit'
complete -c chainq -k -n __chainq_bare -a version -d 'print the version'
complete -c chainq -k -n __chainq_bare -a help -d 'show the help of the program or of a command'
complete -c chainq -k -n __chainq_bare -a completion -d 'print the completion script of a shell'
complete -c chainq -k -n __chainq_bare -a serve -d 'serve the sample chain over HTTP, with optional faults'
complete -c chainq -k -n __chainq_bare -a profiles -d 'list the profiles in config.toml'
complete -c chainq -k -n __chainq_bare -a verify -d 'find missing, doubled, altered and misplaced rows'
complete -c chainq -k -n __chainq_bare -a doctor -d 'examine a server: dialect, methods, pagination, limits'
complete -c chainq -k -n __chainq_bare -a rpc -d 'call any method and print its result'
complete -c chainq -k -n __chainq_bare -a sql -d 'query an export, or the last blocks, with SQL'
complete -c chainq -k -n __chainq_bare -a export -d 'write Parquet partitions into a folder or an object store'
complete -c chainq -k -n __chainq_bare -a show -d 'show a block, transaction, address or program on one screen'
complete -c chainq -k -n __chainq_bare -a owned -d 'ownership rows that your view keys own'
complete -c chainq -k -n __chainq_bare -a address-transactions -d 'IDs of public transactions of an address in a height range'
complete -c chainq -k -n __chainq_bare -a transitions -d 'transitions that have no record inputs, in a height range'
complete -c chainq -k -n __chainq_bare -a ownership -d 'minimal ownership data of records in a height range'
complete -c chainq -k -n __chainq_bare -a records -d 'records produced in a height range'
complete -c chainq -k -n __chainq_bare -a program-transactions -d 'transactions that call a program\'s function, once for each call'
complete -c chainq -k -n __chainq_bare -a transaction -d 'full details of one transaction by ID'
complete -c chainq -k -n __chainq_bare -a transactions -d 'transaction summaries of blocks'
complete -c chainq -k -n __chainq_bare -a full-blocks -d 'full block content (header, authority, ratifications, transactions) for a height range'
complete -c chainq -k -n __chainq_bare -a latest -d 'block summary of the latest block'
complete -c chainq -k -n __chainq_bare -a block -d 'block summaries by height'
complete -c chainq -k -n __chainq_bare -a blocks -d 'block summaries for a height range'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export sql verify' -l start -x -d 'First height; -100: the last 100 blocks'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export sql verify' -l end -x -d 'End height, exclusive. Default, and latest: through the tip'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export sql verify' -l last -x -d 'The last N blocks'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export sql verify' -l since -x -d 'First block time: 2024-06-02, 2024-06-02T11:36Z, 2h or \'2 hours ago\', yesterday, or Unix seconds'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export sql verify' -l until -x -d 'End block time, exclusive'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned' -l reverse -d 'Highest heights first'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned' -l rewind -x -d 'Fetch the last N or more blocks again, then resume'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned' -l max-age -x -d 'Exit with code 6 if the tip is older: 10m, 2h, 7d'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned' -l follow -s f -d 'Keep running and print new blocks'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned' -l interval -x -d 'Seconds between polls.  [default: 5]'
complete -c chainq -n '__chainq_in blocks full-blocks program-transactions records ownership transitions address-transactions owned' -l limit -x -d 'Stop after N rows'
complete -c chainq -n '__chainq_in blocks full-blocks' -l no-verify -d 'Skip the check for missing and unlinked blocks'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned verify' -l checkpoint -r -F -d 'Resume where the last run ended'
complete -c chainq -n '__chainq_in blocks full-blocks records ownership transitions address-transactions owned export' -l lag -x -d 'Leave out the last N blocks'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l format -x -a '\'table\' \'jsonl\' \'json\' \'csv\' \'text\' \'tsv\' \'parquet\' \'chart\'' -d 'table, jsonl, json, csv, tsv, text, chart, parquet, plug-ins. Default: by the extension of FILE, else CHAINQ_FORMAT, else table on a terminal and jsonl elsewhere'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l table -d 'Human-readable table'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l jsonl -d 'One JSON object per line, as the service sent it'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l json -d 'One JSON array, or one object'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l csv -d 'CSV with a header (RFC 4180)'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l text -d 'Values only, separated by tabs, one row per line'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l no-header -d 'csv or tsv without its header'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify' -l output -s o -r -F -d 'Output file, replaced when complete; its extension selects the format'
complete -c chainq -n '__chainq_in blocks block latest' -l columns -x -a '(__chainq_list \'id\'\\t\'row id of the stored block\' \'height\'\\t\'block height\' \'block_hash\'\\t\'hash of the block\' \'previous_hash\'\\t\'hash of the previous block\' \'previous_state_root\'\\t\'root hash of the previous state\' \'transactions_root\'\\t\'root hash of the block\\\'s transactions\' \'round\'\\t\'round number\' \'coinbase_target\'\\t\'string\' \'proof_target\'\\t\'string\' \'last_coinbase_target\'\\t\'string\' \'last_coinbase_timestamp\'\\t\'seconds since 1970\' \'timestamp\'\\t\'time of the block, seconds since 1970\' \'coinbase_reward\'\\t\'may be null\' \'finalize_root\'\\t\'string\' \'network\'\\t\'network identifier\' \'ratifications_root\'\\t\'string\' \'solutions_root\'\\t\'string\' \'subdag_root\'\\t\'string\' \'cumulative_weight\'\\t\'string\' \'cumulative_proof_target\'\\t\'string\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show sql verify' -l no-trunc -d 'Do not abbreviate values'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show sql rpc verify' -l color -x -a '\'auto\' \'always\' \'never\'' -d 'When to use colours'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l url -x -a '\'demo:\'\\t\'the sample chain, with no network\'' -d 'URL of the service; demo: is a built-in sample'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l profile -x -a '(__chainq_profiles)' -d 'Profile from config.toml'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l dialect -x -a '\'chain\' \'aleo\' \'auto\'' -d 'Dialect of the server: chain, aleo, or auto to detect it'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l timeout -x -d 'Seconds per request'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l retries -x -d 'Retries for transient failures'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l concurrency -s j -x -d 'Parallel requests'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l max-memory -x -d 'Maximum memory for responses: 512M, 2G'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l rate -x -d 'Maximum requests per second'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l header -x -d 'HTTP header for every request; keep secrets in a profile'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l quiet -s q -d 'Suppress warnings and progress'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify' -l verbose -s v -d 'Log every request to stderr'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned' -l no-check -d 'Skip argument checks'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned rpc' -l dry-run -d 'Print requests as JSON lines, send none'
complete -c chainq -n '__chainq_in blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify profiles serve completion help version' -l help -s h -d 'Show this message and exit'
complete -c chainq -n '__chainq_in full-blocks' -l columns -x -a '(__chainq_list \'block_hash\'\\t\'hash of the block\' \'previous_hash\'\\t\'hash of the previous block\' \'header.previous_state_root\'\\t\'string\' \'header.transactions_root\'\\t\'string\' \'header.finalize_root\'\\t\'string\' \'header.ratifications_root\'\\t\'string\' \'header.solutions_root\'\\t\'string\' \'header.subdag_root\'\\t\'string\' \'header.metadata.network\'\\t\'network identifier\' \'header.metadata.round\'\\t\'round number\' \'header.metadata.height\'\\t\'block height\' \'header.metadata.cumulative_weight\'\\t\'sent as a number of any size\' \'header.metadata.cumulative_proof_target\'\\t\'sent as a number\' \'header.metadata.coinbase_target\'\\t\'sent as a number\' \'header.metadata.proof_target\'\\t\'sent as a number\' \'header.metadata.last_coinbase_target\'\\t\'sent as a number\' \'header.metadata.last_coinbase_timestamp\'\\t\'seconds since 1970, sent as a number\' \'header.metadata.timestamp\'\\t\'seconds since 1970, sent as a number\' \'authority.type\'\\t\'such as quorum\' \'authority.subdag.subdag\'\\t\'certificates by round number\' \'authority.subdag.election_certificate_ids\'\\t\'array of string\' \'ratifications\'\\t\'type and amount\' \'transactions\'\\t\'status, type, index and transaction\' \'aborted_transaction_ids\'\\t\'IDs of aborted transactions\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in transactions' -l columns -x -a '(__chainq_list \'height\'\\t\'height of the block, added by chainq; in jsonl and json only where --columns names it\' \'id\'\\t\'row id of the stored transaction\' \'block_id\'\\t\'the block: its height in the published interface, its row id on deployed servers\' \'transaction_id\'\\t\'bech32, prefix at\' \'type\'\\t\'such as Execute\' \'index\'\\t\'index within the block\' \'status\'\\t\'such as accepted\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in transaction program-transactions' -l columns -x -a '(__chainq_list \'status\'\\t\'such as accepted\' \'type\'\\t\'such as execute\' \'index\'\\t\'index within the block\' \'transaction.type\'\\t\'such as execute\' \'transaction.id\'\\t\'transaction ID\' \'transaction.execution.transitions\'\\t\'array of Transition\' \'transaction.execution.global_state_root\'\\t\'string\' \'transaction.execution.proof\'\\t\'string\' \'transaction.fee.transition.id\'\\t\'transition ID\' \'transaction.fee.transition.program\'\\t\'program ID\' \'transaction.fee.transition.function\'\\t\'function name\' \'transaction.fee.transition.inputs\'\\t\'type, id, value, tag\' \'transaction.fee.transition.outputs\'\\t\'type, id, checksum, value\' \'transaction.fee.transition.tpk\'\\t\'transition public key (group element)\' \'transaction.fee.transition.tcm\'\\t\'transition commitment (field element)\' \'transaction.fee.global_state_root\'\\t\'string\' \'transaction.fee.proof\'\\t\'string\' \'finalize\'\\t\'type, mapping_id, index, key_id, value_id\' \'finalizedAt\'\\t\'seconds since 1970\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in program-transactions records ownership transitions address-transactions' -l page -x -d 'Print one page of one request, unverified'
complete -c chainq -n '__chainq_in program-transactions records ownership transitions address-transactions owned' -l page-size -x -d 'Initial page size'
complete -c chainq -n '__chainq_in program-transactions' -l newest -d 'The newest rows first, as many as --limit'
complete -c chainq -n '__chainq_in records' -l columns -x -a '(__chainq_list \'record_ciphertext\'\\t\'ciphertext of the record\' \'program_id\'\\t\'program that generated the record\' \'block_id\'\\t\'the block\\\'s row id on deployed servers, not its height\' \'height\'\\t\'block height where the record was produced\' \'id\'\\t\'row id of the record\' \'timestamp\'\\t\'time of creation, seconds since 1970\' \'block_hash\'\\t\'string\' \'transition_id\'\\t\'string\' \'transaction_id\'\\t\'string\' \'function_name\'\\t\'function executed in the transition\' \'output_index\'\\t\'index of the output within the transition\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in ownership' -l columns -x -a '(__chainq_list \'nonce_x\'\\t\'x-coordinate of the record\\\'s nonce\' \'nonce_y\'\\t\'y-coordinate of the nonce\' \'owner_x\'\\t\'x-coordinate that only the owner\\\'s view key explains\' \'transition_id\'\\t\'transition that generated the record\' \'output_index\'\\t\'index of the output within the transition\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in transitions' -l columns -x -a '(__chainq_list \'transition_id\'\\t\'string\' \'transaction_id\'\\t\'containing transaction\' \'program\'\\t\'source text of the program\' \'function_name\'\\t\'string\' \'height\'\\t\'block height\' \'tpk\'\\t\'transition public key (group element)\' \'tcm\'\\t\'transition commitment (field element)\' \'timestamp\'\\t\'seconds since 1970\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in address-transactions' -l columns -x -a '(__chainq_list \'transaction_id\'\\t\'bech32, prefix at\' \'all\'\\t\'every column\' \'help\'\\t\'list the columns\')' -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in address-transactions' -l no-details -d 'Do not look up the transactions of a table'
complete -c chainq -n '__chainq_in owned' -l view-key-file -r -F -d 'View keys, one per line. Default: CHAINQ_VIEW_KEY, else a hidden prompt'
complete -c chainq -n '__chainq_in owned' -l insecure-key-file -d 'Accept a key file that others can access'
complete -c chainq -n '__chainq_in owned' -l records -d 'Add the record of each row, with its height'
complete -c chainq -n '__chainq_in owned' -l decrypt -d 'Add the record and its plaintext'
complete -c chainq -n '__chainq_in owned' -l network -x -a '\'mainnet\' \'testnet\'' -d 'Fail unless the service is on mainnet, or on testnet'
complete -c chainq -n '__chainq_in owned' -l workers -s w -x -d 'Processes that compare rows. Default: one per core'
complete -c chainq -n '__chainq_in owned verify' -l columns -x -d 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
complete -c chainq -n '__chainq_in show' -l last -x -d 'Newest blocks to look at. By default 500K for an address, 100 for a program'
complete -c chainq -n '__chainq_in show' -l json -d 'All parts as one JSON object'
complete -c chainq -n '__chainq_in export' -l to -x -d 'Folder, or s3://, gs:// or az:// URL'
complete -c chainq -n '__chainq_in export' -l partition -x -d 'Heights in a partition'
complete -c chainq -n '__chainq_in export' -l workers -s w -x -d 'Worker processes. Default: one per core'
complete -c chainq -n '__chainq_in export' -l engine -x -d 'Who does the work: local or dask'
complete -c chainq -n '__chainq_in export' -l scheduler -x -d 'Dask scheduler, such as tcp://host:8786'
complete -c chainq -n '__chainq_in export' -l delta -d 'Commit full partitions to a Delta table for each command'
complete -c chainq -n '__chainq_in export' -l repair -x -a '\'FILE\' \'all\'' -d 'Write again the partitions that findings of verify name (jsonl), or all of the range'
complete -c chainq -n '__chainq_in export' -l no-lock -d 'Do not keep other exports out; for disjoint partitions'
complete -c chainq -n '__chainq_in export' -l dry-run -d 'List the partitions to write, write none'
complete -c chainq -n '__chainq_in doctor profiles' -l json -d 'JSON instead of a table'
complete -c chainq -n '__chainq_in doctor' -l save -x -d 'Save as a profile in config.toml'
complete -c chainq -n '__chainq_in doctor' -l default -d 'With --save: make it the default profile'
complete -c chainq -n '__chainq_in verify' -l commands -x -d 'Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all'
complete -c chainq -n '__chainq_in verify' -l witness -x -d 'Second service to compare with, as far as its chain goes'
complete -c chainq -n '__chainq_in verify' -l sample -x -d 'Compare N heights of a data set or file, drawn at random, with the service'
complete -c chainq -n '__chainq_in verify' -l full -d 'Compare all heights of a data set or file with the service'
complete -c chainq -n '__chainq_in serve' -l port -x -d 'TCP port; 0: any free one'
complete -c chainq -n '__chainq_in serve' -l host -x -d 'A loopback address'
complete -c chainq -n '__chainq_in serve' -l dialect -x -a '\'chain\' \'aleo\'' -d 'chain or aleo'
complete -c chainq -n '__chainq_in serve' -l tip -l newest -x -d 'Tip height; -1: an empty chain'
complete -c chainq -n '__chainq_in serve' -l grow -x -d 'Seconds between new blocks; 0: no new blocks'
complete -c chainq -n '__chainq_in serve' -l seed -x -d 'Seed for the chain'
complete -c chainq -n '__chainq_in serve' -l dense-height -x -d 'Number of records at height H'
complete -c chainq -n '__chainq_in serve' -l owner -x -d 'Plant records of this address, not of the published test key'
complete -c chainq -n '__chainq_in serve' -l shuffle -l no-shuffle -d 'Shuffle the rows inside each height'
complete -c chainq -n '__chainq_in serve' -l gzip -d 'Compress responses for clients that accept it'
complete -c chainq -n '__chainq_in serve' -l verbose -s v -d 'Log every call to stderr'
complete -c chainq -n '__chainq_in serve' -l latency -x -d 'Seconds before each response'
complete -c chainq -n '__chainq_in serve' -l drip -x -d 'Seconds between single bytes of a response'
complete -c chainq -n '__chainq_in serve' -l rate-limit -x -d 'HTTP 429 after N calls of a method'
complete -c chainq -n '__chainq_in serve' -l rate-window -x -d 'Length of the rate-limit window'
complete -c chainq -n '__chainq_in serve' -l retry-after -x -d 'Retry-After header of a 429 response'
complete -c chainq -n '__chainq_in serve' -l fail-rate -x -d 'Share of 503 responses'
complete -c chainq -n '__chainq_in serve' -l database-down -x -d 'JSON-RPC error 57P01 for the first N calls, or for calls A:B'
complete -c chainq -n '__chainq_in serve' -l heavy-rows -x -d 'Query timeout for responses of more than N rows'
complete -c chainq -n '__chainq_in serve' -l truncate-rate -x -d 'Share of bodies that end early'
complete -c chainq -n '__chainq_in serve' -l wrong-id-rate -x -d 'Share of responses with a wrong id'
complete -c chainq -n '__chainq_in serve' -l clamp-heights -x -d 'Silently serve only the first N heights of a range'
complete -c chainq -n '__chainq_in serve' -l empty-above -x -d 'Empty results for ranges of more than N heights'
complete -c chainq -n '__chainq_in serve' -l exclusive-start -d 'Leave out the first height of a range'
complete -c chainq -n '__chainq_in serve' -l inclusive-end -d 'Include the end height of a range'
complete -c chainq -n '__chainq_in serve' -l neighbour-rows -d 'Include the first row after the range'
complete -c chainq -n '__chainq_in serve' -l row-cap -x -d 'Silently cap responses at N rows'
complete -c chainq -n '__chainq_in serve' -l cap-varies -d 'Double the row cap of half of the calls, at random'
complete -c chainq -n '__chainq_in serve' -l byte-cap -x -d 'Silently cap responses at N bytes of rows'
complete -c chainq -n '__chainq_in serve' -l ignore-page-size -d 'Ignore the page size'
complete -c chainq -n '__chainq_in serve' -l page-offset -x -d 'Page offset: page number times the size asked, or the size given'
complete -c chainq -n '__chainq_in serve' -l no-pages -d 'Empty results for every page but page 0'
complete -c chainq -n '__chainq_in serve' -l repeat-pages -d 'Ignore the page number'
complete -c chainq -n '__chainq_in serve' -l result-window -x -d 'No pages beyond the first N rows of a range'
complete -c chainq -n '__chainq_in serve' -l empty-rate -x -d 'Share of empty results'
complete -c chainq -n '__chainq_in serve' -l duplicate-rate -x -d 'Share of rows that are sent twice'
complete -c chainq -n '__chainq_in serve' -l shuffle-heights -d 'Return rows in random order of height'
complete -c chainq -n '__chainq_in serve' -l missing-height -x -d 'Leave out a block'
complete -c chainq -n '__chainq_in serve' -l broken-link -x -d 'Give a block a wrong previous_hash'
complete -c chainq -n '__chainq_in serve' -l deployed-lists -d 'Leave out of lists what deployed servers do not list'
complete -c chainq -n '__chainq_in serve' -l plant -x -d 'Hold one row wrongly, such as lost-record:672; may be repeated'
complete -c chainq -n '__chainq_in serve' -l fault -x -d 'A list that is wrong in one plain way, such as height-cap:5; may be repeated'
complete -c chainq -n '__chainq_in serve' -l stale-tip-rate -x -d 'Share of latest/block calls with an old tip'
complete -c chainq -n '__chainq_in serve' -l lag-blocks -x -d 'Hide the last N blocks from all methods but latest/block'
complete -c chainq -n '__chainq_in serve' -l lag-rate -x -d 'Share of calls that --lag-blocks is about'
complete -c chainq -n '__chainq_in serve' -l late-records -x -d 'Calls until a new block\'s records appear'
complete -c chainq -n '__chainq_in serve' -l reorg-at -x -d 'Replace the blocks from H on'
complete -c chainq -n '__chainq_in serve' -l reorg-after -x -d 'Calls before --reorg-at takes effect'
complete -c chainq -n '__chainq_in serve' -l fault-seed -x -d 'Seed for faults'
complete -c chainq -n '__chainq_at blocks 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at block \'*\'' -x -a '\'latest\'\\t\'the block at the tip\' \'-\'\\t\'one per line on standard input\''
complete -c chainq -n '__chainq_at full-blocks 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at transactions \'*\'' -x -a '\'latest\'\\t\'the block at the tip\' \'-\'\\t\'one per line on standard input\''
complete -c chainq -n '__chainq_at transaction \'*\'' -x -a '\'-\'\\t\'one per line on standard input\''
complete -c chainq -n '__chainq_at program-transactions 0' -x -a '\'credits.aleo\' \'token_registry.aleo\' \'wrapped_credits.aleo\' \'hello_hello.aleo\' \'tile_gallery.aleo\' \'wide_library.aleo\''
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = credits.aleo' -a 'transfer_public transfer_private transfer_public_as_signer transfer_private_to_public transfer_public_to_private bond_public bond_validator claim_unbond_public unbond_public set_validator_state mint split join fee_public fee_private'
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = token_registry.aleo' -a 'mint_public transfer_public transfer_from_public transfer_private transfer_public_to_private'
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = wrapped_credits.aleo' -a 'deposit_credits_private withdraw_credits_private'
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = hello_hello.aleo' -a 'hello'
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = tile_gallery.aleo' -a 'claim show'
complete -c chainq -n '__chainq_at program-transactions 1; and test (__chainq_words)[2] = wide_library.aleo' -a 'run'
complete -c chainq -n '__chainq_at records 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at ownership 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at transitions 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at address-transactions 1' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at owned 0' -x -a '\'latest\'\\t\'the block at the tip\''
complete -c chainq -n '__chainq_at rpc 0' -x -a '\'getBlocks\'\\t\'block summaries for a height range\' \'block\'\\t\'block summaries by height\' \'latest/block\'\\t\'block summary of the latest block\' \'getChainBlocks\'\\t\'full block content (header, authority, ratifications, transactions) for a height range\' \'transactions\'\\t\'transaction summaries of blocks\' \'chainTransaction\'\\t\'full details of one transaction by ID\' \'chainTransactionsForProgram\'\\t\'transactions that call a program\\\'s function, once for each call\' \'records/all\'\\t\'records produced in a height range\' \'records/isOwner\'\\t\'minimal ownership data of records in a height range\' \'transitionsWithoutRecordInputs\'\\t\'transitions that have no record inputs, in a height range\' \'getPublicTransactionsForAddress\'\\t\'IDs of public transactions of an address in a height range\''
complete -c chainq -n '__chainq_at verify 0' -x -a '\'RANGE\' \'DEST\' \'FILE\''
complete -c chainq -n '__chainq_at completion 0' -x -a '\'bash\' \'zsh\' \'fish\''
complete -c chainq -n '__chainq_at help 0' -x -a '\'blocks\'\\t\'block summaries for a height range\' \'block\'\\t\'block summaries by height\' \'latest\'\\t\'block summary of the latest block\' \'full-blocks\'\\t\'full block content (header, authority, ratifications, transactions) for a height range\' \'transactions\'\\t\'transaction summaries of blocks\' \'transaction\'\\t\'full details of one transaction by ID\' \'program-transactions\'\\t\'transactions that call a program\\\'s function, once for each call\' \'records\'\\t\'records produced in a height range\' \'ownership\'\\t\'minimal ownership data of records in a height range\' \'transitions\'\\t\'transitions that have no record inputs, in a height range\' \'address-transactions\'\\t\'IDs of public transactions of an address in a height range\' \'owned\'\\t\'ownership rows that your view keys own\' \'show\'\\t\'show a block, transaction, address or program on one screen\' \'export\'\\t\'write Parquet partitions into a folder or an object store\' \'sql\'\\t\'query an export, or the last blocks, with SQL\' \'rpc\'\\t\'call any method and print its result\' \'doctor\'\\t\'examine a server: dialect, methods, pagination, limits\' \'verify\'\\t\'find missing, doubled, altered and misplaced rows\' \'profiles\'\\t\'list the profiles in config.toml\' \'serve\'\\t\'serve the sample chain over HTTP, with optional faults\' \'completion\'\\t\'print the completion script of a shell\' \'help\'\\t\'show the help of the program or of a command\' \'version\'\\t\'print the version\''
=======
# table:begin, by python -m chainq._docgen
_chainq_for
_chainq_row '--version -V' flag 'Print the version and exit'
_chainq_row '--help -h' flag 'Show this message and exit'
_chainq_row 1 words command blocks 'block summaries for a height range' block 'block summaries by height' latest 'block summary of the latest block' full-blocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' transaction 'full details of one transaction by ID' program-transactions 'transactions that call a program'"'"'s function, once for each call' records 'records produced in a height range' ownership 'minimal ownership data of records in a height range' transitions 'transitions that have no record inputs, in a height range' address-transactions 'IDs of public transactions of an address in a height range' owned 'ownership rows that your view keys own' show 'show a block, transaction, address or program on one screen' export 'write Parquet partitions into a folder or an object store' sql 'query an export, or the last blocks, with SQL' rpc 'call any method and print its result' doctor 'examine a server: dialect, methods, pagination, limits' verify 'find missing, doubled, altered and misplaced rows' profiles 'list the profiles in config.toml' serve 'serve the sample chain over HTTP, with optional faults' completion 'print the completion script of a shell' help 'show the help of the program or of a command' version 'print the version'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned export sql verify
_chainq_row --start text 'First height; -100: the last 100 blocks'
_chainq_row --end text 'End height, exclusive. Default, and latest: through the tip'
_chainq_row --last text 'The last N blocks'
_chainq_row --since text 'First block time: 2024-06-02, 2024-06-02T11:36Z, 2h or '"'"'2 hours ago'"'"', yesterday, or Unix seconds'
_chainq_row --until text 'End block time, exclusive'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned
_chainq_row --reverse flag 'Highest heights first'
_chainq_row --lag text 'Leave out the last N blocks'
_chainq_row --rewind text 'Fetch the last N or more blocks again, then resume'
_chainq_row --max-age text 'Exit with code 6 if the tip is older: 10m, 2h, 7d'
_chainq_row '--follow -f' flag 'Keep running and print new blocks'
_chainq_row --interval text 'Seconds between polls'
_chainq_for blocks full-blocks program-transactions records ownership transitions address-transactions owned
_chainq_row --limit text 'Stop after N rows'
_chainq_for blocks full-blocks
_chainq_row --no-verify flag 'Skip the check for missing and unlinked blocks'
_chainq_for blocks full-blocks records ownership transitions address-transactions owned verify
_chainq_row --checkpoint file 'Resume where the last run ended'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned sql verify
_chainq_row --format words 'table, jsonl, json, csv, tsv, text, chart, parquet, plug-ins. Default: by the extension of FILE, else CHAINQ_FORMAT, else table on a terminal and jsonl elsewhere' table '' jsonl '' json '' csv '' text '' tsv '' parquet '' chart ''
_chainq_row --table flag 'Human-readable table'
_chainq_row --jsonl flag 'One JSON object per line, as the service sent it'
_chainq_row --json flag 'One JSON array, or one object'
_chainq_row --csv flag 'CSV with a header (RFC 4180)'
_chainq_row --text flag 'Values only, separated by tabs, one row per line'
_chainq_row --no-header flag 'csv or tsv without its header'
_chainq_row '--output -o' file 'Output file, replaced when complete; its extension selects the format'
_chainq_for blocks block latest
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' id 'row id of the stored block' height 'block height' block_hash 'hash of the block' previous_hash 'hash of the previous block' previous_state_root 'root hash of the previous state' transactions_root 'root hash of the block'"'"'s transactions' round 'round number' coinbase_target string proof_target string last_coinbase_target string last_coinbase_timestamp 'seconds since 1970' timestamp 'time of the block, seconds since 1970' coinbase_reward 'may be null' finalize_root string network 'network identifier' ratifications_root string solutions_root string subdag_root string cumulative_weight string cumulative_proof_target string all 'every column' help 'list the columns'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show sql verify
_chainq_row --no-trunc flag 'Do not abbreviate values'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show sql rpc verify
_chainq_row --color words 'When to use colours' auto '' always '' never ''
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify
_chainq_row --url words 'URL of the service; demo: is a built-in sample' demo: 'the sample chain, with no network'
_chainq_row --profile profile 'Profile from config.toml'
_chainq_row --dialect words 'Dialect of the server: chain, aleo, or auto to detect it' chain '' aleo '' auto ''
_chainq_row --timeout text 'Seconds per request'
_chainq_row --retries text 'Retries for transient failures'
_chainq_row '--concurrency -j' text 'Parallel requests'
_chainq_row --max-memory text 'Maximum memory for responses: 512M, 2G'
_chainq_row --rate text 'Maximum requests per second'
_chainq_row --header text+ 'HTTP header for every request; keep secrets in a profile'
_chainq_row '--quiet -q' flag 'Suppress warnings and progress'
_chainq_row '--verbose -v' flag 'Log every request to stderr'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned
_chainq_row --no-check flag 'Skip argument checks'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned rpc
_chainq_row --dry-run flag 'Print requests as JSON lines, send none'
_chainq_for blocks block latest full-blocks transactions transaction program-transactions records ownership transitions address-transactions owned show export sql rpc doctor verify profiles serve completion help version
_chainq_row '--help -h' flag 'Show this message and exit'
_chainq_for full-blocks
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' block_hash 'hash of the block' previous_hash 'hash of the previous block' header.previous_state_root string header.transactions_root string header.finalize_root string header.ratifications_root string header.solutions_root string header.subdag_root string header.metadata.network 'network identifier' header.metadata.round 'round number' header.metadata.height 'block height' header.metadata.cumulative_weight 'sent as a number of any size' header.metadata.cumulative_proof_target 'sent as a number' header.metadata.coinbase_target 'sent as a number' header.metadata.proof_target 'sent as a number' header.metadata.last_coinbase_target 'sent as a number' header.metadata.last_coinbase_timestamp 'seconds since 1970, sent as a number' header.metadata.timestamp 'seconds since 1970, sent as a number' authority.type 'such as quorum' authority.subdag.subdag 'certificates by round number' authority.subdag.election_certificate_ids 'array of string' ratifications 'type and amount' transactions 'status, type, index and transaction' aborted_transaction_ids 'IDs of aborted transactions' all 'every column' help 'list the columns'
_chainq_for transactions
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' height 'height of the block, added by chainq; in jsonl and json only where --columns names it' id 'row id of the stored transaction' block_id 'the block: its height in the published interface, its row id on deployed servers' transaction_id 'bech32, prefix at' type 'such as Execute' index 'index within the block' status 'such as accepted' all 'every column' help 'list the columns'
_chainq_for transaction program-transactions
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' status 'such as accepted' type 'such as execute' index 'index within the block' transaction.type 'such as execute' transaction.id 'transaction ID' transaction.execution.transitions 'array of Transition' transaction.execution.global_state_root string transaction.execution.proof string transaction.fee.transition.id 'transition ID' transaction.fee.transition.program 'program ID' transaction.fee.transition.function 'function name' transaction.fee.transition.inputs 'type, id, value, tag' transaction.fee.transition.outputs 'type, id, checksum, value' transaction.fee.transition.tpk 'transition public key (group element)' transaction.fee.transition.tcm 'transition commitment (field element)' transaction.fee.global_state_root string transaction.fee.proof string finalize 'type, mapping_id, index, key_id, value_id' finalizedAt 'seconds since 1970' all 'every column' help 'list the columns'
_chainq_for program-transactions records ownership transitions address-transactions
_chainq_row --page text 'Print one page of one request, unverified'
_chainq_for program-transactions records ownership transitions address-transactions owned
_chainq_row --page-size text 'Initial page size'
_chainq_for program-transactions
_chainq_row --newest flag 'The newest rows first, as many as --limit'
_chainq_for records
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' record_ciphertext 'ciphertext of the record' program_id 'program that generated the record' block_id 'the block'"'"'s row id on deployed servers, not its height' height 'block height where the record was produced' id 'row id of the record' timestamp 'time of creation, seconds since 1970' block_hash string transition_id string transaction_id string function_name 'function executed in the transition' output_index 'index of the output within the transition' all 'every column' help 'list the columns'
_chainq_for ownership
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' nonce_x 'x-coordinate of the record'"'"'s nonce' nonce_y 'y-coordinate of the nonce' owner_x 'x-coordinate that only the owner'"'"'s view key explains' transition_id 'transition that generated the record' output_index 'index of the output within the transition' all 'every column' help 'list the columns'
_chainq_for transitions
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' transition_id string transaction_id 'containing transaction' program 'source text of the program' function_name string height 'block height' tpk 'transition public key (group element)' tcm 'transition commitment (field element)' timestamp 'seconds since 1970' all 'every column' help 'list the columns'
_chainq_for address-transactions
_chainq_row --columns list+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list' transaction_id 'bech32, prefix at' all 'every column' help 'list the columns'
_chainq_row --no-details flag 'Do not look up the transactions of a table'
_chainq_for owned
_chainq_row --view-key-file file 'View keys, one per line. Default: CHAINQ_VIEW_KEY, else a hidden prompt'
_chainq_row --insecure-key-file flag 'Accept a key file that others can access'
_chainq_row --records flag 'Add the record of each row, with its height'
_chainq_row --decrypt flag 'Add the record and its plaintext'
_chainq_row --network words 'Fail unless the service is on mainnet, or on testnet' mainnet '' testnet ''
_chainq_row '--workers -w' text 'Processes that compare rows. Default: one per core'
_chainq_for owned verify
_chainq_row --columns text+ 'Columns to print, such as a,b.c or a.b[].c; `all`, or `help` for a list'
_chainq_for show
_chainq_row --last text 'Newest blocks to look at. By default 500K for an address, 100 for a program'
_chainq_row --json flag 'All parts as one JSON object'
_chainq_for export
_chainq_row --to text 'Folder, or s3://, gs:// or az:// URL'
_chainq_row --partition text 'Heights in a partition'
_chainq_row --lag text 'Leave out the last N blocks'
_chainq_row '--workers -w' text 'Worker processes. Default: one per core'
_chainq_row --engine text 'Who does the work: local or dask'
_chainq_row --scheduler text 'Dask scheduler, such as tcp://host:8786'
_chainq_row --delta flag 'Commit full partitions to a Delta table for each command'
_chainq_row --repair file 'Write again the partitions that findings of verify name (jsonl), or all of the range'
_chainq_row --no-lock flag 'Do not keep other exports out; for disjoint partitions'
_chainq_row --dry-run flag 'List the partitions to write, write none'
_chainq_for doctor profiles
_chainq_row --json flag 'JSON instead of a table'
_chainq_for doctor
_chainq_row --save text 'Save as a profile in config.toml'
_chainq_row --default flag 'With --save: make it the default profile'
_chainq_for verify
_chainq_row --commands text 'Commands to verify beside the blocks: transactions, records, ownership, transitions. Default: all'
_chainq_row --witness text 'Second service to compare with, as far as its chain goes'
_chainq_row --sample text 'Compare N heights of a data set or file, drawn at random, with the service'
_chainq_row --full flag 'Compare all heights of a data set or file with the service'
_chainq_for serve
_chainq_row --port text 'TCP port; 0: any free one'
_chainq_row --host text 'A loopback address'
_chainq_row --dialect words 'chain or aleo' chain '' aleo ''
_chainq_row '--tip --newest' text 'Tip height; -1: an empty chain'
_chainq_row --grow text 'Seconds between new blocks; 0: no new blocks'
_chainq_row --seed text 'Seed for the chain'
_chainq_row --dense-height text 'Number of records at height H'
_chainq_row --owner text 'Plant records of this address, not of the published test key'
_chainq_row '--shuffle --no-shuffle' flag 'Shuffle the rows inside each height'
_chainq_row --gzip flag 'Compress responses for clients that accept it'
_chainq_row '--verbose -v' flag 'Log every call to stderr'
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
_chainq_row --plant text+ 'Hold one row wrongly, such as lost-record:672; may be repeated'
_chainq_row --fault text+ 'A list that is wrong in one plain way, such as height-cap:5; may be repeated'
_chainq_row --stale-tip-rate text 'Share of latest/block calls with an old tip'
_chainq_row --lag-blocks text 'Hide the last N blocks from all methods but latest/block'
_chainq_row --lag-rate text 'Share of calls that --lag-blocks is about'
_chainq_row --late-records text 'Calls until a new block'"'"'s records appear'
_chainq_row --reorg-at text 'Replace the blocks from H on'
_chainq_row --reorg-after text 'Calls before --reorg-at takes effect'
_chainq_row --fault-seed text 'Seed for faults'
_chainq_for blocks
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for block
_chainq_row any words height... latest 'the block at the tip' - 'one per line on standard input'
_chainq_for latest
_chainq_for full-blocks
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for transactions
_chainq_row any words height... latest 'the block at the tip' - 'one per line on standard input'
_chainq_for transaction
_chainq_row any words id... - 'one per line on standard input'
_chainq_for program-transactions
_chainq_row 1 words program credits.aleo '' token_registry.aleo '' wrapped_credits.aleo '' hello_hello.aleo '' tile_gallery.aleo '' wide_library.aleo ''
_chainq_row 2 function function transfer_public credits.aleo transfer_private credits.aleo transfer_public_as_signer credits.aleo transfer_private_to_public credits.aleo transfer_public_to_private credits.aleo bond_public credits.aleo bond_validator credits.aleo claim_unbond_public credits.aleo unbond_public credits.aleo set_validator_state credits.aleo mint credits.aleo split credits.aleo join credits.aleo fee_public credits.aleo fee_private credits.aleo mint_public token_registry.aleo transfer_public token_registry.aleo transfer_from_public token_registry.aleo transfer_private token_registry.aleo transfer_public_to_private token_registry.aleo deposit_credits_private wrapped_credits.aleo withdraw_credits_private wrapped_credits.aleo hello hello_hello.aleo claim tile_gallery.aleo show tile_gallery.aleo run wide_library.aleo
_chainq_for records
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for ownership
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for transitions
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for address-transactions
_chainq_row 1 text address
_chainq_row 2 words range latest 'the block at the tip'
_chainq_for owned
_chainq_row 1 words range latest 'the block at the tip'
_chainq_for show
_chainq_row 1 text object
_chainq_for export
_chainq_row any text 'command... [range]'
_chainq_for sql
_chainq_row any text '[dest] query'
_chainq_for rpc
_chainq_row 1 words method getBlocks 'block summaries for a height range' block 'block summaries by height' latest/block 'block summary of the latest block' getChainBlocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' chainTransaction 'full details of one transaction by ID' chainTransactionsForProgram 'transactions that call a program'"'"'s function, once for each call' records/all 'records produced in a height range' records/isOwner 'minimal ownership data of records in a height range' transitionsWithoutRecordInputs 'transitions that have no record inputs, in a height range' getPublicTransactionsForAddress 'IDs of public transactions of an address in a height range'
_chainq_row 2 text params
_chainq_for doctor
_chainq_for verify
_chainq_row 1 file 'range|dest|file'
_chainq_for profiles
_chainq_for serve
_chainq_for completion
_chainq_row 1 words shell bash '' zsh '' fish ''
_chainq_for help
_chainq_row 1 words command blocks 'block summaries for a height range' block 'block summaries by height' latest 'block summary of the latest block' full-blocks 'full block content (header, authority, ratifications, transactions) for a height range' transactions 'transaction summaries of blocks' transaction 'full details of one transaction by ID' program-transactions 'transactions that call a program'"'"'s function, once for each call' records 'records produced in a height range' ownership 'minimal ownership data of records in a height range' transitions 'transitions that have no record inputs, in a height range' address-transactions 'IDs of public transactions of an address in a height range' owned 'ownership rows that your view keys own' show 'show a block, transaction, address or program on one screen' export 'write Parquet partitions into a folder or an object store' sql 'query an export, or the last blocks, with SQL' rpc 'call any method and print its result' doctor 'examine a server: dialect, methods, pagination, limits' verify 'find missing, doubled, altered and misplaced rows' profiles 'list the profiles in config.toml' serve 'serve the sample chain over HTTP, with optional faults' completion 'print the completion script of a shell' help 'show the help of the program or of a command' version 'print the version'
_chainq_for version
# table:end
>>>>>>> docgen
