// Sound files of each format, and how they are read and may be refused.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/mapped_file.hpp"

namespace kiln {

struct DamageCase {
  std::string_view name;
  std::vector<std::byte> (*sound)();
  void (*read)(const FileBytes& file);                    // all that there is
  void (*mend)(std::vector<std::byte>& bytes) = nullptr;  // so that what lies behind checksums and lengths is reached
  std::size_t padding = 0;                                // bytes at the end that belong to nothing
  std::string (*path)() = [] { return std::string("damaged"); };  // what the file is called
  ErrorKind refusal = ErrorKind::Data;                            // how it may be refused
  ErrorKind or_else = ErrorKind::Memory;
};

std::span<const DamageCase> damage_cases();

}  // namespace kiln
