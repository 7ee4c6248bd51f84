"""What is trained: weights and tokenizer of a base model, from wherever they come.

* a model of transformers by path (or by name, where it lies in the local cache);
* ``local/smollm2`` and ``FILE.gguf``: converted once into weights that can be trained, kept in a cache folder;
* ``new:qwen3?hidden=256&layers=4``: a new small model of Qwen3's architecture with a byte-level BPE tokenizer that is
  trained on the data, for experiments of minutes.

Nothing is downloaded. torch and transformers are imported when a base is loaded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import ConfigError, MissingExtra, UsageError
from turngap.models.local import smollm2_file
from turngap.training.vocabulary import byte_level_tokenizer

_NEW = "new:qwen3"
_SIZES = {"hidden": 256, "layers": 4, "heads": 4, "vocabulary": 2048}
_NEW_TEMPLATE_CONTEXT = 8192


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be trained."""

    spec: str
    """As it was named."""
    model: Any
    """A causal language model of transformers, weights in float32."""
    tokenizer: Any
    origin: Path | None
    """The GGUF file that it was made from, whose metadata are written back; None for others."""

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        return sum(parameter.numel() for parameter in self.model.parameters())


def load(spec: str, texts: Iterable[str] = (), *, seed: int = 0) -> Base:
    """Load a base model.

    Args:
        spec: see the module.
        texts: what a new tokenizer is trained on.
        seed: of new weights.

    Raises:
        MissingExtra: the packages for training are missing. UsageError, ConfigError: there is no such model.
    """
    _require()
    # A wrong path would otherwise cost half a minute of questions to a hub, and a right name a download.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if spec.startswith(_NEW):
        return _new(spec, texts, seed)
    if spec == "local/smollm2":
        return _from_gguf(spec, smollm2_file())
    if spec.endswith(".gguf"):
        return _from_gguf(spec, Path(spec.removeprefix("local/")).expanduser())
    return _from_folder(spec, spec.removeprefix("hf/"))


def _require() -> None:
    for package in ("torch", "transformers"):
        try:
            version(package)
        except ModuleNotFoundError:
            raise MissingExtra(
                f"training needs the package {package}: pip install 'turngap[train]' (docs/training.md says how to "
                "get a torch without CUDA)"
            ) from None


def _from_folder(spec: str, name: str) -> Base:
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - the same

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32)
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise UsageError(f"base {spec!r}: no model of transformers lies there: {said}") from None
    return Base(spec=spec, model=model, tokenizer=tokenizer, origin=None)


def _from_gguf(spec: str, file: Path) -> Base:
    if not file.is_file():
        raise UsageError(f"base {spec!r}: there is no file {file}")
    folder = _converted(file)
    base = _from_folder(spec, str(folder))
    return msgspec.structs.replace(base, origin=file)


def _converted(file: Path) -> Path:
    """The weights of a GGUF file as transformers keeps them, made once."""
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415 - the same

    stamp = file.stat()
    folder = _cache() / f"{file.stem}-{jsonio.digest([str(file), stamp.st_size, stamp.st_mtime_ns])[:12]}"
    if (folder / "config.json").is_file():
        return folder
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
    except (OSError, ValueError, ImportError, NotImplementedError) as error:
        said = " ".join(str(error).split())[:300]
        raise ConfigError(f"{file}: transformers cannot read it: {said}") from None
    # A model that was read from quantised weights refuses to be saved as long as it says so.
    for holder in (model.config, model):
        for name in ("quantization_config", "hf_quantizer"):
            if hasattr(holder, name):
                delattr(holder, name)
    model.config.dtype = "float32"
    fresh = type(model)(model.config)
    fresh.load_state_dict(model.state_dict())
    fresh.tie_weights()
    building = folder.with_name(f".{folder.name}.{os.getpid()}")
    torch.nn.Module.to(fresh, torch.bfloat16)
    fresh.save_pretrained(building)
    tokenizer.save_pretrained(building)
    with contextlib.suppress(OSError):  # another process was as quick
        building.rename(folder)
    return folder


def _cache() -> Path:
    root = Path(os.environ.get("TURNGAP_CACHE") or Path.home() / ".cache" / "turngap")
    folder = root / "converted"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _new(spec: str, texts: Iterable[str], seed: int) -> Base:
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train
    from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: PLC0415 - the same

    sizes = _sizes(spec)
    tokenizer = byte_level_tokenizer(texts, sizes["vocabulary"])
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=sizes["hidden"],
        intermediate_size=3 * sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        num_key_value_heads=max(1, sizes["heads"] // 2),
        head_dim=sizes["hidden"] // sizes["heads"],
        max_position_embeddings=_NEW_TEMPLATE_CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=tokenizer.pad_token_id,
    )
    return Base(spec=spec, model=Qwen3ForCausalLM(config), tokenizer=tokenizer, origin=None)


def _sizes(spec: str) -> dict[str, int]:
    head, _, query = spec.partition("?")
    if head != _NEW:
        raise UsageError(f"base {spec!r}: the only new model is {_NEW}?hidden=..&layers=..")
    sizes = dict(_SIZES)
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key not in sizes or not value.isdigit() or int(value) < 1:
            known = ", ".join(f"{name}={size}" for name, size in _SIZES.items())
            raise UsageError(f"base {spec!r}: option {part!r} should be one of {known}, with a whole number from 1")
        sizes[key] = int(value)
    if sizes["hidden"] % sizes["heads"] or (sizes["hidden"] // sizes["heads"]) % 2:
        raise UsageError(f"base {spec!r}: hidden has to be an even multiple of heads")
    return sizes
