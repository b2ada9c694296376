"""How the lines of a graph's file are written, detected from the first that is not a comment."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from any2vec.errors import Any2VecError
from any2vec.graph.build import DECIMAL_COMMA, HEADER, ReadOptions, quoted, titled
from any2vec.graph.parse import ADJACENCY, SPACES, LineBlock, UnclosedQuoteError, split_fields, without_quoted
from any2vec.io.inputs import BOM, HEAD, InputFile, foreign

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


def _refuse_foreign(text: bytes, whole: bool, name: str) -> None:
    """Raise if a file is of another format: `text` is its beginning, up to the whole, as `whole` says."""
    head = text[:HEAD].removeprefix(BOM)
    if found := foreign(head):
        raise Any2VecError(f"{name}: this is {found.what}; {_AS_GRAPH.get(found.name, found.how)}")
    for pattern, what, how in _PATTERNS:
        if pattern.search(head) if pattern.flags & re.MULTILINE else pattern.match(head):
            raise Any2VecError(f"{name}: this is {what}, not an edge list; {how}")
    if whole and _is_metis(text):
        raise Any2VecError(f"{name}: this is a METIS file, not an edge list; {_METIS}")


_METIS = "give line i + 1 as vertex i and its neighbours, with `format='adjacency'`"


def metis_hint(line: bytes) -> str:
    """Return a hint for a file whose first line could be METIS' numbers of vertices and edges."""
    return f"; if this is a METIS file, {_METIS}" if _INTEGERS.fullmatch(line) else ""


def _is_metis(text: bytes) -> bool:
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


_SEPARATORS = re.compile(rb"[\s,]*,[\s,]*|\s*[;|]\s*|\s+")
_TAB, _COMMA = ord("\t"), ord(",")
_KINDS = {_COMMA: "commas", ord("|"): "bars", ord(";"): "semicolons", SPACES: "spaces", _TAB: "tabs"}


class Dialect(NamedTuple):
    """How to read a line."""

    delimiter: int  # the byte between two fields, or SPACES: any run of it
    fields: int  # 2, 3 (the third is a weight), or ADJACENCY: any number
    exact: bool  # whether further fields are an error; else they are skipped
    quotes: bool = True  # whether a field may be quoted, as in CSV

    @property
    def expected(self) -> str:
        """What a line must be, for errors."""
        between = "whitespace" if self.delimiter == SPACES else repr(chr(self.delimiter))
        if self.fields == ADJACENCY:
            return f"a vertex and its neighbours, separated by {between}"
        what = "two vertices" if self.fields == 2 else "two vertices and a weight"
        return f"{what}, separated by {between}"


def _detect_dialect(line: bytes, where: str, options: ReadOptions, *, adjacency: bool) -> Dialect:
    """Detect the dialect from the first line; `where` is for errors."""
    byte = guess_delimiter(line, where, options, adjacency=adjacency)
    quotes = byte != SPACES or without_quoted(line) != line
    if adjacency:
        if options.weighted:
            raise Any2VecError(f"{where}: an adjacency list has no weights; give an edge list, or `weighted=False`")
        return Dialect(byte, ADJACENCY, False, quotes)
    if options.weighted is not None:
        return Dialect(byte, 3 if options.weighted else 2, False, quotes)
    with titled(f"{where}: {quoted(line)}"):
        fields = split_fields(line, byte)
    if len(fields) == 2:
        return Dialect(byte, 2, True, quotes)
    expected = "expected two vertices, or two vertices and a weight"
    if len(fields) < 2:
        raise Any2VecError(f"{where}: {quoted(line)}: one field; {expected}; `delimiter` says what separates them")
    advice = "`weighted=False` reads the first two of an edge list, `format='adjacency'` a vertex and its neighbours"
    if len(fields) > 3:
        raise Any2VecError(
            f"{where}: {quoted(line)}: {len(fields)} fields; {expected}; `weighted=True` reads the first "
            f"three, {advice}; {HEADER}{metis_hint(line)}"
        )
    if not _number_like(fields[2]):
        if DECIMAL_COMMA.fullmatch(fields[2]):
            raise Any2VecError(
                f"{where}: {quoted(line)}: the third field {quoted(fields[2])} has a comma; weights are written as "
                f"1234.5, with a point and nothing between thousands; `weighted=False` ignores them"
            )
        raise Any2VecError(
            f"{where}: {quoted(line)}: the third field {quoted(fields[2])} is not a weight; expected a number; "
            f"{HEADER}; {advice}; networkx writes weights with data=['weight']"
        )
    return Dialect(byte, 3, True, quotes)


def _delimiter_byte(delimiter: str) -> int:
    """Return the byte of a delimiter, or SPACES."""
    if delimiter == " ":
        return SPACES
    if len(delimiter) == 1 and "\t" <= delimiter < "\x7f" and not delimiter.isalnum() and delimiter not in "\n\r":
        return ord(delimiter)
    raise Any2VecError(
        f"`delimiter` is {delimiter!r}; give one character such as ',', ';' or '\\t', or ' ' for whitespace"
    )


def _number_like(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def guess_delimiter(
    line: bytes, where: str, options: ReadOptions, *, adjacency: bool = False, labels: bool = False
) -> int:
    """Return the delimiter that is given, or else what separates the first line: if two would do, that is an error.

    A line whose vertices and weight are separated by tabs may have anything but spaces and commas between tabs; with
    `labels`, also these.
    """
    if options.delimiter is not None:
        return _delimiter_byte(options.delimiter)
    kinds = {_kind(run) for run in _SEPARATORS.findall(without_quoted(line).strip())}
    if len(kinds) < 2:
        return kinds.pop() if kinds else SPACES
    usual = kinds & {_COMMA, _TAB, SPACES}
    if _TAB in kinds and (labels or len(usual) == 1):
        return _TAB
    fit = [kind for kind in sorted(kinds) if _fits(line, kind, options, adjacency=adjacency or labels)]
    if usual != kinds and len(usual) < 2 and len(fit) == 1:
        return fit[0]
    if usual != kinds and len(usual) == 1 and not fit:  # an error that says what is wrong with it
        return usual.pop()
    found = " and ".join(sorted(_KINDS[kind] for kind in kinds))
    readings = "; ".join(_reading(line, kind) for kind in sorted(kinds))
    raise Any2VecError(f"{where}: {quoted(line)}: has {found}; give what separates fields as `delimiter`: {readings}")


def _fits(line: bytes, byte: int, options: ReadOptions, *, adjacency: bool) -> bool:
    """Whether a line separated so would be an edge; so it is if it holds a decimal comma, which an error names."""
    try:
        fields = split_fields(line, byte)
    except UnclosedQuoteError:
        return False
    if len(fields) < 2 or not all(fields[:2]):
        return False
    if adjacency or options.weighted is False or any(map(DECIMAL_COMMA.fullmatch, fields[2:])):
        return True
    weight = len(fields) > 2 and _number_like(fields[2])
    return weight if options.weighted else len(fields) == 2 or (len(fields) == 3 and weight)


def _reading(line: bytes, byte: int) -> str:
    """Show what a line is with a delimiter, for errors."""
    sign = {SPACES: "' ' (any whitespace)", _TAB: r"'\t'"}.get(byte, repr(chr(byte)))
    try:
        fields = split_fields(line, byte)
    except UnclosedQuoteError:
        return sign
    return f"{sign} for {', '.join(map(quoted, fields[:3]))}{', ...' if len(fields) > 3 else ''}"


def _kind(run: bytes) -> int:
    if sign := run.strip():
        return sign[0]
    return _TAB if run.count(b"\t") == 1 else SPACES


_SMALL = 1 << 20  # bytes of a file that is looked at as a whole


class Beginning(NamedTuple):
    """The lines before the first that is neither a comment nor a header, and this line, unless there is none."""

    comments: int  # among the lines before it
    lines: int = 0  # before it
    start: int = 0  # the byte of the file's text at which it begins
    line: bytes = b""
    dialect: Dialect | None = None


def begin_file(
    file: InputFile, blocks: Iterable[LineBlock], options: ReadOptions, *, adjacency: bool
) -> tuple[Beginning, list[LineBlock]]:
    """Read up to the first line of an edge; return also the block in which it is, from this line on."""
    comments = tuple(bytes([byte]) for byte in options.comments.encode())
    lines = skipped = start = 0
    started, header = True, options.header
    for block in blocks:
        text = block.text[block.begin : block.end].tobytes()
        if started:
            _refuse_foreign(text, len(text) < _SMALL and not adjacency, file.name)
            start = block.begin
        started = False
        at = 0
        while at < len(text):
            stop = text.index(b"\n", at)
            found = text[at:stop].strip()
            if found and found.startswith(comments):
                skipped += 1
            elif found and header:
                header = False
            elif found:
                where = f"{file.name}, line {lines + 1:,}"
                dialect = _detect_dialect(found, where, options, adjacency=adjacency)
                return Beginning(skipped, lines, start + at, found, dialect), [block._replace(begin=block.begin + at)]
            lines += 1
            at = stop + 1
        start += len(text)
    return Beginning(skipped), []
