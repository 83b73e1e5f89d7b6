// What `kiln compile` makes of networks for the host, beside the device cpu, with one thread: medians of milliseconds of
// processor time, of runs that take turns.
//
//   bench_compiled [NAME [DIRECTORY]]
//
// A name that ends with "-f16" is that of a network whose weights are kept as float16.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include <dlfcn.h>

#include "bench/clock.hpp"
#include "kiln/compile/compile.hpp"
#include "kiln/compile/target.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/kiln.hpp"
#include "kiln/nn.hpp"
#include "models/mobilenet_v2.hpp"

namespace {

using namespace kiln;
using Forward = std::function<Values(const Values&)>;
constexpr std::string_view kHalves = "-f16";

struct Network {
  Forward forward;
  Value input;
};

Forward guide(const Device& device) {
  const auto conv1 = nn::Conv2dConfig{.in = 1, .out = 8, .kernel = {3}}.init(device);
  const auto conv2 = nn::Conv2dConfig{.in = 8, .out = 16, .kernel = {3}}.init(device);
  const auto linear1 = nn::LinearConfig{.in = 16 * 8 * 8, .out = 512}.init(device);
  const auto linear2 = nn::LinearConfig{.in = 512, .out = 10}.init(device);
  return [=](const Values& in) {
    Tensor<4> x = conv1.forward(Tensor<3>(in[0]).unsqueeze(1));
    x = nn::AdaptiveAvgPool2d{.sizes = {8, 8}}.forward(conv2.forward(x).relu());
    return Values{linear2.forward(linear1.forward(x.flatten<1>()).relu()).softmax(1).value()};
  };
}

Network network(const std::string& name, const Device& device) {
  if (name == "guide-1") return {guide(device), uniform(Shape{1, 28, 28}, 0, 1, device)};
  if (name == "guide-32") return {guide(device), uniform(Shape{32, 28, 28}, 0, 1, device)};
  if (name == "block") {
    const models::InvertedResidual block = valid(models::InvertedResidual{
        .expand = models::NormedConvConfig{.in = 96, .out = 576, .kernel = 1}.init(device),
        .depthwise = models::NormedConvConfig{.in = 576, .out = 576, .groups = 576}.init(device),
        .project = models::NormedConvConfig{.in = 576, .out = 96, .kernel = 1}.init(device),
        .residual = true});
    return {[=](const Values& in) { return Values{block.forward(Tensor<4>(in[0])).value()}; },
            uniform(Shape{1, 96, 14, 14}, -1, 1, device)};
  }
  const models::MobileNetV2 net = valid(models::MobileNetV2Config{}.init(device));
  return {[=](const Values& in) { return Values{net.forward(Tensor<4>(in[0])).value()}; },
          uniform(Shape{1, 3, 224, 224}, -1, 1, device)};
}

/// The program as a function in this process, compiled by the command that its header names.
class Library {
 public:
  Library(const compile::CompiledCode& code, const std::string& directory) {
    std::filesystem::create_directories(directory);
    for (const auto& [name, contents] : code.files) write_file_atomically(directory + "/" + name, contents);
    const std::string command = text("cd '", directory, "' && ", compile::target("host").compiler,
                                     " -fPIC -shared -o program.so ", code.name, ".c -lm");
    require<IoError>(std::system(command.c_str()) == 0, "failed: ", command);
    void* const library = ::dlopen((directory + "/program.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    require<IoError>(library, "dlopen: ", ::dlerror());
    run_ = reinterpret_cast<int (*)(const float*, float*)>(::dlsym(library, (code.name + "_run").c_str()));
    require<IoError>(run_, "dlsym: ", ::dlerror());
  }
  int run(const float* in, float* out) const { return run_(in, out); }

 private:
  int (*run_)(const float*, float*) = nullptr;
};

double median(std::vector<double> seconds) {
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

void measure(const std::string& name, const std::string& directory) {
  constexpr double kSeconds = 2;
  const Device device = Device::cpu(), processor = Device::parse("cpu");
  const bool halves = name.ends_with(kHalves);
  const Network made = network(halves ? name.substr(0, name.size() - kHalves.size()) : name, device);
  const compile::Source source{.graph = capture_graph(made.forward, {&made.input, 1})};
  const compile::CompiledCode code =
      compile::compile(source, {.name = "network", .weights = halves ? DType::F16 : DType::F32});
  const Library library(code, directory);
  const TensorData input = made.input.data(), expected = made.forward({made.input})[0].data();
  TensorData output(expected.shape(), DType::F32);
  const auto compiled = [&] { (void)library.run(input.as<float>().data(), output.as<float>().data()); };
  const auto eager = [&] { (void)made.forward({made.input})[0].data(); };
  const auto replayed = [&] { (void)source.graph.replay({&made.input, 1})[0].data(); };
  std::map<int, std::vector<double>> times;
  for (const double end = bench::wall_seconds() + kSeconds; bench::wall_seconds() < end;)
    for (int way = 0; way < 3; ++way) {
      const double before = bench::process_seconds();
      way == 0 ? compiled() : way == 1 ? eager() : replayed();
      times[way].push_back(bench::process_seconds() - before);
    }
  double largest = 0, error = 0;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    largest = std::max(largest, std::fabs(expected.at(i)));
    error = std::max(error, std::fabs(expected.at(i) - output.at(i)));
  }
  const double ours = median(times[0]), theirs = std::min(median(times[1]), median(times[2]));
  std::printf("%-12s compiled %8.3f ms   cpu %8.3f ms   replayed %8.3f ms   speed %.2f   error %.1e of %.1e\n",
              name.c_str(), 1e3 * ours, 1e3 * median(times[1]), 1e3 * median(times[2]), theirs / ours, error, largest);
}

}  // namespace

int main(int count, char** arguments) {
  set_num_threads(1);
  const std::string only = count > 1 ? arguments[1] : "", directory = count > 2 ? arguments[2] : "compiled.tmp";
  for (const std::string name :
       {"guide-1", "guide-32", "block", "mobilenet", "guide-1-f16", "guide-32-f16", "block-f16", "mobilenet-f16"})
    if (only.empty() || name.starts_with(only)) measure(name, directory + "/" + name);
}
