"""test_module.py LIBRARY LCPLAN BASE_PLAN: the Python module gives what the command gives."""
import json
import subprocess
import sys
import threading
import time

import lcplan

library, program, base = sys.argv[1:]
batches = [[9000, 500, 300, 20000], [700, 80], [4000] * 40, list(range(100, 8000, 50))]
lines = "".join(json.dumps(b) + "\n" for b in batches)
answers = subprocess.run([program, "stream", base], input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout
expected = answers.splitlines()

with lcplan.Stream(base, library) as stream:
    assert [stream.plan_text(b) for b in batches] == expected
    sequences = stream.plan(batches[1])["sequences"]
    assert sequences == [{"sequence": 0, "length_tokens": 700}, {"sequence": 1, "length_tokens": 80}]
    found = list(lcplan.ahead(stream, batches))
    assert [lengths for lengths, _ in found] == batches
    assert [plan for _, plan in found] == [json.loads(line) for line in expected]
    for bad, words in (([], "found 0 lengths"), ([5, 0], "[1]: found 0"), ([2**31 - 1] * 4, "does not fit")):
        try:
            stream.plan(bad)
        except lcplan.PlanError as error:
            assert words in str(error), error
        else:
            raise AssertionError("%s was planned" % bad)
    try:
        for lengths, _ in lcplan.ahead(stream, [batches[0], [0, 1]]):
            assert lengths == batches[0]
    except lcplan.PlanError:
        pass
    else:
        raise AssertionError("the bad batch was passed over")
    # A thread that plans does not hold up the others.
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.0005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    for _ in range(20):
        stream.plan_text(batches[3])
    done.set()
    ticker.join()
    assert len(ticks) > 20

with open(base, "rb") as file:
    text = file.read()
with lcplan.Stream(text, library) as stream:
    assert stream.plan_text(batches[0]) == expected[0]
with lcplan.Stream(json.loads(text), library) as stream:
    assert stream.plan_text(batches[0]) == expected[0]
try:
    stream.plan(batches[0])
except ValueError:
    pass
else:
    raise AssertionError("a closed stream plans")
try:
    lcplan.Stream(b"{}", library)
except lcplan.PlanError as error:
    assert error.status == 3, error.status
else:
    raise AssertionError("an empty document is a plan")
print("ok")
