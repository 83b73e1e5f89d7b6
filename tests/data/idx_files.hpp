// Builds the files that the readers are tested with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/data/temporary_directory.hpp"

namespace kiln::test {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text);

/// An IDX file of unsigned bytes: its header, then `values`, which may be more or fewer than it says.
Bytes idx_file(std::initializer_list<std::uint32_t> sizes, const std::vector<std::uint8_t>& values);

/// 0, 1, ..., count - 1, modulo 256.
std::vector<std::uint8_t> counting(std::size_t count);

Bytes gzipped(const Bytes& contents);

/// `a` and then `b`.
Bytes joined(Bytes a, const Bytes& b);

void write_file(const std::filesystem::path& path, const Bytes& contents);

}  // namespace kiln::test
