"""What a connection and a run use if nobody states it: the same on the command line and in Python."""

TIMEOUT = 60.0  # seconds; many servers give up after 30, and what they say then should arrive
RETRIES = 5  # of a request that fails in a transient way
PATIENCE = 120.0  # seconds that a method may be refused (HTTP 429) without a success in between: two windows
CONCURRENCY = 8  # requests at a time
MAX_MEMORY = 2**30  # bytes for responses, of which each may have its share by CONCURRENCY
SETTLE = 10  # heights below the tip whose rows a service may still write or replace
DEFAULT_LAST = 10  # blocks, if no range is given
INTERVAL = 5.0  # seconds between polls
