"""ROUGE F-measures of two texts, with two tokenizers.

``default`` gives the figures of the `rouge-score` package with its default tokenizer and without stemming, to the last
digits: lower-cased runs of a-z and 0-9. It is blind to every other letter, so ``unicode`` stands beside it:

* text is NFC-normalised and case-folded, so that composed and decomposed spellings are alike;
* a word is a run of letters, marks and numbers of any script that begins with a letter or number; joiners
  (U+200C, U+200D) and soft hyphens inside it are passed over;
* in scripts that are written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) every letter, with the
  marks that follow it, is a word of its own; digits stay together;
* two texts without a single word score 1 when they are equal up to outer white space ("🙂" and "🙂"), else 0.

Nothing is ever NaN. Whether an empty prediction deserves a score at all is the protocol's decision, not made here.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence

from turngap.errors import UsageError

TOKENIZERS = ("default", "unicode")

_ASCII_WORDS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
"""Byte table: ASCII letters and digits stay, every other byte becomes a space."""

_UNSPACED = (
    "CJK UNIFIED",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
"""How the names of letters in scripts without spaces begin."""

_OTHER, _WORD, _UNIT, _MARK, _SKIP = range(5)


class _Kinds(dict[str, int]):
    """Character -> what it does to a word, looked up once per character."""

    def __missing__(self, character: str) -> int:
        kind = self[character] = _kind(character)
        return kind


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if category[0] == "L":
        return _UNIT if unicodedata.name(character, "").startswith(_UNSPACED) else _WORD
    if character in "\u200c\u200d\u00ad":
        return _SKIP
    return {"M": _MARK, "N": _WORD}.get(category[0], _OTHER)


_KINDS = _Kinds()


def tokens(text: str, tokenizer: str = "default") -> Sequence[Hashable]:
    """Cut a text into the tokens that are compared.

    Raises:
        UsageError: no tokenizer of that name.
    """
    if tokenizer == "default":
        # Lower-casing comes first: it turns the Kelvin sign into an ASCII k, and so does rouge-score.
        return text.lower().encode("ascii", "replace").translate(_ASCII_WORDS).split()
    if tokenizer == "unicode":
        return _unicode_tokens(text)
    raise UsageError(f"no tokenizer {tokenizer!r}; there are {', '.join(TOKENIZERS)}")


def _unicode_tokens(text: str) -> list[str]:
    found: list[str] = []
    word = ""
    whole = False  # whether the word is a letter of a script without spaces, which only marks may follow
    for character in _folded(text):
        kind = _KINDS[character]
        if kind == _SKIP:
            continue
        if (kind == _MARK and word) or (kind == _WORD and not whole):
            word += character
            continue
        if word:
            found.append(word)
        whole = kind == _UNIT
        word = character if kind in (_WORD, _UNIT) else ""
    if word:
        found.append(word)
    return found


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def choose_tokenizer(prediction: str, reference: str, wanted: str = "auto") -> str:
    """The tokenizer for a pair.

    ``auto`` takes ``unicode`` when either text has a letter outside ASCII, or when neither has an ASCII letter or digit
    (where the default would score 0 whatever the texts say), else ``default``.

    Raises:
        UsageError: `wanted` is neither ``auto`` nor a tokenizer.
    """
    if wanted in TOKENIZERS:
        return wanted
    if wanted != "auto":
        raise UsageError(f"no tokenizer {wanted!r}; there are auto, {', '.join(TOKENIZERS)}")
    if any(
        not text.isascii() and any(c.isalpha() and not c.isascii() for c in text) for text in (prediction, reference)
    ):
        return "unicode"
    return "default" if tokens(prediction) or tokens(reference) else "unicode"


def rouge_n(prediction: str, reference: str, n: int = 1, *, tokenizer: str = "default") -> float:
    """F-measure of shared n-grams, in [0, 1]; 0 when the texts have none in common, or either has none at all.

    Args:
        prediction: the text to score.
        reference: the text that it is held against; exchanging the two changes nothing.
        n: length of the n-grams, at least 1.
        tokenizer: ``default`` (figures of `rouge-score`) or ``unicode``.

    Raises:
        UsageError: no such tokenizer, or n below 1.
    """
    if n < 1:
        raise UsageError(f"rouge_n: n must be at least 1, not {n}")
    ours, theirs = tokens(prediction, tokenizer), tokens(reference, tokenizer)
    if tokenizer == "unicode" and not ours and not theirs:
        return _wordless(prediction, reference)
    ours, theirs = _grams(ours, n), _grams(theirs, n)
    if not ours or not theirs:
        return 0.0
    counts, others = Counter(ours), Counter(theirs)
    shared = sum(min(counts[gram], others[gram]) for gram in counts.keys() & others.keys())
    return 2 * shared / (len(ours) + len(theirs))


def rouge_l(prediction: str, reference: str, *, tokenizer: str = "default") -> float:
    """F-measure of the longest common subsequence of tokens, in [0, 1]; symmetric, and 0 when either has no token.

    Raises:
        UsageError: no such tokenizer.
    """
    ours, theirs = tokens(prediction, tokenizer), tokens(reference, tokenizer)
    if tokenizer == "unicode" and not ours and not theirs:
        return _wordless(prediction, reference)
    if not ours or not theirs:
        return 0.0
    return 2 * _common_subsequence(ours, theirs) / (len(ours) + len(theirs))


def _wordless(prediction: str, reference: str) -> float:
    return float(_folded(prediction).strip() == _folded(reference).strip())


def _grams(words: Sequence[Hashable], n: int) -> Sequence[Hashable]:
    return words if n == 1 else list(zip(*(words[start:] for start in range(n)), strict=False))


def _common_subsequence(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence, one bit per token of `ours`.

    Row by row, a cleared bit of `row` marks where the table of the textbook method steps up; an integer of Python holds
    the whole row, so a token of `theirs` costs a few operations on big integers in place of a loop.
    """
    places: dict[Hashable, int] = {}
    for index, word in enumerate(ours):
        places[word] = places.get(word, 0) | (1 << index)
    full = (1 << len(ours)) - 1
    row = full
    for word in theirs:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(ours) - row.bit_count()
