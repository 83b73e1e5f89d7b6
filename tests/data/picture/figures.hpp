// Pictures and files as Pillow makes them: picture_figures.safetensors, which picture_figures.py writes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/store/safetensors/safetensors.hpp"
#include "tests/support/figures.hpp"

namespace kiln::test {

/// Returns the bytes of that name. Throws an error where the file is missing, damaged or has no such bytes.
inline std::span<const std::uint8_t> pillow(const std::string& name) {
  static const auto all = [] {
    std::map<std::string, std::vector<std::uint8_t>> all;
    for (const auto& [name, bytes] : read_safetensors(read_file(KILN_PICTURE_FIGURES), KILN_PICTURE_FIGURES).tensors)
      all[name] = bytes.to_vector<std::uint8_t>();
    return all;
  }();
  return entry_of(all, name);
}

}  // namespace kiln::test
