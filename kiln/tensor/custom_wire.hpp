// User-defined operations (custom.hpp) in files and messages: a program that saves or loads one registers its name.
//
//   register_custom_op<Swish>("swish");
#pragma once
#include "kiln/tensor/custom.hpp"
#include "kiln/wire/custom.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln {

/// Registers `name` for operations of type T, so that this program can write and read them; their fields are numbers,
/// enumerators, lists, optionals and structs of these. Call it before such an operation is written or read, once or
/// more often. Throws ArgumentError where another type has the name.
template <UserOp T>
requires reflect::HasWords<T> void register_custom_op(std::string_view name) {
  std::string schema;
  wire::append_schema<T>(schema);
  wire::register_custom_class(
      {.name = std::string(name),
       .fingerprint = wire::fingerprint_of(schema),
       .is = &UserOpFace<T>::is,
       .write = [](wire::Writer& out,
                   const CustomOp& op) { wire::write_field(out, static_cast<const UserOpFace<T>&>(op).op()); },
       .read =
           [](wire::Reader& in) {
             T op{};
             wire::read_field(in, op);
             return Ref<const CustomOp>(make_ref<const UserOpFace<T>>(std::move(op)));
           }});
}

}  // namespace kiln
