"""Points of the curve of accounts and nonces."""

from chainq.demo.ids import FIELD_ORDER

Point = tuple[int, int]

GENERATOR: Point = (
    522678458525321116977504528531602186870683848189190546523208313015552693483,
    4625467284263880392848236339834904393692054417272076479096796531274999498606,
)
"""The generator of accounts and nonces: the address of the view key 1."""

_D = 3021


def add(one: Point, other: Point) -> Point:
    """Return the sum of two points."""
    (a, b), (c, d) = one, other
    cross = _D * a * b * c * d % FIELD_ORDER
    inverse = pow((1 + cross) * (1 - cross), -1, FIELD_ORDER)
    return (
        (a * d + b * c) * (1 - cross) * inverse % FIELD_ORDER,
        (b * d + a * c) * (1 + cross) * inverse % FIELD_ORDER,
    )


def multiple(scalar: int) -> Point:
    """Return the generator times `scalar` (0 or more)."""
    result, power = (0, 1), GENERATOR
    while scalar:
        if scalar & 1:
            result = add(result, power)
        power = add(power, power)
        scalar >>= 1
    return result
