#include "kiln/core/error/error.hpp"
#include "kiln/vision/draw.hpp"

namespace kiln::vision {

bool has_font() { return false; }

std::vector<Quad> quads_of(const std::string&) {
  fail<ArgumentError>("draw_text: this Kiln was built without stb_easy_font (Debian: libstb-dev)");
}

}  // namespace kiln::vision
