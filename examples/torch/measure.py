#!/usr/bin/env python3
"""Predicted against measured: profiles this machine, plans two ranks in several ways with what was found, runs each.

    measure.py LCPLAN [--rounds N] [--iterations N] [--cluster CLUSTER.json]

Prints for each plan the predicted and the measured iteration, the same for the passes of the busiest rank in processor
time, and whether of two plans the one predicted to be faster is faster. Exit status 1 if two plans that are predicted to
differ by more than the margin come out in the other order."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from plan import Plan
from profile_cpu import profile
from train import time_plan

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "inputs", "timed_model.json")
WORKLOAD = os.path.join(HERE, "inputs", "timed_workload.json")
RANKS = 2
MARGIN = 0.25  # plans that are predicted to differ by less are not compared

WAYS = [
    ("free", ""),
    ("replicas", "--dp 2"),
    ("pipeline", "--pp 2"),
    ("pipeline, few chunks", "--pp 2 --no-slicing --min-slice-tokens 2048"),
    ("pipeline, all recomputed", "--pp 2 --recompute full"),
    ("replicas, all recomputed", "--dp 2 --recompute full"),
    ("tensor", "--tp 2"),
    ("ulysses", "--ulysses 2"),
    ("ring", "--ring 2"),
]


def make_plan(lcplan, cluster, options):
    words = [lcplan, "plan", "--model", MODEL, "--cluster", cluster, "--workload", WORKLOAD, "--precision", "fp32",
             "--dp-overlap", "0", "--zero", "1", "--quiet", *options.split()]
    if "--min-slice-tokens" not in options:
        words += ["--min-slice-tokens", "256"]
    return Plan(json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, timeout=120).stdout))


def describe(plan):
    degrees = {name: getattr(plan, name) for name in ("dp", "pp", "tp", "ulysses", "ring")}
    return " ".join("%s %d" % item for item in degrees.items() if item[1] > 1) + ", %d chunks" % len(plan.chunks)


def print_device(device):
    peak, link = device["peak_flops_per_second"] / 2e9, device["intra_node"]
    rates = [peak * device[kind]["ratio"] for kind in ("matmul", "attention_forward", "attention_backward")]
    wire = link["bandwidth_bytes_per_second"] / 1e9
    print("products %.1f GFLOP/s, attention %.1f forward, %.1f backward" % tuple(rates))
    print("memory %.1f GB/s, messages %.2f GB/s, exchanges %.2f GB/s and %.0f us" %
          (device["memory_bandwidth_bytes_per_second"] / 1e9, wire, wire * device["collective_ratio"],
           1e6 * link["latency_seconds"]))


def time_once(plan, iterations):
    """Seconds of each iteration but the first, which warms up; processor seconds of the busiest rank's passes."""
    ranks = time_plan(plan, iterations + 1)
    kinds = ("seconds", "busy_seconds")
    return [tuple(max(r[kind][i] for r in ranks) for kind in kinds) for i in range(1, iterations + 1)]


def time_all(lcplan, cluster, rounds, iterations):
    """(predicted, measured) of each way. Rounds over all plans, the fastest iteration of each: other processes of the
    machine slow some down, and no plan more than the others."""
    plans = [make_plan(lcplan, cluster, options) for _, options in WAYS]
    seconds = [[] for _ in plans]
    for _ in range(rounds):
        for own, plan in zip(seconds, plans):
            own += time_once(plan, iterations)
    found = []
    for (name, _), plan, own in zip(WAYS, plans, seconds):
        said = plan.document["predicted"]
        predicted, busy_predicted = said["iteration_seconds"], max(s["busy_seconds"] for s in said["stages"])
        walls, busy = [wall for wall, _ in own], min(busy for _, busy in own)
        milliseconds = [1e3 * s for s in (predicted, min(walls), statistics.median(walls))]
        print("%-25s %-21s predicted %6.0f ms, measured %6.0f (median %6.0f), ratio %.2f; " %
              (name, describe(plan), *milliseconds, min(walls) / predicted), end="")
        print("passes %6.0f, %6.0f, ratio %.2f" % (1e3 * busy_predicted, 1e3 * busy, busy / busy_predicted))
        found.append((predicted, min(walls)))
    return found


def compare_orders(found):
    """Pairs beyond the margin, and those whose order is measured as predicted."""
    pairs = [(a, b) for i, a in enumerate(found) for b in found[i + 1:] if abs(a[0] - b[0]) > MARGIN * min(a[0], b[0])]
    return len(pairs), sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lcplan", help="the program lcplan")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=3, help="of each plan in a round")
    parser.add_argument("--cluster", help="a profile made before; else the machine is profiled")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = words.cluster
        if not cluster:
            cluster = os.path.join(folder, "cluster.json")
            with open(MODEL, encoding="utf-8") as file:
                document = profile(json.load(file), RANKS, 4 << 30)
            with open(cluster, "w", encoding="utf-8") as file:
                json.dump(document, file)
            print_device(document["groups"][0]["device"])
            sys.stdout.flush()
        found = time_all(words.lcplan, cluster, words.rounds, words.iterations)
    ratios = [measured / predicted for predicted, measured in found]
    compared, right = compare_orders(found)
    print("measured over predicted: %.2f to %.2f, median %.2f" % (min(ratios), max(ratios), statistics.median(ratios)))
    print("%d pairs of plans are predicted to differ by more than %.0f %%; %d come out in that order" %
          (compared, 100 * MARGIN, right))
    sys.exit(right < compared)


if __name__ == "__main__":
    main()
