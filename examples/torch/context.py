"""Attention of one chunk over itself and the slices before it: Ulysses moves heads, the ring moves keys and values."""
import torch

import attention
from layout import Rows, ring_rows, segment_rows, segment_spans
from model import rotary_tables


class Slice:
    """Keys and values of a segment that later slices attend to, and the sum of their gradients."""

    def __init__(self, chunk, segment, k, v):
        self.chunk, self.segment, self.k, self.v = chunk, segment, k, v
        self.grad_k = self.grad_v = None

    def start_gradients(self):
        self.grad_k, self.grad_v = torch.zeros_like(self.k), torch.zeros_like(self.v)


class SliceStore:
    """The slices that a stage holds, by layer and sequence, first slice first."""

    def __init__(self):
        self.slices = {}

    def add(self, layer, entry):
        self.slices.setdefault((layer, entry.segment.sequence), []).append(entry)

    def before(self, layer, segment):
        """The slices in front of a segment."""
        held = self.slices.get((layer, segment.sequence), [])
        return [s for s in held if s.segment.offset < segment.offset]

    def of_chunk(self, layer, chunk, segment):
        held = self.slices.get((layer, segment.sequence), [])
        return next(s for s in held if s.chunk == chunk.number)

    def drop(self, layer, chunk):
        for segment in chunk.segments:
            held = self.slices.get((layer, segment.sequence))
            if held:
                held[:] = [s for s in held if s.chunk != chunk.number]

    def start_gradients(self, layers, chunk):
        """The last slice of a sequence sends gradients to all slices before it."""
        for segment in chunk.segments:
            if segment.last and segment.offset > 0:
                for layer in layers:
                    for entry in self.before(layer, segment):
                        entry.start_gradients()

    def all(self):
        return [entry for held in self.slices.values() for entry in held]


def _index(numbers):
    """Row numbers as a slice where they are consecutive: no copies then."""
    if len(numbers) > 0 and int(numbers[-1]) - int(numbers[0]) + 1 == len(numbers):
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


class ChunkContext:
    """Where the tokens of a chunk are on this rank, and on the other ranks of its ring."""

    def __init__(self, plan, chunk, mesh, dtype):
        self.chunk, self.ring, self.ulysses = chunk, mesh.ring, mesh.ulysses
        rows = ring_rows(plan, chunk, mesh.ring.index)
        self.rows = rows.part(mesh.ulysses.index, mesh.ulysses.size)
        self.residual_rows = self.rows.part(mesh.tp.index, mesh.tp.size) if plan.sequence_parallel else self.rows
        self.rotary = rotary_tables(self.rows.position.clamp(min=0), plan.model.head_dim, dtype)
        self.spans = segment_spans(plan, chunk)
        self.prefix_segments = self._prefix(plan)
        self.prefix_rows = sum(len(segment_rows(plan, s, 0).position) for s in self.prefix_segments)
        self.queries = [self._of(rows, segment) for segment in chunk.segments]
        self.keys = []
        for owner in range(mesh.ring.size):
            held = [segment_rows(plan, s, owner) for s in self.prefix_segments] + [ring_rows(plan, chunk, owner)]
            held = Rows.join(held)
            self.keys.append([self._of(held, segment) for segment in chunk.segments])

    @staticmethod
    def _of(rows, segment):
        numbers = rows.of_sequence(segment.sequence)
        return _index(numbers), rows.position[numbers]

    def _prefix(self, plan):
        """Earlier slices of the one segment that has a prefix, in order."""
        offsets = {s.sequence: s.offset for s in self.chunk.segments if s.offset > 0}
        found = [s for c in plan.chunks for s in c.segments if s.sequence in offsets and s.offset < offsets[s.sequence]]
        return sorted(found, key=lambda s: (s.sequence, s.offset))

    def prefixed(self):
        return [s for s in self.chunk.segments if s.offset > 0]


def _held(context, k, v, before):
    """What this rank passes round the ring: its rows of the prefix and of the chunk."""
    if not before:
        return k, v
    return torch.cat([s.k for s in before] + [k]), torch.cat([s.v for s in before] + [v])


def attend(context, q, k, v, before):
    """Output and log-sum-exp; q, k, v hold some heads of all rows of this ring rank."""
    ring = context.ring
    out = torch.zeros_like(q)
    lse = q.new_full(q.shape[:2], -torch.inf)
    held = _held(context, k, v, before)
    for step in range(ring.size):
        keys = context.keys[(ring.index - step) % ring.size]
        for (rows, positions), (key_rows, key_positions) in zip(context.queries, keys):
            if len(positions) == 0 or len(key_positions) == 0:
                continue
            part = attention.forward(q[rows], held[0][key_rows], held[1][key_rows], positions, key_positions)
            out[rows], lse[rows] = part if step == 0 else attention.merge(out[rows], lse[rows], *part)
        if step + 1 < ring.size:
            held = ring.shift(held)
    return out, lse


def attend_backward(context, q, k, v, out, lse, grad_out, before):
    """Gradients of q, k, v; those of earlier slices are added to theirs. Gradients of keys travel with their keys."""
    ring = context.ring
    delta = (grad_out * out).sum(-1)
    grad_q = torch.zeros_like(q)
    held = _held(context, k, v, before)
    grads = [torch.zeros_like(held[0]), torch.zeros_like(held[1])]
    for step in range(ring.size):
        keys = context.keys[(ring.index - step) % ring.size]
        for (rows, positions), (key_rows, key_positions) in zip(context.queries, keys):
            if len(positions) == 0 or len(key_positions) == 0:
                continue
            part = attention.backward(q[rows], held[0][key_rows], held[1][key_rows], lse[rows], grad_out[rows],
                                      delta[rows], positions, key_positions)
            grad_q[rows] += part[0]
            grads[0][key_rows] += part[1]
            grads[1][key_rows] += part[2]
        if ring.size > 1:
            *held, grad_k, grad_v = ring.shift([*held, *grads])
            grads = [grad_k, grad_v]
    first = 0
    for entry in before:
        count = entry.k.shape[0]
        entry.grad_k += grads[0][first:first + count]
        entry.grad_v += grads[1][first:first + count]
        first += count
    return grad_q, grads[0][first:], grads[1][first:]
