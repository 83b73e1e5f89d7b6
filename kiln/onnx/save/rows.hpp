// The rows of the table, a family a file.
#pragma once
#include <span>

#include "kiln/onnx/save/writing.hpp"

namespace kiln::onnx {

std::span<const SaveRow> elementwise_save_rows();
std::span<const SaveRow> view_save_rows();
std::span<const SaveRow> reduce_save_rows();
std::span<const SaveRow> index_save_rows();
std::span<const SaveRow> spatial_save_rows();
std::span<const SaveRow> norm_save_rows();
std::span<const SaveRow> sequence_save_rows();
std::span<const SaveRow> create_save_rows();

}  // namespace kiln::onnx
