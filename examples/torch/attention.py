"""Causal attention over blocks of keys, as FlashAttention computes it: the output and the logarithm of the sum of
exponentials are kept, scores are rebuilt in the backward pass (Dao et al., arXiv 2205.14135). Blocks of keys may come
one after the other, as in ring attention (Liu et al., arXiv 2310.01889): partial outputs are merged.

Queries are [rows, heads, d], keys and values [rows, kv heads, d]; positions within a sequence ascend."""
import math

import torch

QUERY_BLOCK = 128


def _grouped(x, kv_heads):
    """[rows, heads, d] -> [kv heads, rows x heads per kv head, d]."""
    rows, heads, d = x.shape
    return x.view(rows, kv_heads, heads // kv_heads, d).transpose(0, 1).reshape(kv_heads, -1, d)


def _ungrouped(x, rows):
    kv_heads, _, d = x.shape
    return x.view(kv_heads, rows, -1, d).transpose(0, 1).reshape(rows, -1, d)


def _scores(q, k, q_positions, k_positions):
    """Scaled scores [kv heads, rows x heads per kv head, keys], -inf where a key lies ahead of its query."""
    rows, heads, d = q.shape
    kv_heads = k.shape[1]
    scores = torch.bmm(_grouped(q, kv_heads), k.permute(1, 2, 0)) / math.sqrt(d)
    if k_positions[-1] > q_positions[0]:
        ahead = (k_positions[None, :] > q_positions[:, None]).repeat_interleave(heads // kv_heads, dim=0)
        scores = scores.masked_fill(ahead, -math.inf)
    return scores


def _blocks(q_positions, k_positions):
    """Runs of queries with the number of keys that the last of them sees; runs that see none are left out."""
    for first in range(0, len(q_positions), QUERY_BLOCK):
        last = min(first + QUERY_BLOCK, len(q_positions))
        keys = int(torch.searchsorted(k_positions, q_positions[last - 1], right=True))
        if keys > 0:
            yield slice(first, last), keys


def forward(q, k, v, q_positions, k_positions):
    """Output and log-sum-exp [rows, heads] over these keys alone; -inf for queries that see none of them."""
    out = torch.zeros_like(q)
    lse = q.new_full(q.shape[:2], -math.inf)
    for run, keys in _blocks(q_positions, k_positions):
        rows = run.stop - run.start
        scores = _scores(q[run], k[:keys], q_positions[run], k_positions[:keys])
        sums = scores.logsumexp(-1, keepdim=True)
        weights = (scores - sums).exp().nan_to_num(0.0)  # queries without keys: -inf - -inf
        out[run] = _ungrouped(torch.bmm(weights, v[:keys].transpose(0, 1)), rows)
        lse[run] = _ungrouped(sums, rows).squeeze(-1)
    return out, lse


def merge(out, lse, more_out, more_lse):
    """Output and log-sum-exp over two sets of keys from those over each."""
    both = torch.logaddexp(lse, more_lse)
    shares = [(part - both).exp().nan_to_num(0.0).unsqueeze(-1) for part in (lse, more_lse)]
    return out * shares[0] + more_out * shares[1], both


def backward(q, k, v, lse, grad_out, delta, q_positions, k_positions):
    """Gradients of q, k and v from these keys; delta [rows, heads] = sum over d of output x its gradient."""
    grad_q, grad_k, grad_v = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    kv_heads, scale = k.shape[1], 1 / math.sqrt(q.shape[2])
    for run, keys in _blocks(q_positions, k_positions):
        rows = run.stop - run.start
        queries, grads = _grouped(q[run], kv_heads), _grouped(grad_out[run], kv_heads)
        sums, deltas = (_grouped(t[run].unsqueeze(-1), kv_heads) for t in (lse, delta))
        weights = (_scores(q[run], k[:keys], q_positions[run], k_positions[:keys]) - sums).exp()
        grad_v[:keys] += torch.bmm(weights.transpose(1, 2), grads).transpose(0, 1)
        grad_scores = weights * (torch.bmm(grads, v[:keys].permute(1, 2, 0)) - deltas) * scale
        grad_q[run] = _ungrouped(torch.bmm(grad_scores, k[:keys].transpose(0, 1)), rows)
        grad_k[:keys] += torch.bmm(grad_scores.transpose(1, 2), queries).transpose(0, 1)
    return grad_q, grad_k, grad_v
