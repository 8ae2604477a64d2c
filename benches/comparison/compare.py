#!/usr/bin/env python3
"""Times Cliquescope and pyAgrum on the same networks and the same evidence, in one run.

    python3 benches/comparison/compare.py [--threads N] [--repeat N] [--seed N] [NETWORK ...]

README.md in this folder says what is measured and how.
"""

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pyagrum as gum

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = "alarm water mildew barley pigs diabetes munin2 munin3 munin4".split()
PRECISIONS = ("f64", "f32")
HEURISTICS = ["min-degree", "min-fill", "min-weight", "weighted-min-fill"]
ENGINES = {"Lazy": gum.LazyPropagation, "ShaferShenoy": gum.ShaferShenoyInference}


def sampled_evidence(network, share, rng):
    """Draws one sample of the joint distribution, and observes a share of the variables in it."""
    states = {}
    for variable in network.topologicalOrder():
        parents = {network.variable(p).name(): states[p] for p in network.parents(variable)}
        row = network.cpt(variable).extract(parents).tolist()
        states[variable] = rng.choices(range(len(row)), row)[0]
    observed = rng.sample(sorted(network.nodes()), round(share * len(states)))
    name = lambda v: network.variable(v).name()
    label = lambda v: network.variable(v).label(states[v])
    return {name(v): label(v) for v in sorted(observed)}


def agrum_ms(network, evidence, engine, threads, budget):
    """Shortest time of an inference with all posteriors, in milliseconds: without and with the
    construction of the junction tree. Also returns the posteriors of the last inference.

    Each inference uses a new object, because an existing one keeps messages. Runs for `budget`
    seconds, at most 100 times and at least once.
    """
    propagation_only, with_tree, started = [], [], time.perf_counter()
    while not with_tree or (time.perf_counter() - started < budget and len(with_tree) < 100):
        inference = engine(network)
        inference.setNumberOfThreads(threads)
        begin = time.perf_counter()
        inference.setEvidence(evidence)
        inference.junctionTree()
        ready = time.perf_counter()
        inference.makeInference()
        posteriors = {v: inference.posterior(v) for v in network.nodes()}
        end = time.perf_counter()
        propagation_only.append((end - ready) * 1e3)
        with_tree.append((end - begin) * 1e3)
    found = {network.variable(v).name(): table.tolist() for v, table in posteriors.items()}
    return min(propagation_only), min(with_tree), found


def run(program, *arguments, check=True):
    """The JSON output of a command."""
    return json.loads(subprocess.run([program, *arguments], check=check, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL).stdout)


def memory_bandwidth(threads):
    """GB/s at which `threads` threads read tables larger than any cache; the best of seven runs."""
    tables = [numpy.ones(1 << 25) for _ in range(threads)]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            started = time.perf_counter()
            list(pool.map(numpy.sum, tables))
            best = min(best, time.perf_counter() - started)
    return threads * tables[0].nbytes / best / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2, help="of both programs [2]")
    parser.add_argument("--repeat", type=int, default=100, help="propagations by Cliquescope [100]")
    parser.add_argument("--seed", type=int, default=7, help="of the evidence [7]")
    parser.add_argument("--share", type=float, default=0.2, help="of the variables observed [0.2]")
    parser.add_argument("--budget", type=float, default=2.0,
                        help="seconds per timing of pyAgrum [2]")
    parser.add_argument("--program", default=str(ROOT / "target/release/cliquescope"))
    parser.add_argument("--json", help="file for all figures")
    args = parser.parse_args()

    bandwidth = memory_bandwidth(args.threads)
    print(f"Cliquescope and pyAgrum {gum.__version__}, milliseconds, the shortest of many; "
          f"{bandwidth:.1f} GB/s read from memory by {args.threads} threads\n")
    columns = ["network", "entries", "compile", "observed"]
    columns += [f"{precision}, {threads}" for precision in PRECISIONS for threads in counts(args)]
    columns += ["a change", "the worst"]
    columns += [f"{label}, {threads}" for label in ENGINES for threads in counts(args)]
    columns += ["with its tree", "times faster", "of the bandwidth", "deviation"]
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.network:
            path = Path(folder) / f"{name}.bif"
            path.write_bytes(gzip.decompress((ROOT / f"networks/{name}.bif.gz").read_bytes()))
            network = gum.loadBN(str(path))
            for share in (0, args.share):
                evidence = sampled_evidence(network, share, random.Random(args.seed))
                records.append(compare(args, name, network, path, evidence, bandwidth))
                sys.stdout.flush()
    if args.json:
        Path(args.json).write_text(json.dumps(records, indent=1))


def least_compile_ms(args, name):
    """Shortest time to build tree, plan and tables, with the heuristic that achieved it. Each
    heuristic is run three times.
    """
    times = []
    for heuristic in HEURISTICS * 3:
        [timed] = run(args.program, "bench", name, "--engine", "cpu", "--json", "--repeat", "1",
                      "--threads", str(args.threads), "--triangulation", heuristic, check=False)
        # The tree of a heuristic may not fit in memory.
        if "compile_ms" in timed:
            times.append((timed["compile_ms"], heuristic))
    return min(times)


def counts(args):
    """The thread counts with which both programs are timed, ascending."""
    return sorted({1, args.threads})


def compare(args, name, network, path, evidence, bandwidth):
    """Times both programs on one network with one set of evidence and prints a row of the table.
    Returns the same figures for the JSON file.
    """
    cases = path.with_suffix(".json")
    cases.write_text(json.dumps({"evidence": evidence}))
    evidence_args = ["--evidence-file", str(cases)]
    ours = {}
    for precision in PRECISIONS:
        for threads in counts(args):
            [timed] = run(args.program, "bench", name, "--engine", "cpu", "--json", *evidence_args,
                          "--repeat", str(args.repeat), "--precision", precision,
                          "--threads", str(threads))
            ours[precision, threads] = timed
    compile_ms = least_compile_ms(args, name)
    [changed] = run(args.program, "bench", name, "--engine", "cpu", "--json", *evidence_args,
                    "--changes", "100", "--threads", str(args.threads))
    change = changed["change_ms"]
    theirs = {}
    for label, engine in ENGINES.items():
        for threads in counts(args):
            theirs[label, threads] = agrum_ms(network, evidence, engine, threads, args.budget)
    least, _, expected = min(theirs.values(), key=lambda t: t[0])
    least_with_tree = min(with_tree for _, with_tree, _ in theirs.values())

    answer = run(args.program, "query", name, "--engine", "cpu", "--json", *evidence_args)
    deviation = 0.0
    for variable, states in answer["cases"][0]["posteriors"].items():
        found = states.values() if isinstance(states, dict) else states
        deviation = max(deviation, *(abs(a - b) for a, b in zip(found, expected[variable])))
    ms = {key: timed["propagate_ms"]["min"] for key, timed in ours.items()}
    best = min(ms.values())
    # GB/s needed to read every used table entry once, at 8 bytes for each entry.
    f64_run = ours["f64", args.threads]
    read = f64_run["savings"]["entries_left"] * 8 / (ms["f64", args.threads] * 1e6)
    cells = [name, f"{f64_run['total_clique_entries']:,}", f"{compile_ms[0]:.1f}",
             str(len(evidence)), *(f"{value:.3f}" for value in ms.values()),
             f"{change['median']:.2f}", f"{change['max']:.2f}",
             *(f"{value:.2f}" for value, _, _ in theirs.values()), f"{least_with_tree:.2f}",
             f"{least / best:.0f}", f"{read / bandwidth:.0%}", f"{deviation:.1e}"]
    print(f"| {' | '.join(cells)} |")
    return {"network": name, "observed": len(evidence), "cliquescope": list(ours.values()),
            "compile_ms": compile_ms, "change_ms": change, "bandwidth_gb_per_s": bandwidth,
            "pyagrum": [{"engine": e, "threads": t, "min_ms": v[0], "with_tree_ms": v[1]}
                        for (e, t), v in theirs.items()], "largest_deviation": deviation}


if __name__ == "__main__":
    main()
