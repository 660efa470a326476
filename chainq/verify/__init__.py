"""`chainq verify`: checks the rows of a service, a data set or a file.

```
service_rows.py  the rows of a service, height by height, even if the service is faulty
file_rows.py     the rows of a file, whatever its format; text_rows.py and parquet_rows.py read them
compare.py       the one comparison of rows with the expected rows, by identity; links between blocks
findings.py      Finding: one contradiction, with the command that fetches the row again
unlisted.py      which missing rows a server lost, and which it never lists
audit.py         a service: one pass over all commands compares each height with its full block, and with a witness
block_hashes.py  recomputes block hashes, from a service or from files, up to an anchor
through_blocks.py  compares rows of other commands in files with the full blocks in them; plain.py: their values
against.py       compares a file with a service, at some heights or all; once.py: each row is reported once
tables.py        the rows of one command as Arrow tables, column by column; checksums.py: their bech32 IDs
across.py        the rows of one command against those of another, and inside_blocks.py: what full blocks contain
data_set.py      the files of a data set that chainq export wrote; partitions.py: its listing
file.py          one file written with -o, by itself
```
`findings`, `compare` and `unlisted` are pure: no I/O, no threads, no clock.
"""
