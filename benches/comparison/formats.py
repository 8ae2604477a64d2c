#!/usr/bin/env python3
"""Compares the posteriors of Cliquescope and pyAgrum for every network file in the given folders.

The posteriors to compare with are always computed by pyAgrum. It reads BIF, NET, XMLBIF and DSL
itself. This script reads the rest with readers of its own: BIF and NET files that pyAgrum rejects
(names that begin with a digit, decisions, variables with one state, escaped quotes); DNET, which
pyAgrum does not support; and XDSL and UAI, where pyAgrum lets the first parent vary fastest, but
SMILE and the definition of UAI let the last parent vary fastest. Neither pyAgrum nor this script
reads DSC, so these files count as unchecked.

Decision nodes become chance nodes with uniform distributions, utility and function nodes are
dropped, and instances become copies of their class. Rows of zeros become uniform. If inference runs
out of memory, the tables are compared instead.
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
import tempfile
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
        # A network that is too large for pyAgrum must not exhaust the memory: 8 GiB.
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
            checked = subprocess.run(command, capture_output=True, text=True, timeout=120)
            died = f"unchecked no verdict: {checked.stderr.strip()[-200:]}"
            line = checked.stdout.strip() or died
        except subprocess.TimeoutExpired:
            line = "unchecked pyAgrum takes more than two minutes"
        verdict, _, why = line.partition(" ")
        counts[path.suffix][verdict] += 1
        print(f"{verdict:10} {path.name}: {why}", flush=True)
    for suffix, verdicts in sorted(counts.items()):
        print(suffix, ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))


def compare(path, options):
    """The verdict on one file, and the reason for it."""
    command = [options.program, "query", path, "--json"]
    ours = subprocess.run(command, capture_output=True, text=True)
    if ours.returncode != 0:
        return "refused", ours.stderr.strip()
    ours = list(json.loads(ours.stdout)["cases"][0]["posteriors"].items())
    network = None
    try:
        network, reader = load(path)
        names = [network.variable(node).name() for node in sorted(network.nodes())]
        for name in names:
            without_zeros(network.cpt(name))
            network.cpt(name).normalizeAsCPT()
        inference = gum.LazyPropagation(network)
        inference.makeInference()
    except Exception as error:
        no_memory = isinstance(error, MemoryError) or "bad_alloc" in str(error)
        if no_memory and network is not None:
            return tables(path, network, options)
        return "unchecked", (str(error) or type(error).__name__).replace("\n", " ")
    if len(names) != len(ours):
        return "wrong", f"{len(ours)} variables, {reader} has {len(names)}"
    by_name = dict(ours)
    worst = 0.0
    for name, (own_name, own) in zip(names, ours):
        own = by_name.get(name, own)
        posterior = inference.posterior(name).toarray().reshape(-1).tolist()
        if len(own) != len(posterior):
            return "wrong", f"'{name}' has {len(own)} states, for {reader} {len(posterior)}"
        worst = max([worst] + [abs(a - b) for a, b in zip(own.values(), posterior)])
    verdict = "agrees" if worst <= options.tolerance else "wrong"
    return verdict, f"{len(names)} variables, off by {worst:.1e} ({reader})"


def without_zeros(cpt):
    """Makes rows of zeros uniform. Cliquescope reads such a row only if its parent configuration is
    impossible.
    """
    rows = gum.Instantiation()
    for name in cpt.names[1:]:
        rows.add(cpt.variable(name))
    rows.setFirst()
    for _ in range(rows.domainSize()):
        row = {name: rows.val(name) for name in cpt.names[1:]}
        if not any(cpt[row] if row else cpt.toarray()):
            cpt[row] = [1.0] * cpt.variable(0).domainSize()
        rows.inc()


def tables(path, network, options):
    """Compares all tables, after converting the network to BIF with Cliquescope."""
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "ours.bif"
        subprocess.run([options.program, "convert", path, written], check=True, capture_output=True)
        ours = gum.loadBN(str(written))
    worst = 0.0
    for node in network.nodes():
        name = network.variable(node).name()
        table, own = network.cpt(name).toarray(), ours.cpt(name).reorganize(network.cpt(name).names)
        worst = max(worst, abs(table - own.toarray()).max())
    verdict = "agrees" if worst <= options.tolerance else "wrong"
    return verdict, f"{network.size()} variables, tables alone, off by {worst:.1e}"


def load(path):
    """The network in a file, and the name of the reader that read it."""
    if path.suffix in (".dnet", ".dne"):
        return build(dnet(path.read_text(errors="replace"))), "this script"
    if path.suffix == ".xdsl":
        return build(xdsl(path)), "this script"
    if path.suffix == ".xml" or (
            path.suffix == ".bifxml" and b'TYPE="decision"' in path.read_bytes()):
        return without_decisions(path), "pyAgrum"
    if path.suffix == ".uai":
        return build(uai(path.read_text())), "this script"
    try:
        return gum.loadBN(str(path)), "pyAgrum"
    except Exception as error:
        second = {".net": net, ".bif": bif}.get(path.suffix)
        if second is None:
            raise
        return build(second(path.read_text(encoding="latin-1"))), "this script"


def build(nodes):
    """Builds a network from {name: (states, parents, numbers or None)}.

    In `numbers` the state varies fastest, then the last parent. None means a uniform distribution.
    """
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
    """The words of `text`, which are separated by spaces, commas and parentheses."""
    return [word for word in re.split(r"[\s,()]+", text) if word]


def dnet(text):
    """The nodes of a DNET file, in the form that `build` expects."""
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
        parents = words(fields.get("parents", ""))
        nodes[head[2]] = (states, parents, numbers if kind == "NATURE" else None)
    return nodes


# The tokens of a NET file: strings, comments, punctuation and words.
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|%[^\n]*|//[^\n]*|/\*.*?\*/|[{}()=;|,]|[^\s{}()=;|,"%]+', re.S)


def net(text):
    """The nodes of a NET file, in the form that `build` expects."""
    tokens = [token for token in TOKEN.findall(text) if not token.startswith(("%", "//", "/*"))]
    if "instance" in tokens:
        return oobn(tokens)
    return plain_net(tokens)


def oobn(tokens):
    """The last class of a file, with each instance replaced by a copy of its class."""
    classes, at = {}, 0
    while at < len(tokens):
        name, start, depth = tokens[at + 1], at + 3, 1
        at = start
        while depth:
            depth += {"{": 1, "}": -1}.get(tokens[at], 0)
            at += 1
        classes[name] = tokens[start:at - 1]
        last = name

    def unfold(name, prefix, bound):
        """The nodes of an instance of class `name`. `prefix` begins the names of its own nodes, and
        `bound` has the names of the nodes that take the place of its input nodes.
        """
        body, plain, instances, at = classes[name], [], [], 0
        while at < len(body):
            if body[at] == "instance":
                close = body.index(")", at)
                halves = " ".join(body[at + 5:close]).split(";")
                pairs = [dict(re.findall(r"(\S+) = ([^\s,]+)", half)) for half in halves] + [{}]
                instances.append((body[at + 1], body[at + 3], pairs[0], pairs[1]))
                at = close + 1 + (body[close + 1:].index("}") + 1)
            elif body[at + 1] == "=":
                at = body.index(";", at) + 1
            else:
                end = at + body[at:].index("}") + 1
                plain += body[at:end]
                at = end
        own = plain_net(plain)
        names = {node: bound.get(node, prefix + node) for node in own}
        for instance, of, _, outputs in instances:
            names.update({alias: f"{prefix}{instance}.{inner}" for alias, inner in outputs.items()})
        result = {names[node]: (states, [names[p] for p in parents], numbers)
                  for node, (states, parents, numbers) in own.items() if node not in bound}
        for instance, of, inputs, _ in instances:
            actual = {formal: names[node] for formal, node in inputs.items()}
            result.update(unfold(of, f"{prefix}{instance}.", actual))
        return result

    return unfold(last, "", {})


def plain_net(tokens):
    """The nodes of a NET file without instances, in the form that `build` expects."""
    kinds = ("node", "discrete", "continuous", "decision", "utility", "function")
    nodes, data, at = {}, {}, 0

    def fields(at):
        found = {}
        while tokens[at] != "}":
            end = tokens.index(";", at)
            found[tokens[at]] = [t for t in tokens[at + 2:end] if t not in "(),"]
            at = end + 1
        return found, at + 1

    while at < len(tokens):
        if tokens[at] == "net":
            _, at = fields(at + 2)
        elif tokens[at] in kinds:
            open_at = tokens.index("{", at)
            kind, (inside, end) = tokens[at:open_at - 1], fields(open_at + 1)
            values = inside.get("state_values", [])
            if inside.get("subtype") == ["interval"]:
                values = values[1:]
            count = len(inside.get("states", values))
            nodes[tokens[open_at - 1]] = (kind, count or 2)
            at = end
        elif tokens[at] == "potential":
            close = tokens.index(")", at)
            names = [t for t in tokens[at + 2:close] if t not in "|,"]
            inside, at = fields(close + 2)
            expression = inside.get("model_data") and "data" not in inside
            data[names[0]] = (names[1:], None if expression else inside.get("data", []))
        else:
            at += 1
    kept = {name for name, (kind, _) in nodes.items() if not {"utility", "function"} & set(kind)}
    result = {}
    for name, (kind, count) in nodes.items():
        if name in kept:
            parents, numbers = data.get(name, ([], []))
            if numbers is None:
                raise ValueError(f"'{name}' is given by an expression, which is not computed here")
            numbers = [float(number) for number in numbers] if "decision" not in kind else []
            states = [f"s{state}" for state in range(count)]
            # A parent that is not a node of this class is an alias.
            keep = [p for p in parents if p in kept or p not in nodes]
            result[name] = (states, keep, numbers or None)
    return result


def bif(text):
    """The nodes of a BIF file, in the form that `build` expects. Supports only names without
    quotes, and `table` only for variables without parents.
    """
    text = re.sub(r"/\*.*?\*/|//[^\n]*|property[^;]*;", "", text, flags=re.S)
    nodes = {}
    for name, states in re.findall(r"variable\s+(\S+)\s*\{[^{]*\{([^}]*)\}", text):
        nodes[name] = (words(states), [], None)
    for names, block in re.findall(r"probability\s*\(([^)]*)\)\s*\{([^}]*)\}", text):
        child, *parents = [word for word in re.split(r"[\s,|]+", names) if word]
        states = nodes[child][0]
        rows, default = {}, None
        for entry in block.split(";"):
            head = re.match(r"\s*(table|default|\(([^)]*)\))", entry)
            if head:
                numbers = [float(word) for word in words(entry[head.end():])]
                if head[2] is not None:
                    rows[tuple(words(head[2]))] = numbers
                else:
                    default = numbers
        numbers = []
        for row in itertools.product(*(nodes[parent][0] for parent in parents)):
            numbers += rows.get(row, default)
        nodes[child] = (states, parents, numbers)
    return nodes


def uai(text):
    """The nodes of a UAI file, in the form that `build` expects."""
    found = iter(re.sub(r"#[^\n]*", "", text).split())
    assert next(found) == "BAYES", "only Bayesian networks are read here"
    count = lambda: int(next(found))
    cards = [count() for _ in range(count())]
    scopes = [[count() for _ in range(count())] for _ in range(count())]
    nodes = {
        f"x{index}": ([str(state) for state in range(card)], [], None)
        for index, card in enumerate(cards)
    }
    for *parents, child in scopes:
        numbers = [float(next(found)) for _ in range(count())]
        nodes[f"x{child}"] = (nodes[f"x{child}"][0], [f"x{parent}" for parent in parents], numbers)
    return nodes


def xdsl(path):
    """The nodes of an XDSL file, in the form that `build` expects."""
    nodes = {}
    for node in xml.parse(path).getroot().find("nodes"):
        states = [state.get("id") for state in node.findall("state")]
        parents = (node.findtext("parents") or "").split()
        if node.tag == "cpt":
            numbers = [float(word) for word in node.findtext("probabilities").split()]
            nodes[node.get("id")] = (states, parents, numbers)
        elif node.tag == "decision":
            nodes[node.get("id")] = (states, [], None)
        elif node.tag not in ("utility", "mau"):
            raise ValueError(f"<{node.tag}> is not read here")
    return nodes


def without_decisions(path):
    """The Bayesian network of an influence diagram: utilities dropped, decisions uniform."""
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
