#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {

bool is_logged(std::string_view topic) {
  constexpr std::string_view kTopics[] = {"autodiff", "cuda", "fusion", "gpu", "libtorch", "router", "vmap", "vulkan"};
  const char* const said = setting("KILN_LOG");
  std::string_view rest = said ? said : "";
  bool found = false;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    require<ArgumentError>(std::find(std::begin(kTopics), std::end(kTopics), word) != std::end(kTopics),
                           "KILN_LOG must be a list of autodiff, cuda, fusion, gpu, libtorch, router, vmap and vulkan, "
                           "separated by commas, got '",
                           shown(said), "'");
    found = found || word == topic;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return found;
}

}  // namespace kiln
