#include "kiln/ops/product/einsum.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kiln/ops/check.hpp"
#include "kiln/ops/view/diagonal.hpp"

namespace kiln {
namespace {

// A label is a letter, as its index in the alphabet (capitals first), or a dimension of "...". The latter follow the
// letters and are aligned so that the last one is the same in every operand.
using Labels = std::vector<int>;
constexpr int kLetters = 52, kLabels = kLetters + kMaxRank;

/// A tensor and the label of each of its dimensions.
struct Term {
  Value value;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

class Parser {
 public:
  explicit Parser(std::string_view expression) : expression_(expression) {}

  /// Parses the text of one operand or of the result; `ellipsis` is the number of dimensions that "..." stands for.
  Labels labels(std::string_view text, int ellipsis) const {
    Labels labels;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char letter = text[i];
      if (letter >= 'A' && letter <= 'Z') labels.push_back(letter - 'A');
      else if (letter >= 'a' && letter <= 'z') labels.push_back(26 + letter - 'a');
      else {
        require<ArgumentError>(text.substr(i, 3) == "..." && text.find('.', i + 3) == text.npos, "einsum: '",
                               expression_, "': '", letter, "' is not a label");
        for (int k = 0; k < ellipsis; ++k) labels.push_back(kLabels - ellipsis + k);
        i += 2;
      }
    }
    return labels;
  }

  /// The labels of an operand of `rank` dimensions.
  Labels labels_of_operand(std::string_view text, std::size_t number, const Value& operand) const {
    const int letters = static_cast<int>(labels(text, 0).size()), rank = operand.rank();
    const bool open = text.find('.') != text.npos;
    require<ShapeError>(open ? letters <= rank : letters == rank, "einsum: '", expression_, "' gives operand ", number,
                        open ? " at least " : " ", letters, letters == 1 ? " dimension" : " dimensions", ", it is ",
                        operand);
    return labels(text, rank - letters);
  }

 private:
  std::string_view expression_;
};

std::string without_spaces(std::string_view text) {
  std::string result;
  for (const char letter : text)
    if (letter != ' ') result += letter;
  return result;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// Permutes x into the order of `labels`, which must be all labels of x.
Value ordered(const Term& x, const Labels& labels) {
  Dims dims;
  for (const int label : labels) dims.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
  return permute(x.value, dims);
}

Term sum_out(const Term& x, const Labels& kept) {
  Dims dims;
  Term result;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(kept, x.labels[i])) result.labels.push_back(x.labels[i]);
    else dims.push_back(static_cast<std::int64_t>(i));
  }
  result.value = dims.empty() ? x.value : sum(x.value, dims);
  return result;
}

/// Replaces dimensions whose label occurs twice in x by their diagonal.
Term diagonals(std::string_view expression, std::size_t number, Term x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const auto again = std::find(x.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) continue;
    const int first = static_cast<int>(i), second = static_cast<int>(again - x.labels.begin());
    require<ShapeError>(x.value.dim(first) == x.value.dim(second), "einsum: '", expression, "' takes the diagonal of ",
                        "dimensions ", first, " and ", second, " of operand ", number, ", which is ", x.value);
    Dims to_end;
    Labels rest;
    for (int k = 0; k < x.value.rank(); ++k) {
      if (k == first || k == second) continue;
      to_end.push_back(k);
      rest.push_back(x.labels[static_cast<std::size_t>(k)]);
    }
    to_end.push_back(first);
    to_end.push_back(second);
    rest.push_back(x.labels[i]);
    return diagonals(expression, number, {diagonal(permute(x.value, to_end)), rest});
  }
  return x;
}

using Sizes = std::array<std::int64_t, kLabels>;

/// The size of each label; a size of 1 broadcasts to another size.
Sizes sizes_of(std::string_view expression, const std::vector<Term>& terms) {
  Sizes sizes;
  sizes.fill(1);
  for (const Term& term : terms) {
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      std::int64_t& size = sizes[static_cast<std::size_t>(term.labels[i])];
      const std::int64_t own = term.value.dim(static_cast<int>(i));
      require<ShapeError>(own == 1 || size == 1 || own == size, "einsum: '", expression, "' has a label of sizes ",
                          size, " and ", own);
      if (own != 1) size = own;
    }
  }
  return sizes;
}

/// Drops dimensions of size 1 whose label is longer elsewhere: they broadcast by being absent.
Term without_broadcast(const Term& x, const Sizes& sizes) {
  Term result{x.value, {}};
  for (const int label : x.labels) {
    const int at = static_cast<int>(result.labels.size());
    if (result.value.dim(at) == sizes[static_cast<std::size_t>(label)]) result.labels.push_back(label);
    else result.value = squeeze(result.value, at);
  }
  return result;
}

double volume(const Labels& labels, const Sizes& sizes) {
  double volume = 1;
  for (const int label : labels) volume *= static_cast<double>(sizes[static_cast<std::size_t>(label)]);
  return volume;
}

/// The labels of two terms by their role, where those in `kept` remain.
struct Pairing {
  Labels both, summed, left, right;
  Pairing(const Term& a, const Term& b, const Labels& kept) {
    for (const int label : a.labels) {
      if (!contains(b.labels, label)) left.push_back(label);
      else (contains(kept, label) ? both : summed).push_back(label);
    }
    for (const int label : b.labels)
      if (!contains(a.labels, label)) right.push_back(label);
  }
  Labels result() const { return joined(joined(both, left), right); }
  static Labels joined(Labels a, const Labels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

Shape shape_of(const Labels& labels, const Sizes& sizes) {
  Shape shape;
  for (const int label : labels) shape.push_back(sizes[static_cast<std::size_t>(label)]);
  return shape;
}

Term contract(const Term& a, const Term& b, const Labels& kept, const Sizes& sizes) {
  const Pairing by(a, b, kept);
  const Labels result = by.result();
  const Shape shape = shape_of(result, sizes);
  if (by.summed.empty() || (by.left.empty() && by.right.empty())) {
    // No matrix product is needed: elements are multiplied, and perhaps summed.
    const Labels order = Pairing::joined(by.both, by.left);
    Shape left = shape_of(order, sizes), right = shape_of(by.both, sizes);
    for (std::size_t i = 0; i < by.right.size(); ++i) left.push_back(1);
    for (std::size_t i = 0; i < by.left.size(); ++i) right.push_back(1);
    for (const auto size : shape_of(by.right, sizes)) right.push_back(size);
    if (!by.summed.empty()) {
      const Labels all = Pairing::joined(by.both, by.summed);
      return sum_out({ordered(a, all) * ordered(b, all), all}, kept);
    }
    return {reshape(ordered(a, order), left) * reshape(ordered(b, Pairing::joined(by.both, by.right)), right), result};
  }
  const auto count = [&](const Labels& labels) { return numel(shape_of(labels, sizes)); };
  const std::int64_t batch = count(by.both), inner = count(by.summed);
  const Value left = ordered(a, Pairing::joined(Pairing::joined(by.both, by.left), by.summed));
  const Value right = ordered(b, Pairing::joined(Pairing::joined(by.both, by.summed), by.right));
  return {
      reshape(matmul(reshape(left, {batch, count(by.left), inner}), reshape(right, {batch, inner, count(by.right)})),
              shape),
      result};
}

/// The labels of the result: those behind the arrow, or else those of ellipses and all that stand once, in order.
Labels result_labels(std::string_view expression, std::string_view text, const Parser& parser,
                     const std::vector<Term>& terms) {
  std::array<int, kLabels> seen{};
  for (const Term& term : terms)
    for (const int label : term.labels) ++seen[static_cast<std::size_t>(label)];
  const std::size_t arrow = text.find("->");
  if (arrow == text.npos) {
    Labels result;
    for (int label = kLetters; label < kLabels; ++label)
      if (seen[static_cast<std::size_t>(label)] > 0) result.push_back(label);
    for (int label = 0; label < kLetters; ++label)
      if (seen[static_cast<std::size_t>(label)] == 1) result.push_back(label);
    return result;
  }
  const auto ellipsis = std::count_if(seen.begin() + kLetters, seen.end(), [](int times) { return times > 0; });
  Labels result = parser.labels(text.substr(arrow + 2), static_cast<int>(ellipsis));
  for (const int label : result) {
    require<ArgumentError>(seen[static_cast<std::size_t>(label)] > 0, "einsum: '", expression,
                           "': the result has a label that no operand has");
    require<ArgumentError>(std::count(result.begin(), result.end(), label) == 1, "einsum: '", expression,
                           "': the result has a label twice");
  }
  return result;
}

/// The product of all terms, two at a time: the next two are those whose product adds least to what is kept.
Value contract_all(std::vector<Term> terms, const Labels& result, const Sizes& sizes) {
  // What the result or a term other than `a` and `b` still needs.
  const auto needed = [&](std::size_t a, std::size_t b) {
    Labels kept = result;
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (i != a && i != b) kept = Pairing::joined(kept, terms[i].labels);
    return kept;
  };
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = sum_out(terms[i], needed(i, i));
  while (terms.size() > 1) {
    std::size_t first = 0, second = 1;
    double least = 0;
    for (std::size_t a = 0; a < terms.size(); ++a) {
      for (std::size_t b = a + 1; b < terms.size(); ++b) {
        const double gain = volume(Pairing(terms[a], terms[b], needed(a, b)).result(), sizes) -
                            volume(terms[a].labels, sizes) - volume(terms[b].labels, sizes);
        if ((a != 0 || b != 1) && gain >= least) continue;
        least = gain;
        first = a;
        second = b;
      }
    }
    const Term product = contract(terms[first], terms[second], needed(first, second), sizes);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
    terms[first] = product;
  }
  return ordered(sum_out(terms[0], result), result);
}

}  // namespace

Value einsum(std::string_view expression, Inputs operands) {
  const std::string spaceless = without_spaces(expression);
  const std::string_view text = spaceless;
  const Parser parser(expression);
  const std::vector<std::string_view> parts = split(text.substr(0, text.find("->")));
  require<ArgumentError>(parts.size() == operands.size(), "einsum: '", expression, "' has ", parts.size(),
                         parts.size() == 1 ? " operand, got " : " operands, got ", operands.size());

  std::vector<Term> terms;
  DType dtype = DType::Bool;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    op::require_tensor("einsum", operands[i]);
    dtype = promote(dtype, operands[i].dtype());
    terms.push_back({operands[i], parser.labels_of_operand(parts[i], i, operands[i])});
  }
  if (dtype == DType::Bool) dtype = DType::I64;

  const Labels result = result_labels(expression, text, parser, terms);
  for (std::size_t i = 0; i < terms.size(); ++i)
    terms[i] = diagonals(expression, i, {cast(terms[i].value, dtype), terms[i].labels});
  const Sizes sizes = sizes_of(expression, terms);
  for (Term& term : terms) term = without_broadcast(term, sizes);
  return contract_all(std::move(terms), result, sizes);
}

}  // namespace kiln
