"""`chainq balance` and `owned` with an export: `--lake` in front of a service, and `--url` alone."""

import json

import pytest

from harness.lake.lake import file_of
from harness.running.jobs import FIRST
from harness.running.program import Program, Servers, one_line
from harness.servers.services import serving
from harness.wallet.bank import Bank, checked
from harness.wallet.ledger import Wallet
from harness.wallet.wallet import PUBLISHED, VARIABLE

pytest.importorskip("pyarrow")

END = FIRST + 40
HEIGHTS = "100:140"  # of the sample chain: one planted record, at 116


def test_what_an_export_has_is_not_requested(chainq: Program) -> None:
    """The balance and the unspent records are those of the wallet; only heights beyond the export are requested."""
    wallet = Wallet(2, FIRST + 5, "lake")
    for _ in range(3):
        wallet.act()
    assert wallet.height < END
    service = Bank(wallet)
    service.tip = wallet.height = END + 15
    file = chainq.home / "keys"
    file.write_text(wallet.key_text)
    file.chmod(0o600)
    balance = ("balance", str(file), "--start", str(FIRST), "--json", "-w", "1")
    owned = ("owned", f"{FIRST}:", "--unspent", str(file), "-w", "1", "--columns", "owner,transition_id")
    with serving(service) as url:
        words = ("chain", "ownership", f"{FIRST}:{END}", "--partition", "20", "--to", "lake", "-q")
        assert chainq("export", *words, url=url).code == 0
        wallet.act()
        service.tip = wallet.height
        for more in ((), ("--checkpoint", "kept"), ("--checkpoint", "kept")):
            service.asked.clear()
            assert checked(chainq(*balance, *more, "--lake", "lake", url=url), wallet) == service.tip
            assert service.asked <= {*range(END, service.tip + 1)}
        service.asked.clear()
        ran = chainq(*owned, "--lake", "lake", url=url)
        assert (ran.code, len(ran.rows)) == (0, len(wallet.left())), ran.err
        assert service.asked <= {*range(END, service.tip + 1)}
    assert checked(chainq(*balance, url="lake"), wallet) == END - 1
    rows = [json.loads(row) for row in chainq(*owned, url="lake").rows]
    assert len(rows) == sum(totals[2] for totals in wallet.totals(END - 1).values())


def test_damaged_full_blocks_keep_their_hint(chainq: Program) -> None:
    """To run it again does not help: the file is read again."""
    words = ("chain", "ownership", "0:40", "--partition", "40", "--to", "lake", "-q")
    assert chainq("export", *words, url="demo:").code == 0
    path = file_of(chainq.home / "lake", "full-blocks", 0)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    for command in ("balance --end 40", "owned 0:40 --unspent --columns owner,transition_id"):
        ran = chainq(*command.split(), "-w", "1", url="lake", env={VARIABLE: PUBLISHED.text})
        assert one_line(ran, 6).endswith(" --to lake writes them again\n")


def test_owned_shows_no_service_which_records_it_decrypts(chainq: Program, server: Servers) -> None:
    """Records and outputs that an export has are read from there, so nothing is requested for one record."""
    url, key = server("--tip", "299"), {VARIABLE: PUBLISHED.text}
    words = ("chain", "ownership", "records", HEIGHTS, "--partition", "20", "--to", "lake", "-q")
    assert chainq("export", *words, url=url).code == 0
    decrypted = ("owned", HEIGHTS, "--decrypt", "-w", "1")
    ran = chainq(*decrypted, "-v", "--lake", "lake", url=url, env=key)
    assert ran.out == chainq(*decrypted, url=url, env=key).out
    assert (ran.code, len(ran.rows), json.loads(ran.rows[0])["amount"]) == (0, 1, "2000000")
    assert "records/all" not in requests(ran.err)
    assert "chainTransaction" not in requests(ran.err)


def requests(log: str) -> str:
    """Return the lines of a log that are of requests."""
    return "\n".join(line for line in log.splitlines() if " from lake" not in line)


def test_owned_reads_an_export_with_records(chainq: Program, server: Servers) -> None:
    """What the pages say to export is enough; without records the error names the whole partitions of the range."""
    url, key = server("--tip", "299"), {VARIABLE: PUBLISHED.text}
    to = ("--partition", "20", "--to", "lake", "-q")
    assert chainq("export", "chain", "ownership", HEIGHTS, *to, url=url).code == 0
    words = ("owned", "105:140", "--columns", "height,amount,sender", "-w", "1")
    ran = chainq(*words, url="lake", env=key)
    assert "lake has no table records; chainq export records 100:140 --to lake writes them\n" in one_line(ran, 6)
    assert chainq("export", "records", HEIGHTS, *to, url=url).code == 0
    ran = chainq(*words, url="lake", env=key)
    assert (ran.code, len(ran.rows)) == (0, 1), ran.err
    assert ran.out == chainq(*words, url=url, env=key).out
