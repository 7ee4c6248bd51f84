"""The preview: every token of a sequence once, as learnt, context or cut; harmless in the terminal and on the page."""

from __future__ import annotations

import io
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console
from tinytokens import family

from turngap.data import AssistantMessage, Conversation, UserMessage
from turngap.models.templating import fitted
from turngap.report.preview import Shown, preview, preview_text
from turngap.training.drawn import Drawn
from turngap.training.example import Example
from turngap.training.making import Options, make
from turngap.training.rendering import Rendered, Renderer


def _shown(
    conversation: Conversation, limit: int | None = None, name: str = "ours"
) -> tuple[list[Shown], Renderer, tuple[Example, ...]]:
    renderer = Renderer(fitted(family(name))[0], limit)
    examples = make([conversation], Options(validation=0)).train
    return list(preview([*examples, conversation], renderer)), renderer, examples


def test_every_token_is_shown_once(boat_conversation: Conversation) -> None:
    """The stretches put together are the sequence, and those that are learnt are its learnt tokens."""
    shown, renderer, examples = _shown(boat_conversation)
    rendered = [*map(renderer.example, examples), renderer.conversation(boat_conversation)]
    for one, found in zip(shown, rendered, strict=True):
        assert isinstance(found, Rendered)
        assert "".join(part.text for part in one.stretches) == renderer.templated.text(found.tokens)
        assert (one.tokens("trained"), one.tokens("context")) == (found.targets, len(found.tokens) - found.targets)
        assert one.cut == one.tokens("cut") == 0
    assert [part.kind for part in shown[-1].stretches] == ["context", "trained"] * 4


def test_what_is_learnt_several_times_is_said(boat_conversation: Conversation) -> None:
    """A decision that was drawn again stands under its count; one that was not drawn is context."""
    renderer = Renderer(fitted(family("ours"))[0])
    (one,) = preview([Drawn(conversation=boat_conversation, counts={0: 1, 1: 3})], renderer)
    assert [(part.kind, part.times) for part in one.stretches] == [
        ("context", 0), ("trained", 1), ("context", 0), ("trained", 3),
    ]  # fmt: skip
    first, again = one.stretches[1].tokens, one.stretches[3].tokens
    assert f"{first + again} of them learnt, some of them several times ({first + 3 * again} in all)" in one.sentence()
    text = _printed([one])
    assert f"--- trained: {first} tokens, learnt\n" in text
    assert f"--- trained: {again} tokens, learnt 3 times\n" in text
    (other,) = preview([Drawn(conversation=boat_conversation, counts={0: 1, 3: 1})], renderer)
    assert [part.kind for part in other.stretches] == ["context", "trained"] * 2
    assert "Shall I move it to 2 May?" in other.stretches[2].text
    assert "several" not in other.sentence()


@pytest.mark.parametrize("name", ["ours", "qwen3", "gemma3", "llama3_1"])
def test_what_is_cut_is_shown_where_it_stood(boat_conversation: Conversation, name: str) -> None:
    """With what was cut put back, the text is the whole prompt and the decision."""
    whole, renderer, examples = _shown(boat_conversation, name=name)
    limit = whole[3].tokens("context") + whole[3].tokens("trained") - 10
    shown, _, _ = _shown(boat_conversation, limit, name)
    one = shown[3]
    assert one.cut == 4 and one.tokens("cut") > 0
    setting = examples[3].setting
    prompt = renderer.templated.prompt(setting.policy, setting.tools, examples[3].context)
    text = "".join(part.text for part in one.stretches if part.kind != "trained")
    if name not in ("gemma3", "llama3_1"):  # these put the tools into the first user turn, whichever is left
        assert text == prompt
    assert "Please move BK-1042 to 2 May." in "".join(part.text for part in one.stretches if part.kind == "cut")
    assert "4 messages cut" in one.sentence()


def test_what_is_refused_is_said(boat_conversation: Conversation) -> None:
    """A sequence that is not trained on stands there with its reason."""
    shown, _, _ = _shown(boat_conversation, 100)
    assert all(one.stretches == () and one.sentence().startswith("not trained on: too long: ") for one in shown)


def _printed(shown: list[Shown]) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80, highlight=False).print(preview_text(shown))
    return stream.getvalue()


def test_the_terminal_needs_no_colour(boat_conversation: Conversation) -> None:
    """Each stretch stands under a line that says what it is; long contexts are shortened, what is learnt never."""
    shown, _, _ = _shown(boat_conversation)
    text = _printed(shown[1:2])
    assert text.splitlines()[0].startswith("boat#1: 1,126 tokens, ")
    assert "--- context: " in text and "--- trained: " in text
    assert "characters ...]" in text
    assert "It is for two people on 30 April. Shall I move it to 2 May?<|im_end|>" in text


_HOSTILE = "</pre><script>alert(1)</script>\x1b[31mred\x1b[0m &amp; <b>bold</b>"


def _hostile(conversation: Conversation) -> Conversation:
    messages = (UserMessage(content=_HOSTILE), AssistantMessage(content=f"You said: {_HOSTILE}"))
    return msgspec.structs.replace(conversation, messages=messages)


def test_nothing_steers_the_terminal(boat_conversation: Conversation) -> None:
    """Escape sequences in data are shown, not obeyed."""
    shown, _, _ = _shown(_hostile(boat_conversation))
    assert "\x1b" not in _printed(shown)


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.add(tag)
        self._inside = self._inside or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        self.text += data if self._inside else ""


def test_the_page_shows_texts_as_they_are(boat_conversation: Conversation) -> None:
    """On the page nothing from data is markup, white space stays, and there is no script at all."""
    pytest.importorskip("altair", reason="needs the extra report")
    from turngap.report.preview_page import preview_page  # noqa: PLC0415 - needs the extra

    shown, renderer, examples = _shown(_hostile(boat_conversation))
    page = preview_page(shown[:1], title=_HOSTILE, notes=[_HOSTILE])
    found = _Page(page)
    assert not {"script", "b", "img"} & found.tags and {"ins", "span"} <= found.tags
    rendered = renderer.example(examples[0])
    assert isinstance(rendered, Rendered)
    # HTML drops the line end that follows <pre>, which is why the template writes one.
    assert found.text.removeprefix("\n") == renderer.templated.text(rendered.tokens)
    assert "script-src 'none'" in page.replace("&#39;", "'")
    assert "learnt so many times" not in page
    (again,) = preview([Drawn(conversation=_hostile(boat_conversation), counts={0: 2})], renderer)
    repeated = preview_page([again], title="two times")
    assert '<ins class="trained" data-times="2×">' in repeated and "learnt so many times" in repeated
    assert _Page(repeated).text == found.text  # the count is no part of the sequence
