#include "kiln/ops/memory.hpp"

#include "kiln/core/text.hpp"

namespace kiln {

std::string text_of_bytes(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  if (bytes < 1024) return text(bytes, " bytes");
  std::int64_t tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024;
  std::size_t unit = 0;
  for (; tenths >= 10240 && unit + 1 < std::size(kUnits); ++unit) tenths /= 1024;
  return text(tenths / 10, tenths % 10 && tenths < 1000 ? text(".", tenths % 10) : "", kUnits[unit]);
}

void append(std::string& out, const MemoryStatistics& memory) {
  out += text(text_of_bytes(memory.in_use), " in use (uploads ", text_of_bytes(memory.uploads), ", results ",
              text_of_bytes(memory.results), ", scratch ", text_of_bytes(memory.scratch), ", packed ",
              text_of_bytes(memory.packed), "), ", text_of_bytes(memory.reserved), " held from the system, peak ",
              text_of_bytes(memory.peak));
}

}  // namespace kiln
