#include "kiln/backend/gpu/kernel/print/body.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::gpu {
namespace {

using Syntax = expr::Dialect::Syntax;

}  // namespace

Body::Body(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target), printer_(*target.dialect) {
  made_.resize(kernel.values.size());
  find_shared_vectors();
  // What is read and written by one kernel, its threads must see of each other.
  shares_buffers_ =
      std::ranges::any_of(kernel.parameters, [](const Parameter& each) { return each.kind == Parameter::Kind::Both; });
}

std::string Body::print() {
  statements(kernel_.body, "  ");
  return std::move(out_);
}

std::string Body::name(Id id) { return text("v", id); }
std::vector<std::string> Body::names(const std::vector<Id>& ids) const {
  std::vector<std::string> all;
  for (const Id id : ids) all.push_back(name(id));
  return all;
}
std::string Body::buffer(std::uint16_t place) {
  return place & Kernel::kChosen ? text("c", place - Kernel::kChosen) : text("p", place);
}
/// Arrays of GLSL take 32 bits; a binding has no more elements.
std::string Body::index(Id id, Id more) const {
  const bool wide = is(Syntax::Glsl) && size_of(type_of(id)) == 8;
  return text(wide ? cast(name(id), DType::I32) : name(id), more ? text(" + ", more) : "");
}
std::string_view Body::stored(DType dtype) const { return expr::stored_type(*target_.dialect, dtype); }
std::string Body::pack(DType dtype, std::size_t width) const {
  return text("KilnPack<", stored(dtype), ", ", width, ">");
}
std::string Body::pointer(const Parameter& parameter) const {
  return text(parameter.kind == Parameter::Kind::Input ? "const " : "", stored(parameter.dtype), "*");
}
void Body::lacks(std::string_view what) const {
  fail<ArgumentError>(kernel_.name, ": ", target_.name(), " has no ", what);
}

bool Body::has_update(const Statements& list, Kind kind, std::uint16_t place) {
  return std::ranges::any_of(list, [&](const Statement& each) {
    return (each.kind == Statement::Kind::Let && each.instruction.kind == kind && each.instruction.place == place) ||
           has_update(each.head, kind, place) || has_update(each.body, kind, place) ||
           has_update(each.otherwise, kind, place);
  });
}

void Body::define(Id id, const std::string& value, const std::string& indent) {
  const DType dtype = type_of(id);
  const std::string type_text = text(is_float(dtype) ? target_.dialect->precise : "", type(dtype));
  out_ += text(indent, printer_.declaration(type_text, name(id), value, false), "\n");
}

void Body::let(const Statement& statement, const std::string& indent) {
  const Instruction& in = statement.instruction;
  made_[statement.first] = &in;
  if (in.kind == Kind::Shared && vectors_[in.place]) return load_vectors(statement, indent);
  if ((in.kind == Kind::Load || in.kind == Kind::Shared) && in.width > 1) return let_several(statement, indent);
  if (in.kind == Kind::Fragments) return fragments(statement, indent);
  if (is_weak_exchange(in)) return exchange(statement, indent);
  if (in.kind == Kind::SharedSame && !is(Syntax::Wgsl)) {  // whose function has barriers around it
    out_ += text(indent, target_.shared_barrier, "\n");
    define(statement.first, value(in), indent);
    out_ += text(indent, target_.shared_barrier, "\n");
    return;
  }
  if (in.kind != Kind::Call || in.function->results == 1) return define(statement.first, value(in), indent);
  static constexpr std::string_view kParts[] = {"x", "y", "z", "w"};
  const std::string_view words = is(Syntax::Cpp) ? "KilnWords" : is(Syntax::Glsl) ? "uvec4" : "vec4<u32>";
  out_ += text(indent, printer_.declaration(words, text("w", statement.first), value(in), false), "\n");
  for (Id i = 0; i < in.function->results; ++i)
    define(statement.first + i, text("w", statement.first, ".", kParts[i]), indent);
}

bool Body::is_weak_exchange(const Instruction& in) const {
  return (in.kind == Kind::Update || in.kind == Kind::UpdateShared) && in.update == Update::CompareAndSwap &&
         !target_.weak_exchange.empty();
}

/// The exchange is tried again if it failed although the element was what it should be.
void Body::exchange(const Statement& statement, const std::string& indent) {
  const Instruction& in = statement.instruction;
  if (is_float(in.type) || size_of(in.type) != 4) lacks(text("comparing exchanges of ", kiln::name(in.type)));
  const std::string old = name(statement.first), expected = name(in.operands[2]);
  const std::string operands[] = {element(in), name(in.operands[1]), expected, old};
  const std::string form =
      filled(target_.weak_exchange, operands, type(in.type), in.kind == Kind::UpdateShared ? "threadgroup" : "device");
  out_ += text(indent, printer_.declaration(type(in.type), old, expected, true), "\n", indent, form, "\n");
}

void Body::let_several(const Statement& statement, const std::string& indent) {
  const Instruction& in = statement.instruction;
  const bool shared = in.kind == Kind::Shared;
  const DType dtype = shared ? kernel_.shared[in.place].dtype : kernel_.parameter(in.place).dtype;
  const std::string at = name(in.operands[0]);
  if (!shared && is_in_words(dtype, in.width)) return load_words(statement, indent);
  if (!target_.has_pointers) {
    for (Id i = 0; i < in.width; ++i)
      define(statement.first + i, expr::loaded(printer_, element(in, i), dtype), indent);
    return;
  }
  const std::string packed = pack(dtype, in.width);
  out_ += text(indent, "const ", packed, " w", statement.first, " = *(const ", packed, "*)(",
               shared ? text("m", in.place) : buffer(in.place), " + ", at, ");\n");
  for (Id i = 0; i < in.width; ++i)
    define(statement.first + i, expr::loaded(printer_, text("w", statement.first, ".at[", i, "]"), dtype), indent);
}

void Body::fragments(const Statement& statement, const std::string& indent) {
  if (target_.dialect != &expr::kCuda) lacks("products of fragments");
  const Instruction& in = statement.instruction;
  const std::string_view half = in.element == DType::F16 ? "f16" : "bf16";
  std::string made, to, from;
  for (Id i = 0; i < 4; ++i) made += text(i ? ", " : "", name(statement.first + i));
  for (Id i = 0; i < 4; ++i) to += text(i ? ", " : "", "\"=f\"(", name(statement.first + i), ")");
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    from += text(i ? ", " : "", i < 6 ? "\"r\"(" : "\"f\"(", name(in.operands[i]), ")");
  out_ += text(indent, "float ", made, ";\n", indent, "asm(\"mma.sync.aligned.m16n8k16.row.col.f32.", half, ".", half,
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\"\n", indent, "    : ", to,
               "\n", indent, "    : ", from, ");\n");
}

/// A value wider than its stored type keeps the low bits; halves are rounded.
void Body::store(const Statement& statement, const std::string& indent) {
  const bool shared = statement.kind == Statement::Kind::StoreShared;
  const std::uint16_t place = statement.place;
  const DType dtype = shared ? kernel_.shared[place].dtype : kernel_.parameter(place).dtype;
  const std::string array = shared ? text("m", place) : buffer(place), at = name(statement.operands[0]);
  const std::vector<Id>& in = statement.operands;
  if (shared && vectors_[place]) return store_vectors(statement, indent);
  if (in.size() > 2 && target_.has_pointers) {
    const std::string packed = pack(dtype, in.size() - 1);
    out_ += text(indent, "*(", packed, "*)(", array, " + ", at, ") = ", packed, "{{");
    for (std::size_t i = 1; i < in.size(); ++i)
      out_ += text(i > 1 ? ", " : "", expr::stored(printer_, name(in[i]), dtype));
    out_ += "}};\n";
    return;
  }
  if (!shared && is_in_words(dtype, in.size() - 1)) return store_words(statement, indent);
  const bool atomic = is(Syntax::Wgsl) && (shared ? updates_shared(place) : updates(place));
  for (std::size_t i = 1; i < in.size(); ++i) {
    const auto more = static_cast<Id>(i - 1);
    const std::string to = !shared && target_.has_references ? referred(place, in[0], more)
                                                             : text(array, "[", index(in[0], more), "]"),
                      element = expr::stored(printer_, name(in[i]), dtype);
    out_ += atomic ? text(indent, "atomicStore(&", to, ", ", element, ");\n") : text(indent, to, " = ", element, ";\n");
  }
}

void Body::choose(const Statement& statement, const std::string& indent) {
  if (!has_tables()) lacks("tables");
  const std::uint16_t table = kernel_.chosen[statement.place - Kernel::kChosen];
  if (target_.has_references) {
    const std::string type = reference_type(table);
    out_ += text(indent, type, " ", buffer(statement.place), " = ", type, "(kiln_given[", kernel_.words()[table], " + ",
                 index(statement.operands[0]), "]);\n");
    return;
  }
  out_ += text(indent, pointer(kernel_.parameters[table]), " const ", buffer(statement.place), " = p", table, ".at[",
               name(statement.operands[0]), "];\n");
}

/// The block's stores are visible to others before its arrival is counted, and it reads theirs after it sees their
/// arrival.
void Body::arrive(const std::string& cell, const std::string& indent) {
  if (!target_.has_pointers) lacks("blocks that wait for each other");
  out_ += text(indent, "__syncthreads();\n", indent, "if (threadIdx.x == 0) {\n", indent, "  __threadfence();\n",
               indent, "  atomicAdd(&", cell, ", 1);\n", indent, "}\n");
}
void Body::await(const std::string& cell, const std::string& count, const std::string& indent) {
  if (!target_.has_pointers) lacks("blocks that wait for each other");
  out_ += text(indent, "if (threadIdx.x == 0) {\n", indent, "  while (*(volatile int*)&", cell, " < ", count, ") {}\n",
               indent, "  __threadfence();\n", indent, "}\n", indent, "__syncthreads();\n");
}

void Body::block(const Statements& list, const std::string& indent) {
  statements(list, indent + "  ");
  out_ += indent + "}";
}

void Body::branch(const Statement& statement, const std::string& indent) {
  out_ += text(indent, "if (", name(statement.operands[0]), ") {\n");
  block(statement.body, indent);
  if (!statement.otherwise.empty()) {
    out_ += " else {\n";
    block(statement.otherwise, indent);
  }
  out_ += "\n";
}

void Body::loop(const Statement& statement, const std::string& indent) {
  const std::string counter = name(statement.first);
  const std::vector<Id>& in = statement.operands;
  const std::string_view how = statement.unrolled ? target_.unrolled : target_.rolled;
  if (!how.empty()) out_ += text(indent, how, "\n");
  out_ += text(indent, "for (", printer_.declaration(type(type_of(statement.first)), counter, name(in[0]), true), " ",
               counter, " < ", name(in[1]), "; ", counter, " += ", name(in[2]), ") {\n");
  block(statement.body, indent);
  out_ += "\n";
}

void Body::loop_while(const Statement& statement, const std::string& indent) {
  out_ += indent + "for (;;) {\n";
  statements(statement.head, indent + "  ");
  const std::string_view leave = is(Syntax::Wgsl) ? "{ break; }" : "break;";
  out_ += text(indent, "  if (!", name(statement.operands[0]), ") ", leave, "\n");
  block(statement.body, indent);
  out_ += "\n";
}

void Body::statements(const Statements& list, const std::string& indent) {
  for (const Statement& statement : list) {
    const std::vector<Id>& in = statement.operands;
    const auto cell = [&] { return text(buffer(statement.place), "[", name(in[0]), "]"); };
    switch (statement.kind) {
      case Statement::Kind::Let: let(statement, indent); break;
      case Statement::Kind::Store:
      case Statement::Kind::StoreShared: store(statement, indent); break;
      case Statement::Kind::StoreLocal:
        out_ += text(indent, local(statement.place, in[0]), " = ", name(in[1]), ";\n");
        break;
      case Statement::Kind::Choose: choose(statement, indent); break;
      case Statement::Kind::If: branch(statement, indent); break;
      case Statement::Kind::Loop: loop(statement, indent); break;
      case Statement::Kind::While: loop_while(statement, indent); break;
      case Statement::Kind::Barrier:
        out_ += text(indent, shares_buffers_ ? target_.barrier : target_.shared_barrier, "\n");
        break;
      case Statement::Kind::MatrixClear:
      case Statement::Kind::MatrixLoad:
      case Statement::Kind::MatrixMultiply:
      case Statement::Kind::MatrixScale:
      case Statement::Kind::MatrixStore: matrix(statement, indent); break;
      case Statement::Kind::Fence:
        if (target_.fence.empty()) lacks("fences among blocks");
        out_ += text(indent, target_.fence, "\n");
        break;
      case Statement::Kind::Arrive: arrive(cell(), indent); break;
      case Statement::Kind::Await: await(cell(), name(in[1]), indent); break;
    }
  }
}

}  // namespace kiln::gpu
