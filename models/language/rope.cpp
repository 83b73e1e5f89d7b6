#include "models/language/rope.hpp"

#include <cmath>

#include "kiln/core/error/shown.hpp"

namespace kiln::models {
namespace {

/// Reads one description of a rotary encoding, which is under the key `name`.
struct Reader {
  const PublishedRope& said;
  std::string_view name, file;
  double length;  // the length that a model was trained with, and the longest that it is used with
  double original;

  template <class T>
  const T& need(const std::optional<T>& value, std::string_view key) const {
    require<ConfigError>(value.has_value(), file, ": '", name, '.', key, "' is missing, which the kind \"", kind(),
                         "\" needs");
    return *value;
  }
  double positive(const std::optional<double>& value, std::string_view key) const {
    const double number = need(value, key);
    require<ConfigError>(number > 0 && std::isfinite(number), file, ": '", name, '.', key, "' must be positive, got ",
                         number);
    return number;
  }
  std::string kind() const { return said.rope_type ? *said.rope_type : said.type.value_or("default"); }
  double factor_or_ratio() const { return said.factor ? positive(said.factor, "factor") : length / original; }

  nn::scaling::Yarn yarn() const {
    nn::scaling::Yarn yarn{.factor = factor_or_ratio(), .original_length = static_cast<std::int64_t>(original)};
    yarn.truncate = said.truncate.value_or(true);
    const auto or_default = [](const std::optional<double>& value, double fallback) {
      return value && *value != 0 ? *value : fallback;
    };
    yarn.beta_fast = or_default(said.beta_fast, 32);
    yarn.beta_slow = or_default(said.beta_slow, 1);
    const auto amplitude = [&](double by) { return yarn.factor > 1 ? 0.1 * by * std::log(yarn.factor) + 1 : 1; };
    if (said.attention_factor) yarn.attention = positive(said.attention_factor, "attention_factor");
    else if (said.mscale && said.mscale_all_dim && *said.mscale != 0 && *said.mscale_all_dim != 0)
      yarn.attention = amplitude(*said.mscale) / amplitude(*said.mscale_all_dim);
    return yarn;
  }

  nn::scaling::LongRope long_rope() const {
    nn::scaling::LongRope scaling{.short_factors = need(said.short_factor, "short_factor"),
                                  .long_factors = need(said.long_factor, "long_factor"),
                                  .original_length = static_cast<std::int64_t>(original)};
    const double factor = factor_or_ratio();
    if (said.attention_factor) scaling.attention = positive(said.attention_factor, "attention_factor");
    else if (factor > 1) scaling.attention = std::sqrt(1 + std::log(factor) / std::log(original));
    return scaling;
  }

  nn::RotaryScaling scaling() const {
    const std::string of = kind();
    if (of == "default") return nn::scaling::None{};
    if (of == "linear") return nn::scaling::Linear{positive(said.factor, "factor")};
    if (of == "dynamic") return nn::scaling::DynamicNtk{positive(said.factor, "factor")};
    if (of == "yarn") return yarn();
    if (of == "longrope") return long_rope();
    if (of == "llama3")
      return nn::scaling::Llama3{positive(said.factor, "factor"), positive(said.low_freq_factor, "low_freq_factor"),
                                 positive(said.high_freq_factor, "high_freq_factor"),
                                 static_cast<std::int64_t>(original)};
    fail<ConfigError>(file, ": '", name, ".rope_type' must be one of \"default\", \"linear\", \"dynamic\", \"yarn\", ",
                      "\"longrope\", \"llama3\", got \"", shown(of), '"');
  }
};

}  // namespace

Rope rope_of(const RopeKeys& said, std::int64_t head_width, std::int64_t length, const std::string& file) {
  require<ConfigError>(!said.rope_parameters || !said.rope_scaling, file,
                       ": says both 'rope_parameters' and 'rope_scaling'; take out the one that the weights were not "
                       "trained with");
  const PublishedRope none;
  const PublishedRope& own = said.rope_parameters ? *said.rope_parameters
                             : said.rope_scaling  ? *said.rope_scaling
                                                  : none;
  const std::string_view name = said.rope_scaling ? "rope_scaling" : "rope_parameters";
  const auto original =
      said.original_max_position_embeddings.value_or(own.original_max_position_embeddings.value_or(length));
  require<ConfigError>(original > 0, file, ": 'original_max_position_embeddings' must be positive, got ", original);

  Rope rope;
  rope.context = length;
  rope.encoding.base = own.rope_theta.value_or(said.rope_theta.value_or(10000));
  require<ConfigError>(rope.encoding.base > 1, file, ": 'rope_theta' must be above 1, got ", rope.encoding.base);
  const double part = own.partial_rotary_factor.value_or(said.partial_rotary_factor.value_or(1));
  rope.encoding.width = static_cast<std::int64_t>(static_cast<double>(head_width) * part);
  require<ConfigError>(part > 0 && part <= 1 && rope.encoding.width > 0 && rope.encoding.width % 2 == 0, file,
                       ": 'partial_rotary_factor' is ", part, ", and of heads of ", head_width,
                       " an even number of elements must be rotated");
  rope.encoding.scaling = Reader{own, name, file, static_cast<double>(length), static_cast<double>(original)}.scaling();
  if (const auto* const dynamic = std::get_if<nn::scaling::DynamicNtk>(&rope.encoding.scaling)) {
    rope.context = static_cast<std::int64_t>(static_cast<double>(length) * std::max(dynamic->factor, 1.0));
    require<ConfigError>(dynamic->factor < 1e6, file, ": '", name, ".factor' is ", dynamic->factor,
                         ", more than any model has been stretched by");
  }
  for (const auto* const factors : {&own.short_factor, &own.long_factor})
    require<ConfigError>(!std::holds_alternative<nn::scaling::LongRope>(rope.encoding.scaling) ||
                             std::ssize(**factors) == rope.encoding.width / 2,
                         file, ": '", name, factors == &own.short_factor ? ".short_factor" : ".long_factor", "' has ",
                         *factors ? std::ssize(**factors) : 0, " numbers, and ", rope.encoding.width / 2,
                         " pairs of a head are rotated");
  return rope;
}

}  // namespace kiln::models
