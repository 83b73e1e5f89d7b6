// Emscripten's header, in place of which native tests of kiln/net/browser have this.
#pragma once

inline void emscripten_runtime_keepalive_push() {}
