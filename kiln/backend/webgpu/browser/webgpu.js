// The browser's half of the device "webgpu" (imports.hpp says what each function is). All objects of WebGPU live on the
// module's first thread; other threads of the module are served from there.
addToLibrary({
  $KilnWebGpu__deps: ['malloc', '$UTF8ArrayToString', '$lengthBytesUTF8', '$stringToUTF8Array'],
  $KilnWebGpu: {
    objects: [],      // by number
    promised: false,  // whether the running call of the module may be suspended
    woken: null,      // resolves the promise that a suspended module waits for
    errorTicket: 0,   // of the last device, for errors of what belongs to none

    // The text whose place and bytes are at HEAPU32[at].
    text(at) {
      return UTF8ArrayToString(HEAPU8, HEAPU32[at], HEAPU32[at + 1]);
    },
    answer(ticket, status, number, words) {
      const text = String(words ?? '');
      const bytes = lengthBytesUTF8(text);
      const start = _malloc(bytes + 1) >>> 0;
      if (start) stringToUTF8Array(text, HEAPU8, start, bytes + 1);  // without memory, an answer has no words
      wasmExports['kiln_webgpu_answer'](ticket, status, number, start, start ? bytes : 0);
      KilnWebGpu.woken?.();
    },
    // Answers a ticket when a promise is settled: 1 is success.
    when(promise, ticket, success) {
      promise.then(success, (error) => KilnWebGpu.answer(ticket, 2, 0, error?.message ?? error));
    },
    requestAdapter(id, power, ticket) {
      const options = power === 2 ? { powerPreference: 'high-performance' } : {};
      KilnWebGpu.when(navigator['gpu'].requestAdapter(options), ticket, (adapter) => {
        if (adapter) adapter.kilnOptions = options;
        KilnWebGpu.objects[id] = adapter;
        KilnWebGpu.answer(ticket, adapter ? 1 : 2, 0, '');
      });
    },
    // An adapter gives one device, and others are given by others like it.
    deviceOf: async (adapter, wanted) => {
      if (adapter.kilnUsed) adapter = (await navigator['gpu'].requestAdapter(adapter.kilnOptions)) ?? adapter;
      adapter.kilnUsed = true;
      return adapter.requestDevice(wanted);
    },
    requestDevice(adapter, id, ticket, lostTicket, errorTicket) {
      const requiredLimits = {};
      for (const name in adapter.limits) {
        const is_ours = /Compute|StorageBuffer|UniformBuffer|maxBufferSize|BindGroup/.test(name);
        if (is_ours && adapter.limits[name]) requiredLimits[name] = adapter.limits[name];
      }
      KilnWebGpu.when(KilnWebGpu.deviceOf(adapter, { label: 'kiln', requiredLimits }), ticket, (device) => {
        KilnWebGpu.objects[id] = device;
        KilnWebGpu.errorTicket = errorTicket;
        device.kilnDevice = device;
        device.kilnErrorTicket = errorTicket;
        device.kilnDropped = [];
        const reasons = { destroyed: 2 };
        device.lost.then((info) => KilnWebGpu.answer(lostTicket, 1, reasons[info.reason] ?? 1, info.message));
        device.onuncapturederror = (event) =>
          KilnWebGpu.answer(errorTicket, 1, KilnWebGpu.errorType(event.error), event.error.message);
        KilnWebGpu.answer(ticket, 1, 0, '');
      });
    },
    errorType(error) {
      if (!error) return 1;
      if (error instanceof GPUValidationError) return 2;
      return error instanceof GPUOutOfMemoryError ? 3 : 4;
    },
    popScope(device, ticket) {
      KilnWebGpu.when(device.popErrorScope(), ticket, (error) =>
        KilnWebGpu.answer(ticket, 1, KilnWebGpu.errorType(error), error?.message));
    },
    // A buffer's memory would be the device's until the collector of garbage comes, and commands that are recorded may use
    // it still: it goes with the next ones that are submitted.
    release(id, objects) {
      if (objects[id] instanceof GPUBuffer) objects[id].kilnDevice.kilnDropped.push(objects[id]);
      objects[id] = undefined;
    },
    map(buffer, offset, bytes, ticket) {
      KilnWebGpu.when(buffer.mapAsync(1, offset, bytes), ticket, () => KilnWebGpu.answer(ticket, 1, 0, ''));
    },
    // Keeps what `make` returns as the object `id`, and whose it is, also where it could not be made: errors go to that device.
    made(id, owner, make) {
      const { kilnDevice } = owner;
      KilnWebGpu.objects[id] = { kilnDevice };
      KilnWebGpu.objects[id] = make();
      KilnWebGpu.objects[id].kilnDevice = kilnDevice;
    },
    // Entries of a bind group, from HEAPU32[at] on.
    entries(at, count, objects) {
      const entries = [];
      for (; count--; at += 4) {
        const resource = { buffer: objects[HEAPU32[at + 1]], offset: HEAPU32[at + 2], size: HEAPU32[at + 3] };
        entries.push({ binding: HEAPU32[at], resource });
      }
      return entries;
    },
    layoutEntries(at, count) {
      const entries = [];
      for (; count--; at += 2) {
        const type = { 2: 'uniform', 3: 'storage' }[HEAPU32[at + 1]];
        entries.push({ binding: HEAPU32[at], visibility: 4, buffer: { type } });
      }
      return entries;
    },
    objectsFrom(at, count) {
      return Array.from(HEAPU32.subarray(at, at + count), (id) => KilnWebGpu.objects[id]);
    },

    // By number: the words of a command's arguments, which begin at HEAPU32[a]; what it does; where that is not 0, the words
    // of each item that follows, as many as the last argument says; and the argument that is a ticket.
    commands: [
      [3, (a, o) => KilnWebGpu.requestAdapter(HEAPU32[a], HEAPU32[a + 1], HEAPU32[a + 2]), 0, 2],
      [5, (a, o) => KilnWebGpu.requestDevice(o[HEAPU32[a]], ...HEAPU32.slice(a + 1, a + 5)), 0, 2],
      [2, (a, o) => {
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].queue);
      }],
      [1, (a, o) => { KilnWebGpu.release(HEAPU32[a], o); }],
      [1, (a, o) => { o[HEAPU32[a]].destroy(); }],
      [2, (a, o) => { o[HEAPU32[a]].pushErrorScope(KilnWebGpu.filters[HEAPU32[a + 1]]); }],
      [2, (a, o) => { KilnWebGpu.popScope(o[HEAPU32[a]], HEAPU32[a + 1]); }, 0, 1],
      [4, (a, o) => {
        const buffer = { usage: HEAPU32[a + 2], size: HEAPU32[a + 3] };
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createBuffer(buffer));
      }],
      [4, (a, o) => KilnWebGpu.map(o[HEAPU32[a]], HEAPU32[a + 1], HEAPU32[a + 2], HEAPU32[a + 3]), 0, 3],
      [1, (a, o) => { o[HEAPU32[a]].unmap(); }],
      [6, (a, o) => {
        const shader = { code: KilnWebGpu.text(a + 2), label: KilnWebGpu.text(a + 4) };
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createShaderModule(shader));
      }],
      [3, (a, o) => {
        const entries = KilnWebGpu.layoutEntries(a + 3, HEAPU32[a + 2]);
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createBindGroupLayout({ entries }));
      }, 2],
      [3, (a, o) => {
        const bindGroupLayouts = KilnWebGpu.objectsFrom(a + 3, HEAPU32[a + 2]);
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createPipelineLayout({ bindGroupLayouts }));
      }, 1],
      [8, (a, o) => {
        const pipeline = {
          layout: o[HEAPU32[a + 2]],
          compute: { module: o[HEAPU32[a + 3]], entryPoint: KilnWebGpu.text(a + 4) },
          label: KilnWebGpu.text(a + 6),
        };
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createComputePipeline(pipeline));
      }],
      [4, (a, o) => {
        const entries = KilnWebGpu.entries(a + 4, HEAPU32[a + 3], o);
        const group = { layout: o[HEAPU32[a + 2]], entries };
        KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createBindGroup(group));
      }, 4],
      [2, (a, o) => { KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].createCommandEncoder()); }],
      [2, (a, o) => { KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].beginComputePass()); }],
      [2, (a, o) => { o[HEAPU32[a]].setPipeline(o[HEAPU32[a + 1]]); }],
      [3, (a, o) => { o[HEAPU32[a]].setBindGroup(HEAPU32[a + 1], o[HEAPU32[a + 2]]); }],
      [4, (a, o) => { o[HEAPU32[a]].dispatchWorkgroups(HEAPU32[a + 1], HEAPU32[a + 2], HEAPU32[a + 3]); }],
      [1, (a, o) => { o[HEAPU32[a]].end(); }],
      [6, (a, o) => {
        o[HEAPU32[a]].copyBufferToBuffer(
          o[HEAPU32[a + 1]], HEAPU32[a + 2], o[HEAPU32[a + 3]], HEAPU32[a + 4], HEAPU32[a + 5]);
      }],
      [4, (a, o) => { o[HEAPU32[a]].clearBuffer(o[HEAPU32[a + 1]], HEAPU32[a + 2], HEAPU32[a + 3]); }],
      [2, (a, o) => { KilnWebGpu.made(HEAPU32[a + 1], o[HEAPU32[a]], () => o[HEAPU32[a]].finish()); }],
      [2, (a, o) => {
        o[HEAPU32[a]].submit(KilnWebGpu.objectsFrom(a + 2, HEAPU32[a + 1]));
        for (const buffer of o[HEAPU32[a]].kilnDevice.kilnDropped.splice(0)) buffer.destroy();
      }, 1],
      [5, (a, o) => {
        o[HEAPU32[a]].writeBuffer(o[HEAPU32[a + 1]], HEAPU32[a + 2], HEAPU8, HEAPU32[a + 3], HEAPU32[a + 4]);
      }],
    ],
    filters: { 1: 'validation', 2: 'out-of-memory' },

    // Runs the command at HEAPU32[at], and returns where the next one is. What the browser throws is an answer.
    run(at) {
      const [fixed, command, each, ticket] = KilnWebGpu.commands[HEAPU32[at]];
      const a = at + 1;
      const next = a + fixed + (each ? each * HEAPU32[a + fixed - 1] : 0);
      try {
        command(a, KilnWebGpu.objects);
      } catch (error) {
        // A command's first argument names the object that it is about.
        const device = KilnWebGpu.objects[HEAPU32[a]]?.kilnDevice;
        const to = ticket === undefined ? (device?.kilnErrorTicket ?? KilnWebGpu.errorTicket) : HEAPU32[a + ticket];
        KilnWebGpu.answer(to, 2, 2, error?.message ?? error);
      }
      return next;
    },

    // Calls an exported function that may wait for the GPU: one call at a time, as each uses the module's one stack.
    call(name, ...given) {
      const run = async () => {
        const f = wasmExports[name];
        if (!f) throw new Error(`the module exports no function '${name}'; link with -O2: -O3 renames what it exports`);
        if (!WebAssembly.promising || !WebAssembly.Suspending) {
#if PTHREADS
          if (name === 'kiln_call') {
            return new Promise((resolve, reject) => {
              KilnWebGpu.called = resolve;
              Module['kilnCallBroke'] = (why) => reject(new WebAssembly.RuntimeError(why));
              wasmExports['kiln_webgpu_call'](...given);
            });
          }
#endif
          return f(...given);
        }
        KilnWebGpu.promised = true;
        try {
          return await WebAssembly.promising(f)(...given);
        } finally {
          KilnWebGpu.promised = false;
        }
      };
      const called = KilnWebGpu.last.then(run);
      KilnWebGpu.last = called.catch(() => {});
      return called;
    },
    last: undefined,  // the call that all later ones wait for
    called: undefined,  // resolves the call that runs in another thread
  },
  $KilnWebGpu__postset: "KilnWebGpu.last = Promise.resolve(); Module['kilnCall'] = KilnWebGpu.call;",

  kiln_webgpu_play__deps: ['$KilnWebGpu'],
  kiln_webgpu_play__proxy: 'sync',
  kiln_webgpu_play: (words, count) => {
    let at = words >>> 2;
    const end = at + count;
    while (at < end) at = KilnWebGpu.run(at);
  },
  kiln_webgpu_mapped__deps: ['$KilnWebGpu'],
  kiln_webgpu_mapped__proxy: 'sync',
  kiln_webgpu_mapped: (buffer, offset, bytes, to) => {
    try {
      HEAPU8.set(new Uint8Array(KilnWebGpu.objects[buffer].getMappedRange(offset, bytes)), to >>> 0);
      return 1;
    } catch (error) {
      return 0;
    }
  },
  kiln_webgpu_limit__deps: ['$KilnWebGpu', '$UTF8ToString'],
  kiln_webgpu_limit__proxy: 'sync',
  kiln_webgpu_limit: (adapter, name) => KilnWebGpu.objects[adapter].limits[UTF8ToString(name >>> 0)] ?? 0,
  kiln_webgpu_name__deps: ['$KilnWebGpu', '$stringToUTF8Array'],
  kiln_webgpu_name__proxy: 'sync',
  kiln_webgpu_name: (adapter, to, room) => {
    const info = KilnWebGpu.objects[adapter].info ?? {};
    const name = info.description || info.device || `${info.vendor ?? ''} ${info.architecture ?? ''}`.trim();
    return stringToUTF8Array(name || 'a GPU', HEAPU8, to >>> 0, room);
  },
  kiln_webgpu_is_fallback__deps: ['$KilnWebGpu'],
  kiln_webgpu_is_fallback__proxy: 'sync',
  kiln_webgpu_is_fallback: (adapter) => {
    const found = KilnWebGpu.objects[adapter];
    return (found.info?.isFallbackAdapter ?? found.isFallbackAdapter) ? 1 : 0;
  },
  kiln_webgpu_is_missing__proxy: 'sync',
  kiln_webgpu_is_missing: () => {
    if (globalThis.navigator?.gpu) return 0;
    return globalThis.isSecureContext === false ? 2 : 1;
  },

  // kiln_call in a thread of the module. Where WebAssembly itself breaks off there, the first thread is told, and this one
  // runs no more C++.
  kiln_webgpu_guarded: (name, words, bytes, answer) => {
    try {
      return wasmExports['kiln_call'](name, words, bytes, answer);
    } catch (error) {
      if (error !== 'unwind') {
        postMessage({ cmd: 'callHandler', handler: 'kilnCallBroke', args: [String(error?.message ?? error)] });
      }
      throw 'unwind';
    }
  },
  kiln_webgpu_called__deps: ['$KilnWebGpu'],
  kiln_webgpu_called__proxy: 'async',
  kiln_webgpu_called: (status) => KilnWebGpu.called(status),

  kiln_webgpu_may_suspend__deps: ['$KilnWebGpu'],
  kiln_webgpu_may_suspend: () => (KilnWebGpu.promised ? 1 : 0),
  kiln_webgpu_suspend__deps: ['$KilnWebGpu'],
  kiln_webgpu_suspend__postset:
    'if (WebAssembly.Suspending) _kiln_webgpu_suspend = new WebAssembly.Suspending(_kiln_webgpu_suspend);',
  kiln_webgpu_suspend: () =>
    new Promise((resolve) => {
      KilnWebGpu.woken = resolve;
      setTimeout(resolve, 200);
    }),
});
