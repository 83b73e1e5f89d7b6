// Operations of the user's own on the wire: a program that writes or reads one has registered it, under a name that both
// programs know.
#pragma once
#include <string>
#include <string_view>

#include "kiln/ops/custom.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// How operations of one class travel; kiln/tensor/custom_wire.hpp makes this of a plain struct.
struct CustomClass {
  std::string name;           // for all programs
  std::uint64_t fingerprint;  // of the fields
  bool (*is)(const CustomOp&);
  void (*write)(Writer&, const CustomOp&);
  Ref<const CustomOp> (*read)(Reader&);
};
/// Throws ArgumentError where another class has the name. The same class may be registered again.
void register_custom_class(const CustomClass& registered);

void write_custom(Writer& out, const CustomOp& op);
/// Is it the name of an op of the user's own?
bool is_custom(std::string_view name);
Ref<const CustomOp> read_custom(Reader& in, Reader::Name& name);

}  // namespace kiln::wire
