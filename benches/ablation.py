#!/usr/bin/env python3
"""Shows what each optimisation of engine cpu brings, network by network.

    benches/ablation.py BINARY [--networks NETWORK ...] [--tasks TASK ...] [--only OPTIMISATION ...]
                        [--rounds N] [--threads N] [--cpu-time]

BINARY is a build of cliquescope. Its hidden option `--without OPTIMISATION` of `bench` and `query`
switches one optimisation off. The table has a row for each optimisation and each task that it
may speed up, and a column for each network. A number is the time of the task without the
optimisation divided by the time with it, so 1.00 means that it brings nothing. The last column has
the largest number of the row.

The tasks:

  run              a propagation without evidence, with tables
  observed         a propagation with a fifth of the variables observed, with tables: mean of 4 cases
  change           a propagation after one finding changed, with tables: median of 20 changes, of
                   which the first is the first finding
  worst-change     the longest of 100 such changes; with --cpu-time, all of them
  observed-change  as change, but a fifth of the variables are observed before the first change
  batch            64 cases with a fifth of the variables observed, together
  load             building the junction tree and loading it, with tables
  table-free       a propagation without evidence and without tables

In each round, every task runs once with all optimisations, and once without each optimisation that
may speed it up. The order is reversed from round to round. The shortest time of all rounds counts.

On a machine with other work, `--cpu-time` compares processor time instead: the time of a run with
many repetitions minus the time of a run with one.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys

NETWORKS = "alarm water mildew barley pigs diabetes munin2 munin3 munin4".split()

# By task: the options of `bench`, the number of repetitions, how to read the time from the records,
# and the optimisations that may speed the task up.
TASKS = {
    "run": (
        ["--form", "tables"], 10,
        lambda records: records[0]["propagate_ms"]["min"],
        "sparsity compressed-separators entry-states factored-tables merged-variables permuted-runs"
        " skipped-zeros messages-of-one vector-instructions divided-contractions parallel-subtrees"
        " awake-threads",
    ),
    "observed": (
        ["--form", "tables", "--observed", "20%", "--cases", "4"], 5,
        lambda records: statistics.fmean(record["propagate_ms"]["min"] for record in records),
        "sparsity entry-states factored-tables merged-variables permuted-runs skipped-zeros"
        " vector-instructions divided-contractions parallel-subtrees awake-threads"
        " parallel-preparation reduced-trees more-heuristics search-limits pooled-memory",
    ),
    "change": (
        ["--form", "tables", "--changes", "20"], 3,
        lambda records: records[0]["change_ms"]["median"],
        "messages-of-one entry-states reduced-trees more-heuristics search-limits reused-cliques"
        " pooled-memory kept-messages messages-from-parents d-connection",
    ),
    "worst-change": (
        ["--form", "tables", "--changes", "100"], 3,
        lambda records: records[0]["change_ms"]["max"],
        "kept-messages messages-from-parents d-connection",
    ),
    "observed-change": (
        ["--form", "tables", "--observed", "20%", "--changes", "20"], 3,
        lambda records: records[0]["change_ms"]["median"],
        "reduced-trees more-heuristics search-limits reused-cliques pooled-memory"
        " kept-messages d-connection",
    ),
    "batch": (
        ["--form", "tables", "--observed", "20%", "--cases", "64", "--batch"], 2,
        lambda records: records[0]["batch_ms"]["min"],
        "batched-cases",
    ),
    "load": (
        ["--form", "tables"], 1,
        lambda records: records[0]["compile_ms"],
        "sparsity factored-tables",
    ),
    "table-free": (
        ["--form", "table-free"], 5,
        lambda records: records[0]["propagate_ms"]["min"],
        "merged-variables messages-of-one vector-instructions divided-contractions"
        " parallel-subtrees awake-threads pooled-memory grouped-factors tiles hoisted-inputs"
        " constant-rows kept-factors",
    ),
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary", help="a build of cliquescope")
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NETWORK",
                        help=f"files or names of samples [{' '.join(NETWORKS)}]")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS),
                        metavar="TASK", help=f"[{' '.join(TASKS)}]")
    parser.add_argument("--only", nargs="+", metavar="OPTIMISATION",
                        help="optimisations to switch off [all]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="number of runs of each task [3]")
    parser.add_argument("--cpu-time", action="store_true", help="compare processor time")
    parser.add_argument("--threads", default="2", metavar="N",
                        help="threads that the engine may use [2]")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: expected a whole number from 1")
    names = {name for task in arguments.tasks for name in TASKS[task][3].split()}
    unknown = sorted(set(arguments.only or []) - names)
    if unknown:
        parser.error(f"--only: not measured by these tasks: {', '.join(unknown)}")
    return arguments


def time(binary, network, options, read):
    """The time of a task in milliseconds, which `read` takes from the records of `bench`; infinite
    if the task failed.
    """
    command = [binary, "bench", network, *options, "--json"]
    try:
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"{binary}: {error.strerror}")
    if found.returncode != 0:
        print(f"{' '.join(command)} failed:\n{found.stderr.strip()}", file=sys.stderr)
        return float("inf")
    return read(json.loads(found.stdout))


def cpu_seconds():
    """Processor time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_time(binary, network, options, repeat):
    """The processor time of one repetition of a task, in milliseconds; if there is only one
    repetition, of the whole run.
    """
    def run(repeat):
        before = cpu_seconds()
        found = time(binary, network, [*options, "--repeat", str(repeat)], lambda records: 0.0)
        return found + 1e3 * (cpu_seconds() - before)

    return run(1) if repeat == 1 else (run(repeat + 1) - run(1)) / repeat


def ratios(arguments, network, task, optimisations):
    """For each of `optimisations`: the time of `task` without it, divided by the time with it."""
    task_options, repeat, read, _ = TASKS[task]
    task_options = [*task_options, "--threads", arguments.threads]
    settings = [None, *optimisations]
    shortest = dict.fromkeys(settings, float("inf"))
    for number in range(arguments.rounds):
        for setting in settings if number % 2 == 0 else settings[::-1]:
            without = ["--without", setting] if setting else []
            options = [*task_options, *without]
            if arguments.cpu_time:
                found = cpu_time(arguments.binary, network, options, repeat)
            else:
                timed = [*options, "--repeat", str(repeat)]
                found = time(arguments.binary, network, timed, read)
            shortest[setting] = min(shortest[setting], found)
    return {name: shortest[name] / shortest[None] for name in optimisations}


def main():
    arguments = parse_arguments()
    titles = [network.rsplit("/", 1)[-1].split(".")[0][:12] for network in arguments.networks]
    print(f"{'optimisation':<22}{'task':<16}" + "".join(f"{title:>13}" for title in titles)
          + f"{'largest':>9}")
    for task in arguments.tasks:
        wanted = [name for name in TASKS[task][3].split()
                  if not arguments.only or name in arguments.only]
        if not wanted:
            continue
        found = [ratios(arguments, network, task, wanted) for network in arguments.networks]
        for name in wanted:
            row = [of_network[name] for of_network in found]
            print(f"{name:<22}{task:<16}" + "".join(f"{ratio:>13.2f}" for ratio in row)
                  + f"{max(row):>9.2f}", flush=True)


if __name__ == "__main__":
    main()
