"""What a Python prompt and a notebook show of a client and of rows."""

import inspect
import json
import pydoc
from typing import Any

import pytest

from chainq import ChainqError, Client
from chainq.client.arguments import CLIENT_OPTIONS
from chainq.demo.chain import Chain
from chainq.demo.service import Service as DemoService
from harness.services import Canned, canned, serving


def test_a_client_and_its_rows_say_what_they_are() -> None:
    """The command, the range as it was given, and the URL without its secrets."""
    with (
        serving(DemoService(Chain(tip=20))) as url,
        Client(url.replace("//", "//me:secret@"), dialect="chain") as client,
    ):
        shown = [repr(one) for one in (client, client.records(0, 5), client.blocks(last=3), client.blocks())]
        assert "secret" not in "".join(shown)
        host = url.split("//")[1]
        assert shown[0].startswith("<Client of http://")
        assert [text.partition(" of ")[0] for text in shown[1:]] == [
            "<Rows: records 0:5",
            "<Rows: blocks last=3",
            "<Rows: blocks",
        ]
        assert all(host.rstrip("/") in text for text in shown)


def test_proved_rows_say_how_many_they_are() -> None:
    """Their number, heights and grade in place of all rows."""
    with Client("demo:") as client:
        batch = next(client.batches("records", 0, 500))
    assert repr(batch) == "<ProvedRows: 2,867 rows of heights 0-499, order>"


def test_a_notebook_shows_ten_rows_that_can_still_be_read() -> None:
    """As a table with the columns of a table; also part by part."""
    with Client("demo:") as client:
        rows = client.blocks(0, 25)
        shown = rows._repr_html_()
        assert shown.count("<tr>") == 11
        assert "<caption>&lt;Rows: blocks 0:25 of demo:&gt;</caption>" in shown
        assert "<td>2023-06-01 00:00:00Z</td>" in shown
        assert shown.endswith("</table><p>the first 10 rows; there are more</p>")
        assert client.blocks(0, 10)._repr_html_().endswith("</table>")
        assert [row["height"] for row in rows] == [str(height) for height in range(25)]


def test_what_a_service_sends_is_escaped_in_a_notebook() -> None:
    """Markup stays text, and an error is shown and then raised."""
    evil = "<script>alert(1)</script>"

    def answer(request: Any) -> Canned:
        row = {"height": "5", "block_hash": evil}
        return Canned(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": [row]}).encode())

    with canned(answer) as (url, _), Client(url, dialect="chain", retries=0) as client:
        rows = client.blocks(5, 6, verify=False)
        shown = rows._repr_html_()
        assert "<script" not in shown
        assert "alert(1)" in shown

    def refuse(request: Any) -> Canned:
        return Canned(
            json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 1, "message": evil}}).encode()
        )

    with canned(refuse) as (url, _), Client(url, dialect="chain", retries=0) as client:
        rows = client.blocks(5, 6, verify=False)
        shown = rows._repr_html_()
        assert "the service returned error 1" in shown
        assert "<script" not in shown
        with pytest.raises(ChainqError, match="error 1"):
            next(rows)


def test_help_names_each_keyword() -> None:
    """With its type and its default, though the code has them as `**options`."""
    shown = pydoc.plain(pydoc.render_doc(Client.records))
    for keyword in ("last: int | str | None = None", "limit: int | None = None", "reverse: bool = False", "where: str"):
        assert keyword in shown
    assert "options" not in shown
    assert "where" not in inspect.signature(Client.batches).parameters
    assert [*inspect.signature(Client).parameters] == ["url", *CLIENT_OPTIONS]
