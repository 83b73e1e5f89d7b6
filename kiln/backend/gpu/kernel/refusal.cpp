#include "kiln/backend/gpu/kernel/refusal.hpp"

#include "kiln/backend/gpu/kernel/lower/flow.hpp"
#include "kiln/ops/expression/dialect.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;
using Reason = Refusal::Reason;

/// "float32, int32 and bool"
std::string words_of(Types types) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i)
    if (types.has(static_cast<DType>(i))) names.push_back(name(static_cast<DType>(i)));
  std::string words(names.empty() ? "none" : names[0]);
  for (std::size_t i = 1; i < names.size(); ++i) words += text(i + 1 < names.size() ? ", " : " and ", names[i]);
  return words;
}

/// The first thing that the device forbids, one function for each question.
class Check {
 public:
  Check(const Kernel& kernel, const Capabilities& device, std::string_view name)
      : kernel_(kernel), device_(device), name_(name) {}

  std::optional<Refusal> run() {
    block();
    parameters();
    for (const Kernel::Array& array : kernel_.shared)
      type("shared memory", "holds", array.dtype, device_.shares, "keeps there");
    for (const Kernel::Array& array : kernel_.locals)
      type("a variable", "is", array.dtype, device_.computes, "computes in");
    for (const Kernel::Matrix& each : kernel_.matrices) matrix(each);
    statements(kernel_.body);
    if (device_.proves_barriers) barriers(kernel_.body, lower::Flow(kernel_, lower::Flow::By::Compiler), true);
    return std::move(found_);
  }

 private:
  template <class... Parts>
  void refuse(Reason reason, const Parts&... parts) {
    if (!found_) found_ = Refusal{reason, text(name_, ": kernel ", kernel_.name, ": ", parts...)};
  }
  void limit(std::string_view what, std::int64_t needed, std::int64_t most) {
    if (needed > most) refuse(Reason::Limit, "needs ", needed, " ", what, ", the device has ", most);
  }
  void type(std::string_view place, std::string_view does, DType dtype, Types allowed, std::string_view does_what) {
    if (!allowed.has(dtype))
      refuse(Reason::Type, place, " ", does, " ", dtype, ", the device ", does_what, " ", words_of(allowed));
  }

  void block() {
    limit("threads to a block", kernel_.threads, device_.most_threads);
    limit("bytes of shared memory", kernel_.shared_offsets().back(), device_.shared_memory);
    if (kernel_.together && device_.together == 0)
      refuse(Reason::Limit, "its blocks wait for each other, which the device does not promise");
  }

  void parameters() {
    std::int64_t buffers = 0, bytes = kernel_.number_bytes();
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& parameter = kernel_.parameters[i];
      const auto words = static_cast<std::int64_t>(parameter.words());
      if (parameter.uniform) {
        bytes += std::int64_t{parameter.uniform} * 4;
      } else if (parameter.kind == Parameter::Kind::Number) {
        type(text("parameter ", i), "is a number of", parameter.dtype, device_.numbers, "takes");
      } else {
        buffers += words;
        if (parameter.count && device_.addressing != Addressing::Addresses)
          refuse(Reason::Limit, "parameter ", i, " is a table of ", parameter.count,
                 " buffers, and the device binds each by itself");
      }
    }
    limit("buffers", buffers, device_.most_buffers);
    limit("bytes of numbers", bytes, device_.number_bytes);
  }

  void matrix(const Kernel::Matrix& of) {
    using Use = Kernel::Matrix::Use;
    for (const Fragment& has : device_.matrices)
      if (of.dtype == (of.use == Use::Sums ? has.sums : has.factors) &&
          of.rows == (of.use == Use::Right ? has.k : has.m) && of.columns == (of.use == Use::Left ? has.k : has.n))
        return;
    refuse(Reason::Limit, "its warps hold matrices of ", of.rows, " x ", of.columns, " ", of.dtype,
           ", which the device has not");
  }

  void statements(const Statements& list) {
    for (const Statement& statement : list) {
      if (found_) return;
      if (statement.kind == Statement::Kind::Let) value(statement);
      else if (statement.kind == Statement::Kind::Store) store(statement);
      else if (statement.kind == Statement::Kind::Loop) computed(statement.first, kernel_.values[statement.first]);
      else if (statement.kind == Statement::Kind::Fence && !device_.fences)
        refuse(Reason::Limit, "it has a fence, and the device has none among blocks");
      statements(statement.head);
      statements(statement.body);
      statements(statement.otherwise);
    }
  }

  /// `common`: does the device see that all threads of the block get there, or none?
  void barriers(const Statements& list, const lower::Flow& flow, bool common) {
    for (const Statement& statement : list) {
      if (found_ || !lower::holds_barrier(statement)) continue;
      if (!common)
        return refuse(Reason::Limit,
                      "a barrier stands under a condition of which the device does not see that it is the "
                      "same for all threads");
      const bool inside = flow.are_same(statement.operands);
      barriers(statement.head, flow, inside);
      barriers(statement.body, flow, inside);
      barriers(statement.otherwise, flow, inside);
    }
  }

  void computed(Id id, DType dtype) { type(text("value ", id), "is", dtype, device_.computes, "computes in"); }

  void value(const Statement& statement) {
    const Instruction& in = statement.instruction;
    const std::string place = text("value ", statement.first);
    computed(statement.first, in.type);
    switch (in.kind) {
      case Kind::Tree:
      case Kind::Call:
        type(place, "computes in", in.element, device_.computes, "computes in");
        language(place, in);
        break;
      case Kind::Load:
        type(place, text("is loaded from parameter ", in.place, ", of"), kernel_.parameter(in.place).dtype,
             device_.loads, "loads");
        width(place, "a load", kernel_.parameter(in.place).dtype, in.width);
        break;
      case Kind::Shared: width(place, "a load", kernel_.shared[in.place].dtype, in.width); break;
      case Kind::Update:
        type(place, text("updates parameter ", in.place, ", of"), kernel_.parameter(in.place).dtype, device_.updates,
             "updates");
        break;
      case Kind::UpdateShared:
        type(place, "updates shared", kernel_.shared[in.place].dtype, device_.updates_shared, "updates there");
        break;
      case Kind::Shuffle:
        if (!device_.shuffles_among(kLanes))
          refuse(Reason::Limit, place, " is passed among ", kLanes, " lanes, the device has ", lanes());
        break;
      case Kind::Fragments:
        if (!device_.multiplies(in.element))
          refuse(Reason::Limit, place, " is a product of fragments of ", in.element, ", which the device has not");
        break;
      default: break;
    }
  }

  void language(const std::string& place, const Instruction& in) {
    const expr::Dialect* const in_words = device_.language;
    if (!in_words) return;
    const bool has = in.kind == Kind::Tree ? expr::supports(*in_words, *in.tree, in.element)
                                           : expr::supports(*in_words, *in.function, in.element);
    if (!has)
      refuse(Reason::Type, place, " is ", in.kind == Kind::Call ? in.function->name : "an expression", " of ",
             in.element, ", for which ", in_words->name, " has no functions");
  }

  void store(const Statement& statement) {
    const DType dtype = kernel_.parameter(statement.place).dtype;
    const std::string place = text("a store to parameter ", statement.place);
    type(place, "writes", dtype, device_.stores, "stores");
    width(place, "one", dtype, static_cast<int>(statement.operands.size()) - 1);
  }
  void width(const std::string& place, std::string_view what, DType dtype, int elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(dtype));
    if (bytes > device_.widest)
      refuse(Reason::Limit, place, ": ", what, " of ", bytes, " bytes, the device moves ", device_.widest, " at once");
  }
  std::string lanes() const {
    const Lanes lanes = device_.lanes;
    if (lanes.most == 0) return "none";
    return lanes.least == lanes.most ? text(lanes.least) : text(lanes.least, " to ", lanes.most);
  }

  const Kernel& kernel_;
  const Capabilities& device_;
  const std::string_view name_;
  std::optional<Refusal> found_;
};

}  // namespace

std::optional<Refusal> refusal_of(const Kernel& kernel, const Capabilities& device, std::string_view name) {
  return Check(kernel, device, name).run();
}

}  // namespace kiln::gpu
