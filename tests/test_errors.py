"""What errors and warnings are made of."""

import pickle

from chainq.errors import Shortfall
from chainq.heights.range import end_above


def test_a_shortfall_stays_one_between_processes() -> None:
    """`--quiet` would silence it otherwise."""
    came = pickle.loads(pickle.dumps(end_above(9, 5)))  # noqa: S301
    assert type(came) is Shortfall
    assert came == "the end 9 is not reached: the tip is 5"
