"""A program of its own that reads one matrix of a Matlab file: SciPy's reader may crash on a damaged one.

``python mat_process.py KEY < FILE`` writes the matrix to the standard output in NumPy's .npz. It is there as `data`,
`indices`, `indptr` and `shape` of compressed columns, or as `dense`; else `names` has the names in the file. It imports
nothing of any2vec.
"""

import io
import sys
from typing import Any

TOO_LITTLE = 3  # exit status: what the file declares does not fit into memory


def main() -> None:
    """Read, choose, write; an error is a line on the standard error, and exit status 1 (of memory: 3)."""
    import numpy as np
    import scipy.io

    try:
        file: Any = io.BytesIO(sys.stdin.buffer.read())  # not every version of scipy-stubs takes it
        matrices = scipy.io.loadmat(file)
        matrix = matrices.get(sys.argv[1])
        found = {}
        if matrix is None:
            found["names"] = np.array([name for name in matrices if not name.startswith("__")], np.str_)
        elif hasattr(matrix, "tocsc"):
            matrix = matrix.tocsc()
            found = {name: np.asarray(getattr(matrix, name)) for name in ("data", "indices", "indptr", "shape")}
        elif isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf":
            found["dense"] = matrix
        out = io.BytesIO()
        np.savez(out, **found)  # type: ignore[arg-type]
    except MemoryError:
        sys.exit(TOO_LITTLE)
    except Exception as error:  # SciPy's readers raise whatever the bytes lead them to
        sys.exit(" ".join(str(error).split())[:80] or type(error).__name__)
    sys.stdout.buffer.write(out.getvalue())


if __name__ == "__main__":
    main()
