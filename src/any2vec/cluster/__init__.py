"""Communication between hosts: one protocol, and the engines behind it."""

from any2vec.cluster import mpi
from any2vec.cluster.communicator import Communicator, Request
from any2vec.cluster.engines import ENGINES, Engine, connect
from any2vec.cluster.local import alone, simulate

__all__ = ["ENGINES", "Communicator", "Engine", "Request", "alone", "connect", "mpi", "simulate"]
