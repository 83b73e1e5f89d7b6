// What a user writes: configs, settings, patterns of names, the arguments of a program.
#include <array>
#include <map>
#include <optional>
#include <variant>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/config/config.hpp"
#include "kiln/core/regex/regex.hpp"
#include "kiln/core/setting/setting.hpp"
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

struct Momentum {
  double momentum = 0.9;
};
struct Adaptive {
  std::array<double, 2> betas = {0.9, 0.999};
};
enum class Order : std::uint8_t { Rows, Columns };
struct Layer {
  std::int64_t width;
  bool bias = true;
  Order order = Order::Rows;
};
struct Everything {
  std::string name;
  std::int8_t tiny = 1;
  std::uint64_t big = 2;
  float single = 1.5f;
  std::vector<Layer> layers;
  std::variant<Momentum, Adaptive> optimizer;
  std::optional<float> clip;
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::vector<double>> matrix;
  Shape input;
};
constexpr std::string_view kConfig = R"({"name": "a \"näme\" \ud83d\ude00", "tiny": -128, "big": 18446744073709551615,
  "layers": [{"width": 64}, {"width": 128, "bias": false, "order": "Columns"}], "matrix": [[1, 2.5], []],
  "optimizer": {"Adaptive": {"betas": [0.8, 9.9e-1]}}, "clip": 1.5, "sizes": {"a": 1, "b": -2}, "input": [1, 28, 28]})";

// What is read is written, and reads back as the same text.
void read_config(std::span<const std::byte> file) {
  const auto config = door([&] { return from_json<Everything>(text_of(file), "config.json"); });
  const Json json = to_json(config);
  const std::string written = door([&] { return write_json(json); });
  const auto again = door([&] { return from_json<Everything>(std::string_view(written), "again.json"); });
  expect(write_json(to_json(again)) == written, "a config changes when it is read");
}

void read_toml(std::span<const std::byte> file) {
  Ways ways;
  for (const SettingsOf whose : {SettingsOf::User, SettingsOf::Project})
    ways.take([&] {
      for (const auto& [name, value] : door([&] { return read_settings(text_of(file), "kiln.toml", whose); }))
        expect(value.find('\0') == value.npos, "a setting holds a byte of 0");
    });
  ways.finish();
}

void match(const Regex& regex) {
  for (const std::string_view name :
       {std::string_view("abababaccccx9.foo"), std::string_view("layers.12.block.3.weight"), std::string_view("\xff\n"),
        std::string_view()}) {
    (void)door([&] { return regex.matches(name); });
    (void)door([&] { return regex.search(name); });
    (void)door([&] { return regex.replace(name, "$1-$9$$"); });
  }
}

void read_pattern(std::span<const std::byte> file) {
  Ways ways;
  ways.take([&] { match(door([&] { return Regex::glob(text_of(file)); })); });
  ways.take([&] { match(door([&] { return Regex(text_of(file)); })); });
  ways.finish();
}

struct Options {
  Layer model{.width = 3};
  double rate = 1;
  std::vector<std::int64_t> sizes;
  std::string name;
  std::optional<int> limit;
  bool flag = false;
};

void read_arguments(std::span<const std::byte> file) {
  std::vector<std::string> words{"program"};
  std::string_view rest = text_of(file);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string word(rest.substr(0, end));
    std::erase(word, '\0');
    if (word.find("config") != word.npos) return;  // names a file
    words.push_back(std::move(word));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  (void)door([&] { return from_arguments<Options>(static_cast<int>(pointers.size()), pointers.data()); });
}

const Reader kConfigReaders[] = {
    {.name = "json",
     .sound = [] { return Files{contents_of(kConfig)}; },
     .read = read_config,
     .change = change_json,
     .text = true},
    {.name = "toml",
     .sound =
         [] {
           return Files{
               contents_of("# why\nthreads = 8\nfusion = false\nlog = \"fusion,cuda\"\n"
                           "profile = 'a#b.json' # here\nnvrtc = \"libnvrtc.so.12\"\ncache = 0\n")};
         },
     .read = read_toml,
     .text = true},
    {.name = "regex",
     .sound =
         [] {
           Files patterns;
           for (const char* pattern :
                {"(a|b)*c{2,5}?x[0-9^.]", "^layers\\.(\\d+)\\.([^.]+)\\.\\w{1,3}", "blocks.*.weight",
                 "**.{weight,bias}", "[!a-c]?", "(?:(a+)+)+$", "(((x{20}){20}){20})"})
             patterns.push_back(contents_of(pattern));
           return patterns;
         },
     .read = read_pattern,
     .text = true},
    {.name = "arguments",
     .sound =
         [] {
           return Files{
               contents_of("--model.width=8\n--model.order=Columns\n--rate\n1e-3\n--sizes=[1,2,3]\n"
                           "--name=\"a b\"\n--limit=3\n--flag=true")};
         },
     .read = read_arguments,
     .text = true},
};

}  // namespace

std::span<const Reader> config_readers() { return kConfigReaders; }

}  // namespace kiln::test
