#!/usr/bin/env python3
"""Runs a program that emscripten made as a page of headless Chromium, prints what it prints, and ends as it ends.

    run_page.py [--no-jspi] [--no-gpu] [--no-webgpu] [--isolated] [--env NAME=TEXT]... [--file PATH]... MODULE.js [ARGS...]

Ends with 77, which ctest takes for skipped, where there is no Chromium."""
import argparse
import base64
import json
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chromium import NO_WEBGPU, WEBGPU, Chromium, serve, skip_without_chromium  # noqa: E402

# The program's main() runs by Module.kilnCall, which lets it wait for the GPU; in a module with threads it runs in one of
# them by itself, and tells its end by onExit.
START = """
(given) => new Promise((end, fail) => {
  if (given.noWebgpu) Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined });
  if (given.noJspi) { delete WebAssembly.Suspending; delete WebAssembly.promising; }
  const lines = globalThis.lines = [];
  const start = async (module) => {
    if (given.threads) return;
    const names = ['./program', ...given.arguments].map((each) => module.stringToNewUTF8(each));
    const argv = module._malloc(4 * (names.length + 1));
    module.HEAPU32.set([...names, 0], argv / 4);
    try { end(await module.kilnCall('__main_argc_argv', names.length, argv)); }
    catch (error) { if (error?.name === 'ExitStatus') end(error.status); else fail(error); }
  };
  globalThis.Module = {
    arguments: given.arguments,
    print: (line) => lines.push(line), printErr: (line) => lines.push(line),
    preRun: [(module) => {
      Object.assign(module.ENV, given.environment);
      for (const [name, text] of Object.entries(given.files))
        module.FS.writeFile(name, Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    }],
    onRuntimeInitialized() { start(globalThis.Module); },
    onExit: end, onAbort: fail, noInitialRun: !given.threads,
  };
  const script = document.createElement('script');
  script.src = given.module;
  script.onerror = () => fail(new Error(`${given.module} cannot be loaded`));
  document.head.append(script);
}).then((code) => { globalThis.ended = { code: code ?? 0 }; }, (error) => {
  globalThis.ended = { code: 1, error: String(error?.stack ?? error) };
})
"""


def run(module, arguments, environment, options, patience=600, tell=print):
    """Returns the program's exit status; `options` are main()'s, and `tell` gets each line that the program prints."""
    module = pathlib.Path(module)
    given = {"module": module.name, "arguments": arguments, "environment": environment, "threads": options.isolated,
             "noJspi": options.no_jspi, "noWebgpu": options.no_webgpu,
             "files": {pathlib.Path(each).name: base64.b64encode(pathlib.Path(each).read_bytes()).decode()
                       for each in options.file}}
    flags = NO_WEBGPU if options.no_gpu else WEBGPU
    with serve(module.parent, options.isolated) as address, Chromium(flags) as browser:
        page = browser.open(address + "/", patience=60)
        page.evaluate(f"void ({START})({json.dumps(given)})")
        end = time.monotonic() + patience
        while True:
            lines, ended = page.evaluate("[lines.splice(0), globalThis.ended ?? null]", patience=300)
            for line in lines:
                tell(line)
            if ended or page.errors or time.monotonic() > end:
                break
            time.sleep(0.1)
        for error in page.errors:
            tell(f"not caught: {error}")
        if not ended:
            tell("the program did not end")
            return 1
        if ended.get("error"):
            tell(ended["error"])
        return ended["code"] or (1 if page.errors else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-jspi", action="store_true")
    parser.add_argument("--no-gpu", action="store_true", help="a browser that lends none")
    parser.add_argument("--no-webgpu", action="store_true", help="a browser without navigator.gpu")
    parser.add_argument("--isolated", action="store_true", help="with threads")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--file", action="append", default=[], help="lies, by its name, where the program starts")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    skip_without_chromium()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the browser ends, too
    environment = dict(each.split("=", 1) for each in given.env)
    sys.exit(run(given.module, given.arguments, environment, given))


if __name__ == "__main__":
    main()
