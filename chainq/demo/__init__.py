"""The built-in sample chain: `demo:` in process and `chainq serve` on a socket.

It contains a chain that is computed and never stored, and a service that responds like deployed servers, faults
included. Nothing here may import the client except the plain values of `transport.base` and the checksums of
`catalog.bech32`, which published vectors test, and in the client only `fetching.service` makes the service and its
transport. The two sides exchange only bytes, so neither can hide the other's mistakes.

```
ids.py        numbers -> bech32m texts and field elements, and back
layout.py     Layout: which transactions each height has, their counts in closed form, the addresses in their calls
pattern.py    the sample chain's own layout: programs, ordinary blocks and special heights
chain.py      Chain: the rows of every method, from a height alone
bodies.py     full transactions and full blocks
planted.py    records that a published test key owns, and points for all other nonces
sealed.py     SealedChain: a chain with true hashes, roots and IDs
results.py    the methods of each dialect; Results: the honest rows of a call
registry.py   Ask: a call on its way through a server; Faults: those of one server, and what it remembers
faults.py     FAULTS: what can go wrong, by name and stage
service.py    Service: the JSON-RPC envelope and errors, in process and on a socket
```
Importing this package imports nothing else, because start-up time counts for every command.
"""
