"""Recomputes the hashes of a chain: blocks, roots, IDs of transactions and transitions, and those of public values.

```
trees.py     field elements as bits, the hash functions, the Merkle tree
formulas.py  each hash by its formula, with the file of snarkVM that it is from
check.py     a block summary, or a full block, against its own hashes
chain.py     blocks one after the other: links, and the anchor that they end in
```
Needs aleo-sdk (extra `hashes`), which `chainq.wallet.sdk` loads for the first hash. No I/O, no clock. Rows are JSON
values as `json.loads` returns them, which keeps integers exact.
"""
