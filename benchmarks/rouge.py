"""ROUGE beside the `rouge-score` package: equal figures, and how much faster.

Run: ``python benchmarks/rouge.py [PAIRS]`` (default 10,000). Both libraries score the same pairs in one process, in
turns, and the best of three rounds counts, so that what else the machine does touches both alike. Exits 1 when a figure
differs by more than 1e-9 or ROUGE-1 is less than three times as fast.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from rouge_score.rouge_scorer import RougeScorer

from turngap.metrics.rouge import rouge_l, rouge_n

WANTED = 3.0
ROUNDS = 3
PHRASES = (
    "I can help you with that.",
    "Could you please confirm your booking number and the e-mail address on the account?",
    "Your order #W{n} has been shipped to 12 Harbour Lane, Suite {n}.",
    "The total comes to ${n}.50, and the refund will reach your card within 5-7 business days.",
    "Would you like me to go ahead (yes/no)?",
    "Unfortunately, the item isn't available in blue; there are {n} left in green.",
    "Done! I've moved booking BK-{n} to 2 May at 10:30.",
    "Is there anything else that I can do for you today?",
)


def sentence(chance: random.Random) -> str:
    """A support answer of one to five phrases, 5 to 80 words."""
    return " ".join(chance.choice(PHRASES).format(n=chance.randint(2, 9999)) for _ in range(chance.randint(1, 5)))


def timed(figure: Callable[[str, str], float], pairs: list[tuple[str, str]]) -> tuple[float, list[float]]:
    """Seconds for all pairs, and their figures."""
    start = time.perf_counter()
    values = [figure(prediction, reference) for prediction, reference in pairs]
    return time.perf_counter() - start, values


def main(count: int) -> int:
    """Compare and print; the exit code."""
    chance = random.Random(1)
    pairs = [(sentence(chance), sentence(chance)) for _ in range(count)]
    words = sum(len(text.split()) for pair in pairs for text in pair) / (2 * count)
    print(f"{count} pairs of texts with {words:.0f} words on average, best of {ROUNDS} rounds")
    print(f"{'':8}{'rouge-score':>14}{'turngap':>14}{'faster':>10}{'largest difference':>22}")
    sound = True
    for name, ours in (
        ("rouge1", lambda a, b: rouge_n(a, b, 1)),
        ("rouge2", lambda a, b: rouge_n(a, b, 2)),
        ("rougeL", rouge_l),
    ):
        scorer = RougeScorer([name], use_stemmer=False)

        def peer(a: str, b: str, scorer: RougeScorer = scorer, name: str = name) -> float:
            return scorer.score(b, a)[name].fmeasure

        rounds = [(timed(peer, pairs), timed(ours, pairs)) for _ in range(ROUNDS)]
        theirs_s, ours_s = (min(one[side][0] for one in rounds) for side in (0, 1))
        difference = max(abs(a - b) for a, b in zip(rounds[0][0][1], rounds[0][1][1], strict=True))
        ratio = theirs_s / ours_s
        print(f"{name:8}{theirs_s:>12.3f} s{ours_s:>12.3f} s{ratio:>9.1f}x{difference:>22.1e}")
        sound = sound and difference <= 1e-9 and (name != "rouge1" or ratio >= WANTED)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
