// What the build makes of the text that generate_rows.cpp and generate_programs.cpp write.
#pragma once

namespace kiln::expr {

struct PrintedRow {
  const char* set;  // "native" or "portable"
  int operands, fn, dtype;
  void (*run)(const void* x, const void* y, void* out, long count);
};
/// Ends with one whose set is null.
extern const PrintedRow kPrintedRows[];

/// A function of special.def; operands that it does not take are not read.
struct PrintedSpecial {
  const char* set;
  int fn, dtype;
  void (*run)(const void* x, const void* y, const void* w, void* out, long count);
};
extern const PrintedSpecial kPrintedSpecials[];

/// The kernels of a random program. Arguments are pointers to each; what is counted comes by itself.
struct PrintedProgram {
  void (*cpp)(void* const* arguments, unsigned long long count);
  void (*cuda)(void* const* arguments, unsigned long long count);
};
/// By seed, from 0 to kAllPrograms - 1; casts are printed for C++ alone.
extern const PrintedProgram kPrintedPrograms[];

}  // namespace kiln::expr
