"""`chainq balance` and `owned` with an export: `--lake` in front of a service, and `--url` alone."""

import json

import pytest

from harness.bank import Bank, checked
from harness.jobs import FIRST
from harness.ledger import Wallet
from harness.program import Program, Servers, one_line
from harness.services import serving
from harness.wallet import PUBLISHED, VARIABLE

pytest.importorskip("pyarrow")

END = FIRST + 100


def test_what_an_export_has_is_not_requested(chainq: Program) -> None:
    """The balance and the unspent records are those of the wallet; only heights beyond the export are requested."""
    wallet = Wallet(2, FIRST + 20, "lake")
    for _ in range(6):
        wallet.act()
    service = Bank(wallet)
    service.tip = wallet.height = END + 15
    file = chainq.home / "keys"
    file.write_text(wallet.key_text)
    file.chmod(0o600)
    balance = ("balance", str(file), "--start", str(FIRST + 5), "--json", "-w", "1")
    owned = ("owned", f"{FIRST}:", "--unspent", "--view-key-file", str(file), "-w", "1")
    with serving(service) as url:
        words = ("chain", "ownership", f"{FIRST}:{END}", "--partition", "50", "--to", "lake", "-q")
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


def test_owned_reads_an_export_with_records(chainq: Program, server: Servers) -> None:
    """What the pages say to export is enough; without records the error names the whole partitions of the range."""
    url, key = server("--tip", "299"), {VARIABLE: PUBLISHED.text}
    assert chainq("export", "chain", "ownership", ":300", "--partition", "100", "--to", "lake", "-q", url=url).code == 0
    words = ("owned", "20:300", "--columns", "height,amount,sender", "-w", "1")
    ran = chainq(*words, url="lake", env=key)
    assert "lake has no table records; chainq export records 0:300 --to lake writes it\n" in one_line(ran, 6)
    assert chainq("export", "records", ":300", "--partition", "100", "--to", "lake", "-q", url=url).code == 0
    ran = chainq(*words, url="lake", env=key)
    assert (ran.code, len(ran.rows)) == (0, 3), ran.err
    assert ran.out == chainq(*words, url=url, env=key).out
