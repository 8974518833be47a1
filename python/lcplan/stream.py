import ctypes
import ctypes.util
import json
import os
import threading

_STATUS_OK = 0


class _Error(ctypes.Structure):
    """lcp_error of lcp/status.h."""
    _fields_ = [("status", ctypes.c_int), ("where", ctypes.c_char * 512), ("text", ctypes.c_char * 1024)]

    def message(self):
        return ": ".join(part.decode("utf-8", "replace") for part in (self.where, self.text) if part)


class PlanError(Exception):
    """A base plan that cannot be used, or a batch that cannot be planned; `status` is an exit status of lcplan."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def _load(path):
    """The shared library: the path given, else $LCPLAN_LIBRARY, else where the system looks."""
    path = path or os.environ.get("LCPLAN_LIBRARY") or ctypes.util.find_library("lcplan") or "liblcplan.so"
    library = ctypes.CDLL(path)
    stream, text, error = ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_Error)
    numbers = ctypes.POINTER(ctypes.c_int64)
    library.lcp_stream_open.argtypes = [ctypes.POINTER(stream), ctypes.c_char_p, ctypes.c_size_t, error]
    library.lcp_stream_plan.argtypes = [ctypes.POINTER(text), stream, numbers, ctypes.c_int64, error]
    library.lcp_stream_free.argtypes = [text]
    library.lcp_stream_free.restype = None
    library.lcp_stream_close.argtypes = [stream]
    library.lcp_stream_close.restype = None
    return library


class Stream:
    """A base plan, and plans of batches under its mesh and layers. A lock lets threads share one stream; other threads
    of the interpreter run while a batch is planned."""

    def __init__(self, plan, library=None):
        """plan: path of a plan, or its document as bytes or as a dictionary."""
        if isinstance(plan, dict):
            text = json.dumps(plan).encode()
        elif isinstance(plan, bytes):
            text = plan
        else:
            with open(plan, "rb") as file:
                text = file.read()
        self._library, self._lock = _load(library), threading.Lock()
        self._stream, error = ctypes.c_void_p(), _Error()
        status = self._library.lcp_stream_open(ctypes.byref(self._stream), text, len(text), ctypes.byref(error))
        if status != _STATUS_OK:
            raise PlanError(status, error.message())

    def plan_text(self, lengths):
        """The plan of a batch as one line of JSON."""
        array = (ctypes.c_int64 * len(lengths))(*lengths)
        text, error = ctypes.c_void_p(), _Error()
        with self._lock:
            if not self._stream:
                raise ValueError("the stream is closed")
            status = self._library.lcp_stream_plan(ctypes.byref(text), self._stream, array, len(lengths),
                                                   ctypes.byref(error))
        if status != _STATUS_OK:
            raise PlanError(status, error.message())
        try:
            return ctypes.string_at(text).decode()
        finally:
            self._library.lcp_stream_free(text)

    def plan(self, lengths):
        """The plan of a batch: a dictionary of sequences, chunks, schedule and predicted, as in lcplan.plan/1."""
        return json.loads(self.plan_text(lengths))

    def close(self):
        with self._lock:
            self._library.lcp_stream_close(self._stream)
            self._stream = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def ahead(stream, batches):
    """(lengths, plan) of each batch, in order; while one is used, the next is taken and planned in a thread. An error
    of a batch, or of taking it, is raised in its turn."""
    source = iter(batches)

    def prepare(box):
        try:
            lengths = next(source)
            box.append((lengths, stream.plan(lengths)))
        except StopIteration:
            box.append(None)
        except Exception as error:  # handed over to the thread that waits for the batch
            box.append(error)

    def start():
        box = []
        thread = threading.Thread(target=prepare, args=(box,), daemon=True)
        thread.start()
        return thread, box

    thread, box = start()
    while True:
        thread.join()
        found = box[0]
        if found is None:
            return
        if isinstance(found, Exception):
            raise found
        thread, box = start()
        yield found
