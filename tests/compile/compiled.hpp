// Compiles a program to C, that C to a library, and runs it in this process.
#pragma once
#include <string>
#include <vector>

#include "kiln/compile/compile.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/device.hpp"
#include "tests/store/temporary.hpp"

namespace kiln::compile {

#define KILN_NEEDS_COMPILER() \
  if (!has_c_compiler()) GTEST_SKIP() << "there is no C compiler"

inline Device cpu() { return Device::parse("cpu"); }
/// The same device, whose random numbers begin anew.
inline Device seeded() {
  const Device device = cpu();
  device.seed(7);
  return device;
}

/// The sentence of the error that a function throws.
template <class F>
std::string said(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.message())); }
  return "nothing was thrown";
}

/// Whether there is a C compiler; tests that need one are skipped without.
bool has_c_compiler();

/// A command whose status is 0, or what it printed.
std::string failure_of(const std::string& command);

/// Writes the files of a program to a directory.
void write_code(const CompiledCode& code, const std::string& directory);

/// The compiled program as a function. An expectation fails where a compiler says anything.
class Library {
 public:
  Library(const CompiledCode& code, const Source& source, const std::string& flags = "-O1");
  ~Library();
  Library(const Library&) = delete;

  /// Returns the status of run(), and fills the outputs.
  int run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) const;

 private:
  TemporaryFile folder_{"program.so"};
  std::vector<Desc> outputs_;
  void* library_ = nullptr;
  int (*call_)(void**) = nullptr;
};

/// Runs `function` on the device cpu, and captured and compiled; an expectation fails where elements differ by more.
void expect_same(FunctionRef<Values(const Values&)> function, const Values& inputs,
                 const Tolerance& tolerance = {.relative = 1e-4, .absolute = 1e-5}, const CompileOptions& options = {},
                 const std::vector<std::string>& flags = {"-O1"});

}  // namespace kiln::compile
