#include "kiln/tensor/text/format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace kiln {
namespace {

PrintOptions global_options;

// ---- one floating number -------------------------------------------------------------------------------------------

/// The parts of sign, whole.fraction and perhaps an exponent ("-05"); "nan" and "inf" are stored in `whole`.
struct Digits {
  std::string whole, fraction, exponent;
};

template <class... Precision>
std::string rendered(auto number, std::chars_format format, Precision... precision) {
  char text[512];  // the largest double has 309 digits, and precision is bounded below
  return {text, std::to_chars(text, text + sizeof text, number, format, precision...).ptr};
}

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

/// "d.ddde-xx": the fewest digits that distinguish this number from all others of its type.
std::string shortest(double x) { return rendered(x, std::chars_format::scientific); }
std::string shortest(float x) { return rendered(x, std::chars_format::scientific); }
template <class Half>
std::string shortest(Half x) {
  constexpr int kEnough = 8;
  for (int precision = 0;; ++precision) {
    const std::string text = rendered(float{x}, std::chars_format::scientific, precision);
    double mantissa = 0;
    const auto e = text.find('e');
    for (const char letter : text.substr(0, e))
      if (letter >= '0' && letter <= '9') mantissa = mantissa * 10 + (letter - '0');
    int exponent = 0;
    const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
    std::from_chars(first, text.data() + text.size(), exponent);
    const double value = mantissa * power_of_ten(exponent - precision);
    if (precision == kEnough || Half(static_cast<float>(value)).bits == Half(std::abs(float{x})).bits) return text;
  }
}

Digits split_scientific(const std::string& text) {
  const auto e = text.find('e'), point = text.find('.');
  Digits digits{text.substr(0, std::min(point, e)), "", text.substr(e + 1)};
  if (point != std::string::npos) digits.fraction = text.substr(point + 1, e - point - 1);
  return digits;
}

void trim_zeros(std::string& fraction) { fraction.erase(fraction.find_last_not_of('0') + 1); }

template <class T>
Digits scientific(T x, int precision) {
  Digits digits = split_scientific(shortest(x));
  if (static_cast<int>(digits.fraction.size()) > precision)
    digits = split_scientific(rendered(static_cast<double>(x), std::chars_format::scientific, precision));
  trim_zeros(digits.fraction);
  return digits;
}

template <class T>
Digits positional(T x, int precision) {
  Digits digits = split_scientific(shortest(x));
  int exponent = 0;
  const char* first = digits.exponent.data() + (digits.exponent[0] == '+');
  std::from_chars(first, digits.exponent.data() + digits.exponent.size(), exponent);
  digits.exponent.clear();

  if (static_cast<int>(digits.fraction.size()) - exponent > precision) {
    // There are more digits than wanted: the number itself is rounded, not its shortest text.
    const std::string text = rendered(static_cast<double>(x), std::chars_format::fixed, precision);
    const auto point = std::min(text.find('.'), text.size());
    digits.whole = text.substr(0, point);
    digits.fraction = point < text.size() ? text.substr(point + 1) : "";
  } else if (exponent >= 0) {  // move digits, or zeros, across the decimal point
    const auto moved = static_cast<std::size_t>(exponent);
    if (digits.fraction.size() < moved) digits.fraction.resize(moved, '0');
    digits.whole += digits.fraction.substr(0, moved);
    digits.fraction.erase(0, moved);
  } else {
    const std::string sign = digits.whole[0] == '-' ? "-" : "";
    digits.fraction =
        std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits.whole.substr(sign.size()) + digits.fraction;
    digits.whole = sign + "0";
  }
  trim_zeros(digits.fraction);
  return digits;
}

// ---- cells: elements as texts of one width --------------------------------------------------------------------------

using Cells = std::vector<std::string>;

Cells aligned_right(Cells cells, std::size_t width = 0) {
  for (const auto& cell : cells) width = std::max(width, cell.size());
  for (auto& cell : cells) cell.insert(0, width - cell.size(), ' ');
  return cells;
}

/// The decimal digits that every number of the type keeps: with more, the zeros before the decimal point would be made
/// up.
constexpr int digits_of(double) { return 15; }
constexpr int digits_of(float) { return 6; }
constexpr int digits_of(F16) { return 3; }
constexpr int digits_of(BF16) { return 2; }

/// Follows the options, or NumPy's rule for when exponents are easier to read.
template <class T>
bool wants_exponent(const std::vector<T>& elements, const PrintOptions& options) {
  if (options.exponents != Exponents::Automatic) return options.exponents == Exponents::Always;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const T element : elements) {
    const double size = std::abs(static_cast<double>(element));
    if (!std::isfinite(size) || size == 0) continue;
    least = std::min(least, size);
    most = std::max(most, size);
  }
  if (most == 0) return false;
  if (most >= power_of_ten(std::min(8, digits_of(T{})))) return true;
  return !options.suppress_small && (least < static_cast<double>(T(0.0001)) || most / least > 1000);
}

template <class T>
Cells float_cells(const std::vector<T>& elements, const PrintOptions& options) {
  const int precision = std::clamp(options.precision, 0, 100);
  const bool exponents = wants_exponent(elements, options);
  std::vector<Digits> all;
  std::size_t fraction = 0, exponent = 0;
  for (const T element : elements) {
    const auto number = static_cast<double>(element);
    if (!std::isfinite(number)) {
      all.push_back({text(number), "", ""});
      continue;
    }
    all.push_back(exponents ? scientific(element, precision) : positional(element, precision));
    fraction = std::max(fraction, all.back().fraction.size());
    exponent = std::max(exponent, all.back().exponent.size());
  }

  Cells cells;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Digits& digits = all[i];
    if (!std::isfinite(static_cast<double>(elements[i]))) {
      cells.push_back(digits.whole);
      continue;
    }
    // Exponents are aligned, so fractions are filled with zeros; without exponents they are filled with spaces.
    digits.fraction.resize(fraction, exponents ? '0' : ' ');
    if (exponents) digits.exponent.insert(1, exponent - digits.exponent.size(), '0');
    cells.push_back(digits.whole + '.' + digits.fraction + (exponents ? "e" + digits.exponent : ""));
  }
  return aligned_right(std::move(cells));
}

template <class T>
Cells cells_of(const std::vector<T>& elements, const PrintOptions& options) {
  if constexpr (std::is_integral_v<T>) {
    (void)options;
    Cells cells;
    for (const T element : elements) cells.push_back(text(element));
    return aligned_right(std::move(cells), std::is_same_v<T, bool> ? std::string_view("false").size() : 0);
  } else {
    return float_cells(elements, options);
  }
}

// ---- layout ----------------------------------------------------------------------------------------------------------

/// Writes cells in nested brackets. Cells are taken in order, so they must be those of visible_positions().
class Layout {
 public:
  Layout(const Shape& shape, const PrintOptions& options, bool summarize)
      : shape_(shape),
        edge_(std::max<std::int64_t>(options.edge_items, 0)),
        width_(options.line_width),
        summarize_(summarize) {}

  std::vector<std::int64_t> visible_positions() const {
    std::vector<std::int64_t> positions{0};
    const Dims strides = contiguous_strides(shape_);
    for (int axis = 0; axis < shape_.size(); ++axis) {
      std::vector<std::int64_t> finer;
      for (const auto position : positions)
        for (std::int64_t i = 0; i < shape_[axis]; ++i) {
          if (is_cut(axis) && i == edge_) i = shape_[axis] - edge_;
          if (i < shape_[axis]) finer.push_back(position + i * strides[axis]);
        }
      positions = std::move(finer);
    }
    return positions;
  }

  std::string write(const Cells& cells) {
    next_ = cells.begin();
    return bracket(0);
  }

 private:
  bool is_cut(int axis) const { return summarize_ && 2 * edge_ < shape_[axis]; }

  std::string bracket(int axis) {
    const std::string indent(static_cast<std::size_t>(axis + 1), ' ');
    const bool innermost = axis + 1 == shape_.size();
    const std::int64_t shown = is_cut(axis) ? 2 * edge_ : shape_[axis];
    const std::string between(static_cast<std::size_t>(innermost ? 0 : shape_.size() - axis - 1), '\n');
    std::string done, line = indent;
    for (std::int64_t i = 0; i <= shown; ++i) {
      if (is_cut(axis) && i == edge_) place("...", innermost, axis, indent, between, done, line);
      if (i < shown) place(innermost ? *next_++ : bracket(axis + 1), innermost, axis, indent, between, done, line);
    }
    return '[' + (done + line).substr(indent.size()) + ']';
  }

  // Items of a row follow each other and wrap before the line is full; each row starts a new line.
  void place(const std::string& item, bool innermost, int axis, const std::string& indent, const std::string& between,
             std::string& done, std::string& line) {
    const bool first = done.empty() && line == indent;
    if (!first) {
      if (innermost) line += ' ';
      const auto room = static_cast<std::size_t>(std::max(width_ - axis - 1, 0));
      if (!innermost || (line.size() + item.size() > room && line.size() > indent.size())) {
        if (innermost) line.erase(line.find_last_not_of(' ') + 1);
        done += line + (innermost ? "\n" : between);
        line = indent;
      }
    }
    line += item;
  }

  Shape shape_;
  std::int64_t edge_;
  int width_;
  bool summarize_;
  Cells::const_iterator next_;
};

/// A single number is written as in a sentence: 3.0 and 1e-05 where a column has 3. and 1.e-05.
std::string scalar_text(std::string cell) {
  cell.erase(0, cell.find_first_not_of(' '));
  if (const auto point = cell.find(".e"); point != std::string::npos) return cell.erase(point, 1);
  return cell.ends_with('.') ? cell + '0' : cell;
}

}  // namespace

PrintOptions print_options() { return global_options; }
void set_print_options(const PrintOptions& options) { global_options = options; }

std::string to_text(const TensorData& data, const PrintOptions& options) {
  if (data.numel() == 0) return "[]";
  Layout layout(data.shape(), options, data.numel() > options.threshold);
  const auto positions = layout.visible_positions();
  const Cells cells = visit_dtype(data.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto all = data.as<T>();
    std::vector<T> visible;
    for (const auto position : positions) visible.push_back(all[static_cast<std::size_t>(position)]);
    return cells_of(visible, options);
  });
  return data.shape().empty() ? scalar_text(cells[0]) : layout.write(cells);
}

std::string to_text(const Value& tensor, const PrintOptions& options) { return to_text(tensor.data(), options); }

}  // namespace kiln
