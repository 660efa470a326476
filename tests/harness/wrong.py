"""Model servers that are wrong in one plain way, in good faith (`chainq serve --fault`, and hidden caps)."""

from chainq.demo import faults
from harness.model import Faults, MakeFaults

wrong = faults.Faults
"""Takes the names of faults, such as `height-cap:5`."""


WRONG: dict[str, MakeFaults] = {
    "heavy is empty": lambda rng: Faults(lists=wrong(f"heavy-empty:{rng.choice([100, 800])}")),
    "range with many rows is empty": lambda rng: Faults(lists=wrong(f"range-empty:{rng.choice([100, 800])}")),
    "hidden cap": lambda rng: Faults(hidden_cap=rng.choice([60, 300, 1000]), stable=rng.random() < 0.5),
    "hidden cap, the same page": lambda rng: Faults(
        hidden_cap=rng.choice([60, 300]), same_page=True, stable=rng.random() < 0.8
    ),
    "hidden cap, page size ignored": lambda rng: Faults(
        hidden_cap=rng.choice([60, 300]), ignore_size=rng.choice([30, 500]), stable=rng.random() < 0.8
    ),
    "heights as text": lambda _: Faults(lists=wrong("text-order")),
    "heights as text, row cap": lambda rng: Faults(lists=wrong("text-order"), row_cap=rng.choice([60, 300])),
    "nothing after a long row": lambda _: Faults(lists=wrong("long-row-ends:400")),
    "no long row": lambda _: Faults(lists=wrong("long-row-hides:400")),
    "first block": lambda _: Faults(lists=wrong("first-block")),
    "first block, short pages": lambda rng: Faults(
        lists=wrong("first-block", "short-pages"), stable=rng.random() < 0.5
    ),
    "short pages": lambda _: Faults(lists=wrong("short-pages")),
    "gaps in full pages": lambda rng: Faults(lists=wrong(f"page-gaps:{rng.choice([3, 100])}")),
    "cached rows": lambda rng: Faults(lists=wrong("cached-rows"), reorg=rng.choice([5, 40])),
    "one height higher": lambda _: Faults(lists=wrong("shift-up")),
    "one height lower": lambda _: Faults(lists=wrong("shift-down")),
    "page 0 empty": lambda _: Faults(lists=wrong("page-0-empty")),
    "page 0 skipped": lambda _: Faults(lists=wrong("page-0-skipped")),
    "page repeated": lambda rng: Faults(lists=wrong(f"repeated-page:{rng.choice([1, 2])}")),
    "late pages": lambda _: Faults(lists=wrong("late-pages")),
    "shards": lambda rng: Faults(lists=wrong(f"shards:{rng.choice([2, 8])}")),
    "last height left out": lambda _: Faults(lists=wrong("last-height")),
    "the next range too": lambda _: Faults(lists=wrong("next-range")),
    "end ignored in pages": lambda _: Faults(lists=wrong("end-ignored")),
    "each page reversed": lambda rng: Faults(lists=wrong("reversed-pages"), row_cap=rng.choice([0, 300])),
    "few rows of a height": lambda rng: Faults(lists=wrong(f"height-cap:{rng.choice([2, 20])}")),
    "ownership behind": lambda _: Faults(lists=wrong("ownership-behind:5")),
    "heights as text in every second row": lambda _: Faults(lists=wrong("text-heights")),
}
"""By kind, as in `model.KINDS`. Which of them can be found out is for the tests to say."""
