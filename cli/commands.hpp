// What the program `kiln` does, one row a command: commands.cpp has the table, which names each command's options; a file of
// its own has what it does, as a plain function that tests call too.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kiln::cli {

/// Where text goes, as it comes.
using Print = std::function<void(std::string_view)>;

struct InspectOptions {
  std::string file;
  std::vector<std::string> only;  // as ConvertOptions
  bool quick = false;             // without statistics, for which all tensors are read
};
/// A file's format, tensors and metadata, as a table; of a directory of checkpoints which there are.
std::string inspect(const InspectOptions& options);

struct ConvertOptions {
  std::string from, to, under, floats, quantise;
  std::vector<std::string> rename;        // "pattern=replacement"
  std::vector<std::string> only, except;  // globs, or selectors in JSON: {"regex": "..."}
  bool pytorch_layers = false;            // with_pytorch_layers()
  bool compress = false;
  std::int64_t shard_bytes = 0;  // 0: one file
};
/// Writes the tensors of one file to another, one after the other, and says what it wrote.
std::string convert(const ConvertOptions& options);

struct DiffOptions {
  std::string a, b;
  double relative = 0, absolute = 0;  // by how much elements may differ
};
struct Difference {
  std::string text;
  bool same = true;
};
Difference compare(const DiffOptions& options);

struct PlotScheduleOptions {
  std::string file;  // {"Cosine": {"peak": 0.1, "warmup": 100, "steps": 1000}}
  std::int64_t steps = 1000;
  int width = 72, height = 12;
};
/// The learning rates of a schedule as a picture of letters. Throws ConfigError, ArgumentError.
std::string plot_schedule(const PlotScheduleOptions& options);

struct OnnxOptions {
  std::string file;
  std::vector<std::string> sizes;  // "batch=8", for the FLOPs
};
/// What an .onnx file holds: inputs, outputs, operators by count, parameters, FLOPs, and what Kiln lacks to run it.
std::string describe_onnx(const OnnxOptions& options);

struct OnnxTestOptions {
  std::vector<std::string> directories;  // of the standard's form, or such that have some below them
  std::string device = "cpu";
  bool plain = false;      // graphs as they stand, not simplified
  bool generated = false;  // through the C++ that `import` writes, compiled by CMake
  std::string kiln, work;  // generated: where Kiln is installed; where to build, a temporary folder by default
};
/// A line for each test as soon as it has run, so that a crash leaves those before. Whether all pass.
bool test_onnx(const OnnxTestOptions& options, const Print& print);

struct ImportOptions {
  std::string file, directory;     // where left out: the model's name
  std::string name, data;          // of the struct; a folder with test_data_set_<n>, by default the file's
  std::vector<std::string> sizes;  // "batch=8", of the examples that the test is made with
  bool force = false;              // over files that are others than what would be written
  bool untried = false;            // also of a model that throws on the examples
};
/// Writes an .onnx file as C++: a struct of modules, its weights, a CMake target and a test. Says what it wrote. What it
/// wrote before belongs to whoever imported it: throws ArgumentError, before anything is written, where a file is there that
/// has been changed.
std::string import_onnx(const ImportOptions& options);

struct RunOptions {
  std::string file, device = "cpu";
  std::vector<std::string> inputs, outputs, compare;  // "name=file", or files by position
  std::vector<std::string> sizes;                     // "batch=8", "x[0]=8", of inputs that are not given
  int repeat = 0;                                     // timed runs
  double relative = 1e-3, absolute = 1e-7;            // by how much compared elements may differ
};
/// Runs an .onnx file on tensors of files, or on random ones, and says what comes out.
Difference run_onnx(const RunOptions& options);

struct RunsOptions {
  std::string directory, sort, plot;        // metrics, as "valid/accuracy"
  std::vector<std::string> metrics, where;  // all of them by default; "valid/accuracy>0.9"
  int width = 72, height = 12;
  bool colours = false;
};
/// Runs that RunDirectory wrote below a directory, as a table. Throws IoError, DataError, ArgumentError.
std::string runs(const RunsOptions& options);

/// A command as a shell's completion knows it.
struct Completed {
  std::string name, summary;
  std::vector<std::string> options;  // "--only"
  std::vector<std::string> words;    // what may stand behind it: "test"
};
/// For bash, zsh or fish; throws ArgumentError for other shells.
std::string completion(const std::string& shell, std::span<const Completed> commands);

/// The program: what it prints goes to `out` and `error`; the status is what it exits with, 1 where `diff`,
/// `run --compare` or a test finds a difference, 2 for wrong input.
int run(std::span<const std::string> arguments, const Print& out, const Print& error);

}  // namespace kiln::cli
