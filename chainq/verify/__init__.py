"""Holds what a service or a file returns against what must be true of it: `chainq verify`.

```
findings.py   Finding: one contradiction, with the command that fetches the row anew
blocks.py     Facts: what a full block says of its summary, transactions, records and transitions
compare.py    the rows of one height against those that are due
unlisted.py   which missing rows a server lost, and which it never lists
chain.py      links, times and rounds from block to block
feeds.py      the rows of one command of a service, height by height, whatever the service does wrong
audit.py      one pass over all commands of a service, their heights in step
against.py    files against a service, at some heights or at all
witness.py    two services against each other
tables.py     the rows of one command as Arrow tables, column by column; checksums.py: their bech32 IDs
across.py     the rows of one command against those of another
listing.py    a data set of chainq export by its listing: receipts, grid; lake.py: by its files
file.py       one file of -o by itself; readers.py and json_readers.py read it, whatever its format
```
`findings`, `blocks`, `compare`, `unlisted` and `chain` are pure: no I/O, no threads, no clock.
"""
