#include "kiln/backend/webgpu/provider.hpp"

#include "kiln/backend/webgpu/browser/functions.hpp"
#include "kiln/backend/webgpu/browser/wire.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::webgpu {

// The name of a library means nothing in a browser.
Provider open_provider(const std::string&) {
  const int missing = browser::kiln_webgpu_is_missing();
  require<DeviceError>(missing != 2,
                       "webgpu: the page is no secure context, and browsers give WebGPU to no other: load "
                       "it by https, or from localhost; or take the device 'cpu'");
  require<DeviceError>(missing == 0,
                       "webgpu: this browser has no WebGPU (navigator.gpu): take another or a newer one, "
                       "or the device 'cpu'");
  return {.library = "the browser",
          .implementation = "a browser",
          .functions = browser::functions(),
          .instance = browser::functions().create_instance(nullptr),
          .pause = [](int) { browser::wire().wait(); },
          .remedy =
              "the browser lends no GPU to pages here (chrome://gpu, or about:support, says why); take the "
              "device 'cpu'"};
}

const Provider& provider() {
  static const Provider opened = open_provider("");
  return opened;
}

}  // namespace kiln::webgpu
