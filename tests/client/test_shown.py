"""What a Python prompt and a notebook show of a client and of rows."""

from chainq import Client


def test_a_client_and_its_rows_say_what_they_are() -> None:
    """The service, and the command."""
    with Client("demo:") as client:
        assert repr(client) == "<Client of demo:>"
        assert repr(client.full_blocks(0, 5)) == "<Rows of full-blocks>"
    assert repr(client) == "<Client of demo:, closed>"


def test_a_url_is_shown_without_its_secrets() -> None:
    """A password is masked."""
    with Client("http://me:secret@127.0.0.1:9/", dialect="chain") as client:
        assert repr(client) == "<Client of http://***@127.0.0.1:9/>"
