#!/usr/bin/env python3
"""Measures this machine with the trainer's own layers and writes it as a device of an lcplan.cluster/1:

    profile_cpu.py MODEL.json -o CLUSTER.json [--ranks 2]

All ranks measure at the same time, as they compute at the same time when a plan runs. Computation is measured in
processor time, messages in wall time; of repeated measurements the fastest counts: whatever else runs on the machine
only slows it down. What is fitted, and to what:
  matmul             rows of the products of a layer -> seconds: a line
  attention_*        tokens -> seconds of the core alone: launches, causal pairs, and pairs wasted in blocks
  memory bandwidth   what is left of a layer's forward and backward pass, over the bytes the cost model counts there
  links              seconds of messages there and back, and of the trainer's exchanges, in two sizes"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist

import attention
from context import ChunkContext, SliceStore
from layer import Layer
from model import initial_value, parameter_shapes
from plan import Chunk, Plan, Segment, read_model
from train import run_ranks

TOKENS = (128, 256, 512, 1024)
REPEATS = 9
KEYS = {"products": 3, "attention": 1, "layers": 1, "messages": 1, "exchanges": 1}  # columns that say what was measured
ELEMENT_BYTES = 4


def least_seconds(work, clock=time.thread_time, repeats=REPEATS):
    work()
    found = []
    for _ in range(repeats):
        started = clock()
        work()
        found.append(clock() - started)
    return min(found)


def fit(rows, targets, scales=None):
    """Non-negative least squares by dropping what comes out negative; rows are lists of regressors. Errors count
    relative to the targets, or to `scales`."""
    columns = list(range(len(rows[0])))
    weights = 1 / torch.tensor(scales or targets, dtype=torch.float64)[:, None]
    goal = torch.tensor(targets, dtype=torch.float64)[:, None] * weights
    while True:
        a = torch.tensor([[row[c] for c in columns] for row in rows], dtype=torch.float64) * weights
        solution = torch.linalg.lstsq(a, goal).solution.flatten().tolist()
        if min(solution) >= 0 or len(columns) == 1:
            out = [0.0] * len(rows[0])
            for c, value in zip(columns, solution):
                out[c] = max(value, 0.0)
            return out
        del columns[solution.index(min(solution))]


def single_rank_plan(model_document, length):
    """The least of a plan that a layer needs: one rank, one sequence, one chunk."""
    document = {
        "format": "lcplan.plan/1",
        "inputs": {"model": {"document": model_document},
                   "options": {"training": {"precision": "fp32", "loss": "fused", "optimizer": "adam",
                                            "kv_gradient_bytes": 4}}},
        "parallelism": {"dp": 1, "pp": 1, "vpp": 1, "tp": 1, "ulysses": 1, "ring": 1, "ep": 1, "zero_stage": 0,
                        "sequence_parallel": False, "ring_method": "p2p"},
        "stages": [], "sequences": [{"length_tokens": length}], "chunks": [],
        "schedule": {"name": "1f1b", "synchronous": True, "pipelines": []},
    }
    return Plan(document)


class Alone:
    """A mesh of one rank."""

    class Single:
        size, index = 1, 0

        def __getattr__(self, name):
            return lambda x, *rest: x

    tp = ulysses = ring = replicas = Single()


def layer_seconds(model_document, length):
    """Forward and backward pass of one layer over one sequence, everything kept."""
    plan = single_rank_plan(model_document, length)
    shape = plan.model
    shapes = parameter_shapes(shape, [0], False, False)
    parameters = {name: initial_value(name, size, torch.float32) for name, (size, _) in shapes.items()}
    grads = {name: torch.zeros_like(value) for name, value in parameters.items()}
    layer = Layer(0, parameters, grads, Alone, plan)
    chunk = Chunk(0, 0, [Segment(0, 0, length, True)])
    context = ChunkContext(plan, chunk, Alone, torch.float32)
    x, store = torch.randn(length, shape.hidden), SliceStore()
    forward = least_seconds(lambda: layer.forward(x, context, store, "none"))
    _, saved = layer.forward(x, context, store, "none")

    def backward():
        _, later = layer.input_gradient(saved, x, context, store)
        later.run(layer)

    return forward, least_seconds(backward)


def product_seconds(rows, inner, outer):
    a, b = torch.randn(rows, inner), torch.randn(outer, inner)
    return least_seconds(lambda: a @ b.T)


def attention_seconds(shape, length):
    q = torch.randn(length, shape.heads, shape.head_dim)
    k, v = (torch.randn(length, shape.kv_heads, shape.head_dim) for _ in range(2))
    positions = torch.arange(length)
    _, lse = attention.forward(q, k, v, positions, positions)
    delta = torch.randn(length, shape.heads)
    return (least_seconds(lambda: attention.forward(q, k, v, positions, positions)),
            least_seconds(lambda: attention.backward(q, k, v, lse, q, delta, positions, positions)))


def message_seconds(rank, count):
    """One way, from there and back; count elements."""
    x = torch.zeros(count)

    def there_and_back():
        for sender in (0, 1):
            if rank == sender:
                dist.send(x, 1 - sender)
            elif rank < 2:
                dist.recv(x, sender)

    return least_seconds(there_and_back, time.perf_counter) / 2


def exchange_seconds(world, count):
    """Mean of the trainer's exchanges over all ranks; count elements on each rank before (gather: after) it."""
    x = torch.zeros(count // 64, 8, 8)
    part = x[:len(x) // world.size]
    ways = (lambda: world.gather_rows(part), lambda: world.scatter_sum(x), lambda: world.rows_to_heads(x))
    return statistics.mean(least_seconds(way, time.perf_counter) for way in ways)


def measure(model_document, mesh):
    rank = mesh.rank
    torch.manual_seed(rank)
    shape = read_model(model_document)
    found = {"products": [], "attention": [], "layers": []}
    query_width = shape.heads * shape.head_dim
    for rows in TOKENS:
        for inner, outer in ((shape.hidden, query_width), (shape.hidden, 2 * shape.ffn), (shape.ffn, shape.hidden)):
            found["products"].append((rows, inner, outer, product_seconds(rows, inner, outer)))
        found["attention"].append((rows, *attention_seconds(shape, rows)))
        found["layers"].append((rows, *layer_seconds(model_document, rows)))
    dist.barrier()
    found["messages"] = [(4 * count, message_seconds(rank, count)) for count in (64, 1 << 20)]
    dist.barrier()
    found["exchanges"] = [(4 * count, exchange_seconds(mesh.world, count)) for count in (1 << 12, 1 << 20)]
    return found


def mean_over_ranks(ranks, what):
    """Rows with the same regressors on every rank; measured columns averaged (the last one or two)."""
    keys = KEYS[what]
    out = []
    for rows in zip(*[r[what] for r in ranks]):
        out.append((*rows[0][:keys], *(statistics.mean(row[i] for row in rows) for i in range(keys, len(rows[0])))))
    return out


def fit_device(shape, ranks):
    """The device's figures from what the ranks measured."""
    overhead, per_flop = fit([[1, 2 * n * i * o] for n, i, o, _ in mean_over_ranks(ranks, "products")],
                             [s for *_, s in mean_over_ranks(ranks, "products")])
    pair_flops = 4 * shape.heads * shape.head_dim
    cores = mean_over_ranks(ranks, "attention")
    curves = []
    for column, factor in ((1, 1.0), (2, 2.5)):
        # launches, causal pairs, pairs wasted in blocks: half_rows times the mean reach of a query
        a, b, c = fit([[1, n * (n + 1) / 2, (n + 1) / 2] for n, *_ in cores], [row[column] for row in cores])
        curves.append((a, pair_flops * factor / b, c / b))
    h, width = shape.hidden, (shape.heads + shape.kv_heads) * shape.head_dim
    parameters = h * (2 * shape.heads + 2 * shape.kv_heads) * shape.head_dim + 3 * h * shape.ffn
    e = ELEMENT_BYTES
    rows, targets, scales = [], [], []
    for (n, forward, backward), (_, core_forward, core_backward) in zip(mean_over_ranks(ranks, "layers"), cores):
        products = 2 * n * parameters * per_flop
        rows += [[8, e * n * (10 * h + 2 * width + 3 * shape.ffn)], [12, e * n * (12 * h + 2 * width + 5 * shape.ffn)]]
        targets += [forward - core_forward - products, backward - core_backward - 2 * products]
        scales += [forward, backward]
    launch, per_byte = fit(rows, targets, scales)
    return {"flops_per_second": 1 / per_flop, "overhead": max(overhead, launch), "attention": curves,
            "bytes_per_second": 1 / per_byte if per_byte > 0 else 1e11}


def cluster_document(shape, ranks, memory_bytes):
    device = fit_device(shape, ranks)
    (small, start), (large, end) = mean_over_ranks(ranks[:2], "messages")
    bandwidth = (large - small) / max(end - start, 1e-9)
    (small, latency), (large, end) = mean_over_ranks(ranks, "exchanges")
    others = (len(ranks) - 1) / len(ranks)  # of a buffer that an exchange moves
    collective = others * (large - small) / max(end - latency, 1e-9)
    link = {"bandwidth_bytes_per_second": bandwidth, "latency_seconds": latency / (len(ranks) - 1)}
    # fp32 products count as half the peak; the peak is set so that the fastest kernel class reaches all of it.
    fastest = max([device["flops_per_second"]] + [rate for _, rate, _ in device["attention"]])
    curve = [{"ratio": rate / fastest, "half_rows": half, "overhead_seconds": start}
             for start, rate, half in device["attention"]]
    return {"format": "lcplan.cluster/1", "name": "processes of this machine", "groups": [{
        "name": "cpu", "nodes": 1, "devices_per_node": len(ranks), "usable_memory_ratio": 1.0,
        "device": {
            "name": "one core", "peak_flops_per_second": 2 * fastest, "memory_bytes": memory_bytes,
            "memory_bandwidth_bytes_per_second": device["bytes_per_second"], "memory_ratio": 1.0,
            "matmul": {"ratio": device["flops_per_second"] / fastest, "half_rows": 0,
                       "overhead_seconds": device["overhead"]},
            "attention_forward": curve[0], "attention_backward": curve[1],
            "collective_ratio": min(1.0, collective / bandwidth), "collective_half_bytes": 0,
            "pass_overhead_seconds": 1e-4, "hop_overhead_seconds": 1e-4, "fixed_memory_bytes": 0,
            "intra_node": link, "inter_node": link}}]}


class Ranks:
    """As much of a plan as processes need to find each other."""

    def __init__(self, count):
        self.plan = single_rank_plan({"hidden_size": 1, "vocab_size": 1, "layers": [
            {"attention": {"kind": "grouped", "heads": 1, "head_dim": 2}, "ffn": {"kind": "gated", "size": 1}}]}, 1)
        self.plan.dp = self.plan.world_size = count


def fastest_of(runs):
    """Of the same measurements, several times: the least seconds of each. A row ends in its measured columns."""
    out = {}
    for what, keys in KEYS.items():
        out[what] = [(*rows[0][:keys], *(min(column) for column in zip(*(row[keys:] for row in rows))))
                     for rows in zip(*(run[what] for run in runs))]
    return out


def profile(model_document, ranks, memory_bytes, rounds=3):
    """The cluster's document."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append(run_ranks(Ranks(ranks).plan, lambda plan, mesh: measure(model_document, mesh), folder))
    best = [fastest_of(of_rank) for of_rank in zip(*found)]
    return cluster_document(read_model(model_document), best, memory_bytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="lcplan.model/1")
    parser.add_argument("-o", "--output", required=True, help="where the cluster is written")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--memory-bytes", type=int, default=4 << 30, help="of each rank")
    words = parser.parse_args()
    with open(words.model, encoding="utf-8") as file:
        model_document = json.load(file)
    if words.ranks < 2 or words.ranks > (os.cpu_count() or 2):
        sys.exit("profile_cpu.py: --ranks is 2 or more and at most the number of cores")
    cluster = profile(model_document, words.ranks, words.memory_bytes, words.rounds)
    with open(words.output, "w", encoding="utf-8") as file:
        json.dump(cluster, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
