"""Check the formulas of `any2vec plan`: bytes and touched rows beside those of simulated runs, by hosts and scheme."""

import json
import math
from itertools import product
from typing import Annotated, Any

import typer
from options import BytesOption, DimOption, EpochsOption, JsonOption, ThreadsOption
from tables import table, verdict
from texts import CorpusArgument, plain_text

from any2vec import DeepWalk, Word2Vec
from any2vec.graph import read_graph
from any2vec.plan.measuring import Speeds
from any2vec.plan.planning import Estimate, Estimator
from any2vec.plan.quantities import Cluster
from any2vec.plan.text import Text
from any2vec.plan.walking import WalkedGraph
from any2vec.sync import SCHEMES

__all__ = ["check", "compare", "expected"]

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)

SPEEDS = Speeds(1e6, 1e7, 1e-7, 1e-7, 0.0, 0.0, 0.0, 1e10)  # bytes and rows do not depend on them
TARGET = 5.0  # per cent


@app.command()
def check(
    corpus: CorpusArgument,
    nodes: Annotated[bool, typer.Option("--nodes", help="It is a graph: DeepWalk.")] = False,
    size: BytesOption = None,
    hosts: Annotated[str, typer.Option(help="Numbers of hosts.")] = "2,4,8,16,32",
    schemes: Annotated[str, typer.Option(help="Schemes.")] = ",".join(SCHEMES),
    dim: DimOption = 32,
    epochs: EpochsOption = 2,
    threads: ThreadsOption = 2,
    subwords: Annotated[str | None, typer.Option(help="Such as 3-6; `columns` and `server` have none.")] = None,
    json_file: JsonOption = None,
) -> None:
    """Train with simulated hosts, and compare; once with where words occur, once with their counts alone."""
    numbers = tuple(map(int, hosts.split(",")))
    how: dict[str, Any] = {"dim": dim, "epochs": epochs, "threads": threads, "subwords": subwords, "verbose": False}
    with plain_text(corpus, size) as (path, folder):
        kind, source = (DeepWalk, corpus) if nodes else (Word2Vec, path)
        how |= {} if nodes else {"cache": str(folder / "cache")}
        runs = []
        for number, scheme in product(numbers, schemes.split(",")):
            report = kind(**how, hosts=number, scheme=scheme).fit(str(source)).report_
            touched = {which: report.rounds.mean(rows) for which, rows in report.rounds.touched.items()}
            sent = sum(map(sum, report.rounds.bytes.values()))
            runs.append({"hosts": number, "scheme": scheme, "sent": sent, "touched": touched})
            if json_file:
                with json_file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"corpus": corpus.name, "dim": dim, "epochs": epochs, **runs[-1]}) + "\n")
        compare(runs, *expected(kind(**how), str(source), numbers), corpus.name)


def expected(model: Any, source: str, hosts: tuple[int, ...]) -> tuple[list[Estimate], list[Estimate]]:
    """Return the estimates for a text that was read, and for its counts alone."""
    if isinstance(model, DeepWalk):
        graph = read_graph(source)
        text = Text.of_corpus(model.read(graph), graph=WalkedGraph.of(graph, model))
    else:
        text = Text.of_corpus(model.read(source))
    counts = Text(text.counts, text.many, text.lengths, text.sentences, vocabulary=text.vocabulary)
    cluster, options = Cluster(hosts, 1, 1e9, 0.0), model.training_options()
    found = [Estimator(one, options, cluster, SPEEDS) for one in (text, counts)]
    whole, alone = ([one for number in hosts for one in estimator.estimates(number)] for estimator in found)
    return whole, alone


def compare(runs: list[dict[str, Any]], whole: list[Estimate], alone: list[Estimate], name: str) -> None:
    """Print what runs had, and by how much the estimates differ, in per cent."""
    rows, worst = [], 0.0
    for run in runs:
        key = run["hosts"], run["scheme"]
        read, counted = (next(one for one in of if (one.hosts, one.scheme) == key) for of in (whole, alone))
        pairs = [(run["sent"], read.sent, counted.sent)]
        pairs += [(run["touched"][which], read.touched[which], counted.touched[which]) for which in "et"]
        off = [[100 * (b / a - 1) if a else math.nan for b in (x, y)] for a, x, y in pairs]
        worst = max([worst, *(abs(x) for x, _ in off if not math.isnan(x))])
        shown = [["" if math.isnan(x) else f"{x:+.1f}" for x in two] for two in off]
        figures = [f"{run['sent'] / 1e6:,.1f}", *shown[0]]
        for which, two in zip("et", shown[1:], strict=True):
            figures += [f"{run['touched'][which]:,.0f}" if two[0] else "", *two]
        rows.append((str(run["hosts"]), run["scheme"], *figures))
    heads = ("hosts", "scheme", "MB sent", "off, %", "by counts", "rows of e", "off", "by counts", "rows of t", "off")
    table(f"{name}: runs, and estimates off by so many per cent", (*heads, "by counts"), rows)
    verdict("estimates, of bytes and rows, off by at most", worst, TARGET, " %", least=False)


if __name__ == "__main__":
    app()
