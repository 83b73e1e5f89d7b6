// The commands of the program `kiln`. commands.cpp has the table of commands with their options; each command's work is
// a plain function in a file of its own, which tests call too.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln::cli {

/// Receives text as it is produced.
using Print = std::function<void(std::string_view)>;

struct InspectOptions {
  std::string file;
  std::vector<std::string> only;  // see ConvertOptions
  bool quick = false;             // leaves out statistics, for which all tensors are read
};
/// Returns a file's format, tensors and metadata as a table, or a list of the checkpoints in a directory.
std::string inspect(const InspectOptions& options);

struct ConvertOptions {
  std::string from, to, under, floats, quantise;
  std::vector<std::string> rename;        // "pattern=replacement"
  std::vector<std::string> only, except;  // globs, or selectors in JSON: {"regex": "..."}
  bool pytorch_layers = false;            // with_pytorch_layers()
  bool compress = false;
  std::int64_t shard_bytes = 0;  // 0: one file
};
/// Writes the tensors of one file to another, one after the other, and returns a summary of what it wrote.
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

struct HostCommand {
  std::vector<std::string> devices;  // the best one if empty
  std::string address = "127.0.0.1", token, certificate, key;
  int port = 3000;
  std::int64_t memory = 0;  // bytes of each session; 0: no limit
  bool sends_to_servers = false;
  std::vector<std::string> origins;  // of pages that may use them
};
/// Lends devices to other programs until the process is told to end.
void host_devices(const HostCommand& options, const Print& print);

struct PlotScheduleOptions {
  std::string file;  // {"Cosine": {"peak": 0.1, "warmup": 100, "steps": 1000}}
  std::int64_t steps = 1000;
  int width = 72, height = 12;
};
/// Draws the learning rates of a schedule with characters. Throws ConfigError, ArgumentError.
std::string plot_schedule(const PlotScheduleOptions& options);

struct OnnxOptions {
  std::string file;
  std::vector<std::string> sizes;  // "batch=8", to compute the FLOPs
};
/// Describes an .onnx file: inputs, outputs, operators with their counts, parameters, FLOPs, and what Kiln lacks to run
/// it.
std::string describe_onnx(const OnnxOptions& options);

struct OnnxTestOptions {
  std::vector<std::string> directories;  // a test in the standard's form, or a directory that contains some
  std::string device = "cpu";
  bool plain = false;      // runs graphs without simplifying them
  bool generated = false;  // runs the C++ that `import` writes, compiled by CMake
  std::string kiln, work;  // for `generated`: where Kiln is installed; where to build, a temporary folder by default
};
/// Prints a line for each test as soon as it has run, so that the lines before a crash remain. Returns whether all
/// tests pass.
bool test_onnx(const OnnxTestOptions& options, const Print& print);

struct ImportOptions {
  std::string file, directory;     // the directory is by default the model's name
  std::string name, data;          // name of the struct; a folder with test_data_set_<n>, by default the file's folder
  std::vector<std::string> sizes;  // "batch=8", for the examples that the test is made with
  bool force = false;              // overwrites files even if they have been changed
  bool untried = false;            // also imports a model that throws on the examples
};
/// Writes an .onnx file as C++: a struct of modules, its weights, a CMake target and a test. Returns a summary of what
/// it wrote. Files that it wrote before may have been changed since: it throws ArgumentError, before it writes
/// anything, if an existing file differs from the new one.
std::string import_onnx(const ImportOptions& options);

struct CompileOptions {
  std::string file, target = "host", directory = ".";
  std::string name, weights = "float32";  // the name is by default the file's
  std::vector<std::string> sizes;         // "batch=1", for what an .onnx file leaves free
  std::vector<std::string> values;        // "shape=2,3": inputs of an .onnx file that are constants
  std::int64_t ram = -1, flash = -1;      // bytes of the board; -1: those of the target; 0: not limited
  bool force = false;                     // overwrites files that Kiln did not write
};
/// Writes a captured graph or an .onnx file as C that needs neither Kiln nor a heap (kiln/compile). Returns a summary of
/// what it wrote. Throws ArgumentError, before it writes anything, where a file of such a name was not written by it.
std::string compile_program(const CompileOptions& options);

struct RunOptions {
  std::string file, device = "cpu";
  std::vector<std::string> inputs, outputs, compare;  // "name=file", or files by position
  std::vector<std::string> sizes;                     // "batch=8", "x[0]=8", for inputs that are not given
  int repeat = 0;                                     // number of timed runs
  double relative = 1e-3, absolute = 1e-7;            // by how much compared elements may differ
};
/// Runs an .onnx file on tensors from files, or on random ones, and describes the outputs.
Difference run_onnx(const RunOptions& options);

struct RunsOptions {
  std::string directory, sort, plot;        // metrics, such as "valid/accuracy"
  std::vector<std::string> metrics, where;  // all of them by default; "valid/accuracy>0.9"
  int width = 72, height = 12;
  bool colours = false;
  std::optional<int> web{};  // a port
};
/// Returns a table of the runs that RunDirectory wrote below a directory. Throws IoError, DataError, ArgumentError.
std::string runs(const RunsOptions& options);
class RunFigures;
/// The runs that fulfil the conditions as the page takes them (kiln/train/show/runs_page.hpp), with their figures. Throws as runs()
/// does.
std::string runs_json(const RunsOptions& options, RunFigures& figures);
/// Serves a page of these runs to this machine, until the process is ended; reads what is new at each visit. Throws as runs()
/// does, and as RunsPage.
void serve_runs(const RunsOptions& options, const Print& out);

struct NewOptions {
  std::string name, project = "regression";  // a target of CMake; one of project_templates()
};
/// Writes a project that uses Kiln into a new folder here, and returns what to do next. Throws ArgumentError for a name that
/// cannot be a target's and for a folder that exists, IoError where it cannot be written; then no folder is left.
std::string new_project(const NewOptions& options);
std::vector<std::string> project_templates();

/// A command as a shell's completion sees it.
struct CompletionEntry {
  std::string name, summary;
  std::vector<std::string> options;  // "--only"
  std::vector<std::string> words;    // words that may follow it: "test"
};
/// Returns the completion script for bash, zsh or fish. Throws ArgumentError for other shells.
std::string completion(const std::string& shell, std::span<const CompletionEntry> commands);

/// Runs the program, which prints to `out` and `error`. Returns the exit status: 1 if `diff`, `run --compare` or a test
/// finds a difference, 2 for wrong input.
int run(std::span<const std::string> arguments, const Print& out, const Print& error);

}  // namespace kiln::cli
