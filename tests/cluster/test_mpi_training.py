"""`mpiexec -n H any2vec words` gives what `any2vec words --hosts H` gives."""

import json
import os
import time

import numpy as np
import pytest
from marks import slow
from ranks import needs_mpi, results, run_python
from simulated import SIZES, rounds_more, text
from typer.testing import CliRunner

from any2vec import Word2Vec, load
from any2vec.cli import app
from any2vec.cluster import local

pytestmark = needs_mpi

MAIN = "from any2vec.cli import main; main()"
KERNEL = ["--dim", "16", "--window", "3", "--negative", "3"]  # as in simulated.SIZES
TRAIN = [*KERNEL, "--min-count", "1", "--epochs", "2", "--threads", "1", "--no-cache"]
FIRST = "import os; rank = int(os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK', '0')));"


def run(folder, *arguments, ranks, main=MAIN):
    """Run `any2vec words` on the corpus, on ranks that are `main` (Python)."""
    given = ["words", "text.txt", *TRAIN, *arguments]
    return run_python("-c", main, *given, ranks=ranks, cwd=folder, timeout=120)


def good(ran):
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout == ""
    return ran.stderr


def simulate(hosts, *arguments):
    """Do the same here, on simulated hosts; return what it says."""
    result = CliRunner().invoke(app, ["words", "text.txt", *TRAIN, *arguments, "--hosts", str(hosts)])
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    return result.stderr


def counts(path):
    """What is not time, of a report."""
    report = json.loads(path.read_text())
    by_columns = report["options"]["scheme"] == "columns"
    n = 2 * report["round_count"]
    n += 0 if by_columns else rounds_more(report["hosts"], report["round_count"])
    assert all(len(figures) == n for figures in report["rounds"]["seconds"].values())
    del report["options"]["hosts"]  # not given on a cluster
    same = ("options", "words", "kept_words", "vocabulary", "loss", "checks", "hosts", "round_count", "threads")
    rounds = {name: report["rounds"][name] for name in ("bytes", "touched", "orthogonality", "orthogonal")}
    return {name: report[name] for name in same} | rounds


@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        slow(2, ["--combine", "average", "--scheme", "rep-naive", "--rounds", "1"]),
        slow(2, ["--combine", "gradient", "--scheme", "rep-opt", "--sample", "0.05"]),
        slow(2, ["--combine", "adasum", "--scheme", "pull-base", "--rounds", "2"]),
        slow(2, ["--model", "cbow", "--combine", "curvature", "--kappa", "0.2"]),
        slow(3, ["--batch", "7", "--scheme", "columns", "--rounds", "2"]),
        slow(2, ["--combine", "average", "--scheme", "server"]),
        (3, ["--combine", "curvature", "--wire", "float32"]),
        slow(2, ["--subwords", "2-3", "--combine", "average", "--scheme", "pull-opt"]),
    ],
    ids=lambda value: "-".join(value[1:4:2]) if isinstance(value, list) else str(value),
)
def test_ranks_write_what_simulated_hosts_write(corpus, ranks, options):
    # hosts first: they compile once what each rank would
    hosts_say = simulate(ranks, "-o", "hosts.bin", "--report", "hosts.json", *options)
    ranks_say = good(run(corpus, "-o", "ranks.bin", "--report", "ranks.json", *options, ranks=ranks))
    assert (corpus / "ranks.bin").read_bytes() == (corpus / "hosts.bin").read_bytes()
    assert len((corpus / "ranks.bin").read_bytes()) > 30 * 64
    assert counts(corpus / "ranks.json") == counts(corpus / "hosts.json")
    # only rank 0 prints
    for what in ("in the vocabulary", "epoch 1/2", f"{ranks} hosts, ", "words/s on", "the vectors of 30 words are in"):
        assert ranks_say.count(what) == hosts_say.count(what) == 1
    assert {path.suffix for path in corpus.iterdir()} == {".txt", ".bin", ".json"}


@pytest.mark.slow
def test_word2vecs_flags_on_ranks(corpus):
    sizes = ["-size", "16", "-window", "3", "-negative", "3", "-min-count", "1", "-threads", "1", "-cbow", "0"]
    given = ["-m", "any2vec", "word2vec", "-train", "text.txt", *sizes]
    good(run_python(*given, "-output", "ranks", "-binary", "1", "-save-vocab", "vocab.txt", ranks=2, cwd=corpus))
    simulate(2, "-o", "hosts.bin", "--epochs", "5", "--save-vocabulary", "same.txt")
    header, _, rest = (corpus / "ranks").read_bytes().partition(b"\n")
    assert header == b"31 16"
    assert rest[: len("</s> ")] == b"</s> "
    assert rest[len("</s> ") + 64 + 1 :] == (corpus / "hosts.bin").read_bytes().partition(b"\n")[2]
    assert (corpus / "vocab.txt").read_text() == (corpus / "same.txt").read_text()
    files = {path.name for path in corpus.iterdir()}
    for mistake, message in (
        (["-output", "v", "-classes", "2"], "-classes is for one host, not 2; train vectors on them"),
        (["-output", "v", "-read-vocab", "text.txt"], "host 0: text.txt, line 1: "),
    ):
        ran = run_python(*given, *mistake, ranks=2, cwd=corpus)
        assert ran.returncode == 1
        (line,) = [line for line in ran.stderr.splitlines() if line.startswith("any2vec: ")]
        assert line.startswith(f"any2vec: {message}")
        assert "Abort" not in ran.stderr
    assert {path.name for path in corpus.iterdir()} == files


@pytest.mark.slow
def test_more_ranks_than_cores(corpus):
    ranks, how = min(os.cpu_count() + 3, 8), ["--combine", "sum", "--rounds", "3", "--quiet"]
    assert simulate(ranks, "-o", "hosts.bin", *how) == ""
    began = time.monotonic()
    assert good(run(corpus, "-o", "ranks.bin", *how, ranks=ranks)) == ""
    assert time.monotonic() - began < 60
    assert (corpus / "ranks.bin").read_bytes() == (corpus / "hosts.bin").read_bytes()


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_all(corpus):
    main = f"""{FIRST}
import any2vec.training.row_host as module
compute, rounds = module.RowHost.compute, []
def killing(*args):
    rounds.append(0)
    if rank == 1 and len(rounds) == 4:
        os.kill(os.getpid(), 9)
    return compute(*args)
module.RowHost.compute = killing
{MAIN}"""
    began = time.monotonic()
    ran = run(corpus, "-o", "v.txt", "--report", "r.json", "--epochs", "100000", ranks=3, main=main)
    assert ran.returncode
    assert time.monotonic() - began < 60
    assert {path.name for path in corpus.iterdir()} == {"text.txt"}


@pytest.mark.parametrize("presser", [slow(0), 1])
def test_a_rank_that_is_interrupted_stops_all(corpus, presser):
    main = f"""{FIRST}
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
import any2vec.training.row_host as module
compute, rounds = module.RowHost.compute, []
def pressing(*args):
    rounds.append(0)
    if rank == {presser} and len(rounds) == 7:
        os.kill(os.getpid(), signal.SIGINT)
    return compute(*args)
module.RowHost.compute = pressing
{MAIN}"""
    ran = run(corpus, "-o", "v.bin", "--report", "r.json", "--epochs", "100000", ranks=2, main=main)
    assert ran.returncode
    assert "Traceback" not in ran.stderr
    assert ran.stderr.count("stopped early; the partly trained vectors of 30 words are in v.bin") == 1
    assert json.loads((corpus / "r.json").read_text())["interrupted"]
    assert np.isfinite(load(corpus / "v.bin").matrix).all()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["any2vec.models.words.read_corpus", "any2vec.cli.training.save"])
def test_a_rank_that_is_interrupted_before_or_after_training_ends_all(corpus, where):
    module, name = where.rsplit(".", 1)
    main = f"""{FIRST}
import {module} as module
def press(*_, **__):
    raise KeyboardInterrupt
if rank == 1:
    module.{name} = press
{MAIN}"""
    ran = run(corpus, "-o", "v.txt", ranks=2, main=main)
    assert ran.returncode
    assert "Traceback" not in ran.stderr
    assert {path.name for path in corpus.iterdir()} == {"text.txt"}


def one_error(ran):
    """The one line that tells what is wrong; launchers may say after it that ranks have ended."""
    assert ran.returncode
    told = [line for line in ran.stderr.splitlines() if line.startswith("any2vec: ")]
    assert len(told) == 1, ran.stderr
    assert "Traceback" not in ran.stderr
    return told[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [(["--rounds", "5"], "--rounds is None on host 0, 5 on host 2"), slow(["--training"], "--training is ")],
    ids=["of training", "of saving"],
)
def test_ranks_that_are_given_different_options(corpus, given, said):
    main = f"{FIRST} import sys; sys.argv += {given} * (rank == 2); {MAIN}"
    error = one_error(run(corpus, "-o", "v", ranks=3, main=main))
    assert error.startswith(f"any2vec: the hosts were given different options: {said}")
    assert {path.name for path in corpus.iterdir()} == {"text.txt"}


@pytest.mark.slow
def test_ranks_that_see_different_graphs(corpus):
    (corpus / "other").mkdir()
    edges = "".join(f"a{i} a{i + 1}\n" for i in range(40))
    (corpus / "g.edges").write_text(edges)
    (corpus / "other" / "g.edges").write_text(edges.replace("a7 ", "b7 "))
    told = ["nodes", "g.edges", "-o", str(corpus / "v.txt"), "--length", "10", *KERNEL]
    main = f"{FIRST} rank == 1 and os.chdir('other'); import sys; sys.argv[1:] = {told}; {MAIN}"
    error = one_error(run(corpus, ranks=2, main=main))
    assert "hosts 0 and 1 have different graphs" in error
    assert {path.name for path in corpus.iterdir()} == {"text.txt", "other", "g.edges"}


@pytest.mark.slow
def test_ranks_that_see_different_corpora(corpus):
    (corpus / "other").mkdir()
    (corpus / "other" / "text.txt").write_text((corpus / "text.txt").read_text() + "one more line\n")
    main = f"{FIRST} rank == 1 and os.chdir('other'); {MAIN}"
    error = one_error(run(corpus, "-o", corpus / "v.txt", ranks=2, main=main))
    assert "text.txt" in error
    assert {path.name for path in corpus.iterdir()} == {"text.txt", "other"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hosts", "3"], "hosts is 3, but the cluster has 2; leave it out"),
        slow(["--min-count", "100000"], "--min-count 100000 leaves no word"),
        slow(["--alpha", "1", "--combine", "sum", "--epochs", "300", "--sample", "0", "--rounds", "1"], "not finite"),
    ],
)
def test_mistakes_are_told_once(corpus, arguments, message):
    ran = run(corpus, "-o", "v.txt", *arguments, ranks=2)
    assert message in one_error(ran)
    assert {path.name for path in corpus.iterdir()} == {"text.txt"}


def fit_own_sentences(communicator):
    """Train on this host's part of sentences; return the vectors of the words whose masters are here."""
    sentences = text(60)
    mine = iter(sentences[:25] if communicator.rank == 0 else sentences[25:])
    model = Word2Vec(**SIZES["window"], min_count=1, epochs=1, threads=1, cache=None).fit(
        mine, communicator=communicator
    )
    return [communicator.rank, model.report_.words, list(model.vectors_.words), model.vectors_.matrix.tolist()]


def test_ranks_that_each_give_their_own_sentences(tmp_path):
    assert results(tmp_path, fit_own_sentences, ranks=2) == local.simulate(2, 2, fit_own_sentences)
