"""Reads the body of a response: within the memory of the run, and out of one content coding."""

from collections.abc import Iterable, Iterator

from chainq.errors import ResponseError
from chainq.text.sanitize import excerpt
from chainq.transport.base import BrokenResponseError
from chainq.transport.memory import Reservation

PIECE_BYTES = 2**20  # that decompression may add at a time, however little there was to decompress


def read_body(stream: Iterable[bytes], coding: str, memory: Reservation) -> bytes:
    """Return the body that arrives as `stream`, taken from `memory`; `coding` is its Content-Encoding.

    Raises ResponseError for a coding that was not requested, BrokenResponseError, and TooHeavyError where memory ends.
    """
    coding = coding.strip().lower()
    if coding in ("gzip", "x-gzip"):  # RFC 9110, section 8.4.1.3
        stream = decompress(stream)
    elif coding not in ("", "identity"):
        raise ResponseError(f"response has the content coding {excerpt(coding, 40)!r}; chainq asks for gzip only")
    pieces = []
    for piece in stream:
        memory.grow(len(piece))
        pieces.append(piece)
    if len(pieces) == 1:
        return pieces[0]
    with memory.doubled():  # rejected: a bytearray that grows, which takes half as long again
        return b"".join(pieces)


def decompress(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress gzip (RFC 1952) into pieces of at most PIECE_BYTES. Raises BrokenResponseError."""
    import zlib

    member = None  # of which several may follow one another (RFC 1952, section 2.2)
    try:
        for piece in stream:
            rest = piece
            while rest:
                member = member or zlib.decompressobj(wbits=31)
                yield member.decompress(rest, PIECE_BYTES)
                if member.eof:
                    rest, member = member.unused_data, None
                else:
                    rest = member.unconsumed_tail  # what does not fit is kept until the trailer, which always follows
    except zlib.error as error:
        raise BrokenResponseError(f"the compressed body is damaged: {error}") from None
    if member is not None:
        raise BrokenResponseError("the compressed body ends early")
