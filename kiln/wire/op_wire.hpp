// Converts any op to bytes and back. An op is written by its name and its fields (fields.hpp), so that a new op needs
// nothing here.
#pragma once
#include <string_view>
#include <vector>

#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// The version of how headers, numbers, names and calls are written. The fields of an op have a fingerprint instead.
inline constexpr std::uint32_t kVersion = 1;

/// The hash of an op's name and the names and types of its fields. Readers accept an op whose fingerprint they know,
/// and enumerators by name: so a file stays readable when ops and functions that it does not use are added, moved or
/// removed. An op that changes the meaning of unchanged fields sets `static constexpr int kRevision`.
std::uint64_t fingerprint(std::string_view op);
/// The hash of the whole table: all ops, and all values of the enums in their fields. Two programs with the same hash
/// understand each other in everything but user-defined ops.
std::uint64_t table_fingerprint();
struct OpFingerprint {
  std::string_view name;
  std::uint64_t fingerprint;
};
/// All ops of the table, for programs that find that theirs differ.
std::vector<OpFingerprint> op_fingerprints();

/// Writes "kiln", the version and the fingerprint of the table: the beginning of a file or a connection.
void write_header(Writer& out);
/// Returns the writer's table_fingerprint(). Throws DataError where there is no such header, or one of a later version.
std::uint64_t read_header(Reader& in);

/// Throws ArgumentError for an op::Custom whose class was not registered (wire/custom.hpp).
void write_op(Writer& out, const op::Op& op);
/// Reads an op whose every field has a valid value of its type; infer checks whether they make sense (wire/call.hpp).
/// Throws DataError.
op::Op read_op(Reader& in);

/// read_desc() accepts only shapes whose number of elements fits 63 bits.
void write_desc(Writer& out, const Desc& desc);
Desc read_desc(Reader& in);

}  // namespace kiln::wire
