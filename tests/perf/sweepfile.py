"""A sweep of tilesweep as plain Python, for the programs here. Needs h5py."""

import math
import statistics

import h5py

DECIDE = ("round", "final")
MEASURING = ("reference", "verify", "wave")
USES = MEASURING + ("idle", "wait", "allocate", "fill", "load", "graph", "clock", "other")


class Cell:
    """One cell of a run: its configs by canonical text, and what the run did with it."""

    def __init__(self, pack, variant, shape, row):
        self.pack, self.variant, self.shape = pack, variant, shape
        self.busy_ns = int(row["busy_ns"])
        self.begin_ns = int(row["start_wall_ns"])
        self.end_ns = self.begin_ns + int(row["wall_ns"])
        self.usage = {use: int(row[f"{use}_ns"]) for use in USES if f"{use}_ns" in row.dtype.names}
        self.pick_index = int(row["pick"]) if "pick" in row.dtype.names else -1
        self.outcomes = {}  # text: outcome
        self.indices = {}  # text: config_index
        self.records = {}  # text: the row of /records
        self.samples = {}  # text: [(stage, round, slot, ns per launch)]
        self.energy = {}  # text: [{mj, ns per launch, watts}] of its blocks
        self.rounds_ns = 0  # duration of all rounds, warm-up too
        self.first_ns = 0  # of the launches that verification needs, as far as the race looks at them
        self.interval_ns = 0  # of all samples

    @property
    def name(self):
        return f"{self.pack} {self.variant} {self.shape}"

    def series(self, config, stages=DECIDE):
        """ns per launch by (stage, round)."""
        return {(s, r): ns for s, r, _, ns in self.samples[config] if s in stages}

    def median(self, config):
        series = self.series(config)
        if not series:
            series = {i: ns for i, (_, _, _, ns) in enumerate(self.samples[config])}
        return statistics.median(series.values()) if series else float("inf")

    def paired(self, config, other):
        """log(config / other) of each round that both have."""
        a, b = self.series(config), self.series(other)
        return [math.log(a[key] / b[key]) for key in a if key in b]

    def best(self):
        """The config that loses to no other in pairs, starting from the lowest median."""
        best = self.timed()[0]
        for config in self.timed():
            logs = self.paired(config, best)
            if logs and statistics.median(logs) < 0:
                best = config
        return best

    def timed(self):
        """Texts of the configs that were timed to the end, fastest first."""
        usable = [c for c, o in self.outcomes.items() if o == "ok" and self.series(c)]
        return sorted(usable, key=self.median)

    def pick(self):
        """What the protocol chose, else the lowest median."""
        for config, index in self.indices.items():
            if index == self.pick_index:
                return config
        timed = self.timed()
        return timed[0] if timed else None

    def followed(self, config):
        """The config, or the one that was timed in its place, since both are the same launch."""
        if self.outcomes.get(config) == "alias":
            target = int(self.records[config]["alias_of"])
            return next(c for c, index in self.indices.items() if index == target)
        return config

    def find(self, knobs):
        """Canonical text of the config with these values; None: it is not here."""
        for config in self.outcomes:
            if dict(word.split("=") for word in config.split()) == {k: str(v) for k, v in knobs.items()}:
                return config
        return None

    def sample_count(self):
        return sum(1 for samples in self.samples.values() for sample in samples if sample[0] != "verify")

    def measured_count(self):
        return sum(1 for samples in self.samples.values() if samples)


def interval(values):
    """Interval of the median that covers 95 %, by order statistics; below 6 values their range; None: one value."""
    values, count = sorted(values), len(values)
    if count < 2:
        return None
    rank, below = 0, 2.0 ** -count  # the chance that at most `rank` of them lie below the median
    while 2 * (below + math.comb(count, rank + 1) * 2.0 ** -count) <= 0.05:
        rank += 1
        below += math.comb(count, rank) * 2.0 ** -count
    return values[rank], values[count - 1 - rank]


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def names(dataset, attribute):
    return [text(name) for name in dataset.attrs[attribute]]


def energy_of(columns, begin, end):
    """The blocks of stage energy among these samples; columns: stage names, mJ, ns, launches, of all of them."""
    if columns is None:
        return []
    return [{"mj": float(mj) / int(launches), "ns": float(ns) / int(launches), "watts": 1e6 * float(mj) / float(ns)}
            for stage, mj, ns, launches in zip(*(column[begin:end] for column in columns)) if stage == "energy"]


def read(path):
    """All cells of a sweep.h5."""
    with h5py.File(path, "r") as sweep:
        kernels, shapes, configs = (sweep[n][:] for n in ("kernels", "shapes", "configs"))
        records, outcome_names = sweep["records"][:], names(sweep["records"], "outcome_names")
        samples = sweep["samples"]
        stage_names = names(samples["stage"], "stage_names")
        interval, rounds = samples["interval_ns"][:], samples["round"][:]
        stage, slot, launches = samples["stage"][:], samples["slot"][:], samples["launches"][:]
        energy = None  # files of before it have none
        if "energy_mj" in samples:
            energy = ([stage_names[i] for i in stage], samples["energy_mj"][:], interval, launches)
        cells = []
        for row in sweep["cells"][:]:
            kernel = kernels[row["kernel"]]
            cell = Cell(text(kernel["pack"]), text(kernel["variant"]),
                        text(shapes[row["shape"]]["shape"]), row)
            first = int(row["first_record"])
            for record in records[first:first + int(row["n_records"])]:
                config = text(configs[record["config"]]["config"])
                begin = int(record["first_sample"])
                cell.outcomes[config] = outcome_names[record["outcome"]]
                cell.indices[config] = int(record["config_index"])
                cell.records[config] = record
                cell.samples[config] = [
                    (stage_names[stage[i]], int(rounds[i]), int(slot[i]),
                     float(interval[i]) / max(int(launches[i]), 1))
                    for i in range(begin, begin + int(record["n_samples"]))]
                cell.energy[config] = energy_of(energy, begin, begin + int(record["n_samples"]))
                cell.interval_ns += sum(int(interval[i]) for i in range(begin, begin + int(record["n_samples"])))
            first = int(row["first_round"])
            for done in sweep["rounds"][first:first + int(row["n_rounds"])]:
                if stage_names[done["stage"]] == "verify":
                    cell.first_ns += int(done["duration_ns"])
                else:
                    cell.rounds_ns += int(done["duration_ns"])
            cells.append(cell)
    return cells
