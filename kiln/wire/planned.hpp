// Planned ops on the wire. Data that several ops share in memory is written for each of them; what a backend derives
// from them is not written.
#pragma once
#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// Raise this when the format below changes, or when a member of a planned op gets another meaning.
inline constexpr int kPlannedRevision = 4;

void write_planned(Writer& out, const op::Fused& op);
void write_planned(Writer& out, const op::Epilogue& op);
void write_planned(Writer& out, const op::RowBlocked& op);
void write_planned(Writer& out, const op::RowFused& op);
void write_planned(Writer& out, const op::Batched& op);

/// Checks that every index refers to an existing entry, and that every step fits those before it. The operands are
/// checked later (wire/call.hpp). Throws DataError.
void read_planned(Reader& in, op::Fused& op);
void read_planned(Reader& in, op::Epilogue& op);
void read_planned(Reader& in, op::RowBlocked& op);
void read_planned(Reader& in, op::RowFused& op);
void read_planned(Reader& in, op::Batched& op);

}  // namespace kiln::wire
