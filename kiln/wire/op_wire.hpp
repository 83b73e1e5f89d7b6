// Any op to bytes and back. An op travels by its name and its fields (fields.hpp), so that a new one needs nothing here.
#pragma once
#include "kiln/ops/op.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// Of how headers, numbers, names and calls are written. What an op is made of has its fingerprint.
inline constexpr std::uint32_t kVersion = 1;

/// Of an op's name and the names and types of its fields. Readers take an op whose fingerprint is the one that they know,
/// and enumerators by name: so a file stays readable while ops and functions are added, moved or removed that it has none
/// of. An op whose fields are the same but mean something else says so by `static constexpr int kRevision`.
std::uint64_t fingerprint(std::string_view op);
/// Of the whole table: all ops, and all values of the enums in their fields. Two programs with the same one understand
/// each other in everything but ops of their own.
std::uint64_t table_fingerprint();

/// "kiln", the version and the fingerprint of the table: how a file or a connection begins.
void write_header(Writer& out);
/// The writer's table_fingerprint(). Throws DataError for what is no such header, or of a later version.
std::uint64_t read_header(Reader& in);

/// Throws ArgumentError for an op::Custom whose class was not registered (wire/custom.hpp).
void write_op(Writer& out, const op::Op& op);
/// An op whose every field has a value of its type, and no more: whether it makes sense is for infer to say
/// (wire/call.hpp). Throws DataError.
op::Op read_op(Reader& in);

/// With a shape whose elements can be counted.
void write_desc(Writer& out, const Desc& desc);
Desc read_desc(Reader& in);

}  // namespace kiln::wire
