"""The model: its parameters, its data, and the run in a single process that everything is held against.

A small GPT: token table, layers of RMSNorm -> grouped-query attention with rotary positions -> RMSNorm -> gated
feed-forward (SiLU), a final norm and an untied head. The loss is the mean cross-entropy over the batch's tokens."""
import math
import zlib

import torch

NORM_EPSILON = 1e-6
ROTARY_BASE = 10000.0


def parameter_shapes(model, layers, embedding, head):
    """Name -> (whole shape, dimension that tensor parallelism divides or None), in a fixed order."""
    h, d = model.hidden, model.head_dim
    shapes = {}
    if embedding:
        shapes["embedding"] = ((model.vocabulary, h), 0)
    for i in layers:
        shapes["layers.%d.norm1" % i] = ((h,), None)
        shapes["layers.%d.query" % i] = ((model.heads * d, h), 0)
        shapes["layers.%d.key" % i] = ((model.kv_heads * d, h), 0)
        shapes["layers.%d.value" % i] = ((model.kv_heads * d, h), 0)
        shapes["layers.%d.output" % i] = ((h, model.heads * d), 1)
        shapes["layers.%d.norm2" % i] = ((h,), None)
        shapes["layers.%d.gate" % i] = ((model.ffn, h), 0)
        shapes["layers.%d.up" % i] = ((model.ffn, h), 0)
        shapes["layers.%d.down" % i] = ((h, model.ffn), 1)
    if head:
        shapes["final_norm"] = ((h,), None)
        shapes["head"] = ((model.vocabulary, h), 0)
    return shapes


def initial_value(name, shape, dtype):
    """The same values whatever the rank that asks."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    values = torch.randn(shape, generator=generator, dtype=torch.float64)
    if len(shape) == 1:
        return (1 + 0.1 * values).to(dtype)
    return (values / math.sqrt(shape[1])).to(dtype)


def tokens_of(sequence, length, vocabulary):
    """length + 1 token numbers: inputs are all but the last, targets all but the first."""
    generator = torch.Generator().manual_seed(977 + sequence)
    return torch.randint(vocabulary, (length + 1,), generator=generator)


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weight


def rotary_tables(positions, width, dtype):
    rates = ROTARY_BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = positions.to(torch.float64)[:, None] * rates
    return angles.cos().to(dtype)[:, None, :], angles.sin().to(dtype)[:, None, :]


def rotate(x, cosine, sine):
    """Rotary positions of [rows, heads, width]; with -sine it is the transposed rotation, which is its gradient."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1)


def _layer(x, p, prefix, model, tables):
    rows = x.shape[0]
    n = rms_norm(x, p[prefix + "norm1"])
    q = rotate((n @ p[prefix + "query"].T).view(rows, model.heads, -1), *tables)
    k = rotate((n @ p[prefix + "key"].T).view(rows, model.kv_heads, -1), *tables)
    v = (n @ p[prefix + "value"].T).view(rows, model.kv_heads, -1)
    k, v = (t.repeat_interleave(model.heads // model.kv_heads, dim=1) for t in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(model.head_dim)
    future = torch.ones(rows, rows, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, -math.inf).softmax(-1)
    o = torch.einsum("hij,jhd->ihd", weights, v).reshape(rows, -1)
    x = x + o @ p[prefix + "output"].T
    n = rms_norm(x, p[prefix + "norm2"])
    inside = torch.nn.functional.silu(n @ p[prefix + "gate"].T) * (n @ p[prefix + "up"].T)
    return x + inside @ p[prefix + "down"].T


def reference_run(plan, dtype):
    """Loss and gradients of the whole batch, sequence by sequence, by automatic differentiation."""
    model = plan.model
    shapes = parameter_shapes(model, range(model.layers), True, True)
    p = {name: initial_value(name, shape, dtype).requires_grad_() for name, (shape, _) in shapes.items()}
    total = 0.0
    for number, length in enumerate(plan.lengths):
        ids = tokens_of(number, length, model.vocabulary)
        tables = rotary_tables(torch.arange(length), model.head_dim, dtype)
        x = p["embedding"][ids[:-1]]
        for i in range(model.layers):
            x = _layer(x, p, "layers.%d." % i, model, tables)
        logits = rms_norm(x, p["final_norm"]) @ p["head"].T
        loss = torch.nn.functional.cross_entropy(logits, ids[1:], reduction="sum") / plan.total_tokens
        loss.backward()
        total += loss.item()
    return total, {name: value.grad for name, value in p.items()}
