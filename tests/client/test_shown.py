"""What a Python prompt and a notebook show of a client and of rows."""

from chainq import Client
from chainq.demo.chain import Chain
from chainq.demo.service import Service as DemoService
from harness.services import serving


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
