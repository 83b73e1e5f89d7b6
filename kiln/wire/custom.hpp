// User-defined operations on the wire: a program that writes or reads one has registered it, under a name that both
// programs know.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ops/custom.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// How operations of one class are written and read; kiln/tensor/custom_wire.hpp creates this from a plain struct.
struct CustomClass {
  std::string name;           // the same in all programs
  std::uint64_t fingerprint;  // of the fields
  bool (*is)(const CustomOp&);
  void (*write)(Writer&, const CustomOp&);
  Ref<const CustomOp> (*read)(Reader&);
};
/// Throws ArgumentError where another class has the name. A class may be registered again.
void register_custom_class(const CustomClass& registered);

/// The classes that this program has registered.
std::vector<CustomClass> custom_classes();
/// The class of an operation; null where none is registered.
const CustomClass* class_of(const CustomOp& op);

void write_custom(Writer& out, const CustomOp& op);
/// Whether it is the name of a user-defined op.
bool is_custom(std::string_view name);
Ref<const CustomOp> read_custom(Reader& in, Reader::Name& name);

}  // namespace kiln::wire
