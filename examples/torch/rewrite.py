"""Rewrites the order of a finished plan, to execute operations that its schedule does not use.

Rewritten plans can be executed; their times and peaks of memory are no longer those predicted, so they are marked."""
import copy


def split_backward(document, delay=2):
    """Every B becomes I, and W comes `delay` operations later, in order; what is left comes last."""
    out = copy.deepcopy(document)
    out["rewritten"] = "split backward"
    for pipeline in out["schedule"]["pipelines"]:
        for rank in pipeline["ranks"]:
            ops, waiting = [], []
            for kind, chunk, stage in (op[:3] for op in rank["ops"]):
                if len(waiting) >= delay:
                    ops.append(waiting.pop(0))
                ops.append(["I" if kind == "B" else kind, chunk, stage])
                if kind == "B":
                    waiting.append(["W", chunk, stage])
            rank["ops"] = ops + waiting
    return out


def recompute_ahead(document):
    """An R right before the operation that precedes every B, where that is a forward pass."""
    out = copy.deepcopy(document)
    out["rewritten"] = "recompute ahead"
    for pipeline in out["schedule"]["pipelines"]:
        for rank in pipeline["ranks"]:
            ops = []
            for op in rank["ops"]:
                if op[0] == "B":
                    between = len(ops) > 0 and ops[-1][0] == "F" and ops[-1][1:3] != op[1:3]
                    ops.insert(len(ops) - 1 if between else len(ops), ["R", *op[1:3]])
                ops.append(op[:3])
            rank["ops"] = ops
    return out


def every_policy(document):
    """Each layer of each chunk under another policy than the one before it."""
    out = copy.deepcopy(document)
    out["rewritten"] = "every policy"
    policies = ("none", "activation", "mlp", "attention-output", "full")
    number = 0
    for chunk in out["chunks"]:
        chunk["recompute"] = []
        for stage in out["stages"]:
            for _ in range(stage["layer_count"]):
                chunk["recompute"].append({"stage": stage["stage"], "policy": policies[number % 5], "layers": 1})
                number += 1
    return out


def _global_order(pipeline, stages):
    """All operations of a pipeline in an order that respects every data edge: a round of ready operations at a time."""
    queues = [list(rank["ops"]) for rank in pipeline["ranks"]]
    done, order = set(), []
    while any(queues):
        ready = []
        for queue in queues:
            if not queue:
                continue
            kind, chunk, stage = queue[0][:3]
            needs = {"F": ("F", chunk, stage - 1) if stage > 0 else None,
                     "B": ("B", chunk, stage + 1) if stage + 1 < stages else None}[kind]
            if needs is None or needs in done:
                ready.append(queue.pop(0)[:3])
        if not ready:
            raise ValueError("the order of the plan cannot be executed")
        done.update(tuple(op) for op in ready)
        order += ready
    return order


def interleave(document, ranks, v_shape=False):
    """Puts the stages of a plan onto fewer pipeline ranks, several virtual stages each: stage s on rank s mod `ranks`,
    or there and back again (v_shape)."""
    out = copy.deepcopy(document)
    out["rewritten"] = "interleaved"
    stages = len(out["stages"])
    if stages % ranks or document["parallelism"]["vpp"] != 1:
        raise ValueError("%d stages cannot be put onto %d ranks" % (stages, ranks))

    def place(stage):
        return ranks - 1 - stage % ranks if v_shape and stage // ranks % 2 else stage % ranks

    out["parallelism"]["pp"], out["parallelism"]["vpp"] = ranks, stages // ranks
    for stage in out["stages"]:
        stage["pp"], stage["virtual"] = place(stage["stage"]), stage["stage"] // ranks
    for pipeline in out["schedule"]["pipelines"]:
        order = _global_order(pipeline, stages)
        pipeline["ranks"] = [{"pp": r, "ops": [op for op in order if place(op[2]) == r]} for r in range(ranks)]
    return out


def without_sequence_parallelism(document):
    """Tensor parallelism with the residual stream whole on every rank."""
    out = copy.deepcopy(document)
    out["rewritten"] = "no sequence parallelism"
    out["parallelism"]["sequence_parallel"] = False
    return out
