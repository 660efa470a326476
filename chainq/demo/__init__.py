"""The built-in sample chain: `demo:` in process and `chainq serve` on a socket.

It contains a chain that is computed and never stored, and a service that responds like deployed servers, faults
included. Nothing here may import the client except the plain values of `transport.base`, and in the client only
`fetching.service` makes the service and its transport. The two sides exchange only bytes, so neither can hide the
other's mistakes.

```
ids.py             numbers -> bech32m texts and field elements, and back
programs.py        the programs of the chain: their functions and source texts
layout.py          Layout: which transactions each height has, and their counts in closed form
pattern.py         the sample chain's own layout: ordinary blocks and special heights
callers.py         which address occurs in which call
chain.py           Chain: the rows of every method, from a height alone
bodies.py          Bodies: full transactions and full blocks
wire.py            the methods of each dialect, as data: names, parameters, limits
samples.py         sample results of methods that have no handler yet
exchange.py        Ask, Item, Answer, Reply: what goes through the server
results.py         Results: the honest rows of a call
registry.py        Fault, FAULTS: what can go wrong, by name and stage
request_faults.py, plants.py, row_faults.py, reply_faults.py: the faults
faults.py          Faults: those of one server, and what it remembers
sealed.py          Sealed: a chain with true hashes, roots and IDs
planted.py         records that a published test key owns; curve.py: points for all other nonces
service.py         Service: the JSON-RPC envelope and errors; bytes in, Reply out
transport.py       DemoTransport: the service as a transport of the client, without a socket
http_server.py     serve: the service behind HTTP/1.1
```
Importing this package imports nothing else, because start-up time counts for every command.
"""
