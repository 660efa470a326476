"""Reads the body of a response within the memory budget, and decodes one content coding."""

from collections.abc import Iterable, Iterator

from chainq.errors import ResponseError
from chainq.text.sanitize import excerpt
from chainq.transport.base import BrokenResponseError, DamagedBodyError
from chainq.transport.memory import Reservation

PIECE_BYTES = 2**20  # that decompression may add at a time, however little there was to decompress
PACKED_BYTES = 64 * 2**10  # that are decompressed at a time: zlib copies what it has not come to yet

# A body that inflates further has no rows: each of these has IDs of 32 random bytes, so that even rows with 30 KB of
# the same text reach about 200, and gzip itself ends at 1,032. Rejected: a bound of the size. --max-memory is one, and
# if a response exceeds that, its range is divided, and each part inflates anew.
MOST_TIMES = 500
FREE_BYTES = 16 * 2**20  # of any body, whatever it was compressed to


def read_body(stream: Iterable[bytes], length: int | None, coding: str, memory: Reservation) -> bytes:
    """Return the body that arrives as `stream`, taken from `memory`.

    `length`: bytes of the stream, None if unknown; `coding`: its Content-Encoding. Raises ResponseError for a coding
    that was not requested or a body that inflates more than rows can, BrokenResponseError, and TooHeavyError if the
    memory is used up.
    """
    coding = coding.strip().lower()
    if coding in ("gzip", "x-gzip"):  # RFC 9110, section 8.4.1.3
        with memory.borrowed(length or 0):
            return _joined(decompress(stream), memory)
    if coding not in ("", "identity"):
        raise ResponseError(f"response has the content coding {excerpt(coding, 40)!r}; chainq asks for gzip only")
    if length is None:
        return _joined(stream, memory)
    memory.grow(length)
    return b"".join(stream)  # no copy, since it is one piece


def _joined(stream: Iterable[bytes], memory: Reservation) -> bytes:
    pieces = []
    for piece in stream:
        memory.grow(len(piece))
        pieces.append(piece)
    if len(pieces) == 1:
        return pieces[0]
    with memory.borrowed(sum(map(len, pieces))):  # rejected: a bytearray that grows, which takes half as long again
        return b"".join(pieces)


def decompress(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress gzip (RFC 1952) into pieces of at most PIECE_BYTES. Raises BrokenResponseError or ResponseError."""
    import zlib

    packed = size = 0
    member = None  # of which several may follow one another (RFC 1952, section 2.2)
    try:
        for rest in _cut(stream):
            packed += len(rest)
            while rest:
                member = member or zlib.decompressobj(wbits=31)
                piece = member.decompress(rest, PIECE_BYTES)
                size += len(piece)
                if size > max(FREE_BYTES, packed * MOST_TIMES):
                    raise ResponseError(f"response inflates to more than {MOST_TIMES} times its size, as no rows do")
                yield piece
                if member.eof:
                    rest, member = member.unused_data, None
                else:
                    rest = member.unconsumed_tail  # what does not fit is kept until the trailer, which always follows
    except zlib.error as error:
        raise DamagedBodyError(f"the compressed body is damaged: {error}") from None
    if member is not None:
        raise BrokenResponseError("the compressed body ends early")


def _cut(stream: Iterable[bytes]) -> Iterator[bytes]:
    for piece in stream:
        for at in range(0, len(piece), PACKED_BYTES):
            yield piece[at : at + PACKED_BYTES]
