#!/bin/sh
# curl and jq: `read.sh records|full-blocks URL START END` prints rows, one a line.
#
# --retry tries again after "an HTTP 408, 429, 500, 502, 503 or 504 response code", waiting 1, 2, 4, ... seconds (man curl).
set -eu
url=$2 start=$3 end=$4
body=$(mktemp)
trap 'rm -f "$body"' EXIT

call() { # METHOD PARAMS
    curl --silent --show-error --fail --retry 5 --output "$body" "$url" \
        --json "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":{$2}}"
}

if [ "$1" = records ]; then # pages of the documented size, until one is empty
    page=0
    while
        call records/all "\"start\":$start,\"end\":$end,\"page\":$page,\"recordsPerRequest\":10000"
        [ "$(jq '.result | length' "$body")" -gt 0 ]
    do
        jq --compact-output '.result[]' "$body"
        page=$((page + 1))
    done
else # 100 heights a call
    while [ "$start" -lt "$end" ]; do
        next=$((start + 100 < end ? start + 100 : end))
        call getChainBlocks "\"start\":$start,\"end\":$next"
        jq --compact-output '.result[]' "$body"
        start=$next
    done
fi
