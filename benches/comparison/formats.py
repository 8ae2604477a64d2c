#!/usr/bin/env python3
"""Compares the posteriors of every network file in some folders with those of pyAgrum.

pyAgrum does the inference in every case. It reads BIF, NET, UAI, XMLBIF and DSL itself. DNET it
does not know, and of XDSL it lets the first parent turn fastest, where SMILE lets the last; both
are read here, by regular expressions and by Python's own XML.

Decision nodes count as chance nodes with equal chances, utility nodes as absent.
"""

import argparse
import collections
import itertools
import json
import pathlib
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as xml

import pyagrum as gum


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("paths", nargs="+", type=pathlib.Path, help="files and folders")
    options.add_argument("--program", default="target/release/cliquescope")
    options.add_argument("--tolerance", type=float, default=1e-5)
    options.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.one:
        # A network too large for pyAgrum must not take the machine with it.
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        print(*compare(options.paths[0], options))
        return
    files = []
    for path in options.paths:
        files += sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    counts = collections.defaultdict(collections.Counter)
    for path in files:
        command = [sys.executable, __file__, "--one", "--program", options.program,
                   "--tolerance", str(options.tolerance), path]
        try:
            one = subprocess.run(command, capture_output=True, text=True, timeout=120)
            line = one.stdout.strip() or "unchecked pyAgrum died"
        except subprocess.TimeoutExpired:
            line = "unchecked pyAgrum takes more than two minutes"
        verdict, _, why = line.partition(" ")
        counts[path.suffix][verdict] += 1
        print(f"{verdict:10} {path.name}: {why}", flush=True)
    for suffix, verdicts in sorted(counts.items()):
        print(suffix, ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))


def compare(path, options):
    """A verdict and what it rests on."""
    ours = subprocess.run([options.program, "query", path, "--json"], capture_output=True, text=True)
    if ours.returncode != 0:
        return "refused", ours.stderr.strip()
    ours = list(json.loads(ours.stdout)["cases"][0]["posteriors"].items())
    try:
        network = load(path)
        names = [network.variable(node).name() for node in sorted(network.nodes())]
        for name in names:
            network.cpt(name).normalizeAsCPT()
        inference = gum.LazyPropagation(network)
        inference.makeInference()
    except Exception as error:
        return "unchecked", f"pyAgrum: {error}"
    if len(names) != len(ours):
        return "wrong", f"{len(ours)} variables, pyAgrum has {len(names)}"
    by_name = dict(ours)
    worst = 0.0
    for name, (own_name, own) in zip(names, ours):
        own = by_name.get(name, own)
        posterior = inference.posterior(name).tolist()
        worst = max([worst] + [abs(a - b) for a, b in zip(own.values(), posterior)])
    return ("agrees" if worst <= options.tolerance else "wrong"), f"{len(names)} variables, off by {worst:.1e}"


def load(path):
    if path.suffix in (".dnet", ".dne"):
        return build(dnet(path.read_text(errors="replace")))
    if path.suffix == ".xdsl":
        return build(xdsl(path))
    if path.suffix == ".xml":
        return without_decisions(path)
    return gum.loadBN(str(path))


def build(nodes):
    """A network of {name: (states, parents, numbers or None)}, the last parent turning fastest."""
    network = gum.BayesNet()
    for name, (states, _, _) in nodes.items():
        network.add(gum.LabelizedVariable(name, name, states))
    for name, (_, parents, numbers) in nodes.items():
        for parent in parents if numbers else ():
            network.addArc(parent, name)
    for name, (states, parents, numbers) in nodes.items():
        cpt = network.cpt(name)
        if not numbers:
            cpt.fillWith(1.0 / len(states))
            continue
        rows = itertools.product(*(range(len(nodes[parent][0])) for parent in parents))
        for index, row in enumerate(rows):
            values = numbers[index * len(states):(index + 1) * len(states)]
            if parents:
                cpt[dict(zip(parents, row))] = values
            else:
                cpt.fillWith(values)
    return network


def words(text):
    return [word for word in re.split(r"[\s,()]+", text) if word]


def dnet(text):
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text.replace("\r", ""), flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    classes, nodes = {}, {}
    for head in re.finditer(r"(define\s+)?node\s+(\w+)\s*(?:\((\w+)\))?\s*\{", text):
        depth, end = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        fields = dict(re.findall(r"(\w+)\s*=\s*([^;]*);", text[head.end():end - 1]))
        fields = {**classes.get(head[3], {}), **fields}
        classes[head[2]] = fields
        kind = fields.get("kind", "NATURE").strip()
        if head[1] or kind not in ("NATURE", "DECISION"):
            continue
        if "states" in fields:
            states = words(fields["states"])
        else:
            states = [f"state{state}" for state in range(int(fields["numstates"]))]
        numbers = [float(word) for word in words(fields.get("probs", ""))]
        nodes[head[2]] = (states, words(fields.get("parents", "")), numbers if kind == "NATURE" else None)
    return nodes


def xdsl(path):
    nodes = {}
    for node in xml.parse(path).getroot().find("nodes"):
        states = [state.get("id") for state in node.findall("state")]
        parents = (node.findtext("parents") or "").split()
        if node.tag == "cpt":
            nodes[node.get("id")] = (states, parents, [float(w) for w in node.findtext("probabilities").split()])
        elif node.tag == "decision":
            nodes[node.get("id")] = (states, [], None)
        elif node.tag not in ("utility", "mau"):
            raise ValueError(f"<{node.tag}> is not read here")
    return nodes


def without_decisions(path):
    diagram = gum.InfluenceDiagram()
    diagram.loadBIFXML(str(path))
    network = gum.BayesNet()
    kept = [node for node in sorted(diagram.nodes()) if not diagram.isUtilityNode(node)]
    for node in kept:
        network.add(diagram.variable(node))
    for node in kept:
        name = diagram.variable(node).name()
        if diagram.isDecisionNode(node):
            network.cpt(name).fillWith(1)
            continue
        for parent in diagram.cpt(node).names[1:]:
            network.addArc(parent, name)
        network.cpt(name).fillWith(diagram.cpt(node))
    return network


if __name__ == "__main__":
    main()
