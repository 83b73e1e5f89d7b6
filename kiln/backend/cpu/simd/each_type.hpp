// Lists of element types as X-macros, ROW(type, name), for functions that are compiled for each type and for each
// instruction set: the preprocessor has to form the names of exported functions.
#pragma once

#define KILN_EACH_UNSIGNED(ROW) \
  ROW(std::uint64_t, uint64)    \
  ROW(std::uint32_t, uint32)    \
  ROW(std::uint16_t, uint16)    \
  ROW(std::uint8_t, uint8)
#define KILN_EACH_INTEGER(ROW) \
  ROW(std::int64_t, int64)     \
  ROW(std::int32_t, int32)     \
  ROW(std::int16_t, int16)     \
  ROW(std::int8_t, int8)       \
  KILN_EACH_UNSIGNED(ROW)
#define KILN_EACH_NUMBER(ROW) \
  ROW(double, double)         \
  ROW(float, float)           \
  KILN_EACH_INTEGER(ROW)
