// Emscripten's header, in place of which native tests of kiln/net/browser have this.
#pragma once

inline bool emscripten_has_threading_support() { return true; }
