"""What doctor finds out about methods that are missing or have other names."""

from typing import Any

from chainq.catalog.dialects import DIALECTS, Names
from chainq.catalog.methods import METHODS
from chainq.demo.chain import Chain
from chainq.errors import ExitCode
from harness.examined import Odd, examined, findings, found


def test_a_missing_method_is_a_fault_of_its_command() -> None:
    """A method that the server lacks is named, with its command."""

    def change(request: dict[str, Any]) -> Any:
        return request | {"method": "nothing"} if request["method"] == "records/isOwner" else request

    diagnosis = examined(Odd(change=change))
    assert [(check.name, check.finding) for check in diagnosis.checks if not check.ok] == [("ownership", "no")]
    fault = found(diagnosis, "ownership").fault
    assert fault is not None
    assert fault.exit_code is ExitCode.SERVICE


def test_a_server_between_the_dialects_gets_names_of_its_own() -> None:
    """Methods and parameters that are another dialect's, and row ids, are learned as names beside the dialect."""
    renamed = {"getAleoBlocks": "getChainBlocks", "aleoTransaction": "chainTransaction"}

    def change(request: dict[str, Any]) -> Any:
        method, params = request["method"], request.get("params", {})
        if method in renamed.values():
            return request | {"method": "nothing"}
        if method == "getPublicTransactionsForAddress":
            params["transitionsPerRequest"] = params.get("transactionsPerRequest", 100_000)
        if method == "transactions" and isinstance(params["blockId"], int):
            params["blockId"] = Chain().height_of_row(params["blockId"]) or 1 << 40
        return request | {"method": renamed.get(method, method)}

    diagnosis = examined(Odd(change=change))
    assert diagnosis.dialect == "chain"
    assert diagnosis.names == Names(
        {"getChainBlocks": "getAleoBlocks", "chainTransaction": "aleoTransaction"},
        {"getPublicTransactionsForAddress": {"transitionsPerRequest": "transactionsPerRequest"}},
        True,
    )
    assert [check.name for check in diagnosis.checks if not check.ok] == []
    mine = DIALECTS["chain"].with_names(diagnosis.names)
    assert [mine.wire(method).name for method in METHODS] != [method.name for method in METHODS]


def test_documented_parameter_names_of_the_other_page_are_learned() -> None:
    """getBlocks with startHeight and endHeight, as the document's page has it, is found."""

    def change(request: dict[str, Any]) -> Any:
        if request["method"] == "getBlocks" and "start" in request["params"]:
            request["params"] = {}
        return request

    diagnosis = examined(Odd(change=change))
    assert diagnosis.dialect == "chain"
    assert diagnosis.names == Names({}, {"getBlocks": {"start": "startHeight", "end": "endHeight"}})
    assert found(diagnosis, "blocks").ok


def test_names_of_a_profile_are_used() -> None:
    """What a profile says of a server is what doctor goes by, and keeps."""

    def change(request: dict[str, Any]) -> Any:
        names = {"recs": "records/all", "records/all": "nothing"}
        return request | {"method": names.get(request["method"], request["method"])}

    names = Names({"records/all": "recs"})
    diagnosis = examined(Odd(change=change), names=names)
    assert diagnosis.names == names
    assert findings(diagnosis)["records"] == "yes, as recs"
    assert findings(diagnosis)["first page"] == "0"
