"""An S3 on a loopback socket (moto's server), and a proxy in front of it that can do to requests what networks do."""

import http.client
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from socket import socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from chainq.lake.data_set import parse_entry
from harness.lake.lake import Partition, partition
from harness.running.packages import needs
from harness.servers.sockets import answering, head_of, server

needs("boto3", "moto", "flask")


class Request(NamedTuple):
    """A request to the store, as the proxy sees it."""

    method: str
    path: str
    headers: dict[str, str]


Hook = Callable[[Request], int | None]
"""What a proxy does before it passes a request on: nothing, or answer it with a status; 0 closes the connection."""


class Bucket:
    """A bucket of a test's own, and the environment in which the program finds it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.name = f"lake-{uuid4().hex[:12]}"
        import boto3

        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "open-sesame", "region_name": "us-east-1"}
        self.client: Any = boto3.client("s3", endpoint_url=endpoint, **keys)
        self.client.create_bucket(Bucket=self.name)
        self.url = f"s3://{self.name}/data"

    def environment(self, endpoint: str | None = None) -> dict[str, str]:
        """The variables that AWS's own tools take; `endpoint` of a proxy."""
        return {
            "AWS_ENDPOINT_URL": endpoint or self.endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "open-sesame",
            "AWS_REGION": "us-east-1",
        }

    def names(self, prefix: str = "") -> list[str]:
        """The names of all objects below the data set."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=f"data/{prefix}")
        return [one["Key"].removeprefix("data/") for page in pages for one in page.get("Contents", ())]

    def read(self, name: str) -> bytes:
        """An object."""
        content: bytes = self.client.get_object(Bucket=self.name, Key=f"data/{name}")["Body"].read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=self.name, Key=f"data/{name}", Body=content)

    def partitions(self, command: str) -> list[Partition]:
        """All partitions of a command; nothing else may be there."""
        names = [name for name in self.names(f"{command}/") if "/_" not in name]  # readers skip it
        assert all(map(parse_entry, names)), names
        return [partition(name, BytesIO(self.read(name))) for name in names]

    def rows(self, command: str) -> list[dict[str, str]]:
        """All rows of a command."""
        return [row for one in self.partitions(command) for row in one.rows]

    @property
    def uploads(self) -> list[Any]:
        """Uploads of several parts that were begun and not ended."""
        found: list[Any] = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return found


@contextmanager
def storing() -> Iterator[str]:
    """The endpoint of an S3."""
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host if host != '0.0.0.0' else '127.0.0.1'}:{port}"  # noqa: S104
    moto.stop()


@contextmanager
def proxied(endpoint: str, hook: Hook, lose: Callable[[Request], bool] = lambda _: False) -> Iterator[str]:
    """The endpoint of a proxy. `lose`: whether the response to a request that was passed on is lost."""

    def serve(peer: socket, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        method, path, _ = head.decode().split(" ", 2)
        request = Request(method, path, head_of(data))
        status = hook(request)
        if status:
            answering(b"<Error><Code>InternalError</Code></Error>", status=f"{status} No")(peer, data)
        if status is not None:
            peer.close()
            return
        with closing(http.client.HTTPConnection(urlsplit(endpoint).netloc)) as upstream:
            upstream.request(method, path, body, request.headers)
            response = upstream.getresponse()
            content = response.read()
        if lose(request):
            peer.close()
            return
        dropped = ("content-length", "transfer-encoding", "connection")
        headers = [f"{name}: {value}" for name, value in response.getheaders() if name.lower() not in dropped]
        length = response.headers.get("Content-Length", len(content))  # of HEAD, whose response has no body
        lines = [f"HTTP/1.1 {response.status} {response.reason}", f"Content-Length: {length}", *headers, "", ""]
        peer.sendall("\r\n".join(lines).encode() + content)

    with server(serve) as (url, _):
        yield url.rstrip("/")
