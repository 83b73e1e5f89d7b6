// A config from the command line: --optimizer.beta1=0.8 --epochs 10 --shuffle --no-augment --sizes=64,32 --config run.json
//
//   int main(int argc, char** argv) { return run_main(argc, argv, learn); }    // void learn(const Run&)
//
// or, by hand,
//
//   if (asks_for_help(argc, argv)) return print(options_of<Run>()), 0;
//   const Run run = from_arguments<Run>(argc, argv);
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln {

/// The text that --help prints of a program.
struct Help {
  struct Meaning {
    std::string_view option, meaning;  // of a struct: of all its fields that have no meaning of their own
  };
  std::string_view about = {};  // what the program does, what it needs and where that comes from, and how it is called
  std::vector<Meaning> meanings = {};
};

namespace config {

// A field as an option of the command line.
struct Option {
  std::string path;        // "optimizer.beta1"
  std::string type{};      // "NUMBER", "cosine|linear"
  std::string fallback{};  // its default as JSON; empty where the option is required
  bool is_text = false;    // the value is read as it is: strings and enums, or lists of these
  bool is_flag = false;    // may stand without a value
  bool is_list = false;    // its elements are separated by commas
};
/// The options for the fields of a struct, with the values that `defaults` holds.
std::vector<Option> options_for(const Type& type, const void* defaults);

// help() formats the options for a terminal; read_arguments() returns the defaults as JSON with the arguments' values
// put in.
std::string help(const std::vector<Option>& options);
/// Formats the options beside what `said` says of them and of the program. Throws ConfigError where `said` names an option
/// that the program does not have, or says nothing of one that it has.
std::string help(const std::vector<Option>& options, const Help& said);
Json read_arguments(int argc, const char* const* argv, const std::vector<Option>& options, std::string& source);

void print(const std::string& text);
/// Runs `program`. Returns 0, or prints the error that the program throws and returns 1.
int guarded(FunctionRef<void()> program);

template <class T>
std::vector<Option> options_for() {
  const T defaults{};
  return options_for(kType<T>, &defaults);
}

}  // namespace config

/// Whether --help or -h is among the arguments.
bool asks_for_help(int argc, const char* const* argv);

/// Serves programs that take words and no config: the exit status where nothing is left to do. It is 0 where help is asked for, which
/// prints `about`, and 1 where there are more than `most` words, or one begins with "-" and is none of the `options`, which a
/// sentence then says.
std::optional<int> answered(int argc, const char* const* argv, std::string_view about, int most,
                            std::initializer_list<std::string_view> options = {});
/// A word that is a whole number from `least` to `greatest`. Throws ArgumentError, which calls it `name`.
std::int64_t whole_number(std::string_view word, std::string_view name, std::int64_t least, std::int64_t greatest);

/// One line for each field of T: its option, the value it takes and its default.
template <class T>
std::string options_of() {
  return config::help(config::options_for<T>());
}

/// Reads a T from a program's arguments (argv[0] is the program's name): --key=value or --key value, where the key of a
/// struct's field is its path. A bool is set by --key and --no-key. The elements of a list are separated by commas or
/// written as JSON; every other value that is not a string may be JSON too. --config FILE is read first, and the other
/// options change it. The last of several values of one key is used. Throws ConfigError as from_json() does, or
/// IoError.
template <class T>
T from_arguments(int argc, const char* const* argv) {
  return or_memory_error("command line", [&] {
    std::string source;
    const Json json = config::read_arguments(argc, argv, config::options_for<T>(), source);
    return from_json<T>(json, source);
  });
}

/// The body of a program's main(): prints `said` and the options where help is asked for, else calls run() with the
/// config that the arguments give. An error of either is printed as a sentence and makes the exit status 1.
template <class T>
int run_main(int argc, const char* const* argv, void (*run)(T), const Help& said = {}) {
  using Config = std::remove_cvref_t<T>;
  return config::guarded([&] {
    if (asks_for_help(argc, argv)) config::print(config::help(config::options_for<Config>(), said));
    else run(from_arguments<Config>(argc, argv));
  });
}

}  // namespace kiln
