"""The built-in sample chain: `demo:` in process and `chainq serve` on a socket.

Here live a chain that is computed and never stored, and a service that answers for it as deployed servers do, faults
included. Nothing here may be imported by the client side except `transport.DemoTransport` and `server.serve`, and
nothing here may import the client but the plain values of `transport.base`: the two sides meet in bytes only, so that
neither can hide a mistake of the other.

```
ids.py        numbers -> bech32m texts and field elements, and back
programs.py   the programs of the chain: their functions and source texts
layout.py     which transactions stand at which height; counting them without walking
chain.py      Chain: the rows of every method, from a height alone
bodies.py     Bodies: full transactions and full blocks
wire.py       the methods of each dialect, as data: names, parameters, limits
faults.py     Faults: what a server may do wrong
answers.py    Answers: arguments -> the JSON of a result; paging and the order of rows
service.py    Service: the JSON-RPC envelope, errors and faults; bytes in, Reply out
transport.py  DemoTransport: the service as a transport of the client, without a socket
server.py     serve: the service behind HTTP/1.1
```
This package imports nothing when it is imported, since start-up time counts for every command.
"""
