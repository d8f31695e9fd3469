"""The best rows by inner product: {"vectors", "queries", "top"} on stdin, [[row, score], …] for each query on stdout. Products in 64-bit floats; equal
scores keep the order of the rows."""

import json
import sys

import numpy

given = json.load(sys.stdin)
vectors = numpy.asarray(given["vectors"], dtype=numpy.float32).astype(numpy.float64)
found = []
for query in numpy.asarray(given["queries"], dtype=numpy.float32).astype(numpy.float64):
    scores = vectors @ query
    best = numpy.argsort(-scores, kind="stable")[: given["top"]]
    found.append([[int(row), float(scores[row])] for row in best])
print(json.dumps(found))
