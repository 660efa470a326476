"""`chainq serve --now`: what asks for an age or a time can be tried on the sample chain."""

import json

from chainq.demo.chain import Chain
from harness.running.program import Program, Servers, finish
from harness.servers.sockets import free_port


def test_the_newest_block_is_seconds_old(chainq: Program, server: Servers) -> None:
    """`--since` finds the blocks of the last hour, `--max-age` is content, and the rows are as without `--now`."""
    url = server("--now", "--tip", "1000")
    recent = chainq("blocks", "--since", "1h", "--jsonl", "--columns", "height,timestamp", url=url)
    assert recent.code == 0, recent.err
    heights = [int(json.loads(row)["height"]) for row in recent.rows]
    assert heights == list(range(heights[0], heights[-1] + 1))
    assert 355 <= len(heights) <= 361  # one in ten seconds, give or take seven
    assert heights[-1] >= 1000
    fresh = chainq(
        "records", "--start", "-20", "--checkpoint", "now.ckpt", "-o", "now.jsonl", "--max-age", "5m", url=url
    )
    assert fresh.code == 0, fresh.err


def test_a_server_that_is_started_again_has_the_same_blocks(chainq: Program, server: Servers) -> None:
    """Without `--tip` times and heights are those of the calendar, so a mirror goes on after a restart."""
    latest = chainq("latest", "--columns", "height", "--text", url=server("--now"))
    height = latest.out.decode().strip()
    with server.own("--now") as url:
        again = chainq("block", height, "--jsonl", url=url)
    assert again.out == chainq("block", height, "--jsonl", url=server("--now")).out
    assert int(chainq("latest", "--columns", "height", "--text", url=server("--now")).out) >= int(height) > 10_000_000


def test_a_server_that_starts_is_waited_for(chainq: Program) -> None:
    """`chainq serve &` and a command in the next line: also if it has yet to listen, and then to make its chain."""
    port = free_port()
    latest = chainq.start("latest", "--columns", "height", "--text", url=f"http://127.0.0.1:{port}")
    server = chainq.start("serve", "--sealed", "3", "--port", port)
    try:
        assert finish(latest) == (0, b"2\n", "")
    finally:
        server.terminate()
        finish(server)


def test_a_block_comes_when_its_time_is_reached() -> None:
    """The tip at any time is the last block whose time that is or was; a time before block 0 has no block."""
    chain = Chain(genesis=5_000)
    for time in range(5_000, 5_040):
        height = chain.height_at(time)
        assert chain.timestamp(height) <= time < chain.timestamp(height + 1)
    assert Chain().height_at(0) == -1
