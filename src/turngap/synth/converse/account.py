"""What became of the conversations, in numbers: a funnel, the judges, the costs. Nothing is made here.

Everything that was begun is counted: what is kept, what was lost at which stage and why, what a judge could not decide,
and what a server left unfinished make the whole. A conversation passes one judge after the other in the funnel; each
judge is also counted by itself, over all that took place, with how often it had to be asked twice, and how far the
judges agree (Cohen's kappa for two, Fleiss' for more). Shares are fractions, None where nothing can be counted.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

import turngap
from turngap import jsonio, live
from turngap.config import ConverseConfig
from turngap.data import Conversation, Failure, Trajectory, Usage
from turngap.metrics.agreement import Agreement, cohen_kappa, fleiss_kappa
from turngap.synth.converse.desk import Desk
from turngap.synth.converse.review import Opinion
from turngap.synth.converse.situation import Lost, Situation
from turngap.synth.converse.store import ConverseStore
from turngap.synth.converse.talk import recording

REJECTED, UNDECIDED = "rejected", "errored: no decision"
REPEATED = "says the same as an earlier one"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation and how far it came."""

    id: str
    situation: Situation | None
    talk: Trajectory | None
    opinions: tuple[tuple[str, Opinion | Failure | None], ...] = ()
    """Label of each judge and what it said; None where it was not asked yet."""
    conversation: Conversation | None = None
    """With all that is known of it in the metadata."""
    stage: str = "kept"
    """Where it was lost; ``kept``, or ``unfinished``."""
    reason: str = ""
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether every judge approves."""
        return self.stage == "kept"


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of the funnel."""

    stage: str
    became: str
    left: int
    losses: dict[str, int] = {}
    """Reason -> how many were lost for it here, the most frequent first."""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """One judge, over all conversations that took place."""

    judge: str
    approved: int = 0
    rejected: int = 0
    errored: int = 0
    """No decision could be had: neither approval nor rejection."""
    asked_twice: int = 0
    """Decisions for which a second question was needed."""
    approved_asked_once: float | None = None
    """Share of approvals among decisions at the first question."""
    approved_asked_twice: float | None = None
    """The same among those that took a second one."""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """All in numbers."""

    config: ConverseConfig
    versions: dict[str, str]
    begun: int
    kept: int
    unfinished: int
    """A server failed, or the command was interrupted: the same command goes on."""
    funnel: tuple[Passage, ...]
    scenarios: dict[str, tuple[int, int]]
    """Scenario -> (kept, begun)."""
    judges: tuple[Bench, ...]
    agreement: Agreement | None
    """Of the judges, over what all of them decided; None with one judge."""
    usage: dict[str, Usage]
    """Role -> what it cost; roles that no model plays are left out."""


def gather(store: ConverseStore, desk: Desk) -> Iterator[Made]:
    """The conversations that were asked for last, in order, with how far each came."""
    seen: set[str] = set()
    judges = store.judges()
    for key in store.ids():
        made = _one(store, desk, key, judges)
        if made.kept and made.conversation is not None:
            said = jsonio.digest(made.conversation.messages)
            if said in seen:
                made = msgspec.structs.replace(made, stage="repeat", reason=REPEATED)
            seen.add(said)
        yield made


def account(store: ConverseStore, made: Sequence[Made]) -> Account:
    """Sum up.

    Args:
        store: where it all is.
        made: what `gather` gives.
    """
    labels = [label for label, _ in store.judges()]
    unfinished = sum(one.stage == "unfinished" for one in made)
    return Account(
        config=store.config,
        versions={"turngap": turngap.__version__, "python": platform.python_version()},
        begun=len(made),
        kept=sum(one.kept for one in made),
        unfinished=unfinished,
        funnel=tuple(_funnel(made, labels)),
        scenarios=_scenarios(made),
        judges=tuple(
            _bench(label, [one.opinions[index][1] for one in made if one.opinions])
            for index, label in enumerate(labels)
        ),
        agreement=_agreement(made),
        usage=_usage(made),
    )


def _one(store: ConverseStore, desk: Desk, key: str, judges: Sequence[tuple[str, str]]) -> Made:
    situation, talk = store.situation(key), store.talk(key)
    if isinstance(situation, Lost):
        return Made(
            id=key, situation=None, talk=None, stage="scenario", reason=situation.reason, detail=situation.detail
        )
    if isinstance(talk, Lost):
        return Made(id=key, situation=situation, talk=None, stage="talk", reason=talk.reason, detail=talk.detail)
    if situation is None or talk is None:
        return Made(id=key, situation=situation, talk=None, stage="unfinished")
    opinions = tuple((label, store.opinion(key, judge)) for label, judge in judges)
    stage, reason, detail = _fate(opinions)
    return Made(
        id=key,
        situation=situation,
        talk=talk,
        opinions=opinions,
        conversation=_described(store, desk, situation, talk, opinions),
        stage=stage,
        reason=reason,
        detail=detail,
    )


def _fate(opinions: Sequence[tuple[str, Opinion | Failure | None]]) -> tuple[str, str, str]:
    """Stage, reason and detail: the first judge that does not approve decides; one that was not asked, all."""
    if any(opinion is None for _, opinion in opinions):
        return "unfinished", "", ""
    for number, (_, opinion) in enumerate(opinions, start=1):
        if isinstance(opinion, Failure):
            return f"judge {number}", UNDECIDED, opinion.reason
        if opinion is not None and not opinion.approved:
            first = opinion.reasons[0] if opinion.reasons else None
            return f"judge {number}", (first.kind if first else "") or REJECTED, first.detail if first else ""
    return "kept", "", ""


def _described(
    store: ConverseStore,
    desk: Desk,
    situation: Situation,
    talk: Trajectory,
    opinions: Sequence[tuple[str, Opinion | Failure | None]],
) -> Conversation:
    config = store.config
    rewarded = any(label == "reward" and isinstance(said, Opinion) and said.approved for label, said in opinions)
    plain = recording(situation, desk, talk, 1.0 if rewarded else None)
    by = {"model": config.model.spec, "user": config.user.spec, "writer": situation.writer}
    if config.simulator is not None:
        by["simulator"] = config.simulator.spec
    told = [{"judge": label, **_told(opinion)} for label, opinion in opinions]
    metadata = {
        **plain.metadata,
        "ending": live.termination(talk).value,
        "seed": config.seed,
        "by": by,
        "situation": situation.shown(),
        "judges": told,
    }
    return msgspec.structs.replace(plain, metadata=metadata)


def _told(opinion: Opinion | Failure | None) -> dict[str, Any]:
    if isinstance(opinion, Opinion):
        reasons = [
            f"{one.kind}: {one.detail}" if one.kind and one.detail else one.kind or one.detail
            for one in opinion.reasons
        ]
        return {"decision": "approved" if opinion.approved else "rejected", "reasons": reasons}
    return {"decision": "errored", "reasons": [opinion.reason] if opinion is not None else []}


def _funnel(made: Sequence[Made], labels: Sequence[str]) -> Iterator[Passage]:
    stages = [("scenario", "with a scenario"), ("talk", "played")]
    stages += [
        (f"judge {number}", f"approved by judge {number}, {label}") for number, label in enumerate(labels, start=1)
    ]
    stages.append(("repeat", "unlike every earlier one: kept"))
    lost = Counter((one.stage, one.reason) for one in made)
    left = len(made) - sum(one.stage == "unfinished" for one in made)
    for stage, became in stages:
        here = {reason: count for (at, reason), count in lost.most_common() if at == stage}
        left -= sum(here.values())
        yield Passage(stage=stage, became=became, left=left, losses=here)


def _scenarios(made: Sequence[Made]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for one in made:
        if one.situation is not None:
            name = one.situation.task.scenario.value
            kept, begun = found.get(name, (0, 0))
            found[name] = (kept + one.kept, begun + 1)
    return found


def _bench(label: str, opinions: Sequence[Opinion | Failure | None]) -> Bench:
    said = [one for one in opinions if isinstance(one, Opinion)]
    once = [one.approved for one in said if one.asks == 1]
    twice = [one.approved for one in said if one.asks > 1]
    return Bench(
        judge=label,
        approved=sum(one.approved for one in said),
        rejected=sum(not one.approved for one in said),
        errored=sum(isinstance(one, Failure) for one in opinions),
        asked_twice=len(twice),
        approved_asked_once=sum(once) / len(once) if once else None,
        approved_asked_twice=sum(twice) / len(twice) if twice else None,
    )


def _agreement(made: Sequence[Made]) -> Agreement | None:
    rows = [
        [opinion.approved for _, opinion in one.opinions if isinstance(opinion, Opinion)]
        for one in made
        if one.opinions
    ]
    judges = max((len(one.opinions) for one in made), default=0)
    full = [row for row in rows if len(row) == judges]
    if judges < 2:
        return None
    if judges == 2:
        return cohen_kappa([row[0] for row in full], [row[1] for row in full])
    return fleiss_kappa(full)


def _usage(made: Sequence[Made]) -> dict[str, Usage]:
    found: dict[str, Usage] = {}

    def add(role: str, usage: Usage) -> None:
        found[role] = found.get(role, Usage()) + usage

    for one in made:
        if one.situation is not None:
            add("writer", one.situation.usage)
        if one.talk is not None:
            add("agent", one.talk.usage)
            for role in ("user", "simulator"):
                add(role, msgspec.convert(one.talk.metadata.get(f"{role}_usage", {}), Usage))
        for label, opinion in one.opinions:
            if isinstance(opinion, Opinion):
                add(f"judge {label}", opinion.usage)
    return {role: usage for role, usage in found.items() if usage != Usage()}
