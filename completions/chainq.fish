# Completion of chainq for fish, written by python -m chainq._docgen; change what it is written from.
# It starts no program and sends no request: everything is in this file, except the profiles of the configuration file.

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
end

complete -c chainq -f
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
