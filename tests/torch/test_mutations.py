"""test_mutations.py TRAINER_DIR LCPLAN: the trainer's checks find what is wrong, and a stuck order ends in time."""
import sys

sys.path.insert(0, sys.argv[1])
try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: python3 has no torch")
    sys.exit(77)

import check_plans
import layer
import train
from plan import Plan, Unsupported

case = check_plans.Case("a small pipeline", "--pp 2 --dp 1 --tp 1 --recompute full", "cluster_of_two.json")


def check(change=None):
    document = check_plans.make_plan(sys.argv[2], case)
    if change:
        change(document)
    return train.check_plan(Plan(document), audit=True)[1]


def found(complaints, word):
    assert any(word in c for c in complaints), (word, complaints)


assert check() == []


def recomputes_less(document):  # more is kept than the prediction says
    for chunk in document["chunks"]:
        chunk["recompute"] = chunk["recompute"][:1]


found(check(recomputes_less), "the plan says")

norm_backward = layer.norm_backward
layer.norm_backward = lambda x, weight, grad, weight_grad: norm_backward(x, weight, grad, weight_grad) * (1 + 1e-8)
found(check(), "gradient_error")
layer.norm_backward = norm_backward

layer.KEPT["full"] = ("x", "x2")
found(check(), "saved at the peak")
layer.KEPT["full"] = ("x",)

hidden, forward = [], layer.Layer.forward


def hoards(self, x, *rest):
    hidden.append(x)
    return forward(self, x, *rest)


layer.Layer.forward = hoards
found(check(), "not accounted for")
layer.Layer.forward = forward

train.TIMEOUT_SECONDS = 5


def stuck(document):  # the first rank waits for a gradient that depends on a pass it has not run
    ops = document["schedule"]["pipelines"][0]["ranks"][0]["ops"]
    first = next(i for i, op in enumerate(ops) if op[0] == "B")
    ops.insert(0, ops.pop(first))


try:
    check(stuck)
except RuntimeError as error:
    print(str(error).splitlines()[0])
else:
    raise AssertionError("a stuck order passed")

for key, value in (("ep", 2), ("zero_stage", 3), ("ring_method", "all-gather")):
    document = check_plans.make_plan(sys.argv[2], case)
    document["parallelism"][key] = value
    try:
        Plan(document)
    except Unsupported:
        pass
    else:
        raise AssertionError("%s %s was accepted" % (key, value))
print("ok")
