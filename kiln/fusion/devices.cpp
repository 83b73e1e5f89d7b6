// First-party devices fuse, unless the environment says KILN_FUSION=0.
#include <cstdlib>
#include <string_view>

#include "kiln/core/error/shown.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/device.hpp"

/// Linked into every program by name (CMakeLists.txt), and this file with it; wasm-ld leaves out what is not "used".
extern "C" const char kiln_fusion_devices[];
[[gnu::used]] const char kiln_fusion_devices[] = "fusion";

namespace kiln::fusion {
namespace {

/// What the environment says, "" where it says nothing. Throws ArgumentError for what is none of `known`.
std::string_view choice(const char* name, std::string_view a, std::string_view b) {
  const char* const text = std::getenv(name);
  const std::string_view said = text ? text : "";
  require<ArgumentError>(said.empty() || said == a || said == b, name, " must be ", a, b.empty() ? "" : " or ", b,
                         ", got '", shown(said), "'");
  return said;
}

Ref<Backend> fuse(Ref<Backend> inner) {
  choice("KILN_LOG", "fusion", "");
  return choice("KILN_FUSION", "0", "1") == "0" ? inner : Ref<Backend>(make_ref<Fusion>(std::move(inner)));
}

// Before the objects of programs are made, among which may be devices.
[[gnu::constructor(200)]] void decorate() { decorate_devices(Decoration::Fusion, &fuse); }

}  // namespace
}  // namespace kiln::fusion
