#!/usr/bin/env python3
"""Executes a plan on this machine's CPU, one process a rank, and holds it against a run in one process.

    train.py PLAN.json            loss, every gradient and saved bytes are checked; exit status 1 if any is off
    train.py PLAN.json --time N   N iterations in float32, timed
"""
import argparse
import datetime
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

from memory import Predictor, live_elements, planned_activation_bytes
from model import reference_run
from parallel import Mesh
from pipeline import Pipeline
from plan import Unsupported, read_plan
from state import State, local_part

TOLERANCE = 1e-10       # of loss and gradients, relative
MEMORY_TOLERANCE = 0.05
TIMEOUT_SECONDS = 60


class Watch:
    """Holds what the pipeline says it keeps against all tensors of the process, at each operation: the largest share
    that is in memory and not accounted for."""

    def __init__(self, known):
        self.known, self.worst = known, 0.0

    def __call__(self, held, in_transit):
        live = live_elements(self.known + in_transit)
        left = live_elements(self.known + in_transit + [t for t, _ in held])
        if live > 0:
            self.worst = max(self.worst, left / live)


def compare(state, flat_grad, reference):
    """Largest difference of a gradient from the reference, relative to the largest element of that gradient."""
    worst, first = 0.0, 0
    for name, grad in state.grads.items():
        own = flat_grad[first:first + grad.numel()].view(grad.shape)
        first += grad.numel()
        want = local_part(name, reference[name], state.shapes[name][1], state.plan, state.mesh.at.tp)
        error = ((own - want).abs().max() / want.abs().max()).item()
        worst = max(worst, error)
    return worst


def check_rank(plan, mesh, reference_path, audit):
    state = State(plan, mesh, torch.float64)
    watch = Watch([state.flat, state.flat_grad, *state.moments]) if audit else (lambda held, in_transit: None)
    pipeline = Pipeline(plan, mesh, state.parameters, state.grads, torch.float64, watch)
    if audit:  # tables of positions are part of the program, not of the activations
        contexts = [pipeline._context(plan.chunks[n]) for _, n, _ in pipeline.ops]
        watch.known += [t for c in contexts for t in c.rotary]
    loss = mesh.world.all_reduce(torch.tensor([pipeline.run()], dtype=torch.float64)).item()
    reduced = state.reduce_gradients()
    flat_grad = state.whole_gradient(reduced)
    want_loss, want = torch.load(reference_path)
    saved, most = Predictor(plan).replay(mesh.at.dp, mesh.at.pp)
    result = {
        "loss": loss,
        "loss_error": abs(loss - want_loss) / abs(want_loss),
        "gradient_error": compare(state, flat_grad, want),
        "saved_peak_bytes": max(pipeline.saved_bytes),
        "predicted_saved_peak_bytes": max(saved),
        "predicted_peak_bytes": most,
        "unaccounted": watch.worst if audit else None,
        "left_over": len(list(pipeline.stages.values())[0].kept),
    }
    state.update(reduced)
    result["parameters"] = state.flat.abs().sum().item()
    return result


def time_rank(plan, mesh, iterations):
    """Seconds of each iteration, and processor seconds of each of its passes."""
    state = State(plan, mesh, torch.float32)
    pipeline = Pipeline(plan, mesh, state.parameters, state.grads, torch.float32)
    seconds, passes = [], []
    for _ in range(iterations):
        dist.barrier()
        started = time.perf_counter()
        pipeline.run()
        state.update(state.reduce_gradients())
        seconds.append(time.perf_counter() - started)
        passes.append(pipeline.seconds)
    return {"seconds": seconds, "pass_seconds": passes}


def worker(plan, rank, folder, results, job):
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", init_method="file://%s/rendezvous" % folder, rank=rank,
                                world_size=plan.world_size, timeout=datetime.timedelta(seconds=TIMEOUT_SECONDS))
        mesh = Mesh(plan, rank, TIMEOUT_SECONDS)
        results.put((rank, job(plan, mesh)))
        dist.barrier()
        dist.destroy_process_group()
    except Exception:  # whatever it is, the parent must hear of it
        results.put((rank, traceback.format_exc()))


def in_own_process(function, *arguments):
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    return process


def run_ranks(plan, job, folder):
    """One result a rank; raises if a rank fails or falls silent."""
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    processes = [in_own_process(worker, plan, rank, folder, results, job) for rank in range(plan.world_size)]
    found = {}
    try:
        while len(found) < plan.world_size:
            rank, result = results.get(timeout=4 * TIMEOUT_SECONDS)
            if isinstance(result, str):
                raise RuntimeError("rank %d failed:\n%s" % (rank, result))
            found[rank] = result
        for process in processes:
            process.join(TIMEOUT_SECONDS)
    finally:
        for process in processes:
            process.kill()
    return [found[rank] for rank in range(plan.world_size)]


def save_reference(plan, path):
    torch.set_num_threads(1)
    torch.save(reference_run(plan, torch.float64), path)


def check_plan(plan, audit=False):
    """Figures of the whole run, and a list of what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "reference")
        reference = in_own_process(save_reference, plan, path)
        reference.join()
        ranks = run_ranks(plan, lambda p, mesh: check_rank(p, mesh, path, audit), folder)
    return summary(plan, ranks), complaints(plan, ranks)


def summary(plan, ranks):
    return {
        "ranks": len(ranks), "chunks": len(plan.chunks), "loss": ranks[0]["loss"],
        "loss_error": max(r["loss_error"] for r in ranks),
        "gradient_error": max(r["gradient_error"] for r in ranks),
        "memory_error": max(abs(memory_error(r)) for r in ranks),
        "saved_peak_bytes": [r["saved_peak_bytes"] for r in ranks],
        "unaccounted": max((r["unaccounted"] or 0.0) for r in ranks),
    }


def memory_error(result):
    return result["saved_peak_bytes"] / result["predicted_saved_peak_bytes"] - 1


def complaints(plan, ranks):
    found = []
    for rank, r in enumerate(ranks):
        for what in ("loss_error", "gradient_error"):
            if not r[what] <= TOLERANCE:
                found.append("rank %d: %s %.3g is above %g" % (rank, what, r[what], TOLERANCE))
        if (r["unaccounted"] or 0) > 0.01:
            found.append("rank %d: %.3g of the memory in use is not accounted for" % (rank, r["unaccounted"]))
        if r["left_over"]:
            found.append("rank %d: activations of %d chunks are left" % (rank, r["left_over"]))
    for rank, r in enumerate(ranks if plan.predictable() else []):
        if not abs(memory_error(r)) <= MEMORY_TOLERANCE:
            found.append("rank %d: %d bytes saved at the peak, predicted %d" %
                         (rank, r["saved_peak_bytes"], r["predicted_saved_peak_bytes"]))
    # The plan tells of the replica that needs most in all, buffers included.
    for pp in range(0 if plan.rewritten() else plan.pp):
        terms = {r["predicted_peak_bytes"] for i, r in enumerate(ranks) if plan.coordinates(i).pp == pp}
        if planned_activation_bytes(plan, pp) not in terms:
            found.append("pipeline rank %d: the plan says %d bytes of activations at the peak, its terms give %s" %
                         (pp, planned_activation_bytes(plan, pp), sorted(terms)))
    return found


def time_plan(plan, iterations):
    with tempfile.TemporaryDirectory() as folder:
        return run_ranks(plan, lambda p, mesh: time_rank(p, mesh, iterations), folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("--time", type=int, metavar="N", help="time N iterations instead of checking one")
    parser.add_argument("--audit", action="store_true", help="account for all tensors of the process")
    words = parser.parse_args()
    try:
        plan = read_plan(words.plan)
    except Unsupported as reason:
        sys.exit("train.py: %s: %s" % (words.plan, reason))
    if words.time:
        ranks = time_plan(plan, words.time)
        print(json.dumps({"seconds": [max(r["seconds"][i] for r in ranks) for i in range(words.time)]}))
        return
    figures, wrong = check_plan(plan, words.audit)
    print(json.dumps(figures))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
