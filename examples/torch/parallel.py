"""Process groups of a rank and the exchanges between them, on gloo."""
import datetime
from dataclasses import replace

import torch
import torch.distributed as dist


class Group:
    """Ranks that exchange tensors along one axis; every method is called by all of them in the same order."""

    def __init__(self, ranks, handle, own):
        self.ranks, self.handle = ranks, handle
        self.size, self.index = len(ranks), ranks.index(own)

    def all_reduce(self, x, op=dist.ReduceOp.SUM):
        if self.size > 1:
            x = x.contiguous()
            dist.all_reduce(x, op=op, group=self.handle)
        return x

    def gather_rows(self, x):
        """Rows of all ranks, one after the other."""
        if self.size == 1:
            return x
        parts = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(parts, x.contiguous(), group=self.handle)
        return torch.cat(parts)

    def scatter_sum(self, x):
        """The sum over ranks; each keeps its share of the rows."""
        if self.size == 1:
            return x
        received = torch.empty_like(x)
        dist.all_to_all_single(received, x.contiguous(), group=self.handle)
        return received.view(self.size, x.shape[0] // self.size, *x.shape[1:]).sum(0)

    def rows_to_heads(self, x):
        """[rows, heads, d] with all heads of some rows -> [rows x size, heads / size, d]: some heads of all rows."""
        if self.size == 1:
            return x
        rows, heads, width = x.shape
        sent = x.view(rows, self.size, heads // self.size, width).transpose(0, 1).contiguous()
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=self.handle)
        return received.view(self.size * rows, heads // self.size, width)

    def heads_to_rows(self, x):
        """The way back."""
        if self.size == 1:
            return x
        rows, heads, width = x.shape
        received = torch.empty_like(x)
        dist.all_to_all_single(received, x.contiguous(), group=self.handle)
        parts = received.view(self.size, rows // self.size, heads, width)
        return parts.transpose(0, 1).reshape(rows // self.size, self.size * heads, width)

    def shift(self, tensors):
        """Passes tensors to the next rank of the ring and takes those of the one before."""
        after, before = self.ranks[(self.index + 1) % self.size], self.ranks[(self.index - 1) % self.size]
        sends = [dist.isend(t.contiguous(), after, group=self.handle, tag=i) for i, t in enumerate(tensors)]
        received = [torch.empty_like(t) for t in tensors]
        for i, t in enumerate(received):
            dist.recv(t, before, group=self.handle, tag=i)
        for work in sends:
            work.wait()
        return received


class Mesh:
    """All groups that one rank of a plan belongs to."""

    def __init__(self, plan, rank, timeout_seconds):
        self.plan, self.rank, self.at = plan, rank, plan.coordinates(rank)
        self.timeout = datetime.timedelta(seconds=timeout_seconds)
        self.tp = self._along(lambda at: replace(at, tp=0))
        self.ulysses = self._along(lambda at: replace(at, ulysses=0))
        self.ring = self._along(lambda at: replace(at, ring=0))
        # Ranks with the same parameters: their gradients are added, ZeRO 1 divides the optimizer among them.
        self.replicas = self._along(lambda at: replace(at, ulysses=0, ring=0, dp=0))
        self.world = Group(list(range(plan.world_size)), dist.group.WORLD, rank)

    def _along(self, leader):
        """new_group is collective: every rank makes every group of the axis in the same order."""
        members = {}
        for rank in range(self.plan.world_size):
            members.setdefault(self.plan.rank(leader(self.plan.coordinates(rank))), []).append(rank)
        own = None
        for ranks in members.values():
            handle = dist.new_group(ranks, timeout=self.timeout) if len(ranks) > 1 else None
            if self.rank in ranks:
                own = Group(ranks, handle, self.rank)
        return own

    def stage_rank(self, pp):
        """The rank with the same other coordinates on another pipeline rank."""
        return self.plan.rank(replace(self.at, pp=pp))


class Mail:
    """Tensors between pipeline ranks. Sends do not block; messages are told apart by tag, so their order is free."""

    def __init__(self):
        self.sent = []
        self.local = {}

    def send(self, x, to, own, tag):
        if to == own:
            self.local[tag] = x
            return
        x = x.contiguous()
        self.sent = [(work, tensor) for work, tensor in self.sent if not work.is_completed()]
        self.sent.append((dist.isend(x, to, tag=tag), x))

    def receive(self, like, source, own, tag):
        if source == own:
            return self.local.pop(tag)
        x = torch.empty(like[0], dtype=like[1])
        dist.recv(x, source, tag=tag)
        return x

    def finish(self):
        for work, _ in self.sent:
            work.wait()
        self.sent = []
