"""One pass of exact inner products with numpy over vectors of an .npy-like raw file, read in blocks as the product reads them: best of three, in seconds.
Arguments: file of 32-bit floats, width, queries' file, rows of a block, top. One line of JSON."""

import json
import sys
import time

import numpy

path, width, queries_path, block, top = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
queries = numpy.fromfile(queries_path, dtype=numpy.float32).reshape(-1, width)


def one_pass():
    started = time.perf_counter()
    best = [[] for _ in queries]
    before = 0
    with open(path, "rb") as file:
        while True:
            rows = numpy.frombuffer(file.read(block * width * 4), dtype=numpy.float32).reshape(-1, width)
            if len(rows) == 0:
                break
            scores = queries @ rows.T
            for at, line in enumerate(scores):
                k = min(top, len(line))
                for row in numpy.argpartition(-line, k - 1)[:k]:
                    best[at].append((float(line[row]), before + int(row)))
                best[at] = sorted(best[at], key=lambda one: (-one[0], one[1]))[:top]
            before += len(rows)
    return time.perf_counter() - started, best


runs = [one_pass() for _ in range(3)]
seconds, best = min(runs, key=lambda one: one[0])
print(json.dumps({"seconds": seconds, "rows": [[row for _, row in one] for one in best]}))
