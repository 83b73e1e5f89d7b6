#include "kiln/ops/product/einsum.hpp"

#include <map>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// What an expression means: a loop over the values of all its labels. "..." is written out by the caller, one capital
/// a dimension, so that this knows of letters alone.
Array einstein(const std::string& expression, const std::vector<Array>& in) {
  const std::size_t arrow = expression.find('>');
  const std::string result = expression.substr(arrow + 1);
  std::vector<std::string> terms{""};
  for (const char letter : expression.substr(0, arrow - 1)) {
    if (letter == ',') terms.push_back("");
    else terms.back() += letter;
  }
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t k = 0; k < terms[i].size(); ++k) {
      std::int64_t& size = sizes.try_emplace(terms[i][k], 1).first->second;
      if (const std::int64_t own = in[i].shape[static_cast<int>(k)]; own != 1) size = own;
    }
  Shape shape;
  for (const char letter : result) shape.push_back(sizes.at(letter));
  Array total(shape);

  std::map<char, std::int64_t> at;
  std::int64_t count = 1;
  for (const auto& [letter, size] : sizes) count *= size;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t rest = number;
    for (const auto& [letter, size] : sizes) {
      at[letter] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      Dims place;
      for (std::size_t k = 0; k < terms[i].size(); ++k)
        place.push_back(in[i].shape[static_cast<int>(k)] == 1 ? 0 : at[terms[i][k]]);
      product *= in[i](place);
    }
    Dims place;
    for (const char letter : result) place.push_back(at[letter]);
    total(place) += product;
  }
  return total;
}

std::vector<OpCase> einsum_rows() {
  struct Case {
    const char *name, *expression, *meaning;
    std::vector<Shape> shapes;
  };
  const Case cases[] = {{"matmul", "ij,jk->ik", "ij,jk->ik", {{2, 3}, {3, 4}}},
                        {"implicit", "ij,jk", "ij,jk->ik", {{2, 3}, {3, 4}}},
                        {"implicit_in_alphabetical_order", "ba", "ba->ab", {{2, 3}}},
                        {"spaces", " i j , j k -> i k ", "ij,jk->ik", {{2, 3}, {3, 4}}},
                        {"batched", "bij,bjk->bik", "bij,bjk->bik", {{2, 3, 2}, {2, 2, 4}}},
                        {"batch_in_any_place", "ibj,jkb->kib", "ibj,jkb->kib", {{3, 2, 4}, {4, 2, 2}}},
                        {"transposed", "ij->ji", "ij->ji", {{2, 3}}},
                        {"sum", "ij->", "ij->", {{2, 3}}},
                        {"sum_of_columns", "ij->j", "ij->j", {{2, 3}}},
                        {"trace", "ii->", "ii->", {{3, 3}}},
                        {"implicit_trace", "ii", "ii->", {{3, 3}}},
                        {"diagonal", "ii->i", "ii->i", {{3, 3}}},
                        {"diagonal_of_three", "iji->ij", "iji->ij", {{3, 2, 3}}},
                        {"diagonal_of_all", "iii->i", "iii->i", {{2, 2, 2}}},
                        {"two_diagonals", "ijij->ij", "ijij->ij", {{2, 3, 2, 3}}},
                        {"outer", "i,j->ij", "i,j->ij", {{2}, {3}}},
                        {"dot", "i,i->", "i,i->", {{4}, {4}}},
                        {"rows_by_rows", "ij,ij->i", "ij,ij->i", {{2, 3}, {2, 3}}},
                        {"elementwise", "ij,ij->ij", "ij,ij->ij", {{2, 3}, {2, 3}}},
                        {"elementwise_transposed", "ij,ji->ij", "ij,ji->ij", {{2, 3}, {3, 2}}},
                        {"ellipsis", "...ij,...jk->...ik", "Aij,Ajk->Aik", {{2, 2, 3}, {2, 3, 2}}},
                        {"ellipsis_broadcasts", "...ij,...jk", "ABij,Bjk->ABik", {{2, 1, 2, 2}, {3, 2, 2}}},
                        {"ellipsis_of_nothing", "...i,i->...", "i,i->", {{3}, {3}}},
                        {"ellipsis_in_the_middle", "i...j->j...i", "iABj->jABi", {{2, 1, 3, 2}}},
                        {"ellipsis_summed", "...i->i", "ABi->i", {{2, 3, 2}}},
                        {"sizes_of_one", "ij,jk->ik", "ij,jk->ik", {{2, 1}, {3, 2}}},
                        {"three", "ij,jk,kl->il", "ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}},
                        {"bilinear", "bi,oij,bj->bo", "bi,oij,bj->bo", {{2, 3}, {2, 3, 2}, {2, 2}}},
                        {"four", "a,ab,bc,c->", "a,ab,bc,c->", {{2}, {2, 3}, {3, 2}, {2}}},
                        {"label_in_three", "ia,ib,ic->abc", "ia,ib,ic->abc", {{2, 2}, {2, 3}, {2, 2}}},
                        {"capitals", "aA,AB->Ba", "aA,AB->Ba", {{2, 3}, {3, 2}}},
                        {"scalars", ",i->i", ",i->i", {{}, {3}}},
                        {"of_a_scalar", "->", "->", {{}}},
                        {"no_inner", "ij,jk->ik", "ij,jk->ik", {{2, 0}, {0, 3}}},
                        {"nothing", "ij,jk->ik", "ij,jk->ik", {{0, 2}, {2, 3}}},
                        {"attention", "bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk", {{2, 2, 1, 3}, {2, 3, 1, 3}}}};
  std::vector<OpCase> rows;
  for (const Case& c : cases) {
    OpCase row;
    row.name = text("einsum_", c.name);
    row.tolerance = 8;
    for (const Shape& shape : c.shapes) row.operands.push_back({shape, -1, 1});
    row.function = [c](const Values& in) { return Values{einsum(c.expression, in)}; };
    row.meaning = [c](const std::vector<Array>& in) { return std::vector<Array>{einstein(c.meaning, in)}; };
    rows.push_back(row);
  }
  rows.push_back({.name = "einsum_of_integers",
                  .operands = {{{2, 3}, -5, 6, OperandSpec::Index}, {{3, 2}, -5, 6, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{einsum("ij,jk", in)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{einstein("ij,jk->ik", in)}; },
                  .gradient = false});
  rows.push_back({.name = "einsum_counts_flags",
                  .operands = {{{2, 3}, 0, 1, OperandSpec::Flag}, {{3, 2}, 0, 1, OperandSpec::Flag}},
                  .function = [](const Values& in) { return Values{einsum("ij,jk->ik", in)}; },
                  .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{einstein("ij,jk->ik", in)}; },
                  .gradient = false});
  return rows;
}

const Family kEinsums(&einsum_rows);

}  // namespace
}  // namespace kiln::test
