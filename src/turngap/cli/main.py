"""The `turngap` command: finds the verb, loads its one module, and turns every error into one line.

`VERBS` is the whole table; a verb's module is imported when the verb is called, so that `turngap --help` is instant.
Exit codes: 0 done; 1 the thing asked about failed (errored units); 2 wrong usage or unreadable input, with one line
that says where and what to do; 130 interrupted. A person never sees a traceback for bad input; an internal error is one
line too, and `TURNGAP_DEBUG=1` shows where it came from.
"""

from __future__ import annotations

import _thread
import errno
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any

import typer
import typer.core
import typer.main

from turngap import __version__
from turngap.errors import Interrupted, TurngapError, UsageError
from turngap.report.harmless import harmless

VERBS: dict[str, tuple[str, str]] = {
    "demo": ("turngap.cli.demo:demo", "The whole story offline in a few minutes."),
    "eval": ("turngap.cli.eval:evaluate", "Score a model on recorded conversations under all protocols."),
    "rollout": ("turngap.cli.rollout:rollout", "Let an agent serve simulated users in a live domain: pass^k."),
    "synth": ("turngap.cli.synth:synth", "Make verified tasks from trajectories; check tasks; draw the tool graph."),
    "converse": ("turngap.cli.converse:converse", "Have an agent and a user talk; keep what all judges approve."),
    "examples": ("turngap.cli.examples:examples", "Make examples to train on from recordings, trials and synth."),
    "train": ("turngap.cli.train:train", "Fine-tune a model on recorded decisions; it is then asked like any other."),
    "experiment": ("turngap.cli.experiment:experiment", "Run a study: tasks, teacher, training, before and after."),
    "score": ("turngap.cli.score:score", "Judge and score a stored run again, without asking the model."),
    "taxonomy": ("turngap.cli.taxonomy:explain", "Say why the replays or trials of a run failed."),
    "compare": ("turngap.cli.compare:compare", "Hold runs against a baseline: did better turns become workflows?"),
    "gap": ("turngap.cli.gap:gap", "Say why a run's turns and its workflows differ."),
    "gate": ("turngap.cli.gate:gate", "Hold a run against rules: pass, fail or could not decide."),
    "shrink": ("turngap.cli.shrink:shrink", "Cut failed replays down to regression tests."),
    "judge": ("turngap.cli.judge:judge", "Hold a judge against people: sample, calibrate."),
    "inspect": ("turngap.cli.inspect:inspect", "Say what is in a file of recorded conversations."),
    "convert": ("turngap.cli.convert:convert", "Rewrite recorded conversations in another format."),
    "domain": ("turngap.cli.domain:domain", "Write made-up databases of a built-in domain."),
    "report": ("turngap.cli.report:report", "Write stored runs as one page that opens offline, or as Markdown."),
    "view": ("turngap.cli.view:view", "Read runs in a browser: figures, conversations, what went wrong."),
    "list": ("turngap.cli.list:show", "List the known models, domains, users, formats or judges."),
}
"""Verb -> where it lives, and the line that `turngap --help` shows for it."""

INTERRUPTED = 130
_PATIENCE = 2.0  # seconds for threads that are left to end
_GRACE = 4.0  # seconds from Ctrl-C to the end, whatever still goes on
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG)
_PLACE_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""What can be wrong with a place that a person names, wherever it comes up."""
_PYTHON_TYPE = re.compile(r"<(?:list\[)?(\w+)(?: range)?\]?>")
_WORDS = {"str": "TEXT", "int": "N", "float": "NUMBER"}
# Typer carries its own copy of Click in newer releases; this is the class of usage errors in either.
_UsageProblem: type[Any] = typer.BadParameter.__mro__[1]


class Verbs(typer.core.TyperGroup):
    """The group of verbs, each loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs, in the order of `VERBS`."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a verb's module and build its command; None for an unknown one."""
        del ctx
        return load(cmd_name) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb, or say which there are."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise UsageError(f"unknown command {args[0]!r}; known: {', '.join(VERBS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the verbs without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


def load(verb: str) -> Any:
    """Build the command object of one verb, or the group of those that have verbs of their own."""
    module, _, attribute = VERBS[verb][0].partition(":")
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        return _in_words(typer.main.get_command(target))
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name=verb)(target)
    return _in_words(typer.main.get_command(app))


def _in_words(command: Any) -> Any:
    """Have the help name what options and arguments take in words of its own, where Typer shows Python's types."""
    for inner in getattr(command, "commands", {}).values():
        _in_words(inner)
    for parameter in command.params:
        parameter.get_help_record = partial(_help_record, parameter, parameter.get_help_record)
        if parameter.param_type_name == "argument":
            parameter.get_usage_pieces = partial(_usage, parameter)
    return command


def _help_record(parameter: Any, ask: Callable[[Any], tuple[str, str] | None], ctx: Any) -> tuple[str, str] | None:
    record = ask(ctx)
    if record is None:
        return None
    if parameter.param_type_name == "argument":
        return _named(parameter), record[1]
    return _PYTHON_TYPE.sub(lambda found: _WORDS.get(found[1], found[1].upper()), record[0]), record[1]


def _usage(parameter: Any, _ctx: Any) -> list[str]:
    return [_named(parameter) if parameter.required else f"[{_named(parameter)}]"]


def _named(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper())
    return f"{name}..." if parameter.nargs != 1 and not name.endswith("...") else name


app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    help="Does the agent finish the workflow, or does only its next turn look good?",
    epilog="turngap COMMAND --help explains a command. Figures are defined in docs/figures.md.",
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    if version:
        typer.echo(f"turngap {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def run(arguments: list[str] | None = None) -> None:
    """Run the command line and exit the process with the right code."""
    sys.excepthook = _internal_error
    threading.excepthook = sys.unraisablehook = _Unheard()
    _mend_streams()
    signal.signal(signal.SIGINT, _on_interrupt)
    code = execute(sys.argv[1:] if arguments is None else arguments)
    # All is said and done: a signal that comes while the interpreter takes itself down changes nothing.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_behind(code)
    sys.exit(code)


def _leave_behind(code: int) -> None:
    """See to it that threads of other people's code, which Python would wait for, do not hold the end up."""
    if threading.active_count() > 1:
        last = threading.Timer(_PATIENCE, os._exit, [code])
        last.daemon = True
        last.start()


def _on_interrupt(_number: int, _frame: FrameType | None) -> None:
    """Say so at once, then unwind; a second signal ends the process on the spot, and so does a while without an end.

    `interrupt.run` has its own.
    """
    # Said here, for Typer turns what is raised into an exit code without a word.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    _complain("interrupted", INTERRUPTED)
    sys.stderr.flush()
    # Not `threading`, whose locks the code that was interrupted may hold.
    _thread.start_new_thread(_end_late, ())
    raise Interrupted


def _end_late() -> None:
    time.sleep(_GRACE)
    os._exit(INTERRUPTED)


def _mend_streams() -> None:
    """Be able to write whatever the data hold, and to go on where an output was closed before we began."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - lives as long as we do
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def execute(arguments: list[str]) -> int:
    """Run one command line and return its exit code; errors for the person are printed as one line."""
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="turngap", standalone_mode=False)
        sys.stdout.flush()
    except TurngapError as error:
        return _complain(str(error), error.exit_code)
    except _UsageProblem as error:
        return _complain(f"{error.format_message().rstrip('.')} (see turngap {_verb(arguments)}--help)", 2)
    except (typer.Abort, KeyboardInterrupt):
        return _complain("interrupted", INTERRUPTED)
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # The reader of a pipe has seen enough. Python would complain once more when it flushes at exit.
        _silence_output()
        return 1
    except OSError as error:
        if error.errno in _PLACE_ERRORS and error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}", 2)
        if error.errno == errno.ENOENT and error.filename is None and not _is_somewhere():
            return _complain("the working directory is gone; go to another one", 2)
        if error.errno not in _OUTPUT_ERRORS:
            raise
        _silence_output()
        return _complain(f"standard output cannot be written: {error.strerror}", 2)
    return code if isinstance(code, int) else 0


def _is_somewhere() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - no pathlib in the last resort
    except OSError:
        return False
    return True


def _silence_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _verb(arguments: list[str]) -> str:
    return f"{arguments[0]} " if arguments and arguments[0] in VERBS else ""


def _complain(message: str, code: int) -> int:
    for line in message.splitlines() or [""]:
        sys.stderr.write(f"turngap: {harmless(' '.join(line.split()))}\n")
    return code


def _internal_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if os.environ.get("TURNGAP_DEBUG"):
        sys.__excepthook__(kind, error, trace)
        return
    _complain(f"internal error{_told(kind, error, trace)} (TURNGAP_DEBUG=1 shows all; please report this)", 1)


class _Unheard:
    """Tells of an error that reaches nobody, in a thread or a finaliser, on one line and once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, unheard: Any) -> None:
        """Take the arguments of `threading.excepthook` or of `sys.unraisablehook`."""
        kind, error, trace = unheard.exc_type, unheard.exc_value, unheard.exc_traceback
        if os.environ.get("TURNGAP_DEBUG"):
            sys.__excepthook__(kind, error, trace)
            return
        line = f"an error that nobody waited for{_told(kind, error, trace)} (TURNGAP_DEBUG=1 shows all)"
        if kind is not SystemExit and line not in self._said:
            self._said.add(line)
            _complain(line, 1)


def _told(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> str:
    """Where an error was raised, and what it says, on one line."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""  # noqa: PTH119 - no pathlib in the last resort
    return f"{where}: {kind.__name__}: {' '.join(str(error or '').split())}"
