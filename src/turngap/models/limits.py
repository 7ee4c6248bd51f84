"""Limits that bite in silence: open files of this process, and prompts that a server cut without a word.

A server whose context is too small may drop the front of a prompt (policy and tools first) and answer as if nothing
had happened. `PromptWatch` holds the reported prompt tokens against a lower bound that no tokenizer goes below. The
bound is made so that a false alarm is practically impossible, at the price of missing cuts that are small.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

from turngap.errors import ConfigError, EndpointError
from turngap.models.base import Request, Seat

if sys.platform != "win32":
    import resource

TRUNCATED = "context_truncated_by_server"
"""`UnitError.kind` of a prompt that the server cut."""

_SPARE_FILES = 64
_WORD = re.compile(r"[^\W_]\S*")
_TOKENS_PER_WORD = 0.7
_LEAST_WORDS = 400
_LEAST_GROWTH = 150
_LEAST_REPORTED = 256
_CURE = (
    "give the server a larger context (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c, which is shared by its "
    "slots)"
)


def check_open_files(connections: int) -> None:
    """Refuse a concurrency for which this process may not open enough files.

    Raises:
        ConfigError: names the limit and both ways out.
    """
    if sys.platform == "win32":
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = connections + _SPARE_FILES
    if soft not in (resource.RLIM_INFINITY, -1) and need > soft:
        raise ConfigError(
            f"concurrency {connections} needs about {need} open files, but this process may open {soft}; "
            f"run `ulimit -n {need}` first, or use --concurrency {max(1, soft - _SPARE_FILES)}"
        )


def words(text: str) -> int:
    """Words of a text that hold a letter or digit, by white space: each costs at least about one token everywhere.

    Runs of spaces or dashes count nothing (one token may hold a hundred of them); a text without spaces, as in Chinese,
    counts next to nothing, so that it never raises an alarm.
    """
    return len(_WORD.findall(text))


def prompt_words(request: Request) -> int:
    """Words of the policy and the history; tools are left out, since templates may rewrite or drop them."""
    return _policy_words(request.policy) + sum(words(message.content) for message in request.messages)


@lru_cache(maxsize=64)
def _policy_words(policy: str) -> int:
    # A long text that comes with every request of a run.
    return words(policy)


def least_tokens(sent: int) -> int:
    """A number of tokens that no tokenizer goes below for so many words; far under the true one for most texts."""
    return int(_TOKENS_PER_WORD * sent)


class PromptWatch:
    """Sees, over the requests of a run, whether the server read whole prompts."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int], tuple[int, int]] = {}

    def check(self, seat: Seat, sent: int, reported: int) -> None:
        """Hold the reported prompt tokens of one answer against the words of its prompt.

        Raises:
            EndpointError: with kind `TRUNCATED`, when the prompt must have been cut.
        """
        if reported < _LEAST_REPORTED:  # None reported, or only those that were not in the server's cache
            return
        key = (seat.conversation, seat.protocol, seat.trial)
        earlier_words, earlier_tokens = self._seen.get(key, (0, 0))
        self._seen[key] = (sent, reported)
        grown = sent - earlier_words
        # Some servers count only what was not cached: about as many tokens as were added. That is no cut.
        only_new = earlier_words > 0 and reported < 3 * abs(grown) + _LEAST_REPORTED
        short = sent >= _LEAST_WORDS and reported < _TOKENS_PER_WORD * sent
        flat = earlier_words > 0 and grown >= _LEAST_GROWTH and abs(reported - earlier_tokens) < 0.3 * grown
        if (short or flat) and not only_new:
            error = EndpointError(
                f"the server read {reported} prompt tokens of a prompt of at least {least_tokens(sent)}: "
                f"it cut the prompt without a word; {_CURE}"
            )
            error.kind = TRUNCATED
            raise error
