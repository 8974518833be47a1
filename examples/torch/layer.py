"""One transformer layer on one rank, its passes written out: forward, what is kept, rebuilding, input gradient, weight
gradients. The rows of the residual stream are divided over tp under sequence parallelism, else on every rank of it."""
import torch

from context import Slice, attend, attend_backward
from model import NORM_EPSILON, rms_norm, rotate

# What each recompute policy of a plan keeps between the forward and the backward pass.
ALL = ("x", "n1", "q", "k", "v", "core", "lse", "o", "x2", "n2", "gate", "up", "inside")
KEPT = {
    "none": ALL,
    "activation": tuple(name for name in ALL if name not in ("n1", "n2", "inside")),
    "mlp": ("x", "q", "k", "v", "core", "lse", "o", "x2"),
    "attention-output": ("x", "core", "lse", "o"),
    "full": ("x",),
}


class WeightGradients:
    """Products that a backward pass leaves for later: gradient of the weight = rows of gradients^T x rows of input."""

    def __init__(self):
        self.products = []

    def add(self, names, grads, inputs, gathered):
        self.products.append((names, grads, inputs, gathered))

    def run(self, part):
        for names, grads, inputs, gathered in self.products:
            rows = part.enter(inputs) if gathered else inputs
            for name, grad in zip(names, grads):
                part.grads[name] += grad.T @ rows
        self.products = []

    def tensors(self):
        return [t for _, grads, inputs, _ in self.products for t in (*grads, inputs)]


def norm_backward(x, weight, grad, weight_grad):
    """Gradient of x; that of the weight is added to weight_grad."""
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON)
    weight_grad += (grad * x * scale).sum(0)
    scaled = grad * weight
    return scale * (scaled - x * scale.pow(2) * (scaled * x).mean(-1, keepdim=True))


class TensorParallelPart:
    """What layers and ends share: their parameters, and the way in and out of products divided over tp."""

    def __init__(self, prefix, parameters, grads, mesh, plan):
        self.p = {n[len(prefix):]: t for n, t in parameters.items() if n.startswith(prefix)}
        self.grads = {n[len(prefix):]: t for n, t in grads.items() if n.startswith(prefix)}
        self.mesh, self.plan = mesh, plan

    def enter(self, x):
        """Rows of all tp ranks; also the gradient of `leave`."""
        return self.mesh.tp.gather_rows(x) if self.plan.sequence_parallel else x

    def leave(self, x):
        """Sum over tp ranks, rows divided again; also the gradient of `enter`."""
        return self.mesh.tp.scatter_sum(x) if self.plan.sequence_parallel else self.mesh.tp.all_reduce(x)


class Layer(TensorParallelPart):
    def __init__(self, number, parameters, grads, mesh, plan):
        super().__init__("layers.%d." % number, parameters, grads, mesh, plan)
        self.number = number
        self.heads = plan.model.heads // plan.tp
        self.kv_heads = max(1, plan.model.kv_heads // plan.tp)
        self.copies = max(1, plan.ulysses // self.kv_heads)  # of a kv head, so that every ulysses rank gets one

    def forward(self, x, context, store, policy):
        """Output and what the policy keeps. Keys and values of slices with successors always stay."""
        s = {"x": x}
        self.rebuild(s, context, store)
        y = s["x2"] + self.leave(s["inside"] @ self.p["down"].T)
        kept = {name: s[name] for name in KEPT[policy]}
        for segment, (first, count) in zip(context.chunk.segments, context.spans):
            if not segment.last:
                k, v = s["k"][first:first + count], s["v"][first:first + count]
                if "k" not in kept:
                    k, v = k.clone(), v.clone()
                store.add(self.number, Slice(context.chunk.number, segment, k, v))
        return y, kept

    def rebuild(self, s, context, store):
        """Computes whatever is missing inside the layer."""
        if "q" not in s:
            self._project(s, context)
        elif "n1" not in s:
            s["n1"] = rms_norm(s["x"], self.p["norm1"])
        if "o" not in s:
            s["core"], s["lse"] = attend(context, s["q"], s["k"], s["v"], self._before(context, store))
            s["o"] = self.mesh.ulysses.heads_to_rows(s["core"])
        if "x2" not in s:
            s["x2"] = s["x"] + self.leave(s["o"].flatten(1) @ self.p["output"].T)
        if "n2" not in s:
            s["n2"] = rms_norm(s["x2"], self.p["norm2"])
        if "gate" not in s:
            rows = self.enter(s["n2"])
            s["gate"], s["up"] = rows @ self.p["gate"].T, rows @ self.p["up"].T
        if "inside" not in s:
            s["inside"] = torch.nn.functional.silu(s["gate"]) * s["up"]

    def _project(self, s, context):
        s["n1"] = rms_norm(s["x"], self.p["norm1"])
        rows = self.enter(s["n1"])
        q = rotate((rows @ self.p["query"].T).view(len(rows), self.heads, -1), *context.rotary)
        k = rotate((rows @ self.p["key"].T).view(len(rows), self.kv_heads, -1), *context.rotary)
        v = (rows @ self.p["value"].T).view(len(rows), self.kv_heads, -1)
        exchange = self.mesh.ulysses.rows_to_heads
        s["q"] = exchange(q)
        s["k"], s["v"] = (exchange(t.repeat_interleave(self.copies, 1) if self.copies > 1 else t) for t in (k, v))

    def _before(self, context, store):
        return [entry for segment in context.prefixed() for entry in store.before(self.number, segment)]

    def input_gradient(self, s, grad, context, store):
        """Gradient of the input, and the products of the weight gradients for later; s is complete (see rebuild)."""
        later = WeightGradients()
        rows = self.enter(grad)
        later.add(["down"], [rows], s["inside"], False)
        inside = rows @ self.p["down"]
        sigmoid = torch.sigmoid(s["gate"])
        gate = inside * s["up"] * sigmoid * (1 + s["gate"] * (1 - sigmoid))
        up = inside * s["gate"] * sigmoid
        later.add(["gate", "up"], [gate, up], s["n2"], True)
        n2 = self.leave(gate @ self.p["gate"] + up @ self.p["up"])
        grad = grad + norm_backward(s["x2"], self.p["norm2"], n2, self.grads["norm2"])
        rows = self.enter(grad)
        later.add(["output"], [rows], s["o"].flatten(1), False)
        q, k, v = self._core_gradient(s, (rows @ self.p["output"]).view(s["o"].shape), context, store)
        later.add(["query", "key", "value"], [q, k, v], s["n1"], True)
        n1 = self.leave(q @ self.p["query"] + k @ self.p["key"] + v @ self.p["value"])
        return grad + norm_backward(s["x"], self.p["norm1"], n1, self.grads["norm1"]), later

    def _core_gradient(self, s, grad_out, context, store):
        grad_out = self.mesh.ulysses.rows_to_heads(grad_out)
        q, k, v = attend_backward(context, s["q"], s["k"], s["v"], s["core"], s["lse"], grad_out,
                                  self._before(context, store))
        for segment, (first, count) in zip(context.chunk.segments, context.spans):
            if not segment.last:
                entry = store.of_chunk(self.number, context.chunk, segment)
                k[first:first + count] += entry.grad_k
                v[first:first + count] += entry.grad_v
        store.drop(self.number, context.chunk)
        q, k, v = (self.mesh.ulysses.heads_to_rows(t) for t in (q, k, v))
        if self.copies > 1:
            k, v = (t.view(len(t), self.kv_heads, self.copies, -1).sum(2) for t in (k, v))
        cosine, sine = context.rotary
        return rotate(q, cosine, -sine).flatten(1), rotate(k, cosine, -sine).flatten(1), v.flatten(1)
