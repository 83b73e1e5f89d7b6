// Values and memory of kernels that are being built: each use becomes an instruction, or an error if it is not valid.
#include <bit>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;

Builder& builder_of(const Expr& x) {
  require<ArgumentError>(static_cast<bool>(x), "kernel: an expression that was never made");
  return x.builder();
}

void require_meaning(Arithmetic op, DType type) {
  using enum Arithmetic;
  const bool logic = op == Not || op == And || op == Or || op == Xor || op == Equal || op == NotEqual;
  const bool of_bits = op == Remainder || op == ShiftLeft || op == ShiftRight || (logic && !compares(op));
  require<ArgumentError>(!is_float(type) || !of_bits, "kernel: ", type, " has no bits; take bits_as");
  require<ArgumentError>(type != DType::Bool || logic, "kernel: truths are no numbers; take as");
}

void require_update(Update update, DType dtype, DType by) {
  require<ArgumentError>(by == dtype && size_of(dtype) >= 4, "kernel: ", dtype, " is updated by ", by);
  require<ArgumentError>(update != Update::CompareAndSwap, "kernel: a swap needs what is expected");
  require<ArgumentError>(!is_float(dtype) || update == Update::Add || update == Update::Exchange,
                         "kernel: of floats there are sums and exchanges alone, not of ", dtype);
}

void require_index(const Expr& i) {
  require<ArgumentError>(static_cast<bool>(i) && is_integer(i.type()), "kernel: ", i.type(), " is no index");
}

void require_swap(DType dtype, const Expr& i, const Expr& expected, const Expr& value) {
  require_index(i);
  require<ArgumentError>(value.type() == dtype && expected.type() == dtype && size_of(dtype) >= 4, "kernel: ", dtype,
                         " is swapped with ", value.type());
}

}  // namespace

// ---- Expr ----------------------------------------------------------------------------------------------------------

Expr Expr::as(DType type) const {
  if (type == type_) return *this;
  return builder_of(*this).let({.kind = Kind::Cast, .type = type, .operands = {id_}});
}

Expr Expr::bits_as(DType type) const {
  if (type == type_) return *this;
  require<ArgumentError>(size_of(type) == size_of(type_), "kernel: ", type_, " has not as many bits as ", type);
  return builder_of(*this).let({.kind = Kind::Bits, .type = type, .operands = {id_}});
}

Expr literal_like(const Expr& x, double number) { return builder_of(x).literal(x.type(), number); }
Expr literal_like(const Expr& x, std::int64_t number) { return builder_of(x).literal(x.type(), number); }

Expr compute(Arithmetic op, const Expr& x) {
  require_meaning(op, x.type());
  return builder_of(x).let({.kind = Kind::Compute, .type = x.type(), .arithmetic = op, .operands = {x.id()}});
}

Expr compute(Arithmetic op, const Expr& x, const Expr& y) {
  require<ArgumentError>(&builder_of(x) == &builder_of(y), "kernel: expressions of two kernels meet");
  require<ArgumentError>(x.type() == y.type(), "kernel: ", x.type(), " meets ", y.type());
  require_meaning(op, x.type());
  const DType type = compares(op) ? DType::Bool : x.type();
  return x.builder().let({.kind = Kind::Compute, .type = type, .arithmetic = op, .operands = {x.id(), y.id()}});
}

Expr select(const Expr& condition, const Expr& yes, const Expr& no) {
  require<ArgumentError>(builder_of(condition).kernel_.values[condition.id()] == DType::Bool && yes.type() == no.type(),
                         "kernel: select takes a truth and two values of one type");
  return condition.builder().let(
      {.kind = Kind::Select, .type = yes.type(), .operands = {condition.id(), yes.id(), no.id()}});
}

Expr multiply_add(const Expr& x, const Expr& y, const Expr& z) {
  require<ArgumentError>(x.type() == y.type() && y.type() == z.type(), "kernel: ", x.type(), " times ", y.type(),
                         " is added to ", z.type());
  if (!is_float(x.type())) return x * y + z;
  return x.builder().let({.kind = Kind::MultiplyAdd, .type = x.type(), .operands = {x.id(), y.id(), z.id()}});
}

// ---- memory --------------------------------------------------------------------------------------------------------

Expr Buffer::operator[](const Expr& i) const { return load(i, 1)[0]; }

std::vector<Expr> Buffer::load(const Expr& i, int width) const {
  require<ArgumentError>(builder_ && std::has_single_bit(static_cast<unsigned>(width)) &&
                             static_cast<std::size_t>(width) * size_of(dtype_) <= 16,
                         "kernel: ", width, " elements of ", dtype_, " are not loaded at once");
  require_index(i);
  return builder_->let_all({.kind = Kind::Load,
                            .type = expr::computed_in(dtype_),
                            .place = place_,
                            .width = static_cast<std::uint16_t>(width),
                            .operands = {i.id()}},
                           width);
}

namespace {

/// A store rounds to halves itself: where the value was rounded to the same type before, this is what it was rounded from.
Id unrounded(const std::vector<std::vector<std::pair<Instruction, Id>>>& known, Id value, DType dtype) {
  if (!is_float(dtype) || expr::computed_in(dtype) == dtype) return value;
  for (const auto& scope : known)
    for (const auto& [instruction, id] : scope)
      if (id == value && instruction.kind == Instruction::Kind::Narrow && instruction.element == dtype)
        return unrounded(known, instruction.operands[0], dtype);
  return value;
}

}  // namespace

void Buffer::store(const Expr& i, const Expr& value) const { store(i, std::span(&value, 1)); }

void Buffer::store(const Expr& i, std::span<const Expr> values) const {
  require<ArgumentError>(builder_ && std::has_single_bit(values.size()) && values.size() * size_of(dtype_) <= 16,
                         "kernel: ", values.size(), " elements of ", dtype_, " are not stored at once");
  require_index(i);
  Statement statement{.kind = Statement::Kind::Store, .place = place_, .operands = {i.id()}};
  for (const Expr& value : values) {
    require<ArgumentError>(value.type() == expr::computed_in(dtype_), "kernel: ", value.type(), " is stored as ",
                           dtype_);
    statement.operands.push_back(unrounded(builder_->known_, value.id(), dtype_));
  }
  builder_->append(std::move(statement));
}

Expr Buffer::update(Update update, const Expr& i, const Expr& value) const {
  require_index(i);
  require_update(update, dtype_, value.type());
  return builder_->let(
      {.kind = Kind::Update, .type = dtype_, .update = update, .place = place_, .operands = {i.id(), value.id()}});
}

Expr Buffer::compare_and_swap(const Expr& i, const Expr& expected, const Expr& value) const {
  require_swap(dtype_, i, expected, value);
  return builder_->let({.kind = Kind::Update,
                        .type = dtype_,
                        .update = Update::CompareAndSwap,
                        .place = place_,
                        .operands = {i.id(), value.id(), expected.id()}});
}

Buffer Table::operator[](const Expr& which) const {
  require_index(which);
  const auto place = static_cast<std::uint16_t>(Kernel::kChosen + builder_->kernel_.chosen.size());
  builder_->kernel_.chosen.push_back(place_);
  builder_->append({.kind = Statement::Kind::Choose, .place = place, .operands = {which.id()}});
  return {builder_, place, dtype_};
}

Expr Numbers::operator[](const Expr& which) const {
  require_index(which);
  return builder_->let({.kind = Kind::Entry, .type = DType::I64, .place = place_, .operands = {which.id()}});
}

Expr Shared::operator[](const Expr& i) const { return load(i, 1)[0]; }

std::vector<Expr> Shared::load(const Expr& i, int width) const {
  require_index(i);
  require<ArgumentError>(
      std::has_single_bit(static_cast<unsigned>(width)) && static_cast<std::size_t>(width) * size_of(dtype_) <= 16,
      "kernel: ", width, " elements of ", dtype_, " are not loaded at once");
  return builder_->let_all({.kind = Kind::Shared,
                            .type = expr::computed_in(dtype_),
                            .place = place_,
                            .width = static_cast<std::uint16_t>(width),
                            .operands = {i.id()}},
                           width);
}

void Shared::store(const Expr& i, const Expr& value) const { store(i, std::span(&value, 1)); }

void Shared::store(const Expr& i, std::span<const Expr> values) const {
  require_index(i);
  require<ArgumentError>(std::has_single_bit(values.size()) && values.size() * size_of(dtype_) <= 16,
                         "kernel: ", values.size(), " elements of ", dtype_, " are not stored at once");
  Statement statement{.kind = Statement::Kind::StoreShared, .place = place_, .operands = {i.id()}};
  for (const Expr& value : values) {
    require<ArgumentError>(value.type() == expr::computed_in(dtype_), "kernel: ", value.type(), " is stored as ",
                           dtype_);
    statement.operands.push_back(value.id());
  }
  builder_->append(std::move(statement));
}

Expr Shared::pair(const Expr& i) const {
  require<ArgumentError>(size_of(dtype_) == 2, "kernel: a pair of ", dtype_, " is no word");
  return builder_->let({.kind = Kind::SharedPair, .type = DType::U32, .place = place_, .operands = {i.id()}});
}

Expr Shared::same(const Expr& i) const {
  require_index(i);
  return builder_->let(
      {.kind = Kind::SharedSame, .type = expr::computed_in(dtype_), .place = place_, .operands = {i.id()}});
}

Expr Shared::update(Update update, const Expr& i, const Expr& value) const {
  require_index(i);
  require_update(update, dtype_, value.type());
  return builder_->let({.kind = Kind::UpdateShared,
                        .type = dtype_,
                        .update = update,
                        .place = place_,
                        .operands = {i.id(), value.id()}});
}

Expr Shared::compare_and_swap(const Expr& i, const Expr& expected, const Expr& value) const {
  require_swap(dtype_, i, expected, value);
  return builder_->let({.kind = Kind::UpdateShared,
                        .type = dtype_,
                        .update = Update::CompareAndSwap,
                        .place = place_,
                        .operands = {i.id(), value.id(), expected.id()}});
}

// ---- matrices that warps hold ----

const Kernel::Matrix& Matrix::shape() const { return builder_->kernel_.matrices[place_]; }

void Matrix::clear() const { builder_->append({.kind = Statement::Kind::MatrixClear, .place = place_}); }

void Matrix::load(const Shared& from, const Expr& at, int stride, bool transposed) const {
  const DType dtype = shape().dtype;
  require<ArgumentError>(from.dtype() == dtype || (from.dtype() == DType::U32 && size_of(dtype) == 2),
                         "kernel: a matrix of ", dtype, " is not loaded from ", from.dtype());
  require<ArgumentError>(at.type() == DType::I32 && stride * size_of(from.dtype()) % 16 == 0,
                         "kernel: lines of a matrix begin at multiples of 16 bytes, at an int32 place");
  builder_->append({.kind = Statement::Kind::MatrixLoad,
                    .place = place_,
                    .from = from.place(),
                    .transposed = transposed,
                    .operands = {at.id(), builder_->literal(DType::I32, stride).id()}});
}

void Matrix::add_product(const Matrix& left, const Matrix& right) const {
  const Kernel::Matrix &a = left.shape(), &b = right.shape(), &c = shape();
  require<ArgumentError>(a.use == Use::Left && b.use == Use::Right && c.use == Use::Sums && a.dtype == b.dtype &&
                             a.rows == c.rows && a.columns == b.rows && b.columns == c.columns,
                         "kernel: matrices that do not fit are multiplied");
  builder_->append({.kind = Statement::Kind::MatrixMultiply, .place = place_, .from = left.place_, .by = right.place_});
}

void Matrix::scale(const Matrix& factors) const {
  const Kernel::Matrix &a = shape(), &b = factors.shape();
  require<ArgumentError>(
      a.use == Use::Sums && b.use == Use::Sums && a.dtype == b.dtype && a.rows == b.rows && a.columns == b.columns,
      "kernel: a matrix of sums is scaled by one of another kind or size");
  builder_->append({.kind = Statement::Kind::MatrixScale, .place = place_, .from = factors.place_});
}

void Matrix::store(const Shared& to, const Expr& at, int stride) const {
  require<ArgumentError>(shape().use == Use::Sums && to.dtype() == shape().dtype && at.type() == DType::I32,
                         "kernel: sums of ", shape().dtype, " are stored to ", to.dtype());
  builder_->append({.kind = Statement::Kind::MatrixStore,
                    .place = to.place(),
                    .from = place_,
                    .operands = {at.id(), builder_->literal(DType::I32, stride).id()}});
}

Expr Local::operator[](const Expr& i) const {
  require_index(i);
  return builder_->let({.kind = Kind::Local, .type = type_, .place = place_, .operands = {i.id()}});
}

void Local::set(const Expr& i, const Expr& value) const {
  require_index(i);
  require<ArgumentError>(value.type() == type_, "kernel: a variable of ", type_, " is set to ", value.type());
  builder_->append({.kind = Statement::Kind::StoreLocal, .place = place_, .operands = {i.id(), value.id()}});
}

Expr Local::get() const { return (*this)[0]; }
Expr Local::operator[](int i) const { return (*this)[builder_->literal(DType::I32, i)]; }
void Local::set(const Expr& value) const { set(0, value); }
void Local::set(int i, const Expr& value) const { set(builder_->literal(DType::I32, i), value); }

}  // namespace kiln::gpu
