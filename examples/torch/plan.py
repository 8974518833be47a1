"""Reads an lcplan.plan/1 document: what this trainer needs of it, and a plain refusal of what it cannot execute."""
import json
from dataclasses import dataclass, field

OP_KINDS = ("F", "B", "I", "W", "R")
ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 2}


class Unsupported(Exception):
    """The plan is fine, but this trainer does not execute such plans."""


def demand(holds, message):
    if not holds:
        raise Unsupported(message)


@dataclass(frozen=True)
class Segment:
    """Tokens [offset, offset + length) of one sequence."""
    sequence: int
    offset: int
    length: int
    last: bool  # no later slice of the sequence

    @property
    def sliced(self):
        return self.offset > 0 or not self.last


@dataclass
class Chunk:
    """What flows through the pipeline at a time."""
    number: int
    dp: int
    segments: list
    policies: dict = field(default_factory=dict)  # (stage, layer) -> recompute policy

    def policy(self, stage, layer):
        return self.policies.get((stage, layer), "none")


@dataclass(frozen=True)
class Stage:
    number: int
    pp: int
    first_layer: int
    layer_count: int
    embedding: bool
    head: bool

    @property
    def layers(self):
        return range(self.first_layer, self.first_layer + self.layer_count)


@dataclass(frozen=True)
class ModelShape:
    hidden: int
    vocabulary: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int


@dataclass(frozen=True)
class Coordinates:
    """Place of a rank; tp varies fastest, then ulysses, ring, dp, pp."""
    tp: int
    ulysses: int
    ring: int
    dp: int
    pp: int


class Plan:
    def __init__(self, document):
        self.document = document
        demand(document.get("format") == "lcplan.plan/1", "not a document of the format lcplan.plan/1")
        degrees = document["parallelism"]
        self.dp, self.pp, self.tp = degrees["dp"], degrees["pp"], degrees["tp"]
        self.ulysses, self.ring = degrees["ulysses"], degrees["ring"]
        self.zero_stage = degrees["zero_stage"]
        self.sequence_parallel = degrees["sequence_parallel"] and self.tp > 1
        self.cp = self.ulysses * self.ring
        self.world_size = self.dp * self.pp * self.tp * self.cp
        self.training = document["inputs"]["options"]["training"]
        self.element_bytes = ELEMENT_BYTES[self.training["precision"]]
        self.lengths = [s["length_tokens"] for s in document["sequences"]]
        self.total_tokens = sum(self.lengths)
        self.model = read_model(document["inputs"]["model"]["document"])
        self.stages = [Stage(s["stage"], s["pp"], s["first_layer"], s["layer_count"], s["embedding"], s["head"])
                       for s in document["stages"]]
        self.chunks = [self._read_chunk(c) for c in document["chunks"]]
        self.orders = self._read_orders(document["schedule"])
        self._refuse(degrees, document["schedule"])

    def _refuse(self, degrees, schedule):
        demand(schedule["synchronous"], "schedule %s: asynchronous schedules are not executed" % schedule["name"])
        demand(degrees["ep"] == 1, "expert parallelism is not executed")
        demand(self.zero_stage <= 1, "ZeRO %d: stages 0 and 1 are executed; plan with --zero 0 or 1" % self.zero_stage)
        demand(degrees["ring_method"] == "p2p", "ring by all-gather is not executed")
        loss = self.training["loss"]
        demand(loss in ("eager", "fused", "chunked"), "loss %s is not executed" % loss)
        demand(self.training["optimizer"] == "adam", "the optimizer is Adam; plan with --optimizer adam")
        demand(self.model.vocabulary % self.tp == 0, "the vocabulary is not a multiple of tp")

    def _read_chunk(self, entry):
        segments = []
        for s in entry["segments"]:
            end = s["offset_tokens"] + s["length_tokens"]
            last = end == self.lengths[s["sequence"]]
            segments.append(Segment(s["sequence"], s["offset_tokens"], s["length_tokens"], last))
        chunk = Chunk(entry["chunk"], entry["dp"], segments)
        next_layer = {}
        for r in entry["recompute"]:
            stage = self.stages[r["stage"]]
            first = next_layer.get(stage.number, stage.first_layer)
            next_layer[stage.number] = first + r["layers"]
            for layer in range(first, first + r["layers"]):
                chunk.policies[stage.number, layer] = r["policy"]
        return chunk

    def _read_orders(self, schedule):
        orders = {}
        for pipeline in schedule["pipelines"]:
            for rank in pipeline["ranks"]:
                ops = [(op[0], op[1], op[2]) for op in rank["ops"]]
                for kind, _, _ in ops:
                    demand(kind in OP_KINDS, "operation %s is not known" % kind)
                orders[pipeline["dp"], rank["pp"]] = ops
        return orders

    def coordinates(self, rank):
        tp, rest = rank % self.tp, rank // self.tp
        ulysses, rest = rest % self.ulysses, rest // self.ulysses
        ring, rest = rest % self.ring, rest // self.ring
        return Coordinates(tp, ulysses, ring, rest % self.dp, rest // self.dp)

    def rewritten(self):
        """Whether something was changed after planning: then the plan's own figures are not for these operations."""
        return "rewritten" in self.document

    def predictable(self):
        """Whether the terms of the cost model say what is saved: not for backward passes in two parts."""
        return all(kind in "FB" for ops in self.orders.values() for kind, _, _ in ops)

    def rank(self, at):
        return at.tp + self.tp * (at.ulysses + self.ulysses * (at.ring + self.ring * (at.dp + self.dp * at.pp)))


def read_model(document):
    """One kind of layer: grouped attention over the whole prefix, a gated feed-forward block, untied tables."""
    demand(not document.get("tied_embeddings"), "tied embeddings are not executed")
    demand(not document.get("mtp"), "multi-token prediction is not executed")
    kinds = [{k: v for k, v in run.items() if k != "count"} for run in document["layers"]]
    demand(all(kind == kinds[0] for kind in kinds), "layers of several kinds are not executed")
    attention, ffn = kinds[0]["attention"], kinds[0]["ffn"]
    demand(attention["kind"] == "grouped", "attention %s is not executed" % attention["kind"])
    demand(not attention.get("window_tokens"), "sliding windows are not executed")
    demand(not attention.get("output_gate"), "gated attention outputs are not executed")
    demand(ffn["kind"] == "gated", "ffn %s is not executed" % ffn["kind"])
    head_dim = attention["head_dim"]
    demand(attention.get("v_head_dim", head_dim) == head_dim, "values of another width are not executed")
    layers = sum(run.get("count", 1) for run in document["layers"])
    return ModelShape(document["hidden_size"], document["vocab_size"], layers, attention["heads"],
                      attention.get("kv_heads", attention["heads"]), head_dim, ffn["size"])


def read_plan(path):
    with open(path, encoding="utf-8") as file:
        return Plan(json.load(file))
