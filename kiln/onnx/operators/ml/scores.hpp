// The last step of classical models: from scores to probabilities.
#pragma once
#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {

/// NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO (softmax of what is not 0) or PROBIT, along the last dimension.
Value post_transform(const Call& c, const Value& scores, const std::string& how);

/// The scores of two classes from a single one [rows, 1], which is the probability of the second class, or its distance
/// from the first. ONNX Runtime has it so, but leaves out the transformation where that is no LOGISTIC.
Value pair_of(const Value& score, bool is_probability);

/// The label of each row's largest score: attributes classlabels_strings and `integers`; of one column, whose score
/// says yes or no, the second label where it is positive.
Datum labels_of_rows(const Call& c, const Value& scores, std::string_view integers);

}  // namespace kiln::onnx
