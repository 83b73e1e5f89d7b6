// The browser's WebSockets, for socket.cpp (imports.hpp says what each function is). All sockets live in one thread of the module,
// whose event loop runs.
addToLibrary({
  $KilnSockets__deps: ['free', '$stringToNewUTF8', '$UTF8ToString'],
  $KilnSockets: {
    open: {},  // by number

    closed(number, why) {
      if (!(number in KilnSockets.open)) return;
      delete KilnSockets.open[number];
      const text = why === null ? 0 : stringToNewUTF8(why);
      wasmExports['kiln_socket_closed'](number, text);
      if (text) _free(text);
    },
    received(number, socket, data) {
      if (typeof data === 'string') {
        KilnSockets.closed(number, 'it has sent a text message: Kiln\'s messages are binary');
        return socket.close();
      }
      const place = wasmExports['kiln_socket_place'](number, data.byteLength) >>> 0;
      if (!place) return socket.close();
      HEAPU8.set(new Uint8Array(data), place);
      wasmExports['kiln_socket_received'](number);
    },
  },

  kiln_socket_lacks: () => typeof WebSocket === 'undefined' ? 1 : typeof Atomics.waitAsync === 'undefined' ? 2 : 0,
  kiln_socket_origin__deps: ['$stringToUTF8'],
  kiln_socket_origin: (to, room) => {
    stringToUTF8(globalThis.origin ?? 'this page', to, room);
  },
  kiln_socket_open__deps: ['$KilnSockets'],
  kiln_socket_open: (number, url) => {
    let socket;
    KilnSockets.open[number] = null;
    try {
      socket = new WebSocket(UTF8ToString(url));
    } catch (error) {  // an address that is none, or one without TLS in a page that came by HTTPS
      return KilnSockets.closed(number, error.message);
    }
    KilnSockets.open[number] = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => wasmExports['kiln_socket_opened'](number);
    socket.onmessage = ({data}) => KilnSockets.received(number, socket, data);
    socket.onclose = ({wasClean, code, reason}) => {
      const isOrderly = wasClean && [1000, 1001, 1005].includes(code);
      const words = wasClean ? `with code ${code}${reason && ': ' + reason}` : '';
      KilnSockets.closed(number, isOrderly ? null : words);
    };
  },
  kiln_socket_send__deps: ['$KilnSockets'],
  // A copy: memory that threads share cannot be sent.
  kiln_socket_send: (number, bytes, count) => {
    KilnSockets.open[number]?.send(HEAPU8.slice(bytes >>> 0, (bytes >>> 0) + count));
  },
  kiln_socket_buffered__deps: ['$KilnSockets'],
  kiln_socket_buffered: (number) => KilnSockets.open[number]?.bufferedAmount ?? 0,
  kiln_socket_close__deps: ['$KilnSockets'],
  kiln_socket_close: (number) => {
    KilnSockets.open[number]?.close();
  },
  kiln_socket_later: (number) => {
    setTimeout(() => wasmExports['kiln_socket_pump'](number), 4);
  },
});
