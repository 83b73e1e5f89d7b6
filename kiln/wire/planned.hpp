// Planned ops on the wire. Data that several share in memory is written out in each; what a backend derives from them
// is not written.
#pragma once
#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// Raise it when the format below changes, or when a field of a planned op changes its meaning.
inline constexpr int kPlannedRevision = 3;

void write_planned(Writer& out, const op::Fused& op);
void write_planned(Writer& out, const op::Epilogue& op);
void write_planned(Writer& out, const op::Blocked& op);
void write_planned(Writer& out, const op::Horizontal& op);

/// Checks that every index refers to an existing entry, and that every step fits those before it. The operands are
/// checked later (wire/call.hpp). Throws DataError.
void read_planned(Reader& in, op::Fused& op);
void read_planned(Reader& in, op::Epilogue& op);
void read_planned(Reader& in, op::Blocked& op);
void read_planned(Reader& in, op::Horizontal& op);

}  // namespace kiln::wire
