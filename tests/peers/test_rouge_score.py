"""The default figures against the `rouge-score` package, where it is installed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.metrics.rouge import rouge_l, rouge_n

peer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")

SCORER: Any = peer.RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"], use_stemmer=False)
WORDS = [
    "boat",
    "Boat",
    "is",
    "moved",
    "to",
    "2",
    "May",
    "BK-1042",
    "don't",
    "año",
    "İstanbul",
    "1.50 €",
    "ok.",
    "_",
    "K",
    "ſ",
]


def compare(prediction: str, reference: str) -> None:
    """Hold every figure against the peer's."""
    theirs = SCORER.score(reference, prediction)
    for n in (1, 2, 3):
        assert rouge_n(prediction, reference, n) == pytest.approx(theirs[f"rouge{n}"].fmeasure, abs=1e-9)
    assert rouge_l(prediction, reference) == pytest.approx(theirs["rougeL"].fmeasure, abs=1e-9)


@given(st.text(max_size=40), st.text(max_size=40))
def test_random_unicode_scores_as_the_peer_does(prediction: str, reference: str) -> None:
    """Any two texts give the peer's figures."""
    compare(prediction, reference)


SENTENCES = st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)


@given(SENTENCES, SENTENCES)
def test_sentences_score_as_the_peer_does(prediction: str, reference: str) -> None:
    """Texts that share words give the peer's figures."""
    compare(prediction, reference)


def test_a_thousand_long_pairs_score_as_the_peer_does() -> None:
    """Long texts with many repeated words give the peer's figures."""
    chance = random.Random(7)
    for _ in range(1000):
        compare(*(" ".join(chance.choices(WORDS, k=chance.randint(0, 40))) for _ in range(2)))
