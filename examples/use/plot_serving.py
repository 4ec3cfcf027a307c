"""
Export a model and serve it
===========================

From a fitted pipeline to answers over HTTP: a model file that can be trained on, a tagger file that
only labels, and a service of the standard library. All of it happens in this program, on a port of
this machine.
"""

import json
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.serving import load_tagger

X, y = make_addresses(3000, random_state=0)
X_test, y_test = X[2000:], y[2000:]
crf = EmpiricalCRF().fit(X[:2000], y[:2000])
print(f"F1 of segments: {segment_f1(y_test, crf.predict(X_test)):.3f}")

# %%
# Two files
# ---------
# The model file holds the estimator. The tagger file holds what labelling needs; it is mapped into
# memory, so it is ready immediately, and processes share it.
folder = tempfile.TemporaryDirectory()
model_path, tagger_path = Path(folder.name) / "model.crcrf", Path(folder.name) / "model.tagger"
save_model(crf, model_path)
crf.tagger().save(tagger_path)

for path, load in ((model_path, load_model), (tagger_path, load_tagger)):
    start = time.perf_counter()
    loaded = load(path)
    milliseconds = 1000 * (time.perf_counter() - start)
    print(f"{path.name:13} {path.stat().st_size / 1e6:5.2f} MB, loaded in {milliseconds:6.1f} ms")
tagger = loaded

# %%
# Both label alike. Before a model goes live, check that on a few sequences:
assert [tagger(words) for words in X_test] == crf.predict(X_test).tolist()

# %%
# One address at a time
# ---------------------
# ``predict`` is made for many sequences at once; a tagger, for one. Microseconds of one address:


def microseconds(label):
    times = []
    for words in X_test[:200]:
        start = time.perf_counter()
        label(words)
        times.append(1e6 * (time.perf_counter() - start))
    return np.percentile(times, [50, 99])


for name, label in (("predict", lambda words: crf.predict([words])), ("tagger", tagger)):
    median, nearly_all = microseconds(label)
    print(f"{name:8} median {median:7.0f}, 99 of 100 within {nearly_all:7.0f}")

# %%
# A service
# ---------
# Threads share the tagger, which never changes. Wrong input is answered by what is wrong.


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            status, answer = 200, tagger(json.loads(text))
        except (TypeError, ValueError) as error:
            status, answer = 400, str(error)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Print nothing for a request."""


server = ThreadingHTTPServer(("localhost", 0), Handler)  # 0: any free port
threading.Thread(target=server.serve_forever, daemon=True).start()

# %%
# A client, in any language, sends tokens as JSON:
address = ["Jan", "Jansen", ",", "Kerkstraat", "7", ",", "1017", "GC", "Amsterdam"]
request = Request(f"http://localhost:{server.server_port}/", json.dumps(address).encode())
with urlopen(request) as response:
    for word, label in zip(address, json.load(response), strict=True):
        print(f"{word:12} {label}")

# %%
server.shutdown()
server.server_close()
folder.cleanup()

# %%
# ``examples/serve_http.py`` is such a service as a program, :doc:`/user_guide/deployment` says what
# to think of before it goes live.
