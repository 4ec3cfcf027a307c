import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sklearn_crcrf.serving import load_tagger


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        tokens = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(tagger(tokens)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    tagger = load_tagger(sys.argv[1])
    ThreadingHTTPServer(("localhost", 8000), Handler).serve_forever()
