"""`chainq verify`: checks the rows of a service, a data set or a file.

```
service_rows.py  windows of a service, even if it is faulty
exports.py       windows of an export; the only module that knows its layout
files.py         windows of open Parquet files, and of files written with -o, whatever their format
explain.py       the rows that are due according to full blocks
rules.py         the rules, column by column
check.py         the rules over the windows of one source, and compared with a second source; which missing rows a
                 server lost, and which it never lists
hashed.py        recomputes block hashes, up to an anchor
findings.py      Window: the rows of some heights as Arrow tables; Finding: one contradiction, with its file
```
"""
