// Tests as the ONNX project keeps them for its backends: a directory with model.onnx and test_data_set_<n> folders of
// input_<j>.pb and output_<j>.pb. What `kiln onnx test` runs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/onnx/model.hpp"

namespace kiln::onnx {

struct BackendTestResult {
  enum class Outcome : std::uint8_t { Passed, Failed, Unsupported };
  Outcome outcome = Outcome::Passed;
  std::string reason;  // the first difference, the error, or the operators that are missing
};

/// The directories with a model.onnx among `paths` and below them, sorted.
std::vector<std::string> find_backend_tests(const std::vector<std::string>& paths);

/// Shapes and types must be equal and values agree to the standard's tolerances: 1e-3 relative and 1e-7 absolute, 2^-6
/// relative for bfloat16; of DFT and STFT relative to the largest value. What a model draws at random is compared by
/// shape and type alone. A model without data sets (the "light" ones) gets arange(n) / n for an input of n elements.
BackendTestResult run_backend_test(const std::string& directory, const Device& device, const LoadOptions& options = {});

/// Runs all tests below `paths`; `print` gets a line for each ("passed NAME", "failed NAME: REASON", "unsupported NAME:
/// OPERATORS") and at the end "passed N of M". Returns how many did not pass.
int run_backend_tests(const std::vector<std::string>& paths, const Device& device,
                      const std::function<void(const std::string&)>& print, const LoadOptions& options = {});

}  // namespace kiln::onnx
