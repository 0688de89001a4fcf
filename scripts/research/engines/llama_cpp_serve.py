"""llama.cpp's server, one for each GGUF file, behind one URL that sends a request to the model it names.

python scripts/research/engines/llama_cpp_serve.py PORT NAME=FILE [NAME=FILE…]   (needs xllamacpp)

llama.cpp's server has one model and does not look at the name in a request.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import xllamacpp

CONTEXT_TOKENS = 8192
NUM_AT_ONCE = 4


def started(path: str) -> xllamacpp.Server:
    """Return a server of a GGUF file, with a context for each of its requests at once."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS * NUM_AT_ONCE, NUM_AT_ONCE
    params.cpuparams.n_threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    params.use_jinja = True
    params.port = 0
    params.endpoint_metrics = False
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the process is ended."""
    port, *models = sys.argv[1:]
    servers = {name: started(path) for name, path in (model.split("=", 1) for model in models)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(
                200, json.dumps({"object": "list", "data": [{"id": n} for n in servers]}).encode()
            )

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            name = json.loads(body).get("model")
            if name not in servers:
                return self._say(404, json.dumps({"error": f"no model {name!r}"}).encode())
            request = urllib.request.Request(
                servers[name].listening_address + self.path,
                body,
                {"Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request) as answer:
                    self._say(answer.status, answer.read())
            except urllib.error.HTTPError as error:
                self._say(error.code, error.read())

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
