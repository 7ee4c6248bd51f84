"""A static copy of the viewer: pages as files that link to each other and open from disk, without a server.

The copy is made by looking: pages are asked for as a browser would, links are followed, and their addresses become
names of files. Which pages belong to it says `Route.copied`; a link to any other one stays as text that leads nowhere.
Filters, search, live progress and labels need the server and are left out. Each page forbids what the served one
forbids, by a rule in the page itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from html.parser import HTMLParser
from itertools import accumulate
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from turngap.errors import StoreError, UsageError
from turngap.web import guarding
from turngap.web.app import PARTS, Part, Viewer, mount
from turngap.web.caller import Caller
from turngap.web.routing import Route
from turngap.web.shelf import Run, Shelf

MOST_CONVERSATIONS = 100
"""Of each run, unless told otherwise."""

# As the served policy. What only a header can say is left out; files beside a file are not "self" in every browser.
_POLICY = "; ".join(
    rule.replace("'self'", "'self' file:")
    for rule in guarding.POLICY.split("; ")
    if not rule.startswith(("frame-ancestors", "connect-src", "form-action"))
)
_FILE = re.compile(r"/static/([\w.-]+)")
_FIRST = "index.html"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy holds."""

    pages: int
    conversations: int
    left_out: int
    """Conversations and trials that pages link to and the copy does not hold."""


Progress = Callable[[int, int], None]
"""Pages that are there, and those that are known to come."""


def export(
    shelf: Shelf,
    folder: Path,
    *,
    conversations: int = MOST_CONVERSATIONS,
    parts: Sequence[Part] = PARTS,
    progress: Progress = lambda _done, _known: None,
) -> Written:
    """Write a copy.

    Args:
        shelf: the runs.
        folder: where to; made if it is not there, else empty.
        conversations: most conversations or tasks of each run that have pages of their own.
        parts: the pages there are.
        progress: is told after each page.

    Raises:
        UsageError: the folder lies in a run, is not empty, or is none.
        StoreError: it cannot be written.
    """
    place = folder.resolve()
    # A copy that was interrupted leaves nothing where the next one is to stand.
    part = place.with_name(f".{place.name}.part")
    try:
        _require_free(shelf, folder)
        shutil.rmtree(part, ignore_errors=True)
        (part / "static").mkdir(parents=True)
        viewer = mount(shelf, guarding.local(page_key=""), parts, copied=conversations)
        written = _Copy(viewer, shelf.runs, part, conversations).write(progress)
        place.mkdir(exist_ok=True)
        for done in part.iterdir():
            done.rename(place / done.name)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return written


def _require_free(shelf: Shelf, folder: Path) -> None:
    place = folder.resolve()
    inside = next((run for run in shelf.runs if place.is_relative_to(run.path.resolve())), None)
    if inside is not None:
        raise UsageError(f"{folder}: lies in the run {inside.label}; name a directory elsewhere for the copy")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a directory for the copy")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; name another directory for the copy")


class _Copy:
    """One copy in the making."""

    def __init__(self, viewer: Viewer, runs: Sequence[Run], folder: Path, conversations: int) -> None:
        self._viewer = viewer
        self._folder = folder
        self._most = conversations
        self._routes = [(_pattern(route), route) for route in viewer.routes if route.copied is not None]
        self._lists = [f"/r/{run.id}" for run in runs]
        self._files: dict[str, str] = {"/": _FIRST}
        """Address, reduced to what tells pages apart -> file."""
        self._kept: set[tuple[str, str]] = set()
        self._left_out: set[tuple[str, str]] = set()
        self._per_run: Counter[str] = Counter()
        self._missing: set[str] = set()
        self._assets: set[str] = set()

    def write(self, progress: Progress) -> Written:
        # The lists come first: theirs are the conversations that have pages, not those that another page names.
        waiting = deque(["/", *filter(None, map(self._reduced, self._lists))])
        self._files |= {address: _file_name(address) for address in waiting if address != "/"}
        done = 0
        with Caller(self._viewer.app) as caller:
            while waiting:
                address = waiting.popleft()
                done += 1
                answered = caller.get(address)
                if answered.status == 200:
                    text = answered.text
                    self._place(address).write_text(text, encoding="utf-8", newline="")
                    waiting += self._new(text)
                elif address == "/":
                    raise StoreError(f"there is nothing to copy: the first page answers {answered.status}")
                else:
                    self._missing.add(address)
                progress(done, done + len(waiting))
        # Only now it is known which links lead somewhere.
        written = [address for address in self._files if address not in self._missing]
        for address in written:
            place = self._place(address)
            with place.open(encoding="utf-8", newline="") as stream:
                text = stream.read()
            place.write_text(_Rewriting(text, self._target).result(), encoding="utf-8", newline="")
        for name in sorted(self._assets):
            asset = self._viewer.pages.asset(name)
            if asset is not None:
                (self._folder / "static" / name).write_bytes(asset.body)
        return Written(pages=len(written), conversations=len(self._kept), left_out=len(self._left_out))

    def _place(self, address: str) -> Path:
        return self._folder / self._files[address]

    def _new(self, text: str) -> Iterator[str]:
        """Addresses of pages that are met for the first time."""
        for link in _links(text):
            address = self._reduced(link)
            if address is not None and address not in self._files:
                self._files[address] = _file_name(address)
                yield address

    def _reduced(self, link: str) -> str | None:
        """The address of the page behind a link, without what does not matter; None if it is not part of the copy."""
        parts = urlsplit(link)
        for pattern, route in self._routes:
            found = pattern.fullmatch(parts.path)
            if found is None or route.copied is None:
                continue
            given = dict(parse_qsl(parts.query))
            query = {name: given[name] for name in route.copied if name in given}
            if "id" in query and not self._takes(found.groupdict().get("run", ""), query["id"]):
                return None
            return f"{parts.path}?{urlencode(query)}" if query else parts.path
        return None

    def _takes(self, run: str, name: str) -> bool:
        """Whether a conversation is one of those that have pages."""
        key = (run, name)
        if key in self._kept:
            return True
        if self._per_run[run] >= self._most:
            self._left_out.add(key)
            return False
        self._per_run[run] += 1
        self._kept.add(key)
        return True

    def _target(self, link: str) -> str | None:
        """What a link becomes; None where it leads out of the copy."""
        if found := _FILE.fullmatch(urlsplit(link).path):
            self._assets.add(found[1])
            return f"static/{found[1]}"
        address = self._reduced(link)
        if address is None or address in self._missing or address not in self._files:
            return None
        fragment = urlsplit(link).fragment
        return self._files[address] + (f"#{fragment}" if fragment else "")


def _pattern(route: Route) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", route.path)
    return re.compile("".join(f"(?P<{part}>[^/]+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)))


def _file_name(address: str) -> str:
    """A name that says which page it is, and a digest where there are many of a kind."""
    parts = urlsplit(address)
    stem = "-".join(re.findall(r"[A-Za-z0-9]+", parts.path)) or "index"
    mark = f"-{hashlib.sha256(parts.query.encode()).hexdigest()[:12]}" if parts.query else ""
    return f"{stem}{mark}.html"


def _links(text: str) -> Sequence[str]:
    return _Rewriting(text, lambda link: link).links


class _Rewriting(HTMLParser):
    """Goes through the start tags of a page and replaces the addresses in them; all else stays as it is."""

    def __init__(self, text: str, target: Callable[[str], str | None]) -> None:
        super().__init__(convert_charrefs=False)
        self._text = text
        self._target = target
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self._pieces: list[str] = []
        self._end = 0
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def result(self) -> str:
        """The page as a file."""
        return "".join(self._pieces) + self._text[self._end :]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One tag."""
        given = dict(attrs)
        changes: dict[str, str | None] = {}
        for name, value in given.items():
            if value and value.startswith("/") and (name in ("href", "src", "action") or name.startswith("data-")):
                if tag == "a" and name == "href":
                    self.links.append(value)
                changes[name] = self._target(value)
        source = self.get_starttag_text() or ""
        if tag == "html":
            self._replace(source, source[:-1] + " data-copy>")
        elif tag == "meta" and given.get("charset"):
            self._replace(source, f'{source}\n<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">')
        elif tag == "meta" and given.get("name") == "turngap-page":
            self._replace(source, "")
        elif changes:
            if tag == "a" and "href" in changes and changes["href"] is None:
                changes |= {"role": "link", "aria-disabled": "true", "title": "not part of this copy"}
            self._replace(source, _tag(tag, {**given, **changes}, changes))

    handle_startendtag = handle_starttag

    def _replace(self, source: str, other: str) -> None:
        line, column = self.getpos()
        start = self._starts[line - 1] + column
        self._pieces += (self._text[self._end : start], other)
        self._end = start + len(source)


def _tag(tag: str, attributes: Mapping[str, str | None], changed: Mapping[str, str | None]) -> str:
    """A start tag; attributes without a value stay so, those that lost it go."""
    shown = [
        name if value is None else f'{name}="{escape(value)}"'
        for name, value in attributes.items()
        if value is not None or name not in changed
    ]
    return f"<{' '.join((tag, *shown))}>"
