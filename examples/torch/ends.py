"""Embedding on the first stage; final norm, head and loss on the last. Both tables are divided over tp by rows."""
import torch
import torch.distributed as dist

from layer import TensorParallelPart, WeightGradients, norm_backward
from model import rms_norm, tokens_of

LOSS_PIECES = 8


def local_tokens(context, plan, shift):
    """Token numbers of the rows of this rank (shift 0: inputs, 1: targets); -1 for padding."""
    rows = context.rows
    out = torch.full_like(rows.position, -1)
    for segment in context.chunk.segments:
        own = rows.of_sequence(segment.sequence)
        ids = tokens_of(segment.sequence, plan.lengths[segment.sequence], plan.model.vocabulary)
        out[own] = ids[rows.position[own] + shift]
    return out


class VocabularyPart(TensorParallelPart):
    def own_rows(self, tokens):
        """Row of the local table for each token, and whether it is there."""
        size = self.plan.model.vocabulary // self.plan.tp
        local = tokens - self.mesh.tp.index * size
        there = (tokens >= 0) & (local >= 0) & (local < size)
        return local.clamp(0, size - 1), there


class Embedding(VocabularyPart):
    def forward(self, context):
        local, there = self.own_rows(local_tokens(context, self.plan, 0))
        return self.leave(self.p["embedding"][local] * there[:, None])

    def backward(self, grad, context):
        local, there = self.own_rows(local_tokens(context, self.plan, 0))
        self.grads["embedding"].index_add_(0, local, self.enter(grad) * there[:, None])


class Head(VocabularyPart):
    """Keeps what the plan's loss says: fused, the logits, overwritten by their gradient; eager, logits and a copy of
    them as probabilities; chunked, no logits but the gradient of the hidden states."""

    def forward(self, x, context):
        """This rank's share of the loss, and what is kept."""
        rows = self.enter(rms_norm(x, self.p["final_norm"]))
        targets = local_tokens(context, self.plan, 1)
        if self.plan.training["loss"] == "chunked":
            return self._in_pieces(x, rows, targets)
        logits = rows @ self.p["head"].T
        loss, logits_grad = self._loss(logits, targets)
        kept = {"x": x, "logits_grad": logits_grad}
        if self.plan.training["loss"] == "eager":
            kept["logits"] = logits
        return loss, kept

    def _in_pieces(self, x, rows, targets):
        loss, hidden = 0.0, torch.empty_like(rows)
        for piece in torch.arange(len(rows)).chunk(LOSS_PIECES):
            part, grad = self._loss(rows[piece] @ self.p["head"].T, targets[piece])
            loss += part
            self.grads["head"] += grad.T @ rows[piece]
            hidden[piece] = grad @ self.p["head"]
        return loss, {"x": x, "hidden_grad": self.leave(hidden)}

    def _loss(self, logits, targets):
        """Sum of cross-entropies over the batch's tokens, and the gradient of the logits."""
        tp = self.mesh.tp
        valid = targets >= 0
        largest = tp.all_reduce(logits.max(-1).values, dist.ReduceOp.MAX)
        grad = (logits - largest[:, None]).exp_()
        sums = tp.all_reduce(grad.sum(-1))
        local, there = self.own_rows(targets)
        rows = torch.nonzero(there).flatten()
        target = torch.zeros_like(largest)
        target[rows] = logits[rows, local[rows]]
        target = tp.all_reduce(target)
        loss = ((sums.log() + largest - target) * valid).sum().item() / self.plan.total_tokens
        grad /= sums[:, None]
        grad[rows, local[rows]] -= 1
        grad *= valid.to(grad.dtype)[:, None] / self.plan.total_tokens
        return loss / tp.size, grad

    def input_gradient(self, kept):
        later = WeightGradients()
        if "hidden_grad" in kept:
            hidden = kept["hidden_grad"]
        else:
            hidden = self.leave(kept["logits_grad"] @ self.p["head"])
            later.add(["head"], [kept["logits_grad"]], rms_norm(kept["x"], self.p["final_norm"]), True)
        return norm_backward(kept["x"], self.p["final_norm"], hidden, self.grads["final_norm"]), later
