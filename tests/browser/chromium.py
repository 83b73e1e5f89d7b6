"""Chromium without a screen, driven over the DevTools protocol, and a server of files on this machine; only Python's own library.

    with serve(folder) as address, Chromium(WEBGPU) as browser:
        page = browser.open(address + "/index.html")
        print(page.evaluate("document.title"), page.said)
"""
import base64
import contextlib
import functools
import http.server
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.environ.get("KILN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--mute-audio", "about:blank"]
# WebGPU on the processor, by SwiftShader; and none at all.
WEBGPU = ["--disable-gpu", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
NO_WEBGPU = ["--disable-gpu", "--disable-features=WebGPU"]
SKIPPED = 77  # as ctest's SKIP_RETURN_CODE


class PageError(Exception):
    """What a page threw, or a wait that took too long."""


def skip_without_chromium():
    if not PROGRAM:
        print("there is no Chromium: install chromium, or let KILN_CHROMIUM name one")
        sys.exit(SKIPPED)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; `isolated`: with the headers that give a page threads."""
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm",
                      ".js": "text/javascript", ".mjs": "text/javascript"}
    isolated = False

    def end_headers(self):
        if self.isolated:
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(folder, isolated=False, handler=Handler):
    """Serves a folder at http://localhost:PORT, which it yields."""
    kind = type("Served", (handler,), {"isolated": isolated})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class Chromium:
    """A browser with a profile of its own, which ends with the block. Messages go through two pipes."""

    def __init__(self, flags=(), patience=60):
        self.patience = patience
        self.profile = tempfile.mkdtemp(prefix="kiln-chromium-")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        command = [PROGRAM, "--remote-debugging-pipe", f"--user-data-dir={self.profile}", *flags, *QUIET]
        # The protocol's pipes are the descriptors 3 and 4.
        shell = 'in=$1 out=$2; shift 2; exec 9<&"$in" 8>&"$out"; exec "$@" 3<&9 4>&8 9<&- 8>&-'
        self.log = open(os.path.join(self.profile, "stderr"), "w+b")
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser), stdout=self.log, stderr=self.log, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.bytes = b""
        self.next_id = 1
        self.answers = {}
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for end in (self.write, self.read):
            os.close(end)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- messages ----

    def call(self, method, session=None, patience=None, **parameters):
        """Calls a method of the protocol, and returns its result."""
        number = self.next_id
        self.next_id += 1
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        waiting = memoryview(json.dumps(message).encode() + b"\0")
        while waiting:
            waiting = waiting[os.write(self.write, waiting):]
        end = time.monotonic() + (patience or self.patience)
        while number not in self.answers:
            self.receive(end - time.monotonic(), method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise PageError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def receive(self, seconds, what):
        """Reads the messages that have come; PageError where none comes in time."""
        if seconds <= 0 or not select.select([self.read], [], [], seconds)[0]:
            said = [line for page in self.pages.values() for line in page.said[-5:]]
            raise PageError(f"no answer to {what} in time; the page said {said}")
        piece = os.read(self.read, 1 << 20)
        if not piece:
            self.log.seek(0)
            raise PageError(f"Chromium ended: {self.log.read().decode(errors='replace')[-2000:]}")
        *messages, self.bytes = (self.bytes + piece).split(b"\0")
        for each in messages:
            message = json.loads(each)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].hear(message["method"], message["params"])

    def open(self, address, width=1000, height=800, patience=None):
        """Opens a page, and waits until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.go(address, patience)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.said = []    # lines of the console
        self.errors = []  # what nobody caught
        self.loads = 0

    def call(self, method, patience=None, **parameters):
        return self.browser.call(method, self.session, patience, **parameters)

    def hear(self, method, event):
        if method == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(each.get("value", each.get("description", ""))) for each in event["args"]))
        elif method == "Runtime.exceptionThrown":
            self.errors.append(text_of(event["exceptionDetails"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] == "error":
            self.said.append(event["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loads += 1

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def go(self, address, patience=None):
        before = self.loads
        self.call("Page.navigate", url=address)
        end = time.monotonic() + (patience or self.browser.patience)
        while self.loads == before:
            self.browser.receive(end - time.monotonic(), address)

    def evaluate(self, expression, patience=None):
        """The value of an expression of JavaScript, once it is settled where it is a promise. PageError where it throws."""
        got = self.call("Runtime.evaluate", patience, expression=expression, awaitPromise=True, returnByValue=True,
                        userGesture=True)
        if "exceptionDetails" in got:
            raise PageError(text_of(got["exceptionDetails"]))
        return got["result"].get("value")

    def wait_for(self, expression, patience=None):
        """Waits until the expression is true, and returns it."""
        end = time.monotonic() + (patience or self.browser.patience)
        while not (found := self.evaluate(expression)):
            if time.monotonic() > end:
                raise PageError(f"{expression} does not become true; the page said {self.said[-5:]}")
            time.sleep(0.05)
        return found

    def mouse(self, kind, x, y, buttons=1):
        """kind: mousePressed, mouseMoved or mouseReleased."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    def key(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]


def text_of(details):
    thrown = details.get("exception", {})
    return thrown.get("description") or str(thrown.get("value", details.get("text")))
