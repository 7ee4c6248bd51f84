"""Environments that are cheap to digest: their digests agree exactly when tau2's own do."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

from turngap.domains.tau2.domain import Tau2Domain
from turngap.domains.tau2.package import package
from turngap.formats import tasks as task_files

_CANCEL = {"order_id": "#W5918442", "reason": "no longer needed"}


def _digests(environment: Any) -> tuple[str, str]:
    """Both sides by tau2's own digest, and by the light one."""
    kits = [kit for kit in (environment.tools, environment.user_tools) if kit is not None]
    return "".join(type(kit).get_db_hash(kit) for kit in kits), "".join(kit.get_db_hash() for kit in kits)


def _agree(environments: list[Any]) -> int:
    """Check every pair; the number of pairs that are equal."""
    found = [_digests(one) for one in environments]
    pairs = list(itertools.combinations(found, 2))
    for one, other in pairs:
        assert (one[0] == other[0]) == (one[1] == other[1])
    return sum(one[0] == other[0] for one, other in pairs)


def _played(domain: Tau2Domain, rng: random.Random) -> Any:
    """A light environment in which some reference actions of some tasks were done, the user's too."""
    environment = domain.light_environment()
    file = domain.task_file if domain.name != "telecom" else domain.task_file.with_name("tasks_small.json")
    actions = [action for task in task_files.read(file).tasks for action in task.criteria.actions]
    for action in rng.sample(actions, rng.randint(0, 3)):
        call = package().call(name=action.name, arguments=action.arguments, requestor=action.requestor)
        environment.get_response(call)
    return environment


def test_digests_agree_when_tau2s_do(mock: Tau2Domain, retail: Tau2Domain, telecom: Tau2Domain) -> None:
    """Over environments that saw different actions, each pair is equal by both digests or by neither."""
    for domain, count in ((mock, 20), (telecom, 20), (retail, 6)):
        rng = random.Random(5)
        untouched = domain.world().digest()
        environments = [_played(domain, rng) for _ in range(count)]
        equal = _agree([*environments, domain.light_environment(), domain.light_environment()])
        assert 0 < equal < count * count / 2
        assert domain.world().digest() == untouched


def test_whatever_a_tool_does_to_a_table_counts(retail: Tau2Domain) -> None:
    """A record that is gone, put back, new or changed in the order of a list; a table or a database that is replaced."""

    def turned(environment: Any) -> None:
        environment.tools.db.orders["#W5918442"].items.reverse()

    def gone(environment: Any) -> None:
        del environment.tools.db.orders["#W5918442"]

    def back(environment: Any) -> None:
        environment.tools.db.orders["#W5918442"] = environment.tools.db.orders.pop("#W5918442")

    def another(environment: Any) -> None:
        environment.tools.db.orders["#W0"] = environment.tools.db.orders["#W5918442"]

    def copied(environment: Any) -> None:
        environment.tools.db.orders = dict(environment.tools.db.orders)

    def updated(environment: Any) -> None:
        environment.tools.update_db({"orders": {"#W5918442": {"status": "cancelled"}}})

    def written(environment: Any) -> None:
        environment.tools.db.orders["#W5918442"].status = "cancelled"

    def cancelled(environment: Any) -> None:
        assert not environment.get_response(package().call(name="cancel_pending_order", arguments=_CANCEL)).error

    def nothing(environment: Any) -> None:
        environment.get_response(package().call(name="get_order_details", arguments={"order_id": "#W5918442"}))

    changes: list[Callable[[Any], None]] = [
        turned, gone, back, another, copied, updated, written, cancelled, nothing,
    ]  # fmt: skip
    environments = []
    for change in changes:
        environment = retail.light_environment()
        change(environment)
        environments.append(environment)
    # One that was put back, copied or only read is as it was; two ways of writing the same are the same.
    assert _agree(environments) == 3 + 1


def test_reading_copies_no_record_and_writing_reaches_no_other(retail: Tau2Domain) -> None:
    """After a search the environment still shares every customer; what is written outside of tools stays its own."""
    environment, other = retail.light_environment(), retail.light_environment()
    arguments = {"first_name": "No", "last_name": "One", "zip": "00000"}
    assert environment.get_response(package().call(name="find_user_id_by_name_zip", arguments=arguments)).error
    assert environment.tools.db.users.touched == frozenset()
    for order in environment.tools.db.orders.values():
        order.status = "lost"
    assert {order.status for order in other.tools.db.orders.values()} != {"lost"}
    assert len(environment.tools.db.orders.touched) == len(other.tools.db.orders)
