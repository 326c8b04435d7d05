# SPDX-License-Identifier: BSD-3-Clause
"""
A rank of PyTorch in the comparisons with it: what it runs on, how it measures, and how it answers.
"""
import json
import os
import sys
import time

AHEAD = 5e-4  # seconds in which all ranks get to know when they begin


class Failure(Exception):
    """Why there is no result, and the exit code."""


class Rank:
    """A rank of PyTorch: what it runs on, and how it measures."""

    def __init__(self, args):
        import torch
        import torch.distributed as dist
        self.torch, self.dist = torch, dist
        self.rank, self.ranks = int(os.environ["RANK"]), args.ranks
        self.gpu = args.device == "gpu"
        if self.gpu and torch.cuda.device_count() < args.ranks:
            raise Failure(f"{torch.cuda.device_count()} GPUs, {args.ranks} are needed", 77)
        self.kind = torch.bfloat16 if self.gpu else torch.float32
        self.device = torch.device("cuda", self.rank) if self.gpu else torch.device("cpu")
        if self.gpu:
            torch.cuda.set_device(self.rank)
            dist.init_process_group("nccl", device_id=self.device)
        else:
            torch.set_num_threads(1)
            dist.init_process_group("gloo")
        self.hosts = dist.new_group(backend="gloo")
        self.facts = {
            "torch": torch.__version__,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())) if self.gpu else "-",
            "device": torch.cuda.get_device_name(self.rank) if self.gpu else "cpu"}

    def matrix(self, rows, columns):
        """Random values, of which products stay as large."""
        return self.torch.randn(rows, columns, device=self.device, dtype=self.kind) / columns ** 0.5

    def wait(self):
        if self.gpu:
            self.torch.cuda.synchronize()

    def begin(self):
        """The time at which all ranks go on; they are on one host and have its clock."""
        self.wait()
        at = self.torch.tensor([time.perf_counter() + AHEAD], dtype=self.torch.float64)
        self.dist.all_reduce(at, self.dist.ReduceOp.MAX, self.hosts)
        while time.perf_counter() < at.item():
            pass
        return time.perf_counter()

    def mark(self):
        """A point in what is launched; on processors, the time."""
        if not self.gpu:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first, last):
        """Milliseconds between two marks."""
        self.wait()
        return first.elapsed_time(last) if self.gpu else (last - first) * 1e3

    def time(self, work):
        """Milliseconds until all that work() has launched is done."""
        begin = self.begin()
        work()
        self.wait()
        return (time.perf_counter() - begin) * 1e3

    def pairs(self, step, alone, repetitions):
        """Times of steps, each with the computing alone that follows it."""
        for _ in range(3):
            self.time(step)
            self.time(alone)
        times = [(self.time(step), self.time(alone)) for _ in range(repetitions)]
        return {"step_ms": [round(pair[0], 4) for pair in times],
                "compute_step_ms": [round(pair[1], 4) for pair in times]}


def say(**what):
    print(json.dumps(what), flush=True)


def serve(args, opened):
    """A rank: says what it is, then answers each line of its input."""
    try:
        try:
            rank = Rank(args)
        except ImportError as error:
            return say(skip=f"no PyTorch: {error}")
        except Failure as failure:
            return say(skip=failure.args[0])
        measure = opened(rank, args)
        say(**rank.facts)
        for line in sys.stdin:
            say(mode=line.strip(), **measure(line.strip()))
        rank.dist.barrier(rank.hosts)
    except Exception as error:  # what PyTorch says belongs to the result, whatever it is
        say(failed=f"{type(error).__name__}: {error}".splitlines()[0])
    sys.stdout.flush()
    os._exit(0)  # destroying the groups may wait for a rank that was killed
