// What the C++ of a page imports from JavaScript: a function of the page, by its number (packaging/npm/src/instance.js).
addToLibrary({
#if PTHREADS
  // A thread in which WebAssembly breaks off is heard by Module.kilnThreadBroke. Emscripten throws its error once more, where nobody
  // catches it, which ends a program in Node.
  kiln_watch_threads__deps: ['$PThread'],
  kiln_watch_threads__postset: 'PThread.loadWasmModuleToWorker = _kiln_watch_threads(PThread.loadWasmModuleToWorker);',
  kiln_watch_threads: (load) => (worker) => {
    const loaded = load(worker);
    worker.onerror = (event) => {
      event.preventDefault?.();
      Module['kilnThreadBroke']?.(String(event.message ?? event));
    };
    return loaded;
  },
#endif
  kiln_call_back__proxy: 'sync',
  kiln_call_back: (number, address, bytes) => Module['kilnCallBack'](number, address, bytes),
});
