#include "kiln/backend/gpu/kernel/print/matrices.hpp"

#include <bit>
#include <set>

#include "kiln/backend/gpu/kernel/print/body.hpp"
#include "kiln/core/text.hpp"

namespace kiln::gpu {
namespace {

std::string rows_name(const Kernel::Matrix& of) { return text("kiln_rows_", matrix_constant(of)); }

std::string matrix_type(const Kernel::Matrix& of) {
  return text("fcoopmatNV<", size_of(of.dtype) * 8, ", gl_ScopeSubgroup, ", rows_name(of), ", ", of.columns, ">");
}

}  // namespace

std::string Body::matrix_declarations() const {
  std::set<std::string> all;
  for (const Kernel::Matrix& each : kernel_.matrices)
    all.insert(
        text("layout(constant_id = ", matrix_constant(each), ") const int ", rows_name(each), " = ", each.rows, ";\n"));
  std::string out;
  for (const std::string& each : all) out += each;
  return out;
}

std::string Body::matrix_variables() const {
  std::string out;
  for (std::size_t i = 0; i < kernel_.matrices.size(); ++i)
    out += text("  ", matrix_type(kernel_.matrices[i]), " f", i, ";\n");
  return out;
}

void Body::matrix(const Statement& statement, const std::string& indent) {
  using enum Statement::Kind;
  if (!target_.has_references) lacks("matrices that warps hold");
  const auto moved = [&](std::string_view function, std::uint16_t which, std::uint16_t array) {
    // The stride is a literal (Matrix::load).
    const std::uint64_t stride = made_[statement.operands[1]]->bits / static_cast<std::uint64_t>(in_vector(array));
    out_ += text(indent, function, "(f", which, ", m", array, ", ", "uint(", vector_index(array, statement.operands[0]),
                 "), ", stride, "u, ", statement.transposed ? "true" : "false", ");\n");
  };
  if (statement.kind == MatrixClear)
    out_ += text(indent, "f", statement.place, " = ", matrix_type(kernel_.matrices[statement.place]), "(0.0);\n");
  else if (statement.kind == MatrixLoad) moved("coopMatLoadNV", statement.place, statement.from);
  else if (statement.kind == MatrixStore) moved("coopMatStoreNV", statement.from, statement.place);
  else if (statement.kind == MatrixScale)
    // GL_NV_cooperative_matrix has no product of elements: for this quotient, modules of the KHR extension have one.
    out_ += text(indent, "f", statement.place, " = f", statement.place, " / f", statement.from, ";\n");
  else
    out_ += text(indent, "f", statement.place, " = coopMatMulAddNV(f", statement.from, ", f", statement.by, ", f",
                 statement.place, ");\n");
}

}  // namespace kiln::gpu
