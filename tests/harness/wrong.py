"""Model servers that are wrong in one plain way, in good faith (`chainq serve --fault`, and hidden caps)."""

from chainq.demo import faults
from harness.model import MakeFaults, served

wrong = faults.Faults
"""Takes the names of faults, such as `height-cap:5`."""


WRONG: dict[str, MakeFaults] = {
    "range with many rows is empty": lambda rng: served(f"range-empty:{rng.choice([100, 800])}"),
    "hidden cap": lambda rng: served(f"result-window:{rng.choice([60, 300, 1000])}", stable=rng.random() < 0.5),
    "hidden cap, the same page": lambda rng: served(
        f"result-window:{rng.choice([60, 300])}", "repeat-pages", stable=rng.random() < 0.8
    ),
    "hidden cap, page size ignored": lambda rng: served(
        f"result-window:{rng.choice([60, 300])}", f"ignore-page-size:{rng.choice([30, 500])}", stable=rng.random() < 0.8
    ),
    "heights as text": lambda _: served("text-order"),
    "heights as text, row cap": lambda rng: served("text-order", f"row-cap:{rng.choice([60, 300])}", "offset-by-asked"),
    "no long row": lambda _: served("long-row-hides:400"),
    "first block": lambda _: served("first-block"),
    "first block, short pages": lambda rng: served("first-block", "short-pages", stable=rng.random() < 0.5),
    "short pages": lambda _: served("short-pages"),
    "gaps in full pages": lambda rng: served(f"page-gaps:{rng.choice([3, 100])}"),
    "one height higher": lambda _: served("shift-up"),
    "page 0 skipped": lambda _: served("page-0-skipped"),
    "late pages": lambda _: served("late-pages"),
    "shards": lambda rng: served(f"shards:{rng.choice([2, 8])}"),
    "few rows of a height": lambda rng: served(f"height-cap:{rng.choice([2, 20])}"),
    "ownership behind": lambda _: served("ownership-behind:5"),
}
"""By kind, as in `model.KINDS`. Which of them can be found out is for the tests to say."""
