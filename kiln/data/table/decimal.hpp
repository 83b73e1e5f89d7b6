// Decimals of tables, which store an integer and how many of its digits stand after the point.
#pragma once
#include <cstdint>
#include <string_view>

namespace kiln {

/// The double nearest to whole * 10^-scale; scale is from -200 to 300.
double decimal_of(std::int64_t whole, std::int32_t scale);
/// An integer of any size: at least one byte, two's complement, highest byte first.
double decimal_of(std::string_view bytes, std::int32_t scale);

}  // namespace kiln
