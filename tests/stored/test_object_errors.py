"""Errors of obstore, as it words them, in plain words."""

import pytest

from chainq.stored.object_errors import cause

LIST = "Generic S3 error: Error performing list request: Error performing GET http://host/bkt in 2ms - "
STATUS = LIST + "Server returned non-2xx status code: "


@pytest.mark.parametrize(
    ("said", "words", "advice"),
    [
        (
            "Error performing PUT http://169.254.169.254/latest/api/token in 1ms - HTTP error: error sending request\n"
            "Debug source:\nGeneric { kind: ConnectionRefused }",
            "no credentials",
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        ),
        (STATUS + "404 Not Found: <Error><Code>NoSuchBucket</Code>", "the bucket does not exist", ""),
        (
            STATUS + "403 Forbidden: <Error><Code>InvalidAccessKeyId</Code>",
            "the credentials are not valid",
            "",
        ),
        (
            LIST + "HTTP error\n\nDebug source: kind: ConnectionRefused",
            "connection refused",
            "the endpoint is http://e",
        ),
        (LIST + 'HTTP error\n\nDebug source: ConnectError("dns error"', "unknown host", "the endpoint is http://e"),
        (STATUS + "500 Internal Server Error: <?xml", "HTTP 500 Internal Server Error", ""),
        (
            STATUS + "400 Bad Request: <Error><Code>ExpiredToken</Code>",
            "the session token has expired",
            "",
        ),
        (STATUS + "400 Bad Request: <Error><Code>InvalidArgument</Code>", "HTTP 400 Bad Request (InvalidArgument)", ""),
        ("Something else\n\nDebug source:\nGeneric {}", "Something else", ""),
    ],
)
def test_the_plain_cause(said: str, words: str, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong and what to do; the dump is left out."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://e")
    assert cause(OSError(said), "s3") == (words, advice)
