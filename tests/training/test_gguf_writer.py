"""Trained weights as GGUF: every weight in its place, everything else as in the file that the base came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tinymodel

from turngap.errors import ConfigError


@pytest.fixture(autouse=True, scope="module")
def _gguf() -> None:
    tinymodel.require("gguf")


def _llama(seed: int) -> Any:
    """A random model of the llama architecture with two layers, four heads and two for keys and values."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.models import hub  # noqa: PLC0415 - the same

    library = hub.library()
    torch.manual_seed(seed)
    config = library.LlamaConfig(
        vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, initializer_range=0.2,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return library.LlamaForCausalLM(config).eval()


def _source(file: Path, architecture: str = "llama") -> Path:
    """A file as a base comes in: metadata, and tensors under their names there, whatever is in them."""
    import gguf  # noqa: PLC0415 - may be missing
    import numpy as np  # noqa: PLC0415 - the same

    writer = gguf.GGUFWriter(file, architecture)
    writer.add_name("made up")
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(96)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    letters = [chr(33 + place) for place in range(93)]
    writer.add_token_list(["<pad>", "<|im_start|>", "<|im_end|>", *letters])
    writer.add_token_types([3, 3, 3, *[1] * 93])
    writer.add_token_merges(["! !"])
    writer.add_eos_token_id(2)
    writer.add_chat_template("the old one")
    shapes = {"token_embd.weight": (96, 64), "output_norm.weight": (64,)}
    for layer in range(2):
        shapes |= {
            f"blk.{layer}.attn_q.weight": (64, 64),
            f"blk.{layer}.attn_k.weight": (32, 64),
            f"blk.{layer}.attn_v.weight": (32, 64),
            f"blk.{layer}.attn_output.weight": (64, 64),
            f"blk.{layer}.ffn_gate.weight": (96, 64),
            f"blk.{layer}.ffn_up.weight": (96, 64),
            f"blk.{layer}.ffn_down.weight": (64, 96),
            f"blk.{layer}.attn_norm.weight": (64,),
            f"blk.{layer}.ffn_norm.weight": (64,),
        }
    for name, shape in shapes.items():
        writer.add_tensor(name, np.zeros(shape, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_what_is_written_says_what_the_model_says(tmp_path: Path) -> None:
    """Read back by transformers, which undoes the order of rows, it has the model's logits, but for rounding to 8 bits."""
    import torch  # noqa: PLC0415 - may be missing

    from turngap.models import hub  # noqa: PLC0415 - the same
    from turngap.training import gguf_writer  # noqa: PLC0415 - the same

    model = _llama(1)
    target = tmp_path / "trained.gguf"
    gguf_writer.write(_source(tmp_path / "base.gguf"), model.state_dict(), target, template="the new one")
    back = hub.library().AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file=target.name, dtype=torch.float32)
    tokens = torch.arange(3, 43)[None]
    with torch.no_grad():
        ours, theirs = model(input_ids=tokens).logits, back(input_ids=tokens).logits
        other = _llama(2)(input_ids=tokens).logits
    assert float((ours - theirs).abs().mean()) < 0.05 * float(ours.abs().mean())
    assert float((ours - other).abs().mean()) > float(ours.abs().mean())
    # Weight by weight: an eighth bit of each row's block is all that may be lost.
    for name, weight in model.state_dict().items():
        found = back.state_dict()[name]
        assert float((weight - found).abs().max()) <= float(weight.abs().max()) / 127 + 1e-6, name


def test_metadata_stay_and_the_template_is_the_trained_one(tmp_path: Path) -> None:
    """Name, tokens and sizes are those of the source; the chat template and the type of numbers are new."""
    import gguf  # noqa: PLC0415 - may be missing

    from turngap.training import gguf_writer  # noqa: PLC0415 - the same

    source, target = _source(tmp_path / "base.gguf"), tmp_path / "trained.gguf"
    gguf_writer.write(source, _llama(1).state_dict(), target, template="the new one")
    old, new = (
        {name: field.contents() for name, field in gguf.GGUFReader(file).fields.items() if not name.startswith("GGUF.")}
        for file in (source, target)
    )
    assert new.pop("tokenizer.chat_template") == "the new one"
    assert old.pop("tokenizer.chat_template") == "the old one"
    assert new.pop("general.file_type") == gguf.LlamaFileType.MOSTLY_Q8_0
    new.pop("general.quantization_version")
    old.pop("general.file_type")
    assert new == old
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_unknown_architectures_and_weights_are_refused(tmp_path: Path) -> None:
    """An architecture whose order of rows is unknown is said before training; a weight too few or too many, when writing."""
    from turngap.training import gguf_writer  # noqa: PLC0415 - torch may be missing

    strange = _source(tmp_path / "strange.gguf", "mamba")
    assert "architecture mamba is unknown" in str(gguf_writer.problem(strange))
    with pytest.raises(ConfigError, match="mamba"):
        gguf_writer.write(strange, {}, tmp_path / "out.gguf", template="")
    source = _source(tmp_path / "base.gguf")
    assert gguf_writer.problem(source) is None
    weights = dict(_llama(1).state_dict())
    with pytest.raises(ConfigError, match="has no place in a GGUF file"):
        gguf_writer.write(
            source, {**weights, "model.strange": weights["model.norm.weight"]}, tmp_path / "out.gguf", template=""
        )
    del weights["model.norm.weight"]
    with pytest.raises(ConfigError, match=r"holds output_norm\.weight, of which there is no trained weight"):
        gguf_writer.write(source, weights, tmp_path / "out.gguf", template="")
    assert not (tmp_path / "out.gguf").exists()
