#include "cli/commands.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <sstream>
#include <tuple>

#include <CLI/CLI.hpp>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/version.hpp"

namespace kiln::cli {
namespace {

/// The result of a command: text and an exit status. Commands that take long print as they go.
struct CommandResult {
  Print print;
  std::string out = {};
  int status = 0;
};

struct Command {
  std::string_view name, summary;
  void (*add)(CLI::App& app, CommandResult& result);  // adds its options, and what it does with them
};

/// Adds options to an App and calls `act` with them after parsing. The App owns the options.
template <class Options, class Add, class Do>
void on(CLI::App& app, Add add, Do act) {
  const auto options = std::make_shared<Options>();
  add(*options);
  app.callback([options, act] { act(*options); });
}

void add_inspect(CLI::App& app, CommandResult& result) {
  on<InspectOptions>(
      app,
      [&](InspectOptions& o) {
        app.add_option("file", o.file,
                       "a file of tensors, an index of shards, or a directory of checkpoints or of a model")
            ->required();
        app.add_option("--only", o.only, "a selector of names: 'blocks.*.weight', '{\"regex\": \"...\"}'");
        app.add_flag("--quick", o.quick, "no statistics, for which all tensors are read");
      },
      [&](const InspectOptions& o) { result.out = inspect(o); });
}

void add_convert(CLI::App& app, CommandResult& result) {
  on<ConvertOptions>(
      app,
      [&](ConvertOptions& o) {
        app.add_option("from", o.from, "a file of tensors")->required();
        app.add_option("to", o.to, "the file to write, in the format of its extension")->required();
        app.add_option("--under", o.under, "only tensors below this key: 'model', 'state_dict'");
        app.add_option("--rename", o.rename, "'pattern=replacement', a regular expression; may be given several times");
        app.add_flag("--pytorch-layers", o.pytorch_layers, "recurrent layers, attention, ... by Kiln's names");
        app.add_option("--only", o.only, "selectors of names to keep");
        app.add_option("--except", o.except, "selectors of names to leave out");
        app.add_option("--floats", o.floats, "the element type of all floats; by default as they are")
            ->check(CLI::IsMember({"float64", "float32", "float16", "bfloat16"}));
        app.add_option("--quantise,--quantize", o.quantise, "how a .gguf file has its matrices; by default as they are")
            ->check(CLI::IsMember({"q8_0", "q4_0"}));
        app.add_flag("--compress", o.compress, "compress a .kiln file");
        app.add_option("--shards", o.shard_bytes,
                       "several safetensors files of at most so many bytes, and their index; 0: one file")
            ->capture_default_str();
      },
      [&](const ConvertOptions& o) { result.out = convert(o); });
}

void add_diff(CLI::App& app, CommandResult& result) {
  on<DiffOptions>(
      app,
      [&](DiffOptions& o) {
        app.add_option("a", o.a, "a file of tensors")->required();
        app.add_option("b", o.b, "another, of any format")->required();
        app.add_option("--relative", o.relative, "by what part of an element of b the element of a may differ")
            ->capture_default_str();
        app.add_option("--absolute", o.absolute, "by how much they may differ")->capture_default_str();
      },
      [&](const DiffOptions& o) {
        const Difference difference = compare(o);
        result.out = difference.text;
        result.status = difference.same ? 0 : 1;
      });
}

void add_host(CLI::App& app, CommandResult& result) {
  on<HostCommand>(
      app,
      [&](HostCommand& o) {
        app.add_option("--device", o.devices, "cpu, cuda, ...; may be given several times; the best one by default");
        app.add_option("--address", o.address, "0.0.0.0: for all who can reach this machine")->capture_default_str();
        app.add_option("--port", o.port, "0: any that is free")->check(CLI::Range(0, 65535))->capture_default_str();
        app.add_option("--token", o.token, "that clients have to show, as KILN_REMOTE_TOKEN");
        app.add_option("--certificate", o.certificate, "a PEM file, for TLS");
        app.add_option("--key", o.key, "of the certificate");
        app.add_option("--memory", o.memory, "bytes that each session may hold; 0: no limit");
        app.add_flag("--sends-to-servers", o.sends_to_servers, "clients may send tensors from here to other servers");
        app.add_option("--origin", o.origins,
                       "whose pages may use the devices from a browser, as http://127.0.0.1:8000; may be given several "
                       "times; none by default");
      },
      [&](const HostCommand& o) { host_devices(o, result.print); });
}

void add_new(CLI::App& app, CommandResult& result) {
  on<NewOptions>(
      app,
      [&](NewOptions& o) {
        app.add_option("name", o.name, "of the folder to make here, of the program and of its CMake target")
            ->required();
        app.add_option("--template", o.project,
                       "what the program does: regression (a table), images (pictures and their classes), transfer "
                       "(the same, from published weights), serving (answers over HTTP) or layer (a layer of its own)")
            ->capture_default_str();
      },
      [&](const NewOptions& o) { result.out = new_project(o); });
}

void add_plot_schedule(CLI::App& app, CommandResult& result) {
  on<PlotScheduleOptions>(
      app,
      [&](PlotScheduleOptions& o) {
        app.add_option("config", o.file, R"(JSON: {"Cosine": {"peak": 0.1, "steps": 1000}})")->required();
        app.add_option("--steps", o.steps, "how many steps to show")->capture_default_str();
        app.add_option("--width", o.width, "letters")->capture_default_str();
        app.add_option("--height", o.height, "lines")->capture_default_str();
      },
      [&](const PlotScheduleOptions& o) { result.out = plot_schedule(o); });
}

void add_onnx(CLI::App& app, CommandResult& result) {
  CLI::App* const test = app.add_subcommand("test", "run directories of the ONNX standard's tests");
  on<OnnxTestOptions>(
      *test,
      [&](OnnxTestOptions& o) {
        test->add_option("directories", o.directories, "with model.onnx and test_data_set_0, or above such")
            ->required();
        test->add_option("--device", o.device, "where to run")->capture_default_str();
        test->add_flag("--plain", o.plain, "graphs as they stand, not simplified");
        test->add_flag("--generated", o.generated, "through the C++ that `kiln import` writes, compiled by CMake");
        test->add_option("--kiln", o.kiln,
                         "where Kiln is installed, for --generated; by default where this program is");
        test->add_option("--work", o.work, "where --generated builds and leaves its files; else a temporary folder");
      },
      [&](const OnnxTestOptions& o) { result.status = test_onnx(o, result.print) ? 0 : 1; });
  on<OnnxOptions>(
      app,
      [&](OnnxOptions& o) {
        app.add_option("file", o.file, "an .onnx file");
        app.add_option("--size", o.sizes, "'name=number': a free size, 1 where left out; FLOPs depend on them");
      },
      [test, &result](const OnnxOptions& o) {
        if (test->parsed()) return;
        if (o.file.empty()) throw CLI::RequiredError("file");
        result.out = describe_onnx(o);
      });
}

void add_import(CLI::App& app, CommandResult& result) {
  on<ImportOptions>(
      app,
      [&](ImportOptions& o) {
        app.add_option("file", o.file, "an .onnx file")->required();
        app.add_option("-o,--output", o.directory, "the directory to write to; by default one of the model's name");
        app.add_option("--name", o.name, "of the struct, the files and the CMake target; by default the file's");
        app.add_option("--data", o.data, "a directory with test_data_set_0 for the test; by default the file's");
        app.add_option("--size", o.sizes, "'name=number': a free size of random test data, 1 where left out");
        app.add_flag("--force", o.force, "overwrite files that have been changed since they were written");
        app.add_flag("--untried", o.untried, "write code though the model throws on the test data, as the code will");
      },
      [&](const ImportOptions& o) { result.out = import_onnx(o); });
}

void add_compile(CLI::App& app, CommandResult& result) {
  on<CompileOptions>(
      app,
      [&](CompileOptions& o) {
        app.add_option("file", o.file, "a captured graph (.safetensors) or an .onnx file")->required();
        app.add_option("--target", o.target, "the machine: host, m0, m4, m7, m33, pico, pico2 or rv32")
            ->capture_default_str();
        app.add_option("-o,--output", o.directory, "the directory to write to")->capture_default_str();
        app.add_option("--name", o.name, "of the files and the function; by default the file's");
        app.add_option("--size", o.sizes, "'name=number': a size that an .onnx file leaves free");
        app.add_option("--value", o.values,
                       "'name=numbers': an input of an .onnx file that is a constant, as 'shape=2,3'");
        app.add_option("--weights", o.weights, "the element type in which float32 weights are kept")
            ->check(CLI::IsMember({"float32", "float16"}))
            ->capture_default_str();
        app.add_option("--ram", o.ram, "bytes of memory of the board; 0: not limited; by default the target's")
            ->check(CLI::NonNegativeNumber);
        app.add_option("--flash", o.flash, "bytes for constants of the board, likewise")->check(CLI::NonNegativeNumber);
        app.add_flag("--force", o.force, "overwrite files that Kiln did not write");
      },
      [&](const CompileOptions& o) { result.out = compile_program(o); });
}

void add_run(CLI::App& app, CommandResult& result) {
  on<RunOptions>(
      app,
      [&](RunOptions& o) {
        app.add_option("file", o.file, "an .onnx file")->required();
        app.add_option("--input", o.inputs, "a file of one tensor, or 'name=file'; random numbers where there is none");
        app.add_option(
            "--size", o.sizes,
            "'name=number', or 'input[0]=number' for one without a name: a free size of random inputs, else 1");
        app.add_option("--output", o.outputs, "a file to write an output to, or 'name=file'");
        app.add_option("--compare", o.compare, "a file to compare an output with, or 'name=file'");
        app.add_option("--relative", o.relative, "by what part of the expected elements they may differ")
            ->capture_default_str();
        app.add_option("--absolute", o.absolute, "by how much they may differ")->capture_default_str();
        app.add_option("--repeat", o.repeat, "so many timed runs")->capture_default_str();
        app.add_option("--device", o.device, "where to run")->capture_default_str();
      },
      [&](const RunOptions& o) {
        const Difference difference = run_onnx(o);
        result.out = difference.text;
        result.status = difference.same ? 0 : 1;
      });
}

void add_runs(CLI::App& app, CommandResult& result) {
  on<RunsOptions>(
      app,
      [&](RunsOptions& o) {
        app.add_option("directory", o.directory, "a directory of runs, or one run")->required();
        app.add_option("--metric", o.metrics, "a metric to show, 'valid/accuracy'; may be given several times");
        app.add_option("--where", o.where, "'valid/accuracy>0.9', 'optimizer.beta1=0.8'; may be given several times");
        app.add_option("--sort", o.sort, "the metric to sort by, the least first");
        app.add_option("--plot", o.plot, "the metric to draw, as 'valid/loss'");
        app.add_option("--width", o.width, "letters")->check(CLI::Range(20, 1000))->capture_default_str();
        app.add_option("--height", o.height, "lines")->check(CLI::Range(3, 1000))->capture_default_str();
        app.add_flag("--colours,--colors", o.colours, "a colour for each run");
        app.add_option("--web", o.web, "serve a page of these runs to this machine at this port, 0 for a free one")
            ->check(CLI::Range(0, 65535));
      },
      [&](const RunsOptions& o) {
        if (o.web) serve_runs(o, result.print);
        else result.out = runs(o);
      });
}

void add_completion(CLI::App& app, CommandResult& result);

constexpr Command kCommands[] = {
    {"inspect", "list a file's tensors, their types, shapes, sizes and statistics, and its metadata", add_inspect},
    {"convert", "write a file's tensors in another format, or by other names and types", add_convert},
    {"diff", "compare two files tensor by tensor", add_diff},
    {"onnx", "say what an .onnx file holds, or run the standard's tests", add_onnx},
    {"import", "write an .onnx file as C++: a struct of modules, its weights, and a test", add_import},
    {"compile", "write a captured graph or an .onnx file as C without a heap, for a microcontroller or a host",
     add_compile},
    {"run", "run an .onnx file on tensors of files or on random ones", add_run},
    {"host", "lend devices to programs on other machines", add_host},
    {"plot-schedule", "draw the learning rates of a schedule", add_plot_schedule},
    {"runs", "list trainings, compare their configurations and metrics, and draw these", add_runs},
    {"new", "write a project that uses Kiln: a program that learns, its test and its CMake file", add_new},
    {"completion", "print a script that completes kiln's commands in a shell", add_completion},
};

/// Adds all commands of the table to an App.
void add_commands(CLI::App& app, CommandResult& result) {
  app.require_subcommand(1);
  app.set_version_flag("--version", KILN_VERSION);
  for (const Command& command : kCommands)
    command.add(*app.add_subcommand(std::string(command.name), std::string(command.summary)), result);
}

/// Returns the error for a first word that is not a command. Returns an empty string if it is a command or an option.
std::string problem_of(std::span<const std::string> arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return "";
  std::vector<std::string_view> names;
  std::string all;
  for (const Command& command : kCommands) {
    if (arguments[0] == command.name) return "";
    names.push_back(command.name);
    all += text(all.empty() ? "" : ", ", command.name);
  }
  return text("kiln: there is no command '", shown(arguments[0]), '\'', did_you_mean(arguments[0], names),
              "; the commands are ", all, '\n');
}

std::vector<CompletionEntry> completed() {
  CommandResult ignored{{}};
  CLI::App app;
  add_commands(app, ignored);
  std::vector<CompletionEntry> list;
  for (const CLI::App* command : app.get_subcommands({})) {
    CompletionEntry entry{command->get_name(), command->get_description(), {}, {}};
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) entry.options.push_back("--" + name);
    for (const CLI::App* inner : command->get_subcommands({})) entry.words.push_back(inner->get_name());
    list.push_back(std::move(entry));
  }
  return list;
}

void add_completion(CLI::App& app, CommandResult& result) {
  on<std::string>(
      app, [&](std::string& shell) { app.add_option("shell", shell, "bash, zsh or fish")->required(); },
      [&](const std::string& shell) { result.out = completion(shell, completed()); });
}

}  // namespace

int run(std::span<const std::string> arguments, const Print& out, const Print& error) try {
  constexpr int kWrongInput = 2;
  if (const std::string problem = problem_of(arguments); !problem.empty()) {
    error(problem);
    return kWrongInput;
  }
  CommandResult result{out};
  CLI::App app("kiln: files of tensors and models, trainings, devices for other machines, and new projects", "kiln");
  try {
    add_commands(app, result);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& wrong) {
    const auto texts = [&] {
      std::ostringstream said, complained;
      const int status = app.exit(wrong, said, complained);
      return std::tuple(status, said.str(), complained.str());
    };
    // Streams drop what there is no memory for: only what comes twice alike is whole.
    const auto [status, said, complained] = texts();
    if (std::tuple(status, said, complained) != texts()) throw std::bad_alloc();
    out(said);
    error(complained);
    return status == 0 ? 0 : kWrongInput;
  } catch (const Error& wrong) {
    error(text("kiln: ", wrong.message(), '\n'));
    return kWrongInput;
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& wrong) {  // from the standard library
    error(text("kiln: ", escaped(wrong.what()), '\n'));
    return kWrongInput;
  }
  out(result.out);
  return result.status;
} catch (const std::bad_alloc&) {  // there may be no memory for its message either
  error("kiln: the system gives no more memory\n");
  return 2;
}

}  // namespace kiln::cli
