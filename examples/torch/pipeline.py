"""Executes the operations of one pipeline rank in the plan's order."""
import time

import torch

from context import ChunkContext, SliceStore
from ends import Embedding, Head
from layer import Layer
from memory import held_bytes
from parallel import Mail


class StageRunner:
    """The layers of one (virtual) stage, and what they hold of the chunks in flight."""

    def __init__(self, stage, parameters, grads, mesh, plan):
        self.stage = stage
        self.layers = [Layer(i, parameters, grads, mesh, plan) for i in stage.layers]
        self.embedding = Embedding("", parameters, grads, mesh, plan) if stage.embedding else None
        self.head = Head("", parameters, grads, mesh, plan) if stage.head else None
        self.store = SliceStore()
        self.kept = {}   # chunk -> what each layer keeps, and the head
        self.later = {}  # chunk -> weight gradients between I and W

    def forward(self, x, chunk, context):
        """Output for the next stage, or this rank's share of the loss."""
        kept = self.kept[chunk.number] = []
        if self.embedding:
            x = self.embedding.forward(context)
        for layer in self.layers:
            x, saved = layer.forward(x, context, self.store, chunk.policy(self.stage.number, layer.number))
            kept.append(saved)
        if not self.head:
            return x
        loss, saved = self.head.forward(x, context)
        kept.append(saved)
        return loss

    def recompute(self, chunk, context):
        for layer, saved in zip(self.layers, self.kept[chunk.number]):
            layer.rebuild(saved, context, self.store)

    def start_gradients(self, chunk):
        self.store.start_gradients([layer.number for layer in self.layers], chunk)

    def input_gradient(self, grad, chunk, context, weights_too):
        kept = self.kept[chunk.number]
        later = []
        if self.head:
            grad, products = self.head.input_gradient(kept.pop())
            self._now_or_later(self.head, products, weights_too, later)
        for layer in reversed(self.layers):
            saved = kept.pop()
            layer.rebuild(saved, context, self.store)
            grad, products = layer.input_gradient(saved, grad, context, self.store)
            self._now_or_later(layer, products, weights_too, later)
        if self.embedding:
            self.embedding.backward(grad, context)
        del self.kept[chunk.number]
        if not weights_too:
            self.later[chunk.number] = later
        return grad

    @staticmethod
    def _now_or_later(part, products, now, later):
        if now:
            products.run(part)
        else:
            later.append((part, products))

    def weight_gradient(self, chunk):
        for part, products in self.later.pop(chunk.number):
            products.run(part)

    def held(self):
        """(tensor, is log-sum-exp) of everything kept."""
        for saved in self.kept.values():
            for part in saved:
                yield from ((tensor, name == "lse") for name, tensor in part.items())
        for later in self.later.values():
            yield from ((tensor, False) for _, products in later for tensor in products.tensors())
        for entry in self.store.all():
            yield from ((entry.k, False), (entry.v, False))

    def held_gradients(self):
        for entry in self.store.all():
            if entry.grad_k is not None:
                yield from ((entry.grad_k, False), (entry.grad_v, False))


class Pipeline:
    """One iteration: the forward and backward passes of this rank, without the optimizer."""

    def __init__(self, plan, mesh, parameters, grads, dtype, watch=None):
        self.plan, self.mesh, self.dtype, self.watch = plan, mesh, dtype, watch
        self.stages = {s.number: StageRunner(s, parameters, grads, mesh, plan)
                       for s in plan.stages if s.pp == mesh.at.pp}
        self.ops = plan.orders[mesh.at.dp, mesh.at.pp]
        self.mail = Mail()
        self.contexts = {}
        self.loss = 0.0
        self.saved_bytes = []  # for each operation, while it runs
        self.seconds = []      # of processor time, for each operation

    def run(self):
        self.loss, self.saved_bytes, self.seconds = 0.0, [], []
        for op in self.ops:
            self._run_op(*op)
        self.mail.finish()
        return self.loss

    def _context(self, chunk):
        if chunk.number not in self.contexts:
            self.contexts[chunk.number] = ChunkContext(self.plan, chunk, self.mesh, self.dtype)
        return self.contexts[chunk.number]

    def _run_op(self, kind, number, stage_number):
        chunk, runner = self.plan.chunks[number], self.stages[stage_number]
        context = self._context(chunk)
        x = self._receive(kind, chunk, context, stage_number)
        started = time.thread_time()
        if kind in "BI":
            runner.start_gradients(chunk)
            self._note(x)
        if kind == "F":
            self._forward(runner, x, chunk, context)
        elif kind == "R":
            runner.recompute(chunk, context)
        elif kind == "W":
            self._note()
            runner.weight_gradient(chunk)
        else:
            grad = runner.input_gradient(x, chunk, context, weights_too=kind == "B")
            self._send(grad, stage_number, stage_number - 1, number, 1)
        del x
        self.seconds.append(time.thread_time() - started)
        if kind in "FR":
            self._note()

    def _forward(self, runner, x, chunk, context):
        out = runner.forward(x, chunk, context)
        if runner.head:
            self.loss += out
        else:
            self._send(out, runner.stage.number, runner.stage.number + 1, chunk.number, 0)

    def _tag(self, stage, chunk, backward):
        """Of the boundary behind a stage."""
        return 2 * (stage * len(self.plan.chunks) + chunk) + backward

    def _send(self, x, stage, to, chunk, backward):
        if 0 <= to < len(self.plan.stages):
            rank = self.mesh.stage_rank(self.plan.stages[to].pp)
            self.mail.send(x, rank, self.mesh.rank, self._tag(min(stage, to), chunk, backward))

    def _receive(self, kind, chunk, context, stage):
        backward = kind in "BI"
        source = stage + 1 if backward else stage - 1
        if kind in "RW" or not 0 <= source < len(self.plan.stages):
            return None
        rank = self.mesh.stage_rank(self.plan.stages[source].pp)
        like = ((len(context.residual_rows.position), self.plan.model.hidden), self.dtype)
        return self.mail.receive(like, rank, self.mesh.rank, self._tag(min(stage, source), chunk.number, backward))

    def _note(self, received=None):
        if self.watch is None:
            return
        held = [t for runner in self.stages.values() for t in runner.held()]
        grads = [t for runner in self.stages.values() for t in runner.held_gradients()]
        self.saved_bytes.append(held_bytes(held, self.plan.element_bytes) +
                                held_bytes(grads, self.plan.training["kv_gradient_bytes"]))
        in_transit = [tensor for _, tensor in self.mail.sent] + list(self.mail.local.values())
        self.watch(held + grads, in_transit + ([] if received is None else [received]))
