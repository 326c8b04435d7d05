# SPDX-License-Identifier: BSD-3-Clause
"""
What the comparisons with PyTorch share (tests/peers/*_torch): both sides by turns, and the table.

A script says which cases there are, and what a rank of PyTorch does for each. In a turn each case
runs once on our side, as a program of this suite, and once on PyTorch's side; every second turn
has the opposite order. PyTorch's processes are started anew for each turn, since a start is what
varies most, or once with --keep, which is quicker. A side that fails is left out of further turns.

Both sides measure alike: a step and its computing alone follow each other, each from a common
begin, on the host's clock, and of ranks the longest counts. Only ddp_torch's backward, a part of
PyTorch's step, is on GPUs the time between two CUDA events. Exposed time is the median of the
differences with its 95% interval.
"""
import argparse
import collections
import csv
import json
import os
import queue
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

from lib_torch_rank import Failure, serve

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FEWEST_TURNS = 6  # for an interval by ranks

# label: of the rows. program, options: our side. modes: {algorithm: what a rank of PyTorch is asked
# for}. measures: {label: (measure, part)}, measure one of MEASURES, part of PyTorch's answer.
# kept: the part with the same work as our row, which --csv keeps.
Case = collections.namedtuple("Case", "label program options modes measures kept",
                              defaults=["step"])

# Columns of our rows: the value, and the ends of its interval.
MEASURES = {
    "step": ("median_us", "median_low_us", "median_high_us"),
    "exposed": ("exposed_us", "exposed_low_us", "exposed_high_us"),
    "computing": ("compute_us", None, None),
}
ALL = {name: (name, "step") for name in MEASURES}


# What both sides amount to.

def interval(values):
    """That of the median, by ranks: as far from the ends as 2.5% each allow. None: too few."""
    values, n = sorted(values), len(values)
    k, term = 0, 0.5 ** n
    share = term
    while share <= 0.025 and k < n:
        k += 1
        term *= (n - k + 1) / k
        share += term
    return (values[k - 1], values[n - k]) if k else None


def of_peer(answers, measure, part):
    """Milliseconds of each repetition on PyTorch's side. Of ranks the longest counts."""
    step, alone = ([max(at) for at in zip(*(a[f"{side}{part}_ms"] for a in answers))]
                   for side in ("", "compute_"))
    return {"step": step, "computing": alone,
            "exposed": [a - b for a, b in zip(step, alone)]}[measure]


def middle(values):
    """Median, least and greatest of its interval."""
    return (statistics.median(values),) + (interval(values) or (None, None))


def of_row(row, measure):
    """The same of one of our rows."""
    return tuple(float(row[name]) / 1e3 if name and row[name] else None
                 for name in MEASURES[measure])


def bounds(ours, theirs):
    """The quotient of two (median, least, greatest); None: theirs may be nothing."""
    if None in ours or None in theirs or theirs[1] <= 0:
        return None
    corners = [a / b for a in ours[1:] for b in theirs[1:]]
    return min(corners), max(corners)


def report(cases, turns):
    """Prints the table of [{(label of row): (ours, theirs)}, one of each turn]."""
    def text(span):
        return "-" if span is None or None in span else f"{span[0]:.3f}..{span[1]:.3f}"

    def over_turns(times):
        return statistics.median(t[0] for t in times)

    rows = list(dict.fromkeys(row for turn in turns for row in turn))
    width = max([14] + [len(row) for row in rows])
    exposed = all(m == "exposed" for case in cases for m, _ in case.measures.values())
    print(f"{'exposed' if exposed else '':{width}} {'ours ms':>9} {'PyTorch ms':>11} "
          f"{'quotient':>9}  95% interval")
    for row in rows:
        pairs = [turn[row] for turn in turns if row in turn]
        quotients = [ours[0] / theirs[0] for ours, theirs in pairs if theirs[0] > 0]
        spans = [bounds(*pair) for pair in pairs]
        if len(quotients) < len(pairs):
            quotient, span = "-", None
        elif len(pairs) >= FEWEST_TURNS:
            quotient, span = f"{statistics.median(quotients):.3f}", interval(quotients)
        else:
            quotient = f"{statistics.median(quotients):.3f}"
            span = None if None in spans else (min(s[0] for s in spans), max(s[1] for s in spans))
        print(f"{row:{width}} {over_turns(p[0] for p in pairs):9.3f} "
              f"{over_turns(p[1] for p in pairs):11.3f} {quotient:>9}  {text(span)}", flush=True)


def keep(folder, row, algorithm, facts, answers, part):
    """
    Appends PyTorch's row to our program's file: a library's row with the same operation, size and
    variant, so that tools show both sides in one table. Its times are those of `part`.
    """
    names = list(row)
    mine = dict.fromkeys(names, "")
    mine.update({name: row[name] for name in names[:names.index("status")]})
    times = [1e3 * ms for ms in of_peer(answers, "step", part)]
    exposed = [1e3 * ms for ms in of_peer(answers, "exposed", part)]
    median, exposed_median = middle(times), middle(exposed)
    put = {"engine": "torch", "algorithm": "library", "protocol": algorithm,
           "transport": "library", "status": "ok", "stop": "nmax", "samples": len(times),
           "min_us": min(times), "max_us": max(times), "outliers": 0, "errors": 0, "channels": 0,
           "path": f"PyTorch {facts['torch']}, NCCL {facts['nccl']}",
           "compute_us": 1e3 * statistics.median(of_peer(answers, "computing", part))}
    put.update(zip(MEASURES["step"], median))
    put.update(zip(MEASURES["exposed"], exposed_median))
    mine.update({name: "" if value is None else f"{value:.4f}" if isinstance(value, float)
                 else str(value) for name, value in put.items()})
    with open(os.path.join(folder, f"{row['program']}.csv"), "a", newline="") as file:
        csv.DictWriter(file, names, lineterminator="\n").writerow(mine)


# Both sides by turns.

class Job:
    """Everything that was started, and its end."""

    def __init__(self, limit):
        self.running, self.what, self.over, self.limit = [], "start", None, limit
        self.timer = threading.Timer(limit, self.expire)
        self.timer.daemon = True
        self.timer.start()
        signal.signal(signal.SIGTERM, self.stop)

    def start(self, command, **more):
        process = subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True,
                                   stdout=subprocess.PIPE, **more)
        self.running.append(process)
        return process

    def expire(self):
        self.over = Failure(f"{self.what} took longer than --limit {self.limit:g} s allows", 5)
        self.end(0)

    def stop(self, number, _):
        self.over = Failure(f"{signal.Signals(number).name} ended {self.what}", 128 + number)
        raise self.over

    def end(self, grace):
        """scripts/launch ends its ranks when it is told to; PyTorch's end with their input."""
        for process in self.running:
            if process.stdin:
                try:
                    process.stdin.close()
                except OSError:
                    pass  # it has ended, with a line that it did not read
        for sign, wait in ((None, grace), (signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            until = time.monotonic() + wait
            for process in self.running:
                try:
                    if sign is not None and process.poll() is None:
                        os.killpg(process.pid, sign)
                    process.wait(max(0, until - time.monotonic()))
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass
        if not self.over:
            self.running = []


class Peers:
    """PyTorch's ranks. `lines` has what they print, (rank, line), with None at a rank's end."""

    def __init__(self, job, args, name):
        self.job, self.name, self.lines = job, name, queue.SimpleQueue()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.processes = []
        for rank in range(args.ranks):
            where = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(args.ranks),
                         LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                         TORCH_SYMM_MEM_DISABLE_MULTICAST="1", TORCH_SYMMMEM="CUDA")
            self.processes.append(job.start(
                [args.python, os.path.abspath(sys.argv[0]), *sys.argv[1:], "--worker"],
                stdin=subprocess.PIPE, env=where))
            threading.Thread(target=self.read, args=(rank, self.processes[-1].stdout),
                             daemon=True).start()
        job.what = "its start"
        self.facts = self.answers()[0]

    def read(self, rank, output):
        for line in output:
            self.lines.put((rank, line))
        self.lines.put((rank, None))

    def answers(self):
        """An answer of each rank. The first that fails ends it, as the others may wait for it."""
        said = {}
        while len(said) < len(self.processes):
            rank, line = self.lines.get()
            if line is None:
                raise Failure(f"PyTorch's process ended while it was asked for {self.job.what}", 5)
            if line.startswith("{"):  # other libraries may print other lines
                said[rank] = json.loads(line)
                if "skip" in said[rank]:
                    raise Failure(f"SKIP {self.name}: {said[rank]['skip']}", 77)
                if "failed" in said[rank]:
                    raise Failure(f"{self.job.what}: {said[rank]['failed']}", 5)
        return [said[rank] for rank in sorted(said)]

    def ask(self, mode):
        self.job.what = f"PyTorch's {mode}"
        for process in self.processes:
            try:
                print(mode, file=process.stdin, flush=True)
            except OSError:
                raise Failure(f"PyTorch's process ended before it was asked for {mode}",
                              5) from None
        return self.answers()


def ours(job, args, case, number):
    """Our row of a case."""
    gpu = args.device == "gpu"
    command = [os.path.join(ROOT, "scripts/launch"), str(args.ranks),
               os.path.join(args.build, "bin", case.program),
               "--datatype", "bf16" if gpu else "f32", "--engine",
               args.engine or ("auto" if gpu else "host"), "--quiet", *map(str, case.options)]
    if args.csv:
        command += ["--csv", args.csv, "--launch-index", str(number)]
    job.what = f"our {case.label}"
    process = job.start(command + shlex.split(args.options), stdin=subprocess.DEVNULL)
    said = process.stdout.read()
    if process.wait() != 0:
        raise Failure(f"{shlex.join(process.args)} ended with {process.returncode}", 5)
    job.running.remove(process)
    if args.csv:
        with open(os.path.join(args.csv, f"{case.program}.csv"), newline="") as file:
            rows = list(csv.DictReader(file))[-1:]
    else:
        rows = list(csv.DictReader(said.splitlines()))
    if len(rows) != 1 or not rows[0]["exposed_us"]:
        why = "; ".join(f"{row['status']}: {row['reason']}" for row in rows)
        raise Failure(f"{shlex.join(process.args)} gave {len(rows)} rows, 1 measured row was "
                      f"expected ({why})", 5)
    return rows[0]


class Comparison:
    """All turns, and what failed in them: it is not tried again, and the rest goes on."""

    def __init__(self, job, args, name):
        self.job, self.args, self.name = job, args, name
        self.peers, self.failed = None, set()

    def start(self):
        self.peers = self.peers or Peers(self.job, self.args, self.name)
        return self.peers

    def lost(self, case, algorithm, failure):
        """PyTorch's ranks are in no known state then, and the next case has new ones."""
        if self.job.over:
            raise failure
        print(f"tests/peers/{self.name}: {failure.args[0]}", file=sys.stderr, flush=True)
        self.failed.add((case.label, algorithm))
        self.job.end(0)
        self.peers = None

    def turn(self, cases, number, found):
        """Adds {label of row: (ours, theirs)} of one turn to `found`."""
        for case in cases:
            answers, row = {}, None
            sides = [s for s in (None, *case.modes) if (case.label, s) not in self.failed]
            if None not in sides or len(sides) == 1:
                continue
            for algorithm in (sides, sides[1:] + [None])[number % 2]:
                peers = self.start()
                try:
                    if algorithm is None:
                        row = ours(self.job, self.args, case, number)
                    else:
                        answers[algorithm] = peers.ask(case.modes[algorithm])
                except Failure as failure:
                    self.lost(case, algorithm, failure)
            for algorithm, said in answers.items() if row else ():
                if self.args.csv:
                    keep(self.args.csv, row, algorithm, peers.facts, said, case.kept)
                label = case.label if len(case.modes) == 1 else f"{case.label} ({algorithm})"
                for name, (measure, part) in case.measures.items():
                    found[f"{label}, {name}"] = (of_row(row, measure),
                                                 middle(of_peer(said, measure, part)))

    def run(self, cases, head):
        """All turns and their table, also of what was measured before they were ended."""
        turns = []
        try:
            for number in range(self.args.turns):
                facts = self.start().facts
                if not number:
                    print(f"PyTorch {facts['torch']}, NCCL {facts['nccl']}, {facts['device']}, "
                          f"{self.args.ranks} ranks, {head(facts, self.args)}", flush=True)
                turns.append({})
                self.turn(cases, number, turns[-1])
                if not self.args.keep:
                    self.job.end(10)
                    self.peers = None
        finally:
            if any(turns):
                report(cases, turns)


def add_options(parser):
    parser.add_argument("python", nargs="?", help="the interpreter that has PyTorch")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--keep", action="store_true",
                        help="one start of PyTorch for all turns, instead of one for each")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=15, help="steps of PyTorch's in a turn")
    parser.add_argument("--engine", help="ours; auto on GPUs")
    parser.add_argument("--options", default="--max-time 1s", help="more, of our programs")
    parser.add_argument("--csv", metavar="DIR",
                        help="keeps the rows of both sides there; PyTorch's have the engine torch")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/openmpi"))
    parser.add_argument("--limit", type=float,
                        help="seconds; for each turn 60, and 30 for each case")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)


def numbers(text):
    """A list of whole numbers above 0."""
    values = [int(value) for value in text.split(",")]
    if min(values) < 1:
        raise ValueError
    return values


def main(doc, extra, wrong, cases_of, opened, head):
    """
    The whole of a script. extra(parser) adds options, wrong(args) says what is wrong with them or
    returns None, cases_of(args) lists the cases, opened(rank, args) returns a function from a
    mode to its times, and head(facts, args) describes the work.
    """
    name = os.path.basename(sys.argv[0])
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    extra(parser)
    args = parser.parse_args()
    why = wrong(args)
    if not why and min(args.turns, args.ranks, args.repetitions) < 1:
        why = "expected numbers above 0"
    if why:
        print(f"tests/peers/{name}: {why}", file=sys.stderr)
        return 3
    if args.worker:
        return serve(args, opened)
    if not args.python:
        print(f"SKIP {name}: no path of a python that has PyTorch")
        return 77
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    args.build = os.path.abspath(args.build)
    args.csv = args.csv and os.path.abspath(args.csv)
    cases = cases_of(args)
    job = Job(args.limit or (60.0 + 30.0 * len(cases)) * args.turns)
    comparison = Comparison(job, args, name)
    try:
        comparison.run(cases, head)
    except (Failure, OSError) as failure:
        failure = job.over or failure
        why, code = failure.args if isinstance(failure, Failure) else (str(failure), 3)
        if code == 77:
            print(why)
        else:
            print(f"tests/peers/{name}: {why}", file=sys.stderr)
        return code
    finally:
        job.timer.cancel()
        job.end(0 if job.over else 10)
    return 5 if comparison.failed else 0
