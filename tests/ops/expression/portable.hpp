// C++ that has no more functions than shaders have, so that a processor runs what the library puts in their place.
#pragma once
#include <vector>

#include "kiln/ops/expression/dialect.hpp"

namespace kiln::expr {

inline const Dialect& portable() {
  static std::vector<Native> natives;
  static const Dialect kPortable = [] {
    for (const std::span<const Native> table : kCpp.natives)
      for (Native native : table) {
        const Function& function = *find_function(native.function);
        // A type keeps the function if WGSL has it, or if the library has no body for that type.
        for (const DType dtype : {DType::F64, DType::F32, DType::I64, DType::U64, DType::I32, DType::U32}) {
          const Definition* definition = function.definition(dtype);
          const bool spared = definition && !definition->body.empty() && !kWgsl.has(function, DType::F32);
          if (spared) native.numbers &= static_cast<Numbers>(~numbers_of(dtype));
        }
        if (native.numbers) natives.push_back(native);
      }
    Dialect dialect = kCpp;
    dialect.name = "portable C++";
    dialect.natives = {natives, {}};
    return dialect;
  }();
  return kPortable;
}

}  // namespace kiln::expr
