"""ROUGE: hand-worked figures, the unicode tokenizer, and texts without words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngap.errors import UsageError
from turngap.metrics.rouge import choose_tokenizer, rouge_l, rouge_n, tokens

TEXTS = st.text(st.sampled_from("ab Aé.3 \u0301नम\u094dไ่個のİK🙂"), max_size=12)
TOKENIZERS = st.sampled_from(["default", "unicode"])


def test_figures_worked_by_hand() -> None:
    """Shared n-grams are counted with multiplicity, F = 2 shared / all."""
    reference, prediction = "the boat is the best boat", "The boat is a boat!"
    assert rouge_n(prediction, reference) == pytest.approx(2 * 4 / 11)
    assert rouge_n(prediction, reference, 2) == pytest.approx(2 * 2 / 9)
    assert rouge_l(prediction, reference) == pytest.approx(2 * 4 / 11)
    assert rouge_l("a b c d", "d c b a") == pytest.approx(2 * 1 / 8)


@pytest.mark.parametrize(
    "text",
    [
        "आपकी बुकिंग पक्की है",
        "Η κράτηση έγινε",
        "สวัสดีครับ",
        "予約は完了しました",
        "ການຈອງ",
        "ការកក់",
        "ဘွတ်ကင်",
        "예약 완료",
        "تم الحجز",
    ],
)
def test_txt_01_other_scripts_score_1_against_themselves(text: str) -> None:
    """TXT-01: the unicode tokenizer is chosen and gives 1; the figure equal to rouge-score's stays 0."""
    assert choose_tokenizer(text, text) == "unicode"
    assert rouge_n(text, text, tokenizer="unicode") == 1
    assert rouge_l(text, text, tokenizer="unicode") == 1
    assert rouge_n(text, text) == 0


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("आपकी बुकिंग", ["आपकी", "बुकिंग"]),
        ("予約は3個です BK-10", ["予", "約", "は", "3", "個", "で", "す", "bk", "10"]),
        ("วันที่ 12", ["วั", "น", "ที่", "12"]),
        ("Straße, ΣΑΣ", ["strasse", "σασ"]),
        ("می\u200cروم", ["میروم"]),
        ("\u0301 ❤\ufe0f x_y", ["x", "y"]),
    ],
)
def test_txt_01_the_rule_for_words(text: str, cut: list[str]) -> None:
    """TXT-01: letters, marks and numbers make words; scripts without spaces are cut letter by letter, marks kept on."""
    assert list(tokens(text, "unicode")) == cut


@pytest.mark.parametrize(
    ("prediction", "reference", "unicode_figure", "default_figure"),
    [("año", "aña", 0.0, 0.5), ("El niño llegó mañana", "El nido llega manana", 0.25, 0.2)],
)
def test_txt_03_accents_do_not_cut_words(
    prediction: str, reference: str, unicode_figure: float, default_figure: float
) -> None:
    """TXT-03: accented letters belong to their word under unicode; composed and decomposed spellings score alike."""
    assert choose_tokenizer(prediction, reference) == "unicode"
    assert rouge_n(prediction, reference, tokenizer="unicode") == pytest.approx(unicode_figure)
    assert rouge_n(prediction, reference) == pytest.approx(default_figure)
    decomposed = unicodedata.normalize("NFD", prediction)
    assert rouge_n(decomposed, prediction, tokenizer="unicode") == 1


@pytest.mark.parametrize("prediction", ["", " ", ".", "🙂"])
def test_txt_04_texts_without_words(prediction: str) -> None:
    """TXT-04: 0 against words; two wordless texts score 1 under unicode exactly when equal, and 0 by default."""
    for tokenizer in ("default", "unicode"):
        assert rouge_n(prediction, "It is moved.", tokenizer=tokenizer) == 0
        assert rouge_l(prediction, "It is moved.", tokenizer=tokenizer) == 0
    assert rouge_n(prediction, "🙂", tokenizer="unicode") == (prediction == "🙂")
    assert rouge_l(prediction, " 🙂 ", tokenizer="unicode") == (prediction == "🙂")
    assert rouge_n(prediction, "🙂") == 0
    assert choose_tokenizer(prediction, "🙂") == "unicode"


def test_the_choice_of_a_tokenizer_can_be_fixed() -> None:
    """English pairs use the default; a wish is obeyed; a name that does not exist is refused with those that do."""
    assert choose_tokenizer("Done – it’s 5 €.", "Done.") == "default"
    assert choose_tokenizer("año", "año", "default") == "default"
    assert choose_tokenizer("a", "a", "unicode") == "unicode"
    for call in (lambda: choose_tokenizer("a", "a", "porter"), lambda: rouge_n("a", "a", tokenizer="porter")):
        with pytest.raises(UsageError, match=r"porter.*default, unicode"):
            call()
    with pytest.raises(UsageError, match="at least 1"):
        rouge_n("a", "a", 0)


@given(TEXTS, TEXTS, TOKENIZERS, st.integers(1, 3))
def test_figures_are_symmetric_fractions(left: str, right: str, tokenizer: str, n: int) -> None:
    """Every figure lies in [0, 1], is the same both ways, and is 1 for a text with words against itself."""
    for figure in (lambda a, b: rouge_n(a, b, n, tokenizer=tokenizer), lambda a, b: rouge_l(a, b, tokenizer=tokenizer)):
        assert 0 <= figure(left, right) <= 1
        assert figure(left, right) == figure(right, left)
    if len(tokens(left, tokenizer)) >= n:
        assert rouge_n(left, left, n, tokenizer=tokenizer) == 1
        assert rouge_l(left, left, tokenizer=tokenizer) == 1


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_the_longest_common_subsequence_equals_the_textbook_table(left: list[str], right: list[str]) -> None:
    """The bitwise method counts what the plain table counts."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    expected = 2 * table[-1][-1] / (len(left) + len(right)) if left and right else 0
    assert rouge_l(" ".join(left), " ".join(right)) == pytest.approx(expected)


@given(TEXTS)
def test_unicode_tokens_do_not_depend_on_the_spelling_of_letters(text: str) -> None:
    """Composed or decomposed, upper or lower case: the words are the same."""
    assert tokens(unicodedata.normalize("NFD", text), "unicode") == tokens(text, "unicode")
    assert tokens(text.casefold(), "unicode") == tokens(text, "unicode")
