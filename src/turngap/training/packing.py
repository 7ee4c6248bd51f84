"""Whether sequences that stand in one row see each other, tried out on the very model and kernel that will train.

Models of transformers are told where a new sequence begins by positions that begin anew. Some attention kernels take
that for nothing, and nobody notices: every sequence then learns from what its neighbours happen to say. So before a
packed training begins, `require_independent` changes the first of two sequences and looks whether the second one's
logits move.
"""

from __future__ import annotations

from typing import Any

import torch

from turngap.errors import UsageError

_LENGTH = 12
"""Tokens of each of the two sequences."""
_NEAR = 1e-5
"""Of the largest logit: equal but for the order of sums. What is seen moves logits by far more."""


def require_independent(model: Any, device: torch.device) -> None:
    """Find out whether a packed sequence is blind to the one before it.

    Args:
        model: a causal language model as it will be trained, adapters and precision included.
        device: where it lies.

    Raises:
        UsageError: it is not.
    """
    drawn = torch.Generator().manual_seed(0)
    most = int(model.config.vocab_size)
    one, other, second = (torch.randint(0, most, (_LENGTH,), generator=drawn) for _ in range(3))
    places = torch.arange(_LENGTH).repeat(2)[None].to(device)
    was_training = model.training
    model.eval()  # dropout would move logits too
    with torch.no_grad():
        first, again = (
            model(
                input_ids=torch.cat([before, second])[None].to(device), position_ids=places, use_cache=False
            ).logits[0, _LENGTH:].float()
            for before in (one, other)
        )  # fmt: skip
    model.train(was_training)
    if float((first - again).abs().max()) > _NEAR * float(first.abs().max()):
        raise UsageError(
            "packing: on this model and attention kernel one sequence of a row sees another; leave it off "
            "(--set packing=false)"
        )
