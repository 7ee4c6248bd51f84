"""Write trained weights as a GGUF file, so that llama.cpp serves them (``local/FILE.gguf``).

For models that came from a GGUF file: everything that the file says of model and tokenizer is kept as it is, the chat
template is the one that was trained with, and the weights are the new ones, in eight bits where a row is a multiple of
32 long (Q8_0, about a hundredth of an error in a weight), in float32 else.

The rows of query and key projections of the llama architecture stand in another order in GGUF than in transformers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from turngap.errors import ConfigError, StoreError

ARCHITECTURES = ("llama", "gemma3", "qwen3")
"""Of which the order of weights is known here."""
_TEMPLATE = "tokenizer.chat_template"
_BLOCK = 32
_SKIPPED = ("GGUF.", "general.file_type", "general.quantization_version", _TEMPLATE)


def problem(source: Path) -> str | None:
    """Why no such file can be written for a model that came from this one, in a sentence; None where it can."""
    if find_spec("gguf") is None:
        return "no GGUF file is written, since the package gguf is missing"
    architecture = _architecture(source)
    return (
        None
        if architecture in ARCHITECTURES
        else f"no GGUF file is written: the order of weights of architecture {architecture} is unknown here"
    )


def _architecture(source: Path) -> str:
    import gguf  # noqa: PLC0415 - wanted only here

    return str(_value(gguf.GGUFReader(source).fields["general.architecture"]))


def write(source: Path, weights: Mapping[str, Any], target: Path, *, template: str) -> None:
    """Write a file.

    Args:
        source: the file that the base came from.
        weights: name -> tensor, as the model of transformers names them, adapters merged.
        target: appears when it is complete.
        template: the chat template that the model was trained with.

    Raises:
        ConfigError: the architecture is unknown here, or a weight has no place in such files. StoreError: the file
            cannot be written.
    """
    import gguf  # noqa: PLC0415 - wanted only here

    reader = gguf.GGUFReader(source)
    architecture = str(_value(reader.fields["general.architecture"]))
    if architecture not in ARCHITECTURES:
        raise ConfigError(f"{source}: models of architecture {architecture} cannot be written as GGUF here")
    part = target.with_name(f".{target.name}.part")
    try:
        writer = gguf.GGUFWriter(part, architecture)
        for name, field in reader.fields.items():
            if not name.startswith(_SKIPPED) and name != "general.architecture":
                kind = field.types[0]
                inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
                writer.add_key_value(name, field.contents(), kind, sub_type=inner)
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
        writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
        writer.add_chat_template(template)
        for name, values, kind in _tensors(reader, architecture, weights, source):
            writer.add_tensor(name, values, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        part.replace(target)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _tensors(
    reader: Any, architecture: str, weights: Mapping[str, Any], source: Path
) -> Iterator[tuple[str, Any, Any]]:
    import gguf  # noqa: PLC0415 - wanted only here

    heads = int(_value(reader.fields[f"{architecture}.attention.head_count"]))
    shared = int(_value(reader.fields[f"{architecture}.attention.head_count_kv"]))
    layers = int(_value(reader.fields[f"{architecture}.block_count"]))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], layers)
    wanted = {tensor.name for tensor in reader.tensors}
    for given, tensor in weights.items():
        name = names.get_name(given, try_suffixes=(".weight", ".bias"))
        if name is None:
            raise ConfigError(f"{source}: the weight {given} has no place in a GGUF file")
        if name not in wanted:
            continue  # an output layer that is the embedding
        values = tensor.detach().to("cpu").float().numpy()
        if architecture == "llama" and name.endswith(("attn_q.weight", "attn_k.weight")):
            values = _interleaved(values, heads if "attn_q" in name else shared)
        if architecture == "gemma3" and name.endswith("norm.weight"):
            values = values + 1
        if values.ndim == 2 and values.shape[-1] % _BLOCK == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
            yield name, gguf.quants.quantize(values, kind), kind
        else:
            yield name, values, None
        wanted.discard(name)
    missing = sorted(wanted - {"rope_freqs.weight"})
    if missing:
        raise ConfigError(f"{source}: holds {missing[0]}, of which there is no trained weight")


def _interleaved(values: Any, heads: int) -> Any:
    """Rows of a head as pairs that are turned together, which llama.cpp wants side by side."""
    rows, columns = values.shape
    return values.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _value(field: Any) -> Any:
    return field.contents()
