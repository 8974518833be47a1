"""Which token of which sequence sits in which row of which rank.

Without a ring the tokens of a chunk are padded to a multiple of ulysses x tp and dealt out in order. With a ring every
segment is padded to a multiple of 2 x ring x ulysses x tp and cut into 2 x ring pieces; ring rank i holds pieces i and
2 x ring - 1 - i, an early and a late one ("zigzag"), so that all ranks do equal work under a causal mask."""
from dataclasses import dataclass

import torch


@dataclass
class Rows:
    """What the rows of a tensor are; -1 stands for padding."""
    sequence: torch.Tensor
    position: torch.Tensor

    def part(self, index, parts):
        size = len(self.position) // parts
        return Rows(self.sequence[index * size:(index + 1) * size], self.position[index * size:(index + 1) * size])

    def of_sequence(self, sequence):
        """Numbers of the rows that hold tokens of one sequence, padding left out, positions ascending."""
        return torch.nonzero((self.sequence == sequence) & (self.position >= 0)).flatten()

    @staticmethod
    def join(parts):
        return Rows(torch.cat([p.sequence for p in parts]), torch.cat([p.position for p in parts]))


def _padded(segment, multiple):
    rows = -(-segment.length // multiple) * multiple
    position = torch.arange(segment.offset, segment.offset + rows)
    position[segment.length:] = -1
    return Rows(torch.full((rows,), segment.sequence), position)


def segment_rows(plan, segment, ring):
    """Rows of one segment on one rank of the ring (all tp and ulysses ranks of it together)."""
    if plan.ring == 1:
        return _padded(segment, 1)
    rows = _padded(segment, 2 * plan.ring * plan.ulysses * plan.tp)
    return Rows.join([rows.part(ring, 2 * plan.ring), rows.part(2 * plan.ring - 1 - ring, 2 * plan.ring)])


def ring_rows(plan, chunk, ring):
    """Rows of a chunk on one rank of the ring."""
    rows = Rows.join([segment_rows(plan, s, ring) for s in chunk.segments])
    missing = -len(rows.position) % (plan.ulysses * plan.tp)
    filler = torch.full((missing,), -1)
    return Rows.join([rows, Rows(filler, filler)])


def segment_spans(plan, chunk):
    """First row and number of rows of each segment within ring_rows."""
    spans, first = [], 0
    for segment in chunk.segments:
        count = len(segment_rows(plan, segment, 0).position)
        spans.append((first, count))
        first += count
    return spans
