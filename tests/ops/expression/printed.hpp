// What the build makes of the text that generate.cpp writes.
#pragma once

namespace kiln::expr {

struct PrintedRow {
  const char* set;  // "native" or "portable"
  int operands, fn, dtype;
  void (*run)(const void* x, const void* y, void* out, long count);
};
/// Ends with one whose set is null.
extern const PrintedRow kPrintedRows[];

}  // namespace kiln::expr
