"""
Label sentences over HTTP
=========================

A service of the standard library alone. A request is a POST of a JSON list of tokens; the answer is
a JSON object with their labels::

    python serve_http.py model.tagger --port 8000 &
    curl -d '["the", "cat", "walks"]' http://localhost:8000/

The file comes from ``estimator.tagger().save("model.tagger")``. Threads share one tagger, which
never changes; to use several cores, start several processes, which share the memory of the file.
"""

import argparse
import json
import signal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sklearn_crcrf.serving import Tagger, load_tagger

LONGEST = 10**6  # bytes of a request


def handler_of(tagger: Tagger) -> type[BaseHTTPRequestHandler]:
    """A handler of requests that labels with a tagger."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Without this, a second small packet waits for the acknowledgement of the first.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LONGEST:
                self.close_connection = True
                self.answer(413, {"error": f"more than {LONGEST} bytes"})
                return
            try:
                self.answer(200, {"labels": tagger(json.loads(self.rfile.read(length)))})
            except (TypeError, ValueError) as error:
                self.answer(400, {"error": str(error)})

        def answer(self, status: int, content: dict) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Print nothing for a request."""

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description="Label sentences over HTTP.")
    parser.add_argument("tagger", help="file of a tagger")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free port")
    options = parser.parse_args()
    with ThreadingHTTPServer(
        ("localhost", options.port), handler_of(load_tagger(options.tagger))
    ) as server:
        signal.signal(signal.SIGTERM, lambda *_: server.server_close() or exit(0))
        print(f"http://localhost:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
