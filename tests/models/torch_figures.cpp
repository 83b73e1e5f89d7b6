#include "tests/models/torch_figures.hpp"

#include <vector>

#include "tests/support/figures.hpp"

namespace kiln {
namespace {

struct TorchFigures {
  std::string made_with;  // the libraries and their versions
  std::map<std::string, std::map<std::string, Shape>> states;
  std::map<std::string, std::vector<double>> numbers;
};

const TorchFigures& torch_figures() {
  static const auto figures = [] {
    auto all = load_config<TorchFigures>(KILN_SOURCE_DIR "/tests/models/torch_figures.json");
    auto more = load_config<TorchFigures>(KILN_SOURCE_DIR "/tests/models/perceptual_figures.json");
    all.states.merge(more.states);
    all.numbers.merge(more.numbers);
    return all;
  }();
  return figures;
}

}  // namespace

std::span<const double> torch_numbers(const std::string& name) { return test::entry_of(torch_figures().numbers, name); }
const std::map<std::string, Shape>& torch_state(const std::string& model) {
  return test::entry_of(torch_figures().states, model);
}

}  // namespace kiln
