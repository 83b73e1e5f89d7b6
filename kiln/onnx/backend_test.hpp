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

/// How outputs are compared: with the standard's tolerances, of values alone where they are not random.
struct DataSetComparison {
  bool shapes_alone = false;  // values are random
  bool to_largest = false;    // errors are relative to the largest value, for spectra
};

/// Whatever runs a model in place of Model::run, inputs and outputs in the file's order.
using Runner = std::function<std::vector<Datum>(const std::vector<Datum>&)>;

/// The inputs of a data set, input_<i>.pb in the directory; arange(n) / n where one is missing. Throws IoError, DataError.
std::vector<Datum> read_inputs(const std::string& data_set, const std::vector<ValueInfo>& inputs, const Device& device);

/// Gives `run` the inputs of each test_data_set_<n> in the directory and compares what it gives with the outputs there.
/// Empty where they agree; otherwise the first difference, or that there are no data. Throws what `run` throws, IoError and
/// DataError.
std::string compare_data_sets(const std::string& directory, const std::vector<TypeProto::Kind>& inputs,
                              const std::vector<TypeProto::Kind>& outputs, const Runner& run, const Device& device,
                              const DataSetComparison& how = {});

/// Shapes and types must be equal and values agree to the standard's tolerances: 1e-3 relative and 1e-7 absolute, 2^-6
/// relative for bfloat16; of DFT and STFT relative to the largest value. What a model draws at random is compared by
/// shape and type alone. Each data set is run twice, so that the program that the model is captured as (programs.hpp) is
/// compared as well. `run` runs in place of the model, if it is there. A model without data sets (the "light" ones) gets
/// arange(n) / n for an input of n elements.
BackendTestResult run_backend_test(const std::string& directory, const Device& device, const LoadOptions& options = {},
                                   const Runner& run = {});

/// Runs all tests below `paths`; `print` gets a line for each ("passed NAME", "failed NAME: REASON", "unsupported NAME:
/// OPERATORS") and at the end "passed N of M". Returns how many did not pass.
int run_backend_tests(const std::vector<std::string>& paths, const Device& device,
                      const std::function<void(const std::string&)>& print, const LoadOptions& options = {});

}  // namespace kiln::onnx
