"""Hosts that are processes of torch.distributed: the environment says how many."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from marks import slow
from ranks import LISTENING, VARIABLES, inherited, needs_torch, run_python
from typer.testing import CliRunner

from any2vec import cluster
from any2vec.cli import app
from any2vec.cluster import gloo
from any2vec.errors import Any2VecError, Any2VecWarning
from any2vec.report.log import read_report
from any2vec.report.page import facts, figure_of, panels

START = f"""
import os, sys, time
sys.path = {sys.path!r}
import numpy as np
from any2vec.cluster import connect, gloo
from any2vec.errors import Any2VecError
world = connect()
"""
MAIN = "from any2vec.cli import main; main()"
TRAIN = ["words", "text.txt", "--dim", "16", "--window", "3", "--negative", "3", "--min-count", "1", "--threads", "1"]
TRAIN += ["--epochs", "2", "--no-cache"]


def start(*arguments, hosts, cwd=None, environment=()):
    """Start hosts as Kubernetes or Slurm do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": str(hosts)}
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env=inherited() | address | {"RANK": str(rank)} | dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(hosts)
    ]


def ends(processes, seconds=60):
    """Return status, standard output and error of processes."""
    try:
        return [(process.returncode, *said) for process in processes for said in [process.communicate(timeout=seconds)]]
    finally:
        for process in processes:
            process.kill()


@needs_torch
def test_every_call_gives_what_the_local_engine_gives():
    script = """
from any2vec.cluster.local import is_simulated, simulate
from engine_calls import program
assert world.size == 4 and not is_simulated(world) and gloo.launched() and gloo.world() is world
assert simulate(4, 2, program)[world.rank] == program(world)
print("same")
"""
    assert [(status, out) for status, out, _ in ends(start("-c", START + script, hosts=4))] == [(0, "same\n")] * 4


@needs_torch
def test_a_host_says_what_it_receives_before_it_sends():
    """Else two hosts send large messages to each other one after the other (benchmarks/log/networks.md)."""
    began, lengths = [], {"irecv": [], "isend": []}

    class Library:
        def get_rank(self, group):
            return 1

        def get_world_size(self, group):
            return 3

        def act(self, name, tensor, host):
            began.append((name, host))
            lengths[name].append(tensor.numel())
            return SimpleNamespace(wait=lambda: None)

        def irecv(self, tensor, host, group, tag):
            return self.act("irecv", tensor, host)

        def isend(self, tensor, host, group, tag):
            return self.act("isend", tensor, host)

    send, receive = np.arange(20, dtype=np.float64).reshape(10, 2), np.zeros((6, 2))
    host = gloo._Processes(Library(), None)
    host.ialltoallv(send, np.array([3, 2, 5]), receive, np.array([4, 2, 0])).wait()
    assert began == [("irecv", 0), ("isend", 2), ("isend", 0)]  # nothing comes from host 2
    assert lengths == {"irecv": [4 * 16], "isend": [5 * 16, 3 * 16]}
    assert (receive[4:] == send[3:5]).all()  # its own rows


@needs_torch
@pytest.mark.parametrize(
    "options", [[], slow(["--scheme", "columns", "--batch", "7", "--model", "cbow"]), slow(["--wire", "float32"])]
)
def test_torchrun_writes_what_simulated_hosts_write(corpus, options):
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", "--no-python", sys.executable]
    ran = run_python(*launch, "-m", "any2vec", *TRAIN, *options, "-o", "run.bin", cwd=corpus, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("the vectors of 30 words are in run.bin") == 1
    assert "Warning" not in ran.stderr
    same = CliRunner().invoke(app, [*TRAIN, *options, "--hosts", "4", "-o", "simulated.bin"])
    assert same.exit_code == 0, same.output
    assert (corpus / "run.bin").read_bytes() == (corpus / "simulated.bin").read_bytes()


@pytest.mark.slow
@needs_torch
def test_torchrun_starts_hosts_again(corpus):
    """One is killed after the first checkpoint; the rest of the run has the same bits."""
    killed = """
import os, signal, threading, time
from pathlib import Path
def kill():
    while not list(Path("kept").glob("*.json")):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    threading.Thread(target=kill, daemon=True).start()
"""
    (corpus / "run.py").write_text(killed + MAIN)
    given = [*TRAIN[:-3], "--epochs", "40", "--no-cache", "-o", "run.bin"]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "2"]
    kept = ["--checkpoint", "kept", "--resume", "kept", "--checkpoint-every", "2"]
    ran = run_python(*launch, "run.py", *given, *kept, cwd=corpus, timeout=150)
    assert ran.returncode == 0, ran.stderr
    assert "going on from kept" in ran.stderr
    same = CliRunner().invoke(app, [*given, "--hosts", "2", "-o", "simulated.bin"])
    assert same.exit_code == 0, same.output
    assert (corpus / "run.bin").read_bytes() == (corpus / "simulated.bin").read_bytes()


@needs_torch
@pytest.mark.parametrize("sent", [signal.SIGTERM, slow(signal.SIGINT)])
def test_signals_end_a_host_that_waits_for_others_to_join(corpus, sent):
    alone, other = start("-c", MAIN, *TRAIN, "-o", "v.bin", hosts=2)
    other.kill()
    (port,) = re.findall(rb"MASTER_PORT=(\d+)", Path(f"/proc/{alone.pid}/environ").read_bytes())
    with socket.socket() as seeking:
        while seeking.connect_ex(("127.0.0.1", int(port))):  # it does not wait yet
            assert alone.poll() is None
            time.sleep(0.05)
    time.sleep(0.5)
    assert alone.poll() is None
    alone.send_signal(sent)
    began = time.monotonic()
    (found, _, says), _ = ends([alone, other], seconds=20)
    assert time.monotonic() - began < 10
    assert found == 130
    assert "Traceback" not in says


@needs_torch
def test_a_host_that_waits_long_for_others_says_so(monkeypatch):
    monkeypatch.setattr(gloo, "_PATIENCE", 0.1)
    monkeypatch.setenv("ANY2VEC_TIMEOUT", "1")
    says = r"host 1 of 2 has waited 0.1 s to meet the others at 127\.0\.0\.1:1; it gives up after 1 s"
    with pytest.warns(Any2VecWarning, match=says), pytest.raises(Any2VecError, match="host 1 cannot join"):
        gloo.world_of(1, 2, "127.0.0.1", 1)


@needs_torch
def test_a_host_that_dies_is_an_error_on_all_others(corpus):
    kept = "--checkpoint", "kept", "--checkpoint-every", "1"
    hosts = start("-c", MAIN, *TRAIN[:-2], "9000", "--no-cache", *kept, "-o", "v.bin", hosts=3, cwd=corpus)
    for _ in range(1200):
        time.sleep(0.1)
        if list(corpus.glob("kept/*.json")):  # training has begun
            break
    assert all(host.poll() is None for host in hosts)
    hosts[1].send_signal(signal.SIGKILL)
    began = time.monotonic()
    found = ends(hosts)
    assert time.monotonic() - began < 20
    assert [status for status, *_ in found] == [1, -signal.SIGKILL, 1]
    for _, _, says in (found[0], found[2]):
        assert "another host ended, or was cut off" in says
        assert "Check the logs" not in says  # gloo's advice
        assert "Traceback" not in says
    assert not (corpus / "v.bin").exists()


@pytest.mark.slow
@needs_torch
def test_a_host_that_stalls_is_an_error_on_all_others():
    script = """
if world.rank == 1:
    time.sleep(30)
try:
    world.barrier()
except Any2VecError as error:
    print(error)
    os._exit(3)
"""
    found = ends(start("-c", START + script, hosts=3, environment={"ANY2VEC_TIMEOUT": "4"}))
    assert "a host has not joined in for 4 seconds" in found[0][1] + found[2][1]
    assert [found[0][0], found[2][0]] == [3, 3]


@pytest.mark.slow
@needs_torch
def test_a_graph_in_parts_has_the_bits_of_the_whole_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ends_of_edges = np.random.default_rng(4).integers(0, 90, (400, 2)).tolist()
    (tmp_path / "graph.edges").write_text("".join(f"v{a} {b}\n" for a, b in ends_of_edges))
    nodes = ["nodes", "graph.edges", "--dim", "16", "--window", "3", "--negative", "3", "--epochs", "1", "--q", "4"]
    nodes += ["--walks", "2", "--length", "9", "--threads", "1"]
    result = CliRunner().invoke(app, [*nodes, "--hosts", "4", "--graph", "whole", "-o", "whole.bin"])
    assert result.exit_code == 0, result.output
    found = ends(start("-c", MAIN, *nodes, "--graph", "parts", "-o", "parts.bin", hosts=4, cwd=tmp_path), 120)
    assert [status for status, *_ in found] == [0] * 4, found
    assert "the graph is in 4 parts: hosts sent" in found[0][2]
    assert (tmp_path / "parts.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


@needs_torch
def test_the_slowest_host_is_named(corpus):
    """Its log, which goes on, and its report say the same; what the others waited for it is about what it slept."""
    slow = """
import os, time
from any2vec.training.row_host import RowHost
compute = RowHost.compute
def late(*arguments):
    time.sleep(0.05 * (os.environ["RANK"] == "1"))
    return compute(*arguments)
RowHost.compute = late
"""
    kept = "--report", "run.json", "--log", "run.jsonl", "--scheme", "pull-opt", "--verbose"
    found = ends(start("-c", slow + MAIN, *TRAIN, *kept, "-o", "v.bin", hosts=2, cwd=corpus))
    assert [status for status, *_ in found] == [0, 0], found
    report = read_report(corpus / "run.json")
    rounds, n = report.rounds, len(report.rounds)
    assert rounds.by_host == read_report(corpus / "run.jsonl").rounds.by_host
    assert rounds.by_host["last computing"][1] > 0.5 * n
    assert 0.02 * n < rounds.by_host["awaited computing"][1] < report.seconds["train"]
    assert rounds.by_host["computing"][1] > 0.05 * n
    assert sum(rounds.waited) < sum(rounds.seconds["communication"])
    assert 0 < sum(rounds.hidden) < report.seconds["train"]
    assert re.search(r"waiting for slower hosts, s +0\.\d", found[0][2])
    assert re.search(rf"host 1 was slowest: it computed .* was last in \d+ of {n} rounds; they waited", found[0][2])
    assert dict(facts(report))["communication"].startswith("each host: transfer ")
    assert dict(facts(report))["slowest host"] in found[0][2]
    (phases,) = [panel for panel in panels(report) if panel.title == "Phases of rounds"]
    names = [text.get_text().partition(":")[0] for text in figure_of(phases).axes[0].get_legend().get_texts()]
    assert names[-2:] == ["transfer", "waiting"]
    assert "communication" not in names


@pytest.mark.slow
@needs_torch
def test_a_host_that_stalls_in_the_middle_of_a_message_is_an_error_on_the_other():
    script = """
from any2vec.cli.help import fail
counts = np.full(2, 10_000)
send, receive = np.ones((20_000, 10_000), np.uint8), np.zeros((20_000, 10_000), np.uint8)  # 100 MB for the other
request = world.ialltoallv(send, counts, receive, counts)
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
began = time.monotonic()
try:
    request.wait()
except Any2VecError as error:
    print(time.monotonic() - began, receive[10_000:].mean())
    fail(error)
"""
    hosts = start("-c", f"import signal{START}{script}", hosts=2, environment={"ANY2VEC_TIMEOUT": "3"})
    try:
        out, says = hosts[0].communicate(timeout=60)
        assert hosts[1].poll() is None  # it is still stopped
    finally:
        for host in hosts:
            host.kill()
    seconds, came = map(float, out.split())
    assert 2 < seconds < 20
    assert came < 1
    assert hosts[0].returncode == 1
    assert says.startswith("any2vec: host 0: a host has not joined in for 3 seconds: stopped, cut off, or very slow")
    assert says.count("\n") == 1


@needs_torch
def test_the_default_process_group_of_a_program_is_used():
    script = """
import numpy as np, torch.distributed
torch.distributed.init_process_group("gloo")
from any2vec.cluster import connect
assert connect().allgather(np.array([connect().rank])).tolist() == [[0], [1]]
"""
    found = ends(start("-c", script, hosts=2))
    assert [status for status, *_ in found] == [0, 0], found


@needs_torch
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"RANK": "first"}, "RANK is 'first' in the environment; it must be a number"),
        ({"RANK": "2"}, "RANK is '2' in the environment; it must be a number, from 0 to 1: WORLD_SIZE is 2"),
        ({"RANK": "-1"}, "RANK is '-1' in the environment; it must be a number, from 0 to 1"),
        ({"RANK": "\u0661"}, "RANK is '\u0661' in the environment"),
        ({"WORLD_SIZE": "-2"}, "WORLD_SIZE is '-2' in the environment; it must be a number, 1 or more"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE is '0' in the environment"),
        ({"WORLD_SIZE": "2.0"}, "WORLD_SIZE is '2.0' in the environment"),
        (
            {"MASTER_PORT": "99999999"},
            "MASTER_PORT is '99999999' in the environment; it must be a number, from 1 to 65,535",
        ),
        ({"MASTER_PORT": "0"}, "MASTER_PORT is '0' in the environment"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT is 'http' in the environment"),
        ({"ANY2VEC_TIMEOUT": "soon"}, "ANY2VEC_TIMEOUT is 'soon' in the environment; it must be a positive number"),
        ({"ANY2VEC_TIMEOUT": "1e30"}, "ANY2VEC_TIMEOUT is '1e30' in the environment"),
        ({"RANK": "1", "ANY2VEC_TIMEOUT": "2"}, "host 1 cannot join the others at 127.0.0.1:1: "),
        ({"MASTER_ADDR": "no.such.invalid", "ANY2VEC_TIMEOUT": "1"}, "the name no.such.invalid does not resolve"),
        ({"GLOO_SOCKET_IFNAME": "nope0"}, "GLOO_SOCKET_IFNAME is 'nope0' in the environment; this machine has lo"),
    ],
)
def test_what_cannot_connect(environment, message):
    given = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"} | environment
    ran = run_python("-m", "any2vec", "words", "x", "-o", "y", environment=given)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(Any2VecError, match=r"needs torch.* pip install 'torch>=2.4'"):
        gloo.load_library()


def test_launched_is_read_from_the_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert not gloo.launched()
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "5"}.items():
        assert not gloo.launched()
        monkeypatch.setenv(name, value)
    assert gloo.launched()
    assert cluster.detected() is cluster.ENGINES["gloo"]
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not gloo.launched()
    monkeypatch.delenv("MASTER_PORT")
    assert cluster.connect().size == 1
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(Any2VecError, match="RANK and WORLD_SIZE are set in the environment, but not MASTER_PORT"):
        cluster.connect()


@needs_torch
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="no /proc")
@pytest.mark.parametrize(
    ("environment", "everywhere"),
    [
        ({}, False),
        ({"MASTER_ADDR": "localhost"}, False),
        ({"MASTER_ADDR": "localhost", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True),
    ],
)
def test_hosts_listen_where_they_must(environment, everywhere):
    """On one machine, on its loopback interface only; Kubernetes tells the first host that it is called localhost."""
    found = ends(start("-c", START + LISTENING + "print(sorted(listening()))", hosts=2, environment=environment))
    assert [status for status, *_ in found] == [0, 0], found
    said = [text.strip() for _, text, _ in found]
    loopback = "['0100007F']"
    assert said[0] != loopback if everywhere else said == [loopback] * 2


@needs_torch
def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        given = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(taken.getsockname()[1])}
        ran = run_python("-m", "any2vec", "words", "x", "-o", "y", environment=given)
    assert ran.returncode == 1
    assert re.search(r"host 0 cannot join the others at 127.0.0.1:\d+: .*in use; MASTER_PORT names", ran.stderr)
    assert ran.stderr.count("\n") == 1
