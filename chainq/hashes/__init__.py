"""Recomputes the hashes of a chain: blocks, roots, and IDs of transactions, transitions and public values.

```
sdk.py       aleo-sdk, if it is installed
trees.py     field elements as bits, the hash functions, the Merkle tree
formulas.py  each hash by its formula, with the file of snarkVM that it is from
check.py     a block summary, or a full block, against its own hashes
processes.py blocks checked in parallel, in worker processes
```
Needs aleo-sdk (`hashes` extra), which `chainq.hashes.sdk` loads for the first hash. No files, no network, no clock.
Rows are JSON values as `json.loads` returns them, which keeps integers exact.
"""
