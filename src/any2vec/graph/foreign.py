"""Files of graphs that are no edge lists, recognized by what they begin with."""

import re

from any2vec.errors import Any2VecError
from any2vec.io.inputs import HEAD, foreign

__all__ = ["JSON", "metis_hint", "refuse_foreign"]

_NETWORKX = "read it with networkx.{} and give the graph"
_AS_GRAPH = {  # what is done with these as a graph
    "npy": "read it with numpy.load and give the array, of shape (E, 2)",
    "npz": "give its name the ending .npz, or `format='npz'`",
    "mat": "give its name the ending .mat, or `format='mat'`",
    "parquet": "give its name the ending .parquet, or `format='parquet'`",
    "arrow": "read it with pandas.read_feather and give two columns, such as frame[['source', 'target']]",
    "fasttext": "it has vectors of words, no edges",
    "safetensors": "it has vectors, no edges",
    "pickle": "unpickle it, if you trust where it comes from (it may run any code), and give the graph or the edges",
}
_LINE = re.IGNORECASE | re.MULTILINE
JSON = re.compile(rb'\s*[\[{]\s*["\[{\]}]')
_TEXTS = (  # of the first HEAD bytes, without a byte-order mark
    (rb"%%MatrixMarket", 0, "a Matrix Market file", "read it with scipy.io.mmread and give the matrix, or save that "
     "with scipy.sparse.save_npz"),
    (rb"\s*<.*?<graphml\b", re.IGNORECASE | re.DOTALL, "GraphML", _NETWORKX.format("read_graphml")),
    (rb"\s*<.*?<gexf\b", re.IGNORECASE | re.DOTALL, "GEXF", _NETWORKX.format("read_gexf")),
    (rb"\s*<(\?xml|graphml|gexf)\b", re.IGNORECASE, "XML", "read it with the library that wrote it and give the graph"),
    (rb"^[ \t]*graph\s*\[\s*$", _LINE, "GML", _NETWORKX.format("read_gml")),
    (rb"\s*(Creator\s.*\s+)?(Version\s.*\s+)?graph\s*\[", re.IGNORECASE, "GML", _NETWORKX.format("read_gml")),
    (rb"\s*([#%][^\n]*\n\s*|//[^\n]*\n\s*|/\*(?:[^*]|\*(?!/))*\*/\s*)*(strict\s+)?(di)?graph\b[^\n\[\],;]*\s*\{",
     re.IGNORECASE, "Graphviz (DOT)", _NETWORKX.format("nx_pydot.read_dot")),
    (rb"\s*(%[^\n]*\n\s*)*\*(vertices|network|arcs|edges)\b", re.IGNORECASE, "a Pajek file",
     _NETWORKX.format("read_pajek")),
    (rb"^p[ \t]+(edge|edges|col|sp|max|min|asn|tw|cep|aux)[ \t]+\S+[ \t]+\d+", _LINE, "a DIMACS file",
     "give its lines without the first letter, and without those of c and p"),
    (rb"\s*(LEDA\.GRAPH)\b", 0, "a LEDA file", _NETWORKX.format("read_leda")),
    (rb">>(graph6|sparse6|digraph6)<<", 0, "graph6 or sparse6", _NETWORKX.format("read_graph6, or read_sparse6,")),
    (rb"\s*nodedef\s*>", re.IGNORECASE, "a GDF file of GUESS", "give the lines after edgedef> as a CSV file"),
    (rb"\s*dl\s+n\s*=?\s*\d", re.IGNORECASE, "a DL file of UCINET", "give its edges as an edge list"),
    (JSON.pattern, 0, "JSON",
     "read it with json.load and give networkx.node_link_graph(...), or a list of pairs"),
    (rb"\s*\[\s*-?\d+\s*(,|\])", 0, "JSON", "read it with json.load and give a list of pairs"),
    (rb"\A\s*\(\s*[^()\n]+,[^()\n]+\)\s*,?\s*$", re.MULTILINE, "a text of Python's tuples",
     "read its lines with ast.literal_eval and give a list of them"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, flags), what, how) for pattern, flags, what, how in _TEXTS]
_INTEGERS = re.compile(rb"\s*\d+([ \t]+\d+){1,3}\s*")


def refuse_foreign(text: bytes, whole: bool, name: str) -> None:
    """Raise if a file is of another format: `text` is its beginning, up to the whole, as `whole` says."""
    head = text[:HEAD].removeprefix(b"\xef\xbb\xbf")
    if found := foreign(head):
        raise Any2VecError(f"{name}: this is {found.what}; {_AS_GRAPH.get(found.name, found.how)}")
    for pattern, what, how in _PATTERNS:
        if pattern.search(head) if pattern.flags & re.MULTILINE else pattern.match(head):
            raise Any2VecError(f"{name}: this is {what}, not an edge list; {how}")
    if whole and is_metis(text):
        raise Any2VecError(f"{name}: this is a METIS file, not an edge list; {_METIS}")


_METIS = "give line i + 1 as vertex i and its neighbours, with `format='adjacency'`"


def metis_hint(line: bytes) -> str:
    """Return a hint for a file whose first line could be METIS' numbers of vertices and edges."""
    return f"; if this is a METIS file, {_METIS}" if _INTEGERS.fullmatch(line) else ""


def is_metis(text: bytes) -> bool:
    """Whether a text is a graph of METIS without weights: each edge is there from both ends."""
    numbers = text[: text.find(b"\n")].split()
    if len(numbers) != 2 or not all(number.isdigit() and len(number) < 10 for number in numbers):
        return False
    vertices, edges = map(int, numbers)
    if vertices < 3 or text.count(b"\n") != vertices + 1:  # most are told apart here
        return False
    lines = text.split(b"\n")[:-1]
    try:
        pairs = [(i, int(other)) for i, line in enumerate(lines[1:], 1) for other in line.split()]
    except ValueError:
        return False
    found = set(pairs)
    return len(found) == len(pairs) == 2 * edges and all(a != b and (b, a) in found for a, b in pairs)
