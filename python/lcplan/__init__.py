"""Plans of global batches for data loaders: lcplan's stream behind a few Python calls, with no dependencies.

    with lcplan.Stream("plan.json") as stream:
        batch = stream.plan([8192, 512, 300])       # sequences, chunks, schedule, predicted
        for lengths, batch in lcplan.ahead(stream, batches): ...
"""
from .stream import PlanError, Stream, ahead

__all__ = ["PlanError", "Stream", "ahead"]
