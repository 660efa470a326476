"""Numbers that decide how chainq treats a server: each with its unit, and the reason or a measurement.

Values that users may set are in `defaults.py`; numbers that only shape the output are in the modules that use them.
"""

# Requests: how much is asked for at once (planning)
AIM_BYTES = 8 * 2**20  # of a response: larger ones cost memory, smaller ones round trips
WIDEST = 1_000_000  # heights of a chunk if the document sets no limit
WIDEST_BLOCKS = 1000  # heights of a request for full blocks; deployed servers refuse more
ROOM = 1.5  # times the documented page size is asked for, so that a full page is rare
FILL = 0.97  # of a page size of the user's own: chunks differ in density
OVERLAP_ROWS = 8  # expected in an overlap: 1 of 3,000 has none, if rows are spread evenly
GROWTH = 8  # times the heights of the longest chunk so far, at most
RECENT = 8  # responses that the estimate rests on
LARGER = 4  # times the page size, for a height that fills a page; and so much smaller pages if that is too heavy
SMALLEST_PAGE = 50  # rows; a height that is too heavy even so is given up
LARGER_PAGES = 2  # times that a page which is to show all rows of a height is so much larger, at most
WIDER = 8  # times as many heights, if no row is known beyond some
FEW_STRAYS = 16  # heights out of order in a response, which the row ids of blocks may explain
ROW_IDS = 1000  # heights of a request for the row ids of blocks
MOST_ROW_IDS = 20_000  # heights of a full page whose row ids are requested
SEVERAL = 8  # heights whose records show whether rows come in order
GROW_AFTER = 4  # full pages before they grow again after a failure; twice as many after each further failure
BEYOND_LIMIT = 50  # rows requested beyond --limit, to see where its last block ends

# Chunks of a range, in order
FRONT = 4  # chunks at the front of the line, which all others wait for, are sent beyond the window
CONTRADICTIONS = 2  # times that a chunk whose responses contradict others is requested again
BLOCK_ATTEMPTS = 2  # requests for blocks that are missing: the tip may have come after the first response
BELOW_TIP = 10  # blocks below the tip at which hints end a range, unless more are known to lack rows
NEAR_TIP = 64  # blocks below the tip that a server which is behind may lack

# Another method names the rows that are due
NAMED_BLOCKS = 50  # full blocks of one request
FEW_HEAVY = 3  # full blocks of a run that are too heavy by themselves, before no other one is requested
UNKNOWN_PROGRAM = 3  # heights without any transition of a program that their full blocks have: the server knows it not
MOST_EMPTY = 500  # heights without rows whose full blocks are requested: more are believed to have none
MOST_NAMED = 1000  # rows of a height whose full block is requested only to compare them
EMPTY_WALKS = 4  # walks through the pages of a height that come empty by chance
CERTAIN = 9  # walks that show no further row, if each shows all rows but by chance: 1 in 8,000 lacks one
MOST_IDLE = 100  # the same, if each shows a few

# Belief: how often chainq requests again if nothing proves the rows (docs/completeness.md)
FEW_WINDOWS = 128  # of a stretch without rows, as wide as a row was shown at the far end; wider ones beyond
BELIEVED_PAGES = 3  # larger pages for a height that fills a page, if no other method names its rows
NO_PAGE = 1000  # a page so far on has no rows, if pages are counted

# Lists in pages
LIST_ATTEMPTS = 6  # requests for rows that are known to exist, before a service that does not show them is given up
BEYOND = (0, 1, 2, 4, 8, 16)  # rows after the end: one that never comes may hide those after it in longer pages
LONGEST_LIST = 2**40  # rows: no list has as many
PROBE = 64  # rows of a page that shows the last rows again, at most
ROUND = 500  # rows: a list that ends at a multiple of these may have been ended by a limit of the service
SHORT = 8  # rows: what shorter pages show may be too little
STRIDE = 8  # times as far along goes each request for the end; each gap of that size then takes three to halve
MOST_TRANSITIONS = 64  # of one transaction that call one function; the ledger allows 32 in all

# Waiting and trying again (transport)
FIRST_BACKOFF = 0.6  # seconds before the first retry, at most; twice as long before each further one
MAX_BACKOFF = 30.0  # seconds before any retry
FAILED_IN_A_ROW = 3  # requests without a response in time, until the narrowest one shows whether the server hangs
REFUSED = 1.0  # seconds after the first refusal of a method (HTTP 429); the next waits are twice as long each time
LONGEST_REFUSED = 10.0  # seconds after a refusal, at most, if the service asks for no longer wait
SPACING = 0.5  # seconds between calls of a method in the time after a refusal; another run that waits gets in
# Seconds before each retry of a connection to a server that has not responded yet. One that refuses may be starting; an
# unknown host gets the first retry only. A wrong URL is reported after the sum of these.
CONNECT_WAITS = (0.2, 0.4, 0.8, 0.8, 0.8)
AHEAD = 120.0  # seconds that a time may be ahead of this machine's clock; if it is more, a clock is wrong
KEEP_ALIVE = 5.0  # seconds that an idle connection stays open

# Lagging servers, reorgs and outages (resume)
RECORD_SECONDS = 5.0  # after which a position is recorded: two requests, and a sync of the disk; also for polls
FIRST_RECORD_SECONDS = 0.5  # the same for the first one, then twice as long each time: a killed run keeps half
LAST_SECONDS = 0.8  # for the hashes of what a run has written that was told to end; less than 2 * signals.GRACE
REORG_LOOKS = 6  # requests for a block that was there; if one of two servers is behind, 1 round in 64 needs more
STATE_SECONDS = 60.0  # after which a failure of polls is recorded again
MAX_REFUSALS = 60  # polls in a row to which a service may return errors; five minutes at the default interval
