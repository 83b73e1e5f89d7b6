"""The project of `kiln new --template serving`: it learns, answers, refuses, and loads what it has learned.

serving_template.py PROGRAM: prints what is wrong, and fails then."""
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
ROWS = [{"length": 1, "width": 1}, {"length": 4, "width": 1}, {"length": 4, "width": 4}]


class Served:
    """The program while it listens at a port that was free."""

    def __init__(self, folder, token=None, *options):
        environment = {**os.environ, **({"SERVE_TOKEN": token} if token else {})}
        self.program = subprocess.Popen([PROGRAM, "--port", "0", *options], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE)
        self.said = ""
        while "listens at" not in self.said:
            line = self.program.stdout.readline()
            assert line, f"it ended, and said {self.said!r}"
            self.said += line
        self.port = int(self.said.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.send_signal(signal.SIGTERM)
        assert self.program.wait(timeout=30) == 0

    def ask(self, method, path, body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


def answers(server):
    status, body = server.ask("POST", "/predict", json.dumps({"rows": ROWS}))
    assert status == 200, body
    return json.loads(body)["answers"]


with tempfile.TemporaryDirectory() as folder:
    with Served(folder, None, "--steps", "200") as first:
        assert "learns" in first.said, first.said
        assert first.ask("GET", "/health") == (200, "ready\n")
        status, usage = first.ask("GET", "/")  # an example that holds: what it shows is taken, and answered with what it shows
        asked, shown = usage.removeprefix("POST /predict answers\n").split("with\n")
        assert status == 200 and first.ask("POST", "/predict", asked) == (200, shown), usage
        assert [*json.loads(shown)["answers"][0]] == ["kind", "chance"], usage
        told = answers(first)
        assert [each["kind"] for each in told] == ["small", "slim", "broad"], told
        assert all(0.9 < each["chance"] <= 1 for each in told), told
        for wrong in ("", "{", '{"rows": []}', '{"rows": [{"length": "long"}]}', '{"rows": [{"length": 1e300}]}'):
            status, body = first.ask("POST", "/predict", wrong)
            assert status == 400 and body, (wrong, status, body)
        assert first.ask("GET", "/other")[0] == 404
        assert answers(first) == told
    with Served(folder, "a secret of clients") as second:
        assert "loads model.safetensors" in second.said, second.said
        assert second.ask("GET", "/health")[0] == 401
        bearer = {"Authorization": "Bearer a secret of clients"}
        status, body = second.ask("POST", "/predict", json.dumps({"rows": ROWS}), bearer)
        assert status == 200 and json.loads(body)["answers"] == told, body
    refused = subprocess.run([PROGRAM, "--host", "0.0.0.0", "--port", "0"], cwd=folder, capture_output=True, text=True, timeout=60,
                             env={name: value for name, value in os.environ.items() if name != "SERVE_TOKEN"})
    assert refused.returncode == 1 and "set SERVE_TOKEN" in refused.stderr + refused.stdout, refused
