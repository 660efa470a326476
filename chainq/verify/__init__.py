"""`chainq verify`: checks the rows of a service, a data set or a file.

```
service_rows.py  windows of a service, even if it is faulty
exports.py       windows of an export; the only module that knows its layout
file.py          windows of a file written with -o, whatever its format
sheets.py        windows of open Parquet files, which exports and files are
explain.py       the rows that are due according to full blocks
rules.py         the rules, column by column; checksums.py: bech32 IDs
check.py         the rules over the windows of one source, and compared with a second source; which missing rows a
                 server lost, and which it never lists
hashed.py        recomputes block hashes, up to an anchor
run.py           one pass over the windows
findings.py      Window: the rows of some heights as Arrow tables; Finding: one contradiction, with its file
```
"""
