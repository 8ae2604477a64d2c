#!/usr/bin/env python3
"""Compares the speed of two builds of cliquescope on the same networks, by turns.

    benches/compare.py BEFORE AFTER [--networks NETWORK ...] [--rounds N] [options of bench]

BEFORE and AFTER are two binaries. The networks are measured one after another, each in N rounds. In
a round, each binary runs `cliquescope bench NETWORK` once. The order alternates from round to
round, so that a change in the machine's speed affects both builds alike. A run gives the median
time of its propagations; with --cases, the mean of the medians of all cases.

The table has one row per network:

  before, after   median over the rounds, in milliseconds
  ratio           before / after; above 1 the second build is faster
  by minima       the same ratio of the shortest times: of each build, the run with the shortest
                  propagation counts; with --cases, the run with the smallest mean over the cases
                  of their shortest times

The last row has the geometric means of both ratios.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

NETWORKS = "water mildew barley pigs diabetes munin2 munin3 munin4".split()


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="binary of the first build")
    parser.add_argument("after", help="binary of the second build")
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NETWORK",
                        help=f"files or names of samples [{' '.join(NETWORKS)}]")
    parser.add_argument("--rounds", type=int, default=10, metavar="N",
                        help="number of runs of each build on each network [10]")
    bench = parser.add_argument_group("options of bench, the same for both builds")
    bench.add_argument("--engine", help="[the default engine]")
    bench.add_argument("--precision", choices=["f32", "f64"], help="[the engine's default]")
    bench.add_argument("--threads", metavar="N", help="[all threads of the machine]")
    bench.add_argument("--observed", metavar="SHARE",
                       help="share of the variables that is observed, such as 20%% [none]")
    bench.add_argument("--cases", metavar="N", help="number of cases drawn with --observed [1]")
    bench.add_argument("--repeat", metavar="N", help="propagations per run [10]")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: expected a whole number from 1")
    return arguments


def bench_options(arguments):
    """The options for `bench`, as words of its command line."""
    words = []
    for name in ["engine", "precision", "threads", "observed", "cases", "repeat"]:
        if (value := getattr(arguments, name)) is not None:
            words += [f"--{name}", value]
    return words


def run(binary, network, options):
    """Runs `bench` once. Returns the median time of a propagation and the shortest, both in
    milliseconds and as means over the cases.
    """
    command = [binary, "bench", network, *options, "--json"]
    try:
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        sys.exit(f"{binary}: {error.strerror}")
    if found.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{found.stderr.strip()}")
    times = [record["propagate_ms"] for record in json.loads(found.stdout)]
    return tuple(statistics.fmean(time[key] for time in times) for key in ["median", "min"])


def measure(binaries, network, options, rounds):
    """Runs both builds in each round, in alternating order. Returns for each build the list of the
    times of its runs, in the order of the rounds.
    """
    runs = ([], [])
    for number in range(rounds):
        for build in [0, 1] if number % 2 == 0 else [1, 0]:
            runs[build].append(run(binaries[build], network, options))
    return runs


def main():
    arguments = parse_arguments()
    options = bench_options(arguments)
    print(f"{'network':<12}{'before':>12}{'after':>12}{'ratio':>10}{'by minima':>12}")
    ratios, ratios_by_minima = [], []
    for network in arguments.networks:
        runs = measure([arguments.before, arguments.after], network, options, arguments.rounds)
        before, after = (statistics.median(median for median, _ in build) for build in runs)
        shortest_before, shortest_after = (min(least for _, least in build) for build in runs)
        ratios.append(before / after)
        ratios_by_minima.append(shortest_before / shortest_after)
        print(f"{network:<12}{before:>12.4f}{after:>12.4f}{ratios[-1]:>10.3f}"
              f"{ratios_by_minima[-1]:>12.3f}", flush=True)
    geometric_mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    print(f"{'geometric mean':<36}{geometric_mean(ratios):>10.3f}"
          f"{geometric_mean(ratios_by_minima):>12.3f}")


if __name__ == "__main__":
    main()
