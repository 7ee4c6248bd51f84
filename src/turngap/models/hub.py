"""The one door to transformers: imported when it is wanted, without a network and without its bars and notices.

A wrong path would otherwise cost half a minute of questions to a hub, and a right name a download. What a person has to
know of a model, turngap says itself.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from turngap.errors import MissingExtra

INSTALL = "pip install 'turngap[train]' (docs/training.md says how to get a torch without CUDA)"


def prepare(*packages: str, purpose: str) -> None:
    """Find out whether packages are installed, without importing them; and settle how they behave once they are.

    Call it before torch is imported anywhere: what is set here is read only then.

    Args:
        packages: their names.
        purpose: what wants them, for the message.

    Raises:
        MissingExtra: one is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(f"{purpose} needs the package {package}: {INSTALL}")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it complains when a process forks
    os.environ.setdefault("TQDM_DISABLE", "1")  # bars that transformers draws past its own switch
    # Threads that spin while they wait slow each other down, thirtyfold where other work wants the processor too.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def library(purpose: str = "a model of transformers") -> Any:
    """Import transformers.

    Args:
        purpose: what wants it, for the message.

    Raises:
        MissingExtra: it or torch is not installed.
    """
    prepare("torch", "transformers", purpose=purpose)
    for maker in ("transformers", "torch", "trl", "peft", "huggingface_hub"):
        warnings.filterwarnings("ignore", category=FutureWarning, module=rf"{maker}\b")
    import transformers  # noqa: PLC0415 - seconds to import, wanted only to train and to generate

    found: Any = transformers
    found.utils.logging.disable_progress_bar()
    found.utils.logging.set_verbosity_error()
    # torch tells of compilers and threads that nobody asked for.
    logging.getLogger("torch").setLevel(logging.ERROR)
    return found


def cached(name: str) -> Path | None:
    """Where a model lies that an earlier program downloaded under a name such as ``Qwen/Qwen3-4B``; None: nowhere."""
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        return None
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - comes with transformers

    found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent if isinstance(found, str) else None
