#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln {

bool is_set(const char* name, bool otherwise) {
  const char* const text = setting(name);
  const std::string_view said = text ? text : otherwise ? "1" : "0";
  require<ArgumentError>(said == "0" || said == "1", name, " must be 0 or 1, got '", shown(said), "'");
  return said == "1";
}

}  // namespace kiln
