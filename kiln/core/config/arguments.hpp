// A config from the command line: --optimizer.beta1=0.8 --epochs 10 --shuffle --no-augment --sizes=64,32 --config run.json
//
//   int main(int argc, char** argv) { return run_main(argc, argv, learn); }    // void learn(const Run&)
//
// or, by hand,
//
//   if (asks_for_help(argc, argv)) return print(options_of<Run>()), 0;
//   const Run run = from_arguments<Run>(argc, argv);
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln {

namespace config {

// A field, as the command line knows it.
struct Option {
  std::string path;        // "optimizer.beta1"
  std::string type{};      // "NUMBER", "cosine|linear"
  std::string fallback{};  // its default as JSON; empty where it must be given
  bool is_text = false;    // a value is taken as it is: strings and enums, or lists of such
  bool is_flag = false;    // may stand without a value
  bool is_list = false;    // commas stand between its elements
};
/// Those of a struct, as `defaults` has them.
std::vector<Option> options_for(const Type& type, const void* defaults);

// The options as words for a terminal, and what the arguments say as JSON: the defaults with their values put in.
std::string help(const std::vector<Option>& options);
Json read_arguments(int argc, const char* const* argv, const std::vector<Option>& options, std::string& source);

void print(const std::string& text);
/// 0, or 1 where a program throws an error, which is printed.
int guarded(FunctionRef<void()> program);

template <class T>
std::vector<Option> options_for() {
  const T defaults{};
  return options_for(kType<T>, &defaults);
}

}  // namespace config

/// --help or -h is among them.
bool asks_for_help(int argc, const char* const* argv);

/// A line for each field of T: its option, what it takes, its default.
template <class T>
std::string options_of() {
  return config::help(config::options_for<T>());
}

/// A T from a program's arguments, argv[0] being its name: --key=value or --key value, where the key of a struct's field is
/// its path; a bool may be said by --key and --no-key; the elements of a list have commas between them, or are JSON, as
/// everything else that is no string may be. --config FILE reads a config first, which other options then change. What is
/// said twice counts as it is said last. Throws ConfigError as from_json() does, or IoError.
template <class T>
T from_arguments(int argc, const char* const* argv) {
  return or_memory_error("command line", [&] {
    std::string source;
    const Json json = config::read_arguments(argc, argv, config::options_for<T>(), source);
    return from_json<T>(json, source);
  });
}

/// A program's main(): its options where they are asked for, else run() with the config that the arguments say. An error
/// of either is printed as a sentence, and makes the status 1.
template <class T>
int run_main(int argc, const char* const* argv, void (*run)(T)) {
  using Config = std::remove_cvref_t<T>;
  return config::guarded([&] {
    if (asks_for_help(argc, argv)) config::print(options_of<Config>());
    else run(from_arguments<Config>(argc, argv));
  });
}

}  // namespace kiln
