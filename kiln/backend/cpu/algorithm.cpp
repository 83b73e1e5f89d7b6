#include "kiln/backend/cpu/algorithm.hpp"

#include <algorithm>
#include <cstdlib>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::cpu {
namespace {

struct Name {
  std::string_view name;
  Algorithm algorithm;
};
constexpr Name kNames[] = {{"amx_attention", Algorithm::AmxAttention},
                           {"amx_conv", Algorithm::AmxConv},
                           {"amx_matmul", Algorithm::AmxMatmul},
                           {"chains", Algorithm::Chains},
                           {"clamp", Algorithm::Clamp},
                           {"depthwise", Algorithm::Depthwise},
                           {"depthwise_planes", Algorithm::DepthwisePlanes},
                           {"direct", Algorithm::Direct},
                           {"dots", Algorithm::Dots},
                           {"few_halves", Algorithm::FewHalves},
                           {"few_rows", Algorithm::FewRows},
                           {"integer_amx", Algorithm::IntegerAmx},
                           {"integer_depthwise", Algorithm::IntegerDepthwise},
                           {"integer_vnni", Algorithm::IntegerVnni},
                           {"mapped_sum", Algorithm::MappedSum},
                           {"onednn_conv", Algorithm::OnednnConv},
                           {"onednn_matmul", Algorithm::OnednnMatmul},
                           {"plane_sum", Algorithm::PlaneSum},
                           {"short_rows", Algorithm::ShortRows},
                           {"simple_finish", Algorithm::SimpleFinish},
                           {"tiles", Algorithm::Tiles},
                           {"weight_tiles", Algorithm::WeightTiles},
                           {"windows", Algorithm::Windows},
                           {"winograd", Algorithm::Winograd}};

std::string all_names() {
  std::string all;
  for (const Name& each : kNames) all += (all.empty() ? "" : ", ") + std::string(each.name);
  return all;
}

AlgorithmSet& disabled() {
  static AlgorithmSet set = [] {
    const char* const value = std::getenv("KILN_WITHOUT");
    return algorithms_in(value ? value : "");
  }();
  return set;
}

}  // namespace

AlgorithmSet algorithms_in(std::string_view list) {
  AlgorithmSet set;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    const Name* const found = std::ranges::find(kNames, word, &Name::name);
    require<ArgumentError>(found != std::end(kNames),
                           "KILN_WITHOUT lists algorithms, separated by commas: there is no '", shown(word), "', only ",
                           all_names());
    set.set(static_cast<std::size_t>(found->algorithm));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return set;
}

bool is_disabled(Algorithm algorithm) { return disabled()[static_cast<std::size_t>(algorithm)]; }

void disable(const AlgorithmSet& algorithms) { disabled() = algorithms; }

}  // namespace kiln::cpu
