// Values of a kernel as expressions.
#include <bit>
#include <cmath>

#include "kiln/backend/gpu/kernel/print/body.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::gpu {
namespace {

using Syntax = expr::Dialect::Syntax;

std::string_view symbol(Arithmetic op) {
  static constexpr std::string_view kSymbols[] = {"-", "!", "+", "-",  "*",  "/", "%",  "min", "max",
                                                  "&", "|", "^", "<<", ">>", "<", "<=", "==",  "!="};
  return kSymbols[static_cast<std::size_t>(op)];
}

bool is_shift(Arithmetic op) { return op == Arithmetic::ShiftLeft || op == Arithmetic::ShiftRight; }

}  // namespace

std::string filled(std::string_view form, std::span<const std::string> operands, std::string_view t,
                   std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] != '$') out += form[i];
    else if (form[++i] == 't') out += t;
    else if (form[i] == 's') out += s;
    else out += operands[static_cast<std::size_t>(form[i] - '0')];
  return out;
}

/// Infinities, NaNs and numbers with a fraction are written as bits, so that every value is exact.
std::string Body::literal(DType dtype, std::uint64_t bits) const {
  if (dtype == DType::Bool) return bits ? "true" : "false";
  if (is_float(dtype)) {
    const double number = dtype == DType::F64
                              ? std::bit_cast<double>(bits)
                              : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (std::isfinite(number) && number == std::trunc(number) && std::abs(number) < 1e6 && !std::signbit(number))
      return printer_.literal(text(static_cast<std::int64_t>(number)), dtype);
    if (dtype == DType::F64) {
      const std::string word = literal(DType::I64, bits);
      return filled(target_.f64_of_bits, {&word, 1});
    }
    // A constant that is infinite or NaN is an error in WGSL.
    const bool varies = is(Syntax::Wgsl) && !std::isfinite(number);
    const std::string word =
        varies ? text("kiln_infinity | ", bits & ~std::uint64_t{0x7f800000}, "u") : text(bits, "u");
    return filled(target_.f32_of_bits, {&word, 1});
  }
  if (dtype == DType::U64 || dtype == DType::U32) return printer_.literal(text(bits), dtype);
  const std::int64_t number =
      dtype == DType::I32 ? std::int64_t{static_cast<std::int32_t>(bits)} : static_cast<std::int64_t>(bits);
  const std::int64_t least = dtype == DType::I32 ? INT32_MIN : INT64_MIN;
  if (number >= 0) return printer_.literal(text(number), dtype);
  if (number > least) return text("(-", printer_.literal(text(-number), dtype), ")");
  return text("(-", printer_.literal(text(-(number + 1)), dtype), " - ",
              is(Syntax::Cpp) ? "1" : printer_.literal("1", dtype), ")");
}

std::string Body::cast(const std::string& x, DType to) const {
  return is(Syntax::Cpp) ? text("(", type(to), ")", x) : text(type(to), "(", x, ")");
}

std::string Body::compute(const Instruction& in) const {
  const DType of = type_of(in.operands[0]);
  const std::string x = name(in.operands[0]);
  if (in.operands.size() == 1) {
    // WGSL has no -x of unsigned numbers.
    if (in.arithmetic == Arithmetic::Negate && is(Syntax::Wgsl) && of == DType::U32) return text("0u - ", x);
    return text(in.arithmetic == Arithmetic::Not && of != DType::Bool ? "~" : symbol(in.arithmetic), x);
  }
  std::string y = name(in.operands[1]);
  if (in.arithmetic == Arithmetic::Minimum || in.arithmetic == Arithmetic::Maximum) {
    const bool least = in.arithmetic == Arithmetic::Minimum;
    if (is_float(of))
      return text(is(Syntax::Cpp) ? "f" : "", least ? "min" : "max", of == DType::F32 ? target_.single : "", "(", x,
                  ", ", y, ")");
    const std::string_view compares = least ? " < " : " > ";
    if (is(Syntax::Wgsl)) return printer_.choice(text(x, compares, y), x, y);
    return text("(", x, compares, y, " ? ", x, " : ", y, ")");
  }
  if (of == DType::Bool && !compares(in.arithmetic))
    return text(x, in.arithmetic == Arithmetic::And ? " && " : in.arithmetic == Arithmetic::Or ? " || " : " != ", y);
  // GLSL leaves open what a remainder of a negative number is.
  if (in.arithmetic == Arithmetic::Remainder && is(Syntax::Glsl) && (of == DType::I32 || of == DType::I64))
    return text(x, " - ", x, " / ", y, " * ", y);
  if (is_shift(in.arithmetic) && is(Syntax::Wgsl) && type_of(in.operands[1]) != DType::U32) y = text("u32(", y, ")");
  return text(x, " ", symbol(in.arithmetic), " ", y);
}

std::string Body::bits(const std::string& x, DType from, DType to) const {
  if (from == to) return x;
  const auto of = [&](std::string_view form, const std::string& operand) {
    if (form.empty()) lacks("float64");
    return filled(form, {&operand, 1});
  };
  if (from == DType::F32) return cast(of(target_.bits_of_f32, x), to);
  if (from == DType::F64) return cast(of(target_.bits_of_f64, x), to);
  if (to == DType::F32) return of(target_.f32_of_bits, cast(x, DType::U32));
  if (to == DType::F64) return of(target_.f64_of_bits, cast(x, DType::I64));
  return cast(x, to);
}

std::string reference_type(std::uint16_t place) { return text("B", place); }

std::string Body::moved(std::uint16_t place, Id id) const {
  const std::size_t size = size_of(kernel_.parameter(place).dtype);
  if (target_.has_words) return text("kiln_moved(uvec2(", buffer(place), "), int(", name(id), "), ", size, ")");
  return text("uint64_t(", buffer(place), ") + uint64_t(int64_t(", name(id), ")) * ", size, "ul");
}

/// Places are added to the address but for uint32: arrays of GLSL take 32 bits, and none below 0, where kernels that walk
/// backwards get.
std::string Body::referred(std::uint16_t place, Id id, Id more) const {
  if (type_of(id) == DType::U32) return text(buffer(place), ".at[", index(id, more), "]");
  const std::string type = reference_type(place & Kernel::kChosen ? kernel_.chosen[place - Kernel::kChosen] : place);
  return text(type, "(", moved(place, id), ").at[", more, "]");
}

std::string Body::element(const Instruction& in, Id more) const {
  const std::string index = this->index(in.operands[0], more);
  const bool shared = in.kind == Kind::Shared || in.kind == Kind::SharedPair || in.kind == Kind::SharedSame ||
                      in.kind == Kind::UpdateShared;
  if (shared) {
    const std::string at = text("m", in.place, "[", index, "]");
    return is(Syntax::Wgsl) && in.kind == Kind::Shared && updates_shared(in.place) ? text("atomicLoad(&", at, ")") : at;
  }
  if (!(in.place & Kernel::kChosen) && kernel_.parameters[in.place].uniform && !is(Syntax::Cpp))
    return target_.has_references
               ? text("kiln_given[", kernel_.words().back(), " + (", index, ") / 2][(", index, ") % 2]")
               : text(buffer(in.place), "[(", index, ") / 4][(", index,
                      ") % 4]");  // vectors, as uniform blocks have them
  if (target_.has_references) return referred(in.place, in.operands[0], more);
  const std::string at = text(buffer(in.place), "[", index, "]");
  return is(Syntax::Wgsl) && in.kind == Kind::Load && updates(in.place) ? text("atomicLoad(&", at, ")") : at;
}

/// CUDA's atomic functions exchange integer words only, and support 64-bit signed ones only in comparisons.
std::string Body::update(const Instruction& in) const {
  const DType dtype = in.type;
  const bool compares = in.update == Update::Maximum || in.update == Update::Minimum,
             exchanges = in.update == Update::Exchange || in.update == Update::CompareAndSwap;
  require<DTypeError>(!is_float(dtype) || in.update == Update::Add || exchanges, kernel_.name, ": no such update of ",
                      dtype);
  const std::string_view form = target_.updates[static_cast<std::size_t>(in.update)];
  if (form.empty()) lacks("such an update of memory");
  std::string at = element(in);
  DType word = dtype;
  if (target_.has_pointers && ((is_float(dtype) && exchanges) || (dtype == DType::I64 && !compares)))
    word = size_of(dtype) == 8 ? DType::U64 : DType::U32;
  if (!target_.has_pointers && is_float(dtype)) lacks(text("updates of ", kiln::name(dtype)));
  std::vector<std::string> operands{at};
  const bool swaps = in.update == Update::CompareAndSwap;
  operands.push_back(bits(name(in.operands[1]), dtype, word));
  if (swaps) operands.push_back(bits(name(in.operands[2]), dtype, word));
  // CompareAndSwap has the new value first, then the one that it expects.
  std::string out = filled(form, operands, type(word), in.kind == Kind::UpdateShared ? "threadgroup" : "device");
  if (word != dtype) out.replace(out.find("(&"), 2, text("((", type(word), "*)&"));
  return bits(out, word, dtype);
}

std::string Body::shuffled(const Instruction& in) const {
  if (target_.shuffle.empty()) lacks("shuffles");
  const bool truth = in.type == DType::Bool;
  const bool converts = truth && !target_.has_pointers;  // CUDA's functions take a bool
  const std::string operands[] = {converts ? cast(name(in.operands[0]), DType::I32) : name(in.operands[0]),
                                  name(in.operands[1])};
  if (target_.dialect == &expr::kMetal && size_of(in.type) == 8) {  // whose shuffles take no 64-bit integers
    const std::string words[] = {text("as_type<uint2>(", operands[0], ")"), operands[1]};
    return text("as_type<", type(in.type), ">(", filled(target_.shuffle, words), ")");
  }
  const std::string call = filled(target_.shuffle, operands);
  return truth ? text("(", call, " != 0)") : call;
}

std::string Body::local(std::uint16_t place, Id index) const {
  return kernel_.locals[place].count == 1 ? text("l", place) : text("l", place, "[", this->index(index), "]");
}

std::string Body::value(const Instruction& in) {
  const auto first = [&] { return name(in.operands[0]); };
  switch (in.kind) {
    case Kind::Literal: return literal(in.type, in.bits);
    case Kind::Number: return text("p", in.place);
    case Kind::Thread: return std::string(target_.thread);
    case Kind::Block: return std::string(target_.block);
    case Kind::Blocks: return std::string(target_.blocks);
    case Kind::Compute: return compute(in);
    case Kind::Select:
      if (is(Syntax::Wgsl)) return printer_.choice(first(), name(in.operands[1]), name(in.operands[2]));
      return text(first(), " ? ", name(in.operands[1]), " : ", name(in.operands[2]));
    case Kind::MultiplyAdd:
      // CUDA's and HIP's compilers contract an expression; the others are told not to.
      if (target_.has_pointers) return text(first(), " * ", name(in.operands[1]), " + ", name(in.operands[2]));
      return text("fma(", first(), ", ", name(in.operands[1]), ", ", name(in.operands[2]), ")");
    case Kind::Tree: return printer_.expression(*in.tree, in.element, names(in.operands));
    case Kind::Call: return printer_.call(*in.function, in.element, names(in.operands));
    case Kind::Cast: return cast(first(), in.type);
    case Kind::Bits: return bits(first(), type_of(in.operands[0]), in.type);
    case Kind::Convert: return expr::converted(printer_, first(), in.element, in.to);
    case Kind::Entry:
      if (!has_tables()) lacks("tables");
      if (target_.has_references)
        return text("int64_t(packUint2x32(kiln_given[", kernel_.words()[in.place], " + ", index(in.operands[0]), "]))");
      return text("p", in.place, ".at[", first(), "]");
    case Kind::Narrow: return expr::narrowed(printer_, first(), in.element);
    case Kind::Load: return expr::loaded(printer_, element(in), kernel_.parameter(in.place).dtype);
    case Kind::Shared: return expr::loaded(printer_, element(in), kernel_.shared[in.place].dtype);
    case Kind::SharedSame: {
      const std::string element = this->element(in);
      return expr::loaded(printer_, is(Syntax::Wgsl) ? text("workgroupUniformLoad(&", element, ")") : element,
                          kernel_.shared[in.place].dtype);
    }
    case Kind::SharedPair:
      if (is(Syntax::Cpp))
        return text("*(", target_.has_pointers ? "const unsigned int" : "threadgroup const uint", "*)&", element(in));
      if (vectors_[in.place] == 4) return vector_at(in.place, in.operands[0], 0);
      return text("uint(", element(in), ") | (uint(", element(in, 1), ") << 16)");
    case Kind::Fragments: break;
    case Kind::Local: return local(in.place, in.operands[0]);
    case Kind::Shuffle: return shuffled(in);
    case Kind::Update:
    case Kind::UpdateShared: return update(in);
  }
  return {};
}

}  // namespace kiln::gpu
