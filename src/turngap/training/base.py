"""What is trained: weights and tokenizer of a base model, from wherever they come.

* a model of transformers by path (or by name, where it lies in the local cache);
* ``local/smollm2`` and the like (`turngap.models.packaged`), and ``FILE.gguf``: converted once into weights that can be
  trained, kept in a cache folder;
* a folder that an earlier training of turngap wrote (``DIR/model``): like any other, and what comes of it is written as
  GGUF again where the earlier one was;
* ``new:qwen3?hidden=256&layers=4``: a new small model of Qwen3's architecture with a byte-level BPE tokenizer that is
  trained on the data, for experiments of minutes.

Nothing is downloaded. torch and transformers are imported when a base is loaded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from turngap import jsonio
from turngap.errors import ConfigError, UsageError
from turngap.models import hub
from turngap.models.fingerprint import of_folder
from turngap.models.packaged import cache, named, names
from turngap.training.vocabulary import byte_level_tokenizer

MODEL, GGUF = "model", "model.gguf"
"""What a training writes into its directory: the model for transformers, and where it can the same for llama.cpp."""
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
    stored: str = "float32"
    """In which type of numbers its weights were stored; what comes of it is stored in the same."""
    digest: str = ""
    """Of the weights that training begins from."""

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
    hub.prepare("torch", "transformers", "tokenizers", purpose="training")
    if spec.startswith("new:"):
        return _new(spec, texts, seed)
    folder = folder_of(spec)
    return msgspec.structs.replace(_from_folder(spec, folder), origin=_gguf_file(spec) or _written_beside(folder))


def require(spec: str) -> None:
    """Refuse a base that is not there, or options that are none; nothing is loaded or converted. Raises as `load`."""
    if spec.startswith("new:"):
        _sizes(spec)
    elif _gguf_file(spec) is None:
        _folder(spec)


def load_tokenizer(spec: str, texts: Iterable[str] = ()) -> Any:
    """The tokenizer of a base alone, which is all that rendering needs; raises as `load`."""
    hub.prepare("torch", "transformers", "tokenizers", purpose="training")
    if spec.startswith("new:"):
        return byte_level_tokenizer(texts, _sizes(spec)["vocabulary"])
    return _tokenizer(spec, folder_of(spec))


def folder_of(spec: str) -> Path:
    """Where the weights of a base that is there already lie, as transformers keeps them; raises as `load`."""
    file = _gguf_file(spec)
    return _folder(spec) if file is None else _converted(file)


def _gguf_file(spec: str) -> Path | None:
    packaged = named(spec)
    if packaged is not None:
        return packaged.file()
    if not spec.endswith(".gguf"):
        return None
    file = Path(spec.removeprefix("local/")).expanduser()
    if not file.is_file():
        raise UsageError(f"base {spec!r}: there is no file {file}")
    return file


def _written_beside(folder: Path) -> Path | None:
    """The GGUF file that an earlier training wrote of the same model."""
    found = folder.parent / GGUF
    return found if folder.name == MODEL and found.is_file() else None


def _folder(spec: str) -> Path:
    """Where the weights of a base lie, which is named by path, or by name in the local cache."""
    name = spec.removeprefix("hf/")
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return folder
    found = hub.cached(name)
    if found is None:
        raise UsageError(
            f"base {spec!r}: no folder with a model of transformers, and no such name in the local cache; known: a "
            f"folder, {names()}, FILE.gguf, {_NEW}?hidden=..&layers=.. (nothing is downloaded)"
        )
    return found


def _tokenizer(spec: str, folder: Path) -> Any:
    try:
        return hub.library("training").AutoTokenizer.from_pretrained(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise _unreadable(spec, error) from None


def _from_folder(spec: str, folder: Path) -> Base:
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train
    from safetensors import SafetensorError  # noqa: PLC0415 - comes with transformers

    tokenizer = _tokenizer(spec, folder)
    try:
        model = hub.library("training").AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise _unreadable(spec, error) from None
    return Base(
        spec=spec,
        model=model,
        tokenizer=tokenizer,
        origin=None,
        stored=_stored(folder),
        digest=of_folder(folder),
    )


def _stored(folder: Path) -> str:
    config = jsonio.loads((folder / "config.json").read_bytes())
    found = config.get("dtype") or config.get("torch_dtype")
    return str(found) if found in ("float16", "bfloat16") else "float32"


def _unreadable(spec: str, error: Exception) -> UsageError:
    said = " ".join(str(error).split())[:300]
    return UsageError(f"base {spec!r}: transformers cannot read it: {said}")


def _converted(file: Path) -> Path:
    """The weights of a GGUF file as transformers keeps them, made once."""
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train

    stamp = file.stat()
    folder = cache("converted") / f"{file.stem}-{jsonio.digest([str(file), stamp.st_size, stamp.st_mtime_ns])[:12]}"
    if (folder / "config.json").is_file():
        return folder
    hub.prepare("gguf", purpose=f"reading {file.name}")
    library = hub.library("training")
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        model = library.AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
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


def _new(spec: str, texts: Iterable[str], seed: int) -> Base:
    import torch  # noqa: PLC0415 - seconds to import, wanted only to train

    library = hub.library("training")
    sizes = _sizes(spec)
    tokenizer = byte_level_tokenizer(texts, sizes["vocabulary"])
    torch.manual_seed(seed)
    config = library.Qwen3Config(
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
    return Base(
        spec=spec,
        model=library.Qwen3ForCausalLM(config),
        tokenizer=tokenizer,
        origin=None,
        digest=jsonio.digest([spec, seed, tokenizer.get_vocab()]),
    )


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
