// Operations of one's own (custom.hpp) in files and messages: a program that saves or loads one says under which name.
//
//   register_custom_op<Swish>("swish");
#pragma once
#include "kiln/tensor/custom.hpp"
#include "kiln/wire/custom.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln {

/// Lets operations of type T travel, in this program, as `name`; their fields are numbers, enumerators, lists, optionals
/// and structs of such. To be called before such an operation is written or read, once or several times. Throws
/// ArgumentError where another type has the name.
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
