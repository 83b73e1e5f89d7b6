#include "kiln/store/pickle/unpickler.hpp"

#include <array>
#include <unordered_map>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/byte_reader.hpp"
#include "kiln/store/pickle/numpy.hpp"
#include "kiln/store/pickle/opcodes.hpp"
#include "kiln/store/pickle/tensor.hpp"

namespace kiln::pickle {
namespace {

// A byte of a pickle may create or copy a value, which takes some 50 bytes of memory. Any pickle may create
// kValuesOfAny values, and one more for each kBytesOfValue of its bytes. The smallest numbers, which take two bytes,
// are created once and shared.
constexpr std::size_t kValuesOfAny = 1'000'000, kBytesOfValue = 3;
constexpr std::size_t kShared = 256;
constexpr int kOldest = 2, kNewest = 5;

class Machine {
 public:
  Machine(const FileBytes& file, std::size_t begin, Arena& arena)
      : in_(file, "pickle", begin),
        arena_(arena),
        before_(arena.size()),
        most_(kValuesOfAny + in_.left() / kBytesOfValue),
        to_copy_(file.bytes.size()) {}

  const Value& run() {
    if (in_.left() < 2 || static_cast<Op>(in_.number<std::uint8_t>()) != Op::Proto)
      in_.wrong("no pickle of a protocol from ", kOldest, " to ", kNewest);
    protocol();
    for (;;) {
      const Op op = static_cast<Op>(in_.number<std::uint8_t>());
      if (op == Op::Stop) return *pop();
      step(op);
      count(arena_.size() - before_);
      count(memo_.size());
    }
  }
  std::size_t end() const { return in_.at(); }

 private:
  void step(Op op);
  void literal(Op op);
  void container(Op op);
  void memo(Op op);

  void protocol() {
    const int version = in_.number<std::uint8_t>();
    if (version < kOldest || version > kNewest)
      in_.wrong("protocol ", version, "; Kiln reads ", kOldest, " to ", kNewest);
  }

  Value& make(decltype(Value::is) is) { return arena_.emplace_back(Value{std::move(is)}); }
  void push(decltype(Value::is) is) { stack_.push_back(&make(std::move(is))); }
  /// Pushes a value that nothing changes and that is therefore created once.
  void push_shared(std::size_t key, decltype(Value::is) is) {
    if (!shared_[key]) shared_[key] = &make(std::move(is));
    stack_.push_back(shared_[key]);
  }
  void count(std::size_t values) {
    if (values > most_) in_.wrong("more than ", most_, " values");
  }
  /// Counts the entries that a call or a state copies.
  void count_copied(std::size_t entries) { count(copied_ += entries); }
  void push_text(std::uint64_t size) { push(Text{in_.text(size)}); }
  Value* pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) in_.wrong("an operand is missing");
    Value* const value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value* top() {
    Value* const value = pop();
    stack_.push_back(value);
    return value;
  }
  /// Pops what was pushed since the last mark.
  List pop_marked() {
    if (marks_.empty()) in_.wrong("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    List list(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return list;
  }
  List pop_several(int count) {
    List list(static_cast<std::size_t>(count));
    for (auto entry = list.rbegin(); entry != list.rend(); ++entry) *entry = pop();
    return list;
  }
  template <class T>
  T& container_on_top(std::string_view what) {
    if (T* const found = std::get_if<T>(&top()->is)) return *found;
    in_.wrong("no ", what, " to put something into");
  }
  void extend(const List& list) {
    List& onto = container_on_top<List>("list");
    onto.insert(onto.end(), list.begin(), list.end());
  }
  void set_items(const List& list) {
    if (list.size() % 2) in_.wrong("a key without a value");
    Dict& dict = container_on_top<Dict>("dict");
    for (std::size_t i = 0; i < list.size(); i += 2) dict.emplace_back(list[i], list[i + 1]);
  }
  void accept(const Problem& complaint) {
    if (!complaint.empty()) in_.wrong(complaint);
  }
  void global(Op op, const Global& named) {
    if (!is_known(named))
      in_.wrong(
          name(op), " names ", shown(named.module), '.', shown(named.name),
          ", which Kiln does not run: it reads plain data and tensors, such as torch.save(model.state_dict(), file)");
    push(named);
  }
  void stack_global() {
    const List names = pop_several(2);
    const auto *const module = names[0]->as<Text>(), *const name = names[1]->as<Text>();
    if (!module || !name) in_.wrong("STACK_GLOBAL without two names");
    global(Op::StackGlobal, {module->text, name->text});
  }
  void reduce() {
    const Value* const arguments = pop();
    const Value* const called = pop();
    const auto* const function = called->as<Global>();
    const auto* const list = arguments->as<List>();
    if (!function || !list) in_.wrong("REDUCE calls something that is no known function");
    // The result of a call may be a copy of its arguments or of the first one, so both are counted.
    count_copied(list->size());
    if (!list->empty()) {
      const Value& first = *(*list)[0];
      if (const auto* const copied = first.as<List>()) count_copied(copied->size());
      if (const auto* const copied = first.as<Dict>()) count_copied(copied->size());
      if (const auto* const copied = first.as<Object>()) count_copied(copied->attributes.size());
    }
    Value& result = make(nullptr);
    accept(call(*function, *list, result));
    stack_.push_back(&result);
  }
  void new_object() {
    pop();
    const Value* const named = pop();
    const auto* const global = named->as<Global>();
    if (!global || !is_plain_data_class(*global)) refuse(Op::NewObj);
    push(Object{});
  }
  void build() {
    const Value& state = *pop();
    Value& built = *top();
    // A state dict's _metadata has no information about its tensors.
    if (built.as<Dict>() || built.as<Tensor>()) return;
    if (const auto* const type = built.as<ElementType>()) return accept(set_byte_order(*type, state));
    if (auto* const large = std::get_if<Value::Large<Array>>(&built.is)) {
      Array* const array = large->get();
      // This keeps a pickle from copying the bytes of an array over and over.
      const List* const parts = state.as<List>();
      const Text* const elements = parts && parts->size() == 5 ? (*parts)[4]->as<Text>() : nullptr;
      if (elements && (elements->text.size() > to_copy_)) in_.wrong("arrays of more bytes than the file has");
      if (elements) to_copy_ -= elements->text.size();
      return accept(set_elements(state, *array));
    }
    auto* const object = std::get_if<Object>(&built.is);
    const auto* const attributes = state.as<Dict>();
    if (!object || !attributes) in_.wrong("BUILD gives an object a state, which Kiln does not run");
    count_copied(attributes->size());
    object->attributes = *attributes;
  }
  [[noreturn]] void refuse(Op op) {
    in_.wrong("the opcode ", name(op),
              " makes objects of Python, which Kiln does not run: it reads plain data and "
              "tensors, such as torch.save(model.state_dict(), file)");
  }
  void persistent_id() {
    const Value* const id = pop();
    StorageRef storage;
    accept(read_storage(*id, storage));
    push(std::make_shared<const StorageRef>(storage));
  }
  void long_number(std::uint64_t size) {
    const std::string_view bytes = in_.text(size);
    if (bytes.size() > 8) return push(Long{bytes});
    std::int64_t number =
        !bytes.empty() && static_cast<signed char>(bytes.back()) < 0 ? -1 : 0;  // the last byte has the sign
    std::memcpy(&number, bytes.data(), bytes.size());
    push(number);
  }

  ByteReader in_;
  Arena& arena_;
  std::vector<Value*> stack_;
  std::vector<std::size_t> marks_;
  std::size_t before_, most_, copied_ = 0, to_copy_;
  std::unordered_map<std::uint32_t, Value*> memo_;
  std::array<Value*, kShared + 3> shared_{};  // for 0 to 255, None, True and False
};

void Machine::step(Op op) {
  switch (op) {
    case Op::Proto: return protocol();
    case Op::Frame: return static_cast<void>(in_.take(8));
    case Op::Mark: return marks_.push_back(stack_.size());
    case Op::Pop: return static_cast<void>(pop());
    case Op::PopMark: return static_cast<void>(pop_marked());
    case Op::Dup: return stack_.push_back(top());
    case Op::Global: {
      const auto module = in_.line(), name = in_.line();
      return global(op, {module, name});
    }
    case Op::StackGlobal: return stack_global();
    case Op::Reduce: return reduce();
    case Op::NewObj: return new_object();
    case Op::Build: return build();
    case Op::BinPersId: return persistent_id();
    case Op::PersId:
    case Op::Inst:
    case Op::Obj:
    case Op::NewObjEx:
    case Op::Ext1:
    case Op::Ext2:
    case Op::Ext4:
    case Op::NextBuffer:
    case Op::ReadonlyBuffer: refuse(op);
    default: return literal(op);
  }
}

void Machine::literal(Op op) {
  switch (op) {
    case Op::None: return push_shared(kShared, nullptr);
    case Op::NewTrue: return push_shared(kShared + 1, true);
    case Op::NewFalse: return push_shared(kShared + 2, false);
    case Op::BinInt: return push(std::int64_t{in_.number<std::int32_t>()});
    case Op::BinInt1: {
      const auto number = in_.number<std::uint8_t>();
      return push_shared(number, std::int64_t{number});
    }
    case Op::BinInt2: return push(std::int64_t{in_.number<std::uint16_t>()});
    case Op::Long1: return long_number(in_.number<std::uint8_t>());
    case Op::Long4: return long_number(in_.number<std::uint32_t>());
    case Op::BinFloat: return push(in_.big_endian<double>());
    case Op::ShortBinString:
    case Op::ShortBinBytes:
    case Op::ShortBinUnicode: return push_text(in_.number<std::uint8_t>());
    case Op::BinString:
    case Op::BinBytes:
    case Op::BinUnicode: return push_text(in_.number<std::uint32_t>());
    case Op::BinUnicode8:
    case Op::BinBytes8:
    case Op::ByteArray8: return push_text(in_.number<std::uint64_t>());
    default: return container(op);
  }
}

void Machine::container(Op op) {
  switch (op) {
    case Op::EmptyDict: return push(Dict());
    case Op::EmptyList:
    case Op::EmptyTuple:
    case Op::EmptySet: return push(List());
    case Op::List:
    case Op::Tuple:
    case Op::FrozenSet: return push(pop_marked());
    case Op::Tuple1: return push(pop_several(1));
    case Op::Tuple2: return push(pop_several(2));
    case Op::Tuple3: return push(pop_several(3));
    case Op::Dict: {
      const List items = pop_marked();
      push(Dict());
      return set_items(items);
    }
    case Op::Append: return extend(pop_several(1));
    case Op::Appends:
    case Op::AddItems: return extend(pop_marked());
    case Op::SetItem: return set_items(pop_several(2));
    case Op::SetItems: return set_items(pop_marked());
    default: return memo(op);
  }
}

void Machine::memo(Op op) {
  const auto get = [&](std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) in_.wrong("nothing was noted as ", key);
    stack_.push_back(found->second);
  };
  switch (op) {
    case Op::BinGet: return get(in_.number<std::uint8_t>());
    case Op::LongBinGet: return get(in_.number<std::uint32_t>());
    case Op::BinPut: memo_[in_.number<std::uint8_t>()] = top(); return;
    case Op::LongBinPut: memo_[in_.number<std::uint32_t>()] = top(); return;
    case Op::Memoize: memo_[static_cast<std::uint32_t>(memo_.size())] = top(); return;
    default:
      if (name(op).empty()) in_.wrong("the byte ", static_cast<int>(op), " is no opcode");
      in_.wrong("the opcode ", name(op), " is of protocol 0 or 1; Kiln reads ", kOldest, " to ", kNewest);
  }
}

}  // namespace

const Value& unpickle(const FileBytes& file, std::size_t& begin, Arena& arena) {
  Machine machine(file, begin, arena);
  const Value& value = machine.run();
  begin = machine.end();
  return value;
}

}  // namespace kiln::pickle
