"""Compares what a service or a file returns with what must be true of it: `chainq verify`.

```
service_rows.py  the rows of a service, height by height, whatever it does wrong
file_rows.py     the rows of a file, whatever its format; text_rows.py and parquet_rows.py read them
compare.py       the one comparison: rows, by what identifies them, with those that are due; links of blocks
findings.py      Finding: one contradiction, with the command that fetches the row anew
unlisted.py      which missing rows a server lost, and which it never lists
audit.py         a service: one pass over all commands, each height against its full block, and against a witness
block_hashes.py  block hashes recomputed, of a service and of files, up to an anchor
through_blocks.py  rows of other commands in files, against the full blocks of the same files; plain.py: their values
against.py       a file and a service: some heights or all
tables.py        the rows of one command as Arrow tables, column by column; checksums.py: their bech32 IDs
across.py        the rows of one command against those of another
data_set.py      a data set of chainq export by its files; partitions.py: by its listing
file.py          one file of -o by itself, and against the receipt beside it
```
`findings`, `compare` and `unlisted` are pure: no I/O, no threads, no clock.
"""
