"""What doctor finds out about order, caps, pages and the end of a range."""

from typing import Any

import pytest

from chainq.catalog.dialects import DIALECTS, Names
from chainq.demo.faults import Faults
from chainq.doctor.methods import MethodProber
from chainq.doctor.pagination import PaginationProber
from chainq.doctor.prober import Outcome, Prober
from chainq.errors import ExitCode
from chainq.transport.base import ServiceOptions
from harness.examined import Odd, examined, findings, found
from harness.steps import linear, steps


def test_rows_in_a_fixed_order_are_seen() -> None:
    """A server with a fixed order is distinguished from one that shuffles."""
    assert findings(examined(Odd(shuffle=False)))["row order"] == "the same in two calls"


@pytest.mark.parametrize("no_pages", [False, True])
def test_a_row_cap_is_found(no_pages: bool) -> None:
    """A silent cap is reported, also if no page shows the rest."""
    assert findings(examined(Odd(faults=Faults("row-cap:700", *["no-pages"] * no_pages))))["row cap"] == "700 rows"


def test_an_ignored_page_size_is_found() -> None:
    """Methods that return more rows than the page size are named, which is no fault."""
    check = found(examined(Odd(faults=Faults("ignore-page-size"))), "page size")
    assert check.ok
    assert check.finding.startswith("ignored by")
    assert "records" in check.finding


def test_an_included_end_is_a_fault() -> None:
    """A server that counts `end` in is one that chainq cannot read ranges from."""

    def change(request: dict[str, Any]) -> Any:
        if request["method"] == "getBlocks":
            request["params"]["end"] += 1
        return request

    check = found(examined(Odd(change=change)), "range end")
    assert check.finding == "included"
    assert check.fault is not None
    assert check.fault.exit_code is ExitCode.INCOMPLETE


@pytest.mark.parametrize("strict", [True, False])
def test_pages_from_one_are_a_fault(strict: bool) -> None:
    """A server whose first page is 1 is found out, whether it refuses page 0 or takes it for the first."""

    def change(request: dict[str, Any]) -> Any:
        params = request.get("params", {})
        if params.get("page") == 0 and strict and request["method"] == "records/all":
            params["page"] = "none"
        elif "page" in params:
            params["page"] = max(0, params["page"] - 1)
        return request

    check = found(examined(Odd(change=change)), "first page")
    assert (check.finding, check.ok) == ("1", False)


def test_ignored_pages_are_a_fault() -> None:
    """A server that sends the same rows for every page is found out."""

    def change(request: dict[str, Any]) -> Any:
        if "page" in request.get("params", {}):
            request["params"]["page"] = 0
        return request

    check = found(examined(Odd(change=change)), "first page")
    assert (check.finding, check.ok) == ("pages are ignored", False)


def test_a_window_with_many_rows_takes_linear_time() -> None:
    """Twice as many rows near the tip, of as many heights, do not cost four times as much."""

    def find(count: int) -> None:
        rows = ",".join(f'{{"height":{height}}}' for height in range(count))
        outcome = Outcome(f'[{rows},{{"height":77}}]'.encode())

        class Many(Prober):
            def call(self, *_: Any) -> Outcome:
                return outcome

        with Many(ServiceOptions("http://127.0.0.1:1/")) as prober:
            window, _, check = PaginationProber(MethodProber(prober, DIALECTS["chain"], Names()), count).find_window()
        assert (window.busiest, len(window.rows), check.ok) == (77, count + 1, True)

    assert linear(steps(lambda: find(2_000)), steps(lambda: find(4_000)))
