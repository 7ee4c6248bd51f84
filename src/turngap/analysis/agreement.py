"""How far the verdicts of a run can be relied on: whether several judges agree, and how hard verdicts were to get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from turngap.data import Failure
from turngap.metrics.agreement import cohen_kappa, fleiss_kappa
from turngap.metrics.rounding import decimals
from turngap.runs.store import RunStore


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far several judges agree on the units that all of them judged."""

    judges: tuple[str, ...]
    n: int
    observed: float | None
    """Share of pairs of verdicts on one unit that are equal; None without units."""
    kappa: float | None
    """Cohen's for two judges, Fleiss' for more; None where it is not defined (no units, or one verdict throughout)."""
    ci95: tuple[float, float] | None
    """Of kappa."""


class AskedAgain(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts that could not be read at the first try, beside the others: retries may select easy cases."""

    n: int
    success: float | None
    """Share of success among them; None without any."""
    first_try_n: int
    first_try_success: float | None
    """Share of success among verdicts read at the first try."""


def agreement(
    success: Callable[[str], Mapping[tuple[str, int], float]], judges: Mapping[str, tuple[str, ...]], seed: int
) -> dict[str, Agreement]:
    """How far the judges of each protocol agree, where there are several.

    Args:
        success: gives what a scorer, ``turn:JUDGE``, says about each unit: 1 or 0.
        judges: protocol -> who judged.
        seed: of the bootstrap.
    """
    found: dict[str, Agreement] = {}
    for protocol, names in judges.items():
        if len(names) < 2:
            continue
        outcomes = [success(f"{protocol}:{name}") for name in names]
        common = sorted(set(outcomes[0]).intersection(*outcomes[1:]))
        verdicts = [[one[unit] for unit in common] for one in outcomes]
        if len(names) == 2:
            beyond_chance = cohen_kappa(verdicts[0], verdicts[1], seed=seed)
        else:
            beyond_chance = fleiss_kappa(list(zip(*verdicts, strict=True)), seed=seed)
        found[protocol] = Agreement(
            judges=names,
            n=len(common),
            observed=beyond_chance.observed,
            kappa=beyond_chance.kappa,
            ci95=beyond_chance.ci95,
        )
    return found


def asked_again(store: RunStore, judges: Mapping[str, Sequence[str]]) -> dict[str, AskedAgain]:
    """For each LLM judge, its verdicts for which it had to be asked again; ``protocol@JUDGE`` names them."""
    found: dict[str, AskedAgain] = {}
    for protocol, names in judges.items():
        for judge in names:
            if judge == "rules":
                continue
            first, again = Counter[bool](), Counter[bool]()
            for conversation in store.conversation_ids():
                for _, verdict in store.verdicts(judge, protocol, conversation).values():
                    # Verdicts that were never asked for (nothing to judge) say nothing about the judge.
                    if not isinstance(verdict, Failure) and verdict.asks:
                        (again if verdict.asks > 1 else first)[verdict.success] += 1
            found[f"{protocol}@{judge}"] = AskedAgain(
                n=again.total(),
                success=again[True] / again.total() if again else None,
                first_try_n=first.total(),
                first_try_success=first[True] / first.total() if first else None,
            )
    return found


def about_judging(again_asked: Mapping[str, AskedAgain], agreements: Mapping[str, Agreement]) -> Iterator[str]:
    """Sentences on how hard verdicts were to get, and how far those who gave them agree."""
    for scorer, again in again_asked.items():
        if again.success is not None:
            first = "-" if again.first_try_success is None else f"{decimals(100 * again.first_try_success)}%"
            yield (
                f"{scorer} had to be asked again for {again.n} verdicts, of which {decimals(100 * again.success)}% are "
                f"a success; of its {again.first_try_n} others {first}"
            )
    for protocol, found in agreements.items():
        kappa = "not defined" if found.kappa is None else f"{found.kappa:.2f}"
        same = "-" if found.observed is None else f"{decimals(100 * found.observed)}%"
        method = "Cohen" if len(found.judges) == 2 else "Fleiss"
        yield f"{protocol}: {', '.join(found.judges)} agree on {same} of {found.n} units ({method} kappa {kappa})"
