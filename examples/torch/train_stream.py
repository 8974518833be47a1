#!/usr/bin/env python3
"""Trains on a stream of batches: the chunks, recompute and order of the next batch are planned in a thread while the
current one trains.

    train_stream.py BASE_PLAN [--batches N] [--check]

The base plan comes from `lcplan plan` and is for inputs/; the Python module lcplan and its library must be found
(PYTHONPATH=python LCPLAN_LIBRARY=build/release/liblcplan.so). --check holds the first batch of the stream against the
run in one process."""
import argparse
import json
import random
import sys
import tempfile
import time

import torch
import torch.distributed as dist

import lcplan
from pipeline import Pipeline
from plan import Plan, read_plan
from state import State
from train import check_plan, run_ranks


def draw_batches(count, seed):
    """Lengths with a long tail."""
    source = random.Random(seed)
    for _ in range(count):
        yield [min(512, 16 + int(source.paretovariate(1.1) * 20)) for _ in range(source.randint(8, 14))]


def with_batch(document, batch):
    """The base plan with another batch in it."""
    return {**document, **{part: batch[part] for part in ("sequences", "chunks", "schedule", "predicted")}}


def share(text):
    """A text of rank 0 on every rank."""
    box = [text]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def plan_source(base, document, count):
    """On rank 0: the plans of the batches, one ahead. On the others nothing; they are told."""
    if dist.get_rank() > 0:
        return
    with lcplan.Stream(base) as stream:
        for _, batch in lcplan.ahead(stream, draw_batches(count, seed=1)):
            yield json.dumps(with_batch(document, batch))


def train(base, count):
    def job(plan, mesh):
        state, rows = State(plan, mesh, torch.float32), []
        plans = plan_source(base, plan.document, count)
        for _ in range(count):
            started = time.perf_counter()
            text = share(next(plans, None))
            waited = time.perf_counter() - started
            batch = Plan(json.loads(text))
            pipeline = Pipeline(batch, mesh, state.parameters, state.grads, torch.float32)
            loss = mesh.world.all_reduce(torch.tensor([pipeline.run()])).item()
            state.update(state.reduce_gradients())
            rows.append((loss, batch.total_tokens, len(batch.chunks), waited, time.perf_counter() - started))
        return rows

    with tempfile.TemporaryDirectory() as folder:
        return run_ranks(read_plan(base), job, folder)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--check", action="store_true")
    words = parser.parse_args()
    if words.check:
        with lcplan.Stream(words.base) as stream:
            batch = stream.plan(next(draw_batches(1, seed=1)))
        figures, wrong = check_plan(Plan(with_batch(read_plan(words.base).document, batch)))
        print("first batch: loss %.1e, gradients %.1e, memory %+.2f %%" %
              (figures["loss_error"], figures["gradient_error"], 100 * figures["memory_error"]))
        if wrong:
            sys.exit("\n".join(wrong))
    for number, (loss, tokens, chunks, waited, seconds) in enumerate(train(words.base, words.batches)):
        print("batch %d: %5d tokens in %d chunks, loss %.4f, %.3f s, of which %.3f s waiting for the plan" %
              (number, tokens, chunks, loss, seconds, waited))


if __name__ == "__main__":
    main()
