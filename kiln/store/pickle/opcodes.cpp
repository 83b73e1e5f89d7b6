#include "kiln/store/pickle/opcodes.hpp"

namespace kiln::pickle {

std::string_view name(Op op) {
  switch (op) {
    case Op::Mark: return "MARK";
    case Op::Stop: return "STOP";
    case Op::Pop: return "POP";
    case Op::PopMark: return "POP_MARK";
    case Op::Dup: return "DUP";
    case Op::Float: return "FLOAT";
    case Op::Int: return "INT";
    case Op::BinInt: return "BININT";
    case Op::BinInt1: return "BININT1";
    case Op::Long: return "LONG";
    case Op::BinInt2: return "BININT2";
    case Op::None: return "NONE";
    case Op::PersId: return "PERSID";
    case Op::BinPersId: return "BINPERSID";
    case Op::Reduce: return "REDUCE";
    case Op::String: return "STRING";
    case Op::BinString: return "BINSTRING";
    case Op::ShortBinString: return "SHORT_BINSTRING";
    case Op::Unicode: return "UNICODE";
    case Op::BinUnicode: return "BINUNICODE";
    case Op::Append: return "APPEND";
    case Op::Build: return "BUILD";
    case Op::Global: return "GLOBAL";
    case Op::Dict: return "DICT";
    case Op::EmptyDict: return "EMPTY_DICT";
    case Op::Appends: return "APPENDS";
    case Op::Get: return "GET";
    case Op::BinGet: return "BINGET";
    case Op::Inst: return "INST";
    case Op::LongBinGet: return "LONG_BINGET";
    case Op::List: return "LIST";
    case Op::EmptyList: return "EMPTY_LIST";
    case Op::Obj: return "OBJ";
    case Op::Put: return "PUT";
    case Op::BinPut: return "BINPUT";
    case Op::LongBinPut: return "LONG_BINPUT";
    case Op::SetItem: return "SETITEM";
    case Op::Tuple: return "TUPLE";
    case Op::EmptyTuple: return "EMPTY_TUPLE";
    case Op::SetItems: return "SETITEMS";
    case Op::BinFloat: return "BINFLOAT";
    case Op::BinBytes: return "BINBYTES";
    case Op::ShortBinBytes: return "SHORT_BINBYTES";
    case Op::Proto: return "PROTO";
    case Op::NewObj: return "NEWOBJ";
    case Op::Ext1: return "EXT1";
    case Op::Ext2: return "EXT2";
    case Op::Ext4: return "EXT4";
    case Op::Tuple1: return "TUPLE1";
    case Op::Tuple2: return "TUPLE2";
    case Op::Tuple3: return "TUPLE3";
    case Op::NewTrue: return "NEWTRUE";
    case Op::NewFalse: return "NEWFALSE";
    case Op::Long1: return "LONG1";
    case Op::Long4: return "LONG4";
    case Op::ShortBinUnicode: return "SHORT_BINUNICODE";
    case Op::BinUnicode8: return "BINUNICODE8";
    case Op::BinBytes8: return "BINBYTES8";
    case Op::EmptySet: return "EMPTY_SET";
    case Op::AddItems: return "ADDITEMS";
    case Op::FrozenSet: return "FROZENSET";
    case Op::NewObjEx: return "NEWOBJ_EX";
    case Op::StackGlobal: return "STACK_GLOBAL";
    case Op::Memoize: return "MEMOIZE";
    case Op::Frame: return "FRAME";
    case Op::ByteArray8: return "BYTEARRAY8";
    case Op::NextBuffer: return "NEXT_BUFFER";
    case Op::ReadonlyBuffer: return "READONLY_BUFFER";
  }
  return {};
}

}  // namespace kiln::pickle
