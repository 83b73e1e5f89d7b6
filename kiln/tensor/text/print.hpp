// Lets fmt format tensors, shapes, element types and devices, and print() write them: print("{}\n{}\n", x, x.shape()).
// {:.3} shows a tensor with at most three digits after the decimal point, {:.3e} with exponents, {:f} without any.
#pragma once
#include <fmt/core.h>

#include "kiln/core/system/terminate.hpp"
#include "kiln/tensor/tensor.hpp"
#include "kiln/tensor/text/format.hpp"

namespace kiln {

/// Writes to the standard output. An error that ends the program does not lose what is buffered.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  write_out_at_terminate();
  fmt::print(format, std::forward<Args>(args)...);
}

// Copies letter by letter instead of fmt::format_to: clang 19 and the g++ that built Debian's fmt name its core
// differently.
inline auto write(std::string_view text, fmt::format_context& context) {
  auto out = context.out();
  for (const char letter : text) *out++ = letter;
  return out;
}

/// The part of a formatter that does not depend on the type: it parses {}, {:.N}, {:e}, {:.Nf}, ..., and writes a text.
class TensorFormatter {
 public:
  constexpr auto parse(fmt::format_parse_context& context) {
    auto at = context.begin();
    if (at != context.end() && *at == '.')
      for (precision_ = 0, ++at; at != context.end() && '0' <= *at && *at <= '9'; ++at)
        precision_ = precision_ < 100 ? precision_ * 10 + (*at - '0') : precision_;
    if (at == context.end() || (*at != 'e' && *at != 'f')) return at;
    exponents_ = *at == 'e' ? Exponents::Always : Exponents::Never;
    return ++at;
  }

 protected:
  std::string text_of(const Value& tensor) const {
    PrintOptions options = print_options();
    if (precision_ >= 0) options.precision = precision_;
    if (exponents_ != Exponents::Automatic) options.exponents = exponents_;
    return to_text(tensor, options);
  }

 private:
  int precision_ = -1;
  Exponents exponents_ = Exponents::Automatic;
};

// A type with an `append` for error sentences is printed in the same way.
template <class T>
struct TextFormatter {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const T& x, fmt::format_context& context) const { return write(text(x), context); }
};

template <class T> inline constexpr bool kIsOnlyTensor = false;
template <int D, class K> inline constexpr bool kIsOnlyTensor<Tensor<D, K>> = true;
/// A class that is derived from a tensor, such as nn::Param; it is printed as the tensor that it is.
template <class T>
concept DerivedTensor = !kIsOnlyTensor<T> && requires(const T& x) { []<int D, class K>(const Tensor<D, K>&) {}(x); };

}  // namespace kiln

template <>
struct fmt::formatter<kiln::Value> : kiln::TensorFormatter {
  auto format(const kiln::Value& x, fmt::format_context& context) const { return kiln::write(text_of(x), context); }
};

template <int D, class K>
struct fmt::formatter<kiln::Tensor<D, K>> : kiln::TensorFormatter {
  auto format(const kiln::Tensor<D, K>& x, fmt::format_context& context) const {
    return kiln::write(text_of(x.value()), context);
  }
};

template <kiln::DerivedTensor T>
struct fmt::formatter<T> : kiln::TensorFormatter {
  auto format(const T& x, fmt::format_context& context) const { return kiln::write(text_of(x.value()), context); }
};

template <class T, int N>
struct fmt::formatter<kiln::InlineList<T, N>> : kiln::TextFormatter<kiln::InlineList<T, N>> {};
template <>
struct fmt::formatter<kiln::DType> : kiln::TextFormatter<kiln::DType> {};
template <>
struct fmt::formatter<kiln::Device> : kiln::TextFormatter<kiln::Device> {};
