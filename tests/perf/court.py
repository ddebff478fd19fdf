"""One timer for everything that runs on the GPU: configs of tilesweep as their cubins, and what libraries
and other tuners launch. Needs torch; Kernel also h5py (through sweepfile) and xxhash.

Contenders are CUDA graphs of N launches over rotated buffers, at least 1 ms and each buffer set once. The
sets together are three times the L2, so that every launch finds a cold cache. All run once in a round,
each round in a new order behind an untimed lead-in; what is compared are the ratios within a round.
What cannot be a graph is a queue of launches, behind a wait on the device where the host is the slower one.
"""

import ctypes
import math
import random
import statistics
import time

import sweepfile

INTERVAL_US = 1000
CYCLES_PER_US = 2000  # at least, of the clock by which the device waits
SHARED_MEMORY_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TYPES = {int: ctypes.c_int32, float: ctypes.c_float}


def check(result):
    if result != 0:
        raise RuntimeError(f"CUDA driver error {result}")


def find_cubin(cache, key):
    import xxhash

    for path in cache.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        at = data.find(b"\x7fELF")
        if at >= 0 and xxhash.xxh3_128_hexdigest(data[at:]) == key:
            return data[at:]
    raise LookupError(f"no cubin {key} in {cache}")


class Kernel:
    """A config of a cell as the run compiled it, launched by the driver on torch's current stream."""

    def __init__(self, torch, cell, config, cache, entry):
        record = cell.records[cell.followed(config)]
        self.torch, self.cuda = torch, ctypes.CDLL("libcuda.so.1")
        self.grid = [int(record[f"grid_{x}"]) for x in "xyz"]
        self.block = [int(record[f"block_{x}"]) for x in "xyz"]
        self.shared = int(record["dynamic_shared_bytes"])
        data = find_cubin(cache, sweepfile.text(record["cubin_key"]))
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        torch.zeros(1, device="cuda")  # makes torch's context the current one
        check(self.cuda.cuModuleLoadData(ctypes.byref(self.module), data))
        check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, entry.encode()))
        if self.shared > 48 * 1024:
            check(self.cuda.cuFuncSetAttribute(self.function, SHARED_MEMORY_ATTRIBUTE, self.shared))

    def __call__(self, *arguments):
        """Tensors as pointers, ints as i32, floats as f32."""
        values = [TYPES[type(a)](a) if type(a) in TYPES else ctypes.c_uint64(a.data_ptr())
                  for a in arguments]
        params = (ctypes.c_void_p * len(values))(
            *[ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values])
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        check(self.cuda.cuLaunchKernel(self.function, *self.grid, *self.block, self.shared, stream,
                                       params, None))

    def unload(self):
        if self.module:
            check(self.cuda.cuModuleUnload(self.module))
            self.module = None


def count_sets(torch, bytes_each):
    return math.ceil(3 * torch.cuda.get_device_properties(0).L2_cache_size / bytes_each) + 1


class Contender:
    """One launch function as a graph. `launch(*set)` returns its output, or None; it is kept until the
    same set comes round again, so that functions that allocate write to as many buffers as the others.
    `launch.as_queue`, when there is one, says that a graph would make other launches of it, or cannot be;
    `launch.other_result` that what it returns is not what the others return."""

    def __init__(self, torch, name, launch, sets):
        self.torch, self.name, self.launch, self.sets = torch, name, launch, sets
        self.outputs, self.graph, self.error = [None] * len(sets), None, None
        self.hold_us, self.starved = 0, 0
        for _ in range(3):
            launch(*sets[0])
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(5):
            launch(*sets[0])
        end.record()
        torch.cuda.synchronize()
        once_us = begin.elapsed_time(end) * 1e3 / 5
        rounds = max(1, math.ceil(INTERVAL_US / once_us / len(sets)))
        self.launches = rounds * len(sets)
        if not getattr(launch, "as_queue", False):
            self.capture()
        if self.graph is None:
            self.time_host()

    def time_host(self):
        """Whether the host takes so long to launch that the device would wait for it."""
        start = time.perf_counter()
        self.queue()
        host_us = (time.perf_counter() - start) * 1e6
        self.torch.cuda.synchronize()
        device_us = (time.perf_counter() - start) * 1e6
        self.hold_us = 2 * host_us if 2 * host_us > device_us else 0

    def verify(self, error_of, limit):
        """Holds what the timed form of the first set leaves to the right result."""
        output = self.outputs[0] if self.graph is not None else self.launch(*self.sets[0])
        if output is None:
            return
        for tensor in output if isinstance(output, (list, tuple)) else [output]:
            tensor.fill_(math.nan)
        self.run()
        self.torch.cuda.synchronize()
        self.error = error_of(self.outputs[0])
        if not getattr(self.launch, "other_result", False) and not self.error <= limit:
            raise ArithmeticError(f"wrong result, off by {self.error:.2g} of the largest element")

    def queue(self):
        for i in range(self.launches):
            i %= len(self.sets)
            self.outputs[i] = self.launch(*self.sets[i])

    def capture(self):
        graph = self.torch.cuda.CUDAGraph()
        try:
            with self.torch.cuda.graph(graph):
                self.queue()
            self.graph = graph
        except Exception as error:  # a plain queue then, which the table says
            print(f"{self.name}: no graph: {error!r}", flush=True)
        self.torch.cuda.synchronize()

    def run(self):
        if self.graph is not None:
            self.graph.replay()
        else:
            self.queue()

    def run_between(self, begin, end):
        if self.hold_us > 0:
            self.torch.cuda._sleep(int(self.hold_us * CYCLES_PER_US))
        begin.record()
        self.run()
        self.starved += self.hold_us > 0 and begin.query()
        end.record()

    def release(self):
        """Graphs must go before the modules and pools that they use, and all of it before the
        interpreter ends."""
        self.torch.cuda.synchronize()
        if self.graph is not None:
            self.graph.reset()
        self.graph, self.launch, self.sets, self.outputs = None, None, [], []


def race(torch, contenders, rounds, seed=1):
    """{name: [us per launch, by round]}"""
    rng = random.Random(seed)
    times = {c.name: [] for c in contenders}
    for number in range(rounds + 2):
        order = rng.sample(contenders, len(contenders))
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in order]
        order[-1].run()
        for contender, (begin, end) in zip(order, events):
            contender.run_between(begin, end)
        torch.cuda.synchronize()
        for contender, (begin, end) in zip(order, events):
            if number >= 2:
                times[contender.name].append(begin.elapsed_time(end) * 1e3 / contender.launches)
    return times


def median_interval(values):
    """(median, low, high): the 95 % interval of the median by order statistics."""
    values = sorted(values)
    half = 0.98 * math.sqrt(len(values))
    low = max(0, math.floor(len(values) / 2 - half))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + half))
    return statistics.median(values), values[low], values[high]


def ratio(times, name, base):
    """Median and interval of time(base) / time(name) over the rounds: above 1, name is faster."""
    return median_interval([b / a for a, b in zip(times[name], times[base])])


def hold_court(torch, makers, sets, rounds, error_of=None, limit=math.inf):
    """({name: facts}, {name: why it is left out}, times). `makers`: {name: function without arguments that makes
    a launch function}. What cannot be made or run, or is off by more than `limit`, is told and left out."""
    contenders, notes = [], {}
    try:
        for name, make in makers.items():
            try:
                contenders.append(Contender(torch, name, make(), sets))
                if error_of is not None:
                    contenders[-1].verify(error_of, limit)
            except Exception as error:
                notes[name] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
                print(f"  {name} is left out: {notes[name]}", flush=True)
        fit = [c for c in contenders if c.name not in notes]
        times = race(torch, fit, rounds) if fit else {}
        facts = {c.name: {"launches": c.launches, "graph": c.graph is not None, "error": c.error,
                          "starved_rounds": c.starved} for c in fit}
    finally:
        for contender in contenders:
            contender.release()
    return facts, notes, times
