"""Bytes of saved activations: what a rank holds, and what the plan predicts that it holds.

The trainer may compute in another precision than the plan assumes, so tensors are counted by elements and priced at the
plan's bytes for each. docs/cost-model.md derives the predicted terms."""
import gc
import math
from dataclasses import dataclass

import torch

LOG_SUM_EXP_BYTES = 4


def storage_of(tensor):
    """Address and bytes of the memory behind a tensor: views of it are counted once."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr(), storage.nbytes()


def held_bytes(tensors, element_bytes):
    """Bytes of the distinct memory behind (tensor, is log-sum-exp) pairs, at the plan's bytes an element."""
    seen, total = set(), 0
    for tensor, is_lse in tensors:
        address, size = storage_of(tensor)
        if address not in seen:
            seen.add(address)
            total += size // tensor.element_size() * (LOG_SUM_EXP_BYTES if is_lse else element_bytes)
    return total


def live_elements(known):
    """Elements of all tensors of the process that are not among the known ones: what really stays in memory."""
    seen, total = {storage_of(t)[0] for t in known}, 0
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.Tensor) and thing.is_floating_point():
            address, size = storage_of(thing)
            if address not in seen:
                seen.add(address)
                total += size // thing.element_size()
    return total


@dataclass
class ChunkBytes:
    """Predicted bytes of one chunk on one stage."""
    kept: int      # from F to B
    kv_grad: int   # gradients of keys and values of slices with successors
    working: int   # at most, inside a pass


class Predictor:
    """The memory terms of the cost model for the one kind of layer that this trainer executes."""

    def __init__(self, plan):
        self.plan = plan
        model, e = plan.model, plan.element_bytes
        token_ranks = plan.ulysses * plan.ring
        ranks = token_ranks * plan.tp
        self.residual = e * model.hidden / (token_ranks * (plan.tp if plan.sequence_parallel else 1))
        kv_width = 2 * model.head_dim * max(model.kv_heads, plan.tp * plan.ulysses) / ranks
        query_width = model.heads * model.head_dim / ranks
        self.mixer = e * (query_width + kv_width)
        self.core = e * query_width * (2 if plan.ulysses > 1 else 1) + LOG_SUM_EXP_BYTES * model.heads / ranks
        self.inside = e * model.ffn / ranks
        self.kv, self.kv_grad = e * kv_width, plan.training["kv_gradient_bytes"] * kv_width
        self.gradients = 2 * e * model.hidden / token_ranks + max(self.mixer, 3 * self.inside)
        self.loss = {"eager": (e + 4, 4, 1), "fused": (e, 0, 1), "chunked": (0, e / 8, 2)}[plan.training["loss"]]
        self.vocabulary = model.vocabulary / ranks
        self.segment_multiple = 2 * ranks if plan.ring > 1 else 1
        self.chunk_multiple = 2 * ranks if plan.ring > 1 else plan.ulysses * plan.tp

    def _padded(self, tokens, multiple):
        return -(-tokens // multiple) * multiple

    def _layer(self, policy, tokens, kept_keys):
        per_token = {
            "none": 4 * self.residual + self.mixer + self.core + 3 * self.inside,
            "activation": 2 * self.residual + self.mixer + self.core + 2 * self.inside,
            "mlp": 2 * self.residual + self.mixer + self.core,
            "attention-output": self.residual + self.core,
            "full": self.residual,
        }[policy]
        handed_on = self.kv * kept_keys if policy in ("attention-output", "full") else 0
        return math.ceil(per_token * tokens) + math.ceil(handed_on)

    def chunk(self, stage, chunk):
        sizes = [self._padded(s.length, self.segment_multiple) for s in chunk.segments]
        tokens = self._padded(sum(sizes), self.chunk_multiple)
        kept_keys = sum(size for size, s in zip(sizes, chunk.segments) if not s.last)
        kept = sum(self._layer(chunk.policy(stage.number, layer), tokens, kept_keys) for layer in stage.layers)
        kv_grad = stage.layer_count * math.ceil(self.kv_grad * kept_keys)
        rebuilt = self._layer("none", tokens, kept_keys) - self._layer("full", tokens, kept_keys)
        working = math.ceil(self.gradients * tokens) + rebuilt if stage.layer_count else 0
        if stage.embedding:
            working = max(working, math.ceil(self.residual * tokens))
        if stage.head:
            bytes_kept, bytes_working, widths = self.loss
            kept += math.ceil((bytes_kept * self.vocabulary + widths * self.residual) * tokens)
            working = max(working, math.ceil(bytes_working * self.vocabulary * tokens))
        return ChunkBytes(kept, kv_grad, working)

    def replay(self, dp, pp):
        """For each operation of a rank: predicted bytes saved while it runs, and the most with what works inside."""
        ops, saved, most, held, held_grads = self.plan.orders[dp, pp], [], 0, 0, 0
        bytes_of = {}
        for kind, number, stage in ops:
            chunk = self.plan.chunks[number]
            if (number, stage) not in bytes_of:
                bytes_of[number, stage] = self.chunk(self.plan.stages[stage], chunk)
            own = bytes_of[number, stage]
            if kind == "F":
                held += own.kept
            if kind in "BI":
                held_grads += sum(bytes_of[n, stage].kv_grad for n in self._ended_by(chunk))
            saved.append(held + held_grads)
            most = max(most, held + held_grads + own.working)
            if kind in "BI":
                held_grads -= own.kv_grad
            if kind in "BW":
                held -= own.kept
        return saved, most

    def _ended_by(self, chunk):
        """Chunks with slices of the sequences whose last slice is here."""
        ended = {s.sequence for s in chunk.segments if s.last and s.offset > 0}
        return [c.number for c in self.plan.chunks for s in c.segments if s.sequence in ended and not s.last]


def planned_activation_bytes(plan, pp):
    """What the plan's own prediction says of the peak on a pipeline rank, working memory included."""
    terms = [s["memory_bytes"] for s, stage in zip(plan.document["predicted"]["stages"], plan.stages) if stage.pp == pp]
    return sum(t["activations"] + t["kv"] + t["logits"] for t in terms)
