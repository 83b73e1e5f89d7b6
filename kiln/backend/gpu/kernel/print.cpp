#include "kiln/backend/gpu/kernel/print.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;

std::string_view symbol(Arithmetic op) {
  static constexpr std::string_view kSymbols[] = {"-", "!", "+", "-",  "*",  "/", "%",  "min", "max",
                                                  "&", "|", "^", "<<", ">>", "<", "<=", "==",  "!="};
  return kSymbols[static_cast<std::size_t>(op)];
}

std::string_view function_of(Update update) {
  switch (update) {
    case Update::Add: return "atomicAdd";
    case Update::Maximum: return "atomicMax";
    case Update::Minimum: return "atomicMin";
    case Update::And: return "atomicAnd";
    case Update::Or: return "atomicOr";
    case Update::Exchange: return "atomicExch";
    case Update::CompareAndSwap: return "atomicCAS";
  }
  return {};
}

class Text {
 public:
  Text(const Kernel& kernel, const expr::Dialect& dialect) : kernel_(kernel), dialect_(dialect), printer_(dialect) {
    std::int64_t at = 0;
    for (const Kernel::Array& array : kernel.shared) {
      at = (at + 15) / 16 * 16;
      offsets_.push_back(at);
      at += array.count * static_cast<std::int64_t>(size_of(array.dtype));
    }
    shared_bytes_ = at;
  }

  KernelText print() {
    const std::string function = "kiln_" + kernel_.name;
    statements(kernel_.body, "  ");
    std::string out = std::string(dialect_.preamble) + printer_.library();
    // Several elements that are loaded or stored at once.
    out += "template <class T, int N> struct alignas(sizeof(T) * N) KilnPack { T at[N]; };\n";
    if (std::ranges::any_of(kernel_.parameters, [](const Parameter& each) { return each.count > 0; }))
      out += "template <class T, int N> struct KilnTable { T at[N]; };\n";
    out +=
        text("extern \"C\" __global__ void __launch_bounds__(", kernel_.threads,
             kernel_.least_blocks ? text(", ", kernel_.least_blocks) : "", ") ", function, "(", parameters(), ") {\n");
    if (shared_bytes_) out += "  extern __shared__ __align__(16) unsigned char shared[];\n";
    for (std::size_t i = 0; i < kernel_.shared.size(); ++i) {
      const std::string type(stored(kernel_.shared[i].dtype));
      out += text("  ", type, "* const m", i, " = (", type, "*)(shared + ", offsets_[i], ");\n");
    }
    for (std::size_t i = 0; i < kernel_.locals.size(); ++i) {
      const Kernel::Array& local = kernel_.locals[i];
      out += text("  ", type(local.dtype), " l", i, local.count == 1 ? "" : text("[", local.count, "]"), ";\n");
    }
    return {out + body_ + "}\n", function, shared_bytes_};
  }

 private:
  std::string_view type(DType dtype) const { return dtype == DType::Bool ? "bool" : dialect_.type(dtype); }
  std::string_view stored(DType dtype) const { return expr::stored_type(dialect_, dtype); }
  std::string pack(DType dtype, std::size_t width) const { return text("KilnPack<", stored(dtype), ", ", width, ">"); }
  static std::string name(Id id) { return text("v", id); }
  DType type_of(Id id) const { return kernel_.values[id]; }

  std::string parameters() const {
    std::string out;
    // A buffer that is both read and written may alias the memory of another parameter.
    const bool alone = std::ranges::none_of(kernel_.parameters,
                                            [](const Parameter& each) { return each.kind == Parameter::Kind::Both; });
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& parameter = kernel_.parameters[i];
      if (i) out += ", ";
      const bool number = parameter.kind == Parameter::Kind::Number;
      if (parameter.count)
        // Without __grid_constant__ the compiler may copy a table into each thread's own memory.
        out += text("const ", dialect_.name == expr::kHip.name ? "" : "__grid_constant__ ", "KilnTable<",
                    number ? std::string(type(parameter.dtype)) : pointer(parameter), ", ", parameter.count, "> p", i);
      else if (number) out += text(type(parameter.dtype), " p", i);
      else out += text(pointer(parameter), " ", alone ? "__restrict__ " : "", "p", i);
    }
    return out;
  }
  std::string pointer(const Parameter& parameter) const {
    return text(parameter.kind == Parameter::Kind::Input ? "const " : "", stored(parameter.dtype), "*");
  }
  static std::string buffer(std::uint16_t place) {
    return place & Kernel::kChosen ? text("c", place - Kernel::kChosen) : text("p", place);
  }

  std::string literal(DType dtype, std::uint64_t bits) const {
    if (dtype == DType::Bool) return bits ? "true" : "false";
    if (is_float(dtype)) {
      double number = 0;
      if (dtype == DType::F64) number = std::bit_cast<double>(bits);
      else number = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      if (std::isfinite(number) && number == std::trunc(number) && std::abs(number) < 1e6 && !std::signbit(number))
        return text(static_cast<std::int64_t>(number), dtype == DType::F64 ? ".0" : ".0f");
      // Written as bits, so that every value is exact, NaN and infinity too.
      if (dtype == DType::F64) return text("__longlong_as_double(", static_cast<std::int64_t>(bits), "ll)");
      return text("__uint_as_float(", bits, "u)");
    }
    if (dtype == DType::U64) return text(bits, "ull");
    if (dtype == DType::U32) return text(bits, "u");
    if (dtype == DType::I32) {
      const auto number = static_cast<std::int32_t>(bits);
      return number == INT32_MIN ? "(-2147483647 - 1)" : number < 0 ? text("(", number, ")") : text(number);
    }
    const auto number = static_cast<std::int64_t>(bits);
    return number == INT64_MIN ? "(-9223372036854775807ll - 1)"
           : number < 0        ? text("(", number, "ll)")
                               : text(number, "ll");
  }

  std::string compute(const Instruction& in) const {
    const DType of = type_of(in.operands[0]);
    const std::string x = name(in.operands[0]);
    if (in.operands.size() == 1)
      return text(in.arithmetic == Arithmetic::Not && of != DType::Bool ? "~" : symbol(in.arithmetic), x);
    const std::string y = name(in.operands[1]);
    if (in.arithmetic == Arithmetic::Minimum || in.arithmetic == Arithmetic::Maximum) {
      if (is_float(of))
        return text(in.arithmetic == Arithmetic::Minimum ? "fmin" : "fmax", of == DType::F32 ? "f" : "", "(", x, ", ",
                    y, ")");
      return text("(", x, in.arithmetic == Arithmetic::Minimum ? " < " : " > ", y, " ? ", x, " : ", y, ")");
    }
    if (of == DType::Bool && !compares(in.arithmetic))
      return text(x, in.arithmetic == Arithmetic::And ? " && " : in.arithmetic == Arithmetic::Or ? " || " : " != ", y);
    return text(x, " ", symbol(in.arithmetic), " ", y);
  }

  std::string bits(const std::string& x, DType from, DType to) const {
    if (from == to) return x;
    if (from == DType::F32) return text("(", type(to), ")__float_as_uint(", x, ")");
    if (from == DType::F64) return text("(", type(to), ")__double_as_longlong(", x, ")");
    if (to == DType::F32) return text("__uint_as_float((unsigned int)", x, ")");
    if (to == DType::F64) return text("__longlong_as_double((long long)", x, ")");
    return text("(", type(to), ")", x);
  }

  std::vector<std::string> names(const std::vector<Id>& ids) const {
    std::vector<std::string> all;
    for (const Id id : ids) all.push_back(name(id));
    return all;
  }

  /// Prints CUDA's atomic functions, which exchange integer words only, and support 64-bit signed ones only in
  /// comparisons.
  std::string update(const Instruction& in, const std::string& at) const {
    const DType dtype = in.type;
    const bool compares = in.update == Update::Maximum || in.update == Update::Minimum,
               exchanges = in.update == Update::Exchange || in.update == Update::CompareAndSwap;
    require<DTypeError>(!is_float(dtype) || in.update == Update::Add || exchanges, kernel_.name, ": no such update of ",
                        dtype);
    DType word = dtype;
    if ((is_float(dtype) && exchanges) || (dtype == DType::I64 && !compares))
      word = size_of(dtype) == 8 ? DType::U64 : DType::U32;
    const auto value = [&](Id id) { return bits(name(id), dtype, word); };
    std::string out =
        text(function_of(in.update), "(", word == dtype ? "" : text("(", type(word), "*)"), "&", at, ", ");
    if (in.update == Update::CompareAndSwap) out += value(in.operands[2]) + ", ";
    out += value(in.operands[1]) + ")";
    return bits(out, word, dtype);
  }

  std::string local(std::uint16_t place, Id index) const {
    return kernel_.locals[place].count == 1 ? text("l", place) : text("l", place, "[", name(index), "]");
  }

  std::string value(const Instruction& in) {
    switch (in.kind) {
      case Kind::Literal: return literal(in.type, in.bits);
      case Kind::Number: return text("p", in.place);
      case Kind::Thread: return "(int)threadIdx.x";
      case Kind::Block: return "(int)blockIdx.x";
      case Kind::Blocks: return "(int)gridDim.x";
      case Kind::Compute: return compute(in);
      case Kind::Select: return text(name(in.operands[0]), " ? ", name(in.operands[1]), " : ", name(in.operands[2]));
      case Kind::Tree: return printer_.expression(*in.tree, in.element, names(in.operands));
      case Kind::Call: return printer_.call(*in.function, in.element, names(in.operands));
      case Kind::Cast: return text("(", type(in.type), ")", name(in.operands[0]));
      case Kind::Bits: return bits(name(in.operands[0]), type_of(in.operands[0]), in.type);
      case Kind::Convert: return expr::converted(printer_, name(in.operands[0]), in.element, in.to);
      case Kind::Entry: return text("p", in.place, ".at[", name(in.operands[0]), "]");
      case Kind::Narrow: return expr::narrowed(printer_, name(in.operands[0]), in.element);
      case Kind::Load:
        return expr::loaded(printer_, text(buffer(in.place), "[", name(in.operands[0]), "]"),
                            kernel_.parameter(in.place).dtype);
      case Kind::Shared:
        return expr::loaded(printer_, text("m", in.place, "[", name(in.operands[0]), "]"),
                            kernel_.shared[in.place].dtype);
      case Kind::SharedPair: return text("*(const unsigned int*)&m", in.place, "[", name(in.operands[0]), "]");
      case Kind::Fragments: break;
      case Kind::Local: return local(in.place, in.operands[0]);
      case Kind::Shuffle: {
        const std::string of = name(in.operands[0]), lane = name(in.operands[1]);
        const bool hip = dialect_.name == expr::kHip.name;
        const std::string call =
            hip ? text("__shfl(", of, ", ", lane, ", 32)") : text("__shfl_sync(0xffffffffu, ", of, ", ", lane, ")");
        return in.type == DType::Bool ? text("(", call, " != 0)") : call;
      }
      case Kind::Update: return update(in, text(buffer(in.place), "[", name(in.operands[0]), "]"));
      case Kind::UpdateShared: return update(in, text("m", in.place, "[", name(in.operands[0]), "]"));
    }
    return {};
  }

  void let(const Statement& statement, const std::string& indent) {
    const Instruction& in = statement.instruction;
    if ((in.kind == Kind::Load || in.kind == Kind::Shared) && in.width > 1) {
      const bool shared = in.kind == Kind::Shared;
      const DType dtype = shared ? kernel_.shared[in.place].dtype : kernel_.parameter(in.place).dtype;
      const std::string packed = pack(dtype, in.width);
      body_ += text(indent, "const ", packed, " w", statement.first, " = *(const ", packed, "*)(",
                    shared ? text("m", in.place) : buffer(in.place), " + ", name(in.operands[0]), ");\n");
      for (Id i = 0; i < in.width; ++i)
        define(statement.first + i, expr::loaded(printer_, text("w", statement.first, ".at[", i, "]"), dtype), indent);
    } else if (in.kind == Kind::Fragments) {
      fragments(statement, indent);
    } else if (in.kind == Kind::Call && in.function->results > 1) {
      static constexpr std::string_view kParts[] = {"x", "y", "z", "w"};
      body_ += text(indent, "const KilnWords w", statement.first, " = ", value(in), ";\n");
      for (Id i = 0; i < in.function->results; ++i)
        define(statement.first + i, text("w", statement.first, ".", kParts[i]), indent);
    } else {
      define(statement.first, value(in), indent);
    }
  }
  void fragments(const Statement& statement, const std::string& indent) {
    require<ArgumentError>(&dialect_ == &expr::kCuda, kernel_.name, ": ", dialect_.name,
                           " has no products of fragments");
    const Instruction& in = statement.instruction;
    const std::string_view half = in.element == DType::F16 ? "f16" : "bf16";
    std::string made, to, from;
    for (Id i = 0; i < 4; ++i) made += text(i ? ", " : "", name(statement.first + i));
    for (Id i = 0; i < 4; ++i) to += text(i ? ", " : "", "\"=f\"(", name(statement.first + i), ")");
    for (std::size_t i = 0; i < in.operands.size(); ++i)
      from += text(i ? ", " : "", i < 6 ? "\"r\"(" : "\"f\"(", name(in.operands[i]), ")");
    body_ += text(indent, "float ", made, ";\n", indent, "asm(\"mma.sync.aligned.m16n8k16.row.col.f32.", half, ".",
                  half, ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\"\n", indent,
                  "    : ", to, "\n", indent, "    : ", from, ");\n");
  }
  void define(Id id, const std::string& value, const std::string& indent) {
    body_ += text(indent, "const ", type(type_of(id)), " ", name(id), " = ", value, ";\n");
  }

  /// A value wider than its stored type keeps the low bits; halves are rounded.
  void store(const std::string& array, DType dtype, const std::vector<Id>& in, const std::string& indent) {
    const std::string at = name(in[0]);
    if (in.size() == 2) {
      body_ += text(indent, array, "[", at, "] = ", expr::stored(printer_, name(in[1]), dtype), ";\n");
      return;
    }
    const std::string packed = pack(dtype, in.size() - 1);
    body_ += text(indent, "*(", packed, "*)(", array, " + ", at, ") = ", packed, "{{");
    for (std::size_t i = 1; i < in.size(); ++i)
      body_ += text(i > 1 ? ", " : "", expr::stored(printer_, name(in[i]), dtype));
    body_ += "}};\n";
  }

  /// The block's stores are visible to others before its arrival is counted, and it reads theirs after it sees their
  /// arrival.
  void arrive(const std::string& cell, const std::string& indent) {
    body_ += text(indent, "__syncthreads();\n", indent, "if (threadIdx.x == 0) {\n", indent, "  __threadfence();\n",
                  indent, "  atomicAdd(&", cell, ", 1);\n", indent, "}\n");
  }
  void await(const std::string& cell, const std::string& count, const std::string& indent) {
    body_ += text(indent, "if (threadIdx.x == 0) {\n", indent, "  while (*(volatile int*)&", cell, " < ", count,
                  ") {}\n", indent, "  __threadfence();\n", indent, "}\n", indent, "__syncthreads();\n");
  }

  void block(const Statements& list, const std::string& indent) {
    statements(list, indent + "  ");
    body_ += indent + "}";
  }

  void statements(const Statements& list, const std::string& indent) {
    for (const Statement& statement : list) {
      const std::vector<Id>& in = statement.operands;
      switch (statement.kind) {
        case Statement::Kind::Let: let(statement, indent); break;
        case Statement::Kind::Store:
          store(buffer(statement.place), kernel_.parameter(statement.place).dtype, in, indent);
          break;
        case Statement::Kind::StoreShared:
          store(text("m", statement.place), kernel_.shared[statement.place].dtype, in, indent);
          break;
        case Statement::Kind::StoreLocal:
          body_ += text(indent, local(statement.place, in[0]), " = ", name(in[1]), ";\n");
          break;
        case Statement::Kind::Choose: {
          const std::uint16_t table = kernel_.chosen[statement.place - Kernel::kChosen];
          body_ += text(indent, pointer(kernel_.parameters[table]), " const ", buffer(statement.place), " = p", table,
                        ".at[", name(in[0]), "];\n");
          break;
        }
        case Statement::Kind::If:
          body_ += text(indent, "if (", name(in[0]), ") {\n");
          block(statement.body, indent);
          if (!statement.otherwise.empty()) {
            body_ += " else {\n";
            block(statement.otherwise, indent);
          }
          body_ += "\n";
          break;
        case Statement::Kind::Loop: {
          const std::string counter = name(statement.first);
          if (statement.unrolled) body_ += indent + "#pragma unroll\n";
          else body_ += indent + "#pragma unroll 1\n";
          body_ += text(indent, "for (", type(type_of(statement.first)), " ", counter, " = ", name(in[0]), "; ",
                        counter, " < ", name(in[1]), "; ", counter, " += ", name(in[2]), ") {\n");
          block(statement.body, indent);
          body_ += "\n";
          break;
        }
        case Statement::Kind::While:
          body_ += indent + "for (;;) {\n";
          statements(statement.head, indent + "  ");
          body_ += text(indent, "  if (!", name(in[0]), ") break;\n");
          block(statement.body, indent);
          body_ += "\n";
          break;
        case Statement::Kind::Barrier: body_ += indent + "__syncthreads();\n"; break;
        case Statement::Kind::Fence: body_ += indent + "__threadfence();\n"; break;
        case Statement::Kind::Arrive: arrive(text(buffer(statement.place), "[", name(in[0]), "]"), indent); break;
        case Statement::Kind::Await:
          await(text(buffer(statement.place), "[", name(in[0]), "]"), name(in[1]), indent);
          break;
      }
    }
  }

  const Kernel& kernel_;
  const expr::Dialect& dialect_;
  expr::Printer printer_;
  std::vector<std::int64_t> offsets_;
  std::int64_t shared_bytes_ = 0;
  std::string body_;
};

}  // namespace

KernelText print(const Kernel& kernel, const expr::Dialect& dialect) {
  require<ArgumentError>(&dialect == &expr::kCuda || &dialect == &expr::kHip, kernel.name,
                         ": kernels are not printed as ", dialect.name);
  return Text(kernel, dialect).print();
}

}  // namespace kiln::gpu
