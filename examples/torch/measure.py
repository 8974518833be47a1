#!/usr/bin/env python3
"""Predicted against measured: profiles this machine, plans two ranks in several ways with what was found, runs each.

    measure.py LCPLAN [--rounds N] [--iterations N] [--cluster CLUSTER.json]

Prints for each plan the predicted iteration and the fastest measured one; the passes of the busiest rank, predicted and
in processor time; and the plan's order replayed with the measured passes, which other processes of the machine disturb
less than wall time. Then whether of two plans the one predicted to be faster is faster; exit status 1 if two that are
predicted to differ by more than the margin come out in the other order when replayed."""
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


def replay(plan, pass_seconds):
    """Makespan of the plan's order with measured passes, by (dp, pp); messages take no time."""
    clocks, ended = {place: 0.0 for place in plan.orders}, {}
    left = {place: list(zip(ops, pass_seconds[place])) for place, ops in plan.orders.items()}
    while any(left.values()):
        for place, queue in left.items():
            while queue:
                (kind, chunk, stage), seconds = queue[0]
                needed = (kind, chunk, stage + (1 if kind == "B" else -1))
                if 0 <= needed[2] < len(plan.stages) and needed not in ended:
                    break
                clocks[place] = max(clocks[place], ended.get(needed, 0.0)) + seconds
                ended[kind, chunk, stage] = clocks[place]
                queue.pop(0)
    return max(clocks.values())


class Timed:
    """A plan with what its runs took."""

    def __init__(self, name, plan):
        self.name, self.plan, self.walls, self.passes = name, plan, [], {}
        said = plan.document["predicted"]
        self.predicted = said["iteration_seconds"]
        self.predicted_busy = max(stage["busy_seconds"] for stage in said["stages"])

    def run(self, iterations):
        """The first iteration warms up."""
        ranks = time_plan(self.plan, iterations + 1)
        self.walls += [max(r["seconds"][i] for r in ranks) for i in range(1, iterations + 1)]
        for number, result in enumerate(ranks):
            at = self.plan.coordinates(number)
            least = [min(column) for column in zip(*result["pass_seconds"][1:])]
            held = self.passes.setdefault((at.dp, at.pp), {}).get(number, least)
            self.passes[at.dp, at.pp][number] = [min(pair) for pair in zip(held, least)]

    def pass_seconds(self):
        """Of the slowest rank that shares the passes of a place."""
        return {place: [max(column) for column in zip(*ranks.values())] for place, ranks in self.passes.items()}

    def busy(self):
        return max(sum(seconds) for seconds in self.pass_seconds().values())

    def replayed(self):
        return replay(self.plan, self.pass_seconds())

    def print(self):
        wall, middle = min(self.walls), statistics.median(self.walls)
        print("%-24s %-19s predicted %5.0f ms, wall %5.0f (median %5.0f), ratio %.2f; passes %5.0f, %5.0f, ratio %.2f; "
              "replayed %5.0f" % (self.name, describe(self.plan), 1e3 * self.predicted, 1e3 * wall, 1e3 * middle,
                                  wall / self.predicted, 1e3 * self.predicted_busy, 1e3 * self.busy(),
                                  self.busy() / self.predicted_busy, 1e3 * self.replayed()))


def time_all(lcplan, cluster, rounds, iterations):
    """Rounds over all plans: other processes of the machine slow some down, and no plan more than the others."""
    timed = [Timed(name, make_plan(lcplan, cluster, options)) for name, options in WAYS]
    for _ in range(rounds):
        for one in timed:
            one.run(iterations)
    for one in timed:
        one.print()
    return timed


def print_ratios(what, ratios):
    print("measured over predicted, %s: %.2f to %.2f, median %.2f" %
          (what, min(ratios), max(ratios), statistics.median(ratios)))


def count_orders(timed, measured):
    """Pairs that are predicted to differ by more than the margin, and those that come out so."""
    found = [(one.predicted, measured(one)) for one in timed]
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
        timed = time_all(words.lcplan, cluster, words.rounds, words.iterations)
    print_ratios("iteration", [min(one.walls) / one.predicted for one in timed])
    print_ratios("passes", [one.busy() / one.predicted_busy for one in timed])
    pairs, right = count_orders(timed, lambda one: min(one.walls))
    _, replayed = count_orders(timed, Timed.replayed)
    print("%d pairs are predicted to differ by more than %.0f %%: in that order by wall time %d, replayed %d" %
          (pairs, 100 * MARGIN, right, replayed))
    print("load of the machine %.1f on %d cores" % (os.getloadavg()[0], os.cpu_count() or 0))
    sys.exit(replayed < pairs)


if __name__ == "__main__":
    main()
