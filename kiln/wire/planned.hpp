// Planned ops on the wire. What they share in memory is written out in each; what a backend may make of them is not
// written at all.
#pragma once
#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// To be raised when what follows here is written differently, or when what a planned op holds means something else.
inline constexpr int kPlannedRevision = 3;

void write_planned(Writer& out, const op::Fused& op);
void write_planned(Writer& out, const op::Epilogue& op);
void write_planned(Writer& out, const op::Blocked& op);
void write_planned(Writer& out, const op::Horizontal& op);

/// Every index is one of something that there is, and every step fits those before it. What the op takes is then
/// checked with its operands (wire/call.hpp). Throws DataError.
void read_planned(Reader& in, op::Fused& op);
void read_planned(Reader& in, op::Epilogue& op);
void read_planned(Reader& in, op::Blocked& op);
void read_planned(Reader& in, op::Horizontal& op);

}  // namespace kiln::wire
