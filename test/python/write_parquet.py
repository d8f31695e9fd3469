"""Writes Parquet files: stdin {"files": [{"path", "rows", "options"}]}, options as of pyarrow.parquet.write_table; stdout pyarrow's version."""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

for file in json.load(sys.stdin)["files"]:
    pq.write_table(pa.Table.from_pylist(file["rows"]), file["path"], **file["options"])
print(json.dumps(pa.__version__))
