// A client and a server of the remote device say this to each other (docs/remote.md). Structs travel field by field
// (kiln/wire/fields.hpp); everything else is written by the sender and read by the receiver in the order given here.
#pragma once
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/ops/value.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln::remote {

/// Raise this when a frame or an entry below changes.
inline constexpr std::uint64_t kProtocol = 3;

/// Frame is the first byte of a message.
enum class Frame : std::uint8_t {
  // From the client.
  Hello,  // Hello; the first message of a connection
  Work,   // a number, 1, 2, 3, ... in a session, then entries
  Bye,    // the session may be freed
  // From the server. All but Welcome, Refusal and Offer begin with Progress.
  Welcome,   // Welcome
  Refusal,   // Refusal
  Ack,       // nothing; to another server, without Progress: its value is here
  Failures,  // a list: a value's number, and the roots of its failure
  Piece,     // of a read: the request's number, the value's place in it, and bytes
  Answer,    // the request's number, and bytes that depend on the request
  Failed,    // the request's number, and the roots of the failure
  Goodbye,   // a Refusal: the session has ended
  Offer,     // Offer, without Progress: to another server that has shown a ticket
  // From either end.
  Packed,  // another message in fewer bytes (packing.hpp), after a Pack
};

/// Entry begins an entry of a Work frame. Numbers from kFirstForm on are calls: the number of the form plus kFirstForm;
/// for each operand that is a tensor the distance of its number from that of the next new value, for each plain number
/// its value.
enum class Entry : std::uint8_t {
  Form,           // defines the next form: CallForm::write
  ForgetForms,    // all of them
  Free,           // a value, by the distance of its number from the next one
  Upload,         // Desc, and the first bytes or none; the value's number is the next one
  Piece,          // the next bytes of the upload that is under way; a long piece is alone in its frame
  Causes,         // a list of values: from here on results fail with these
  RunPending,     // a list of values
  Flush,          //
  Read,           // the request's number, a list of values by their own numbers; answered by pieces and an Answer
  Sync,           // the request's number
  Memory,         // the request's number; the Answer is a MemoryStatistics
  SetLimit,       // bytes
  ResetPeak,      //
  ReleaseMemory,  //
  Program,      // defines a program: its number, its bytes, the Descs of its outputs, the values that are its constants
  DropProgram,  // its number
  Replay,       // its number, a list of values, an optional key; its outputs get the next numbers
  Give,         // the request's number, a value's number, an address, a Ticket: sends the value to that server
  Take,         // Desc, a ticket's id: the value that another server has sent with it gets the next number
  Expect,       // the request's number, Desc; the Answer is a Ticket, with which another server may send such a value
  Record,       // a number: kernels are recorded under it from here on
  Recorded,     // the request's number, that number; the Answer is a list of ProfileRow
  StopRecording,  // that number
  Pack,           // from here on both ends may send Packed
};
inline constexpr std::uint64_t kFirstForm = 32;
/// A session has at most so many forms; then the client forgets them all.
inline constexpr std::uint64_t kMostForms = 1 << 16;
/// Uploads and reads travel in pieces of at most so many bytes.
inline constexpr std::size_t kPiece = 256 << 10;
/// Nobody sends or takes a longer message.
inline constexpr std::size_t kMostBytes = 16 << 20;

struct Hello {
  std::uint64_t protocol = kProtocol;
  std::string token{};
  std::string device{};       // of the server; empty: its first one
  std::uint64_t session = 0;  // to go on with; 0: a new one
  std::string secret{};       // of that session
  std::string ticket{};       // not empty: this connection only brings the value of the ticket with that id
  std::string nonce{};        // with a ticket: what the server has to prove itself by
};

/// Ticket is the right to send one value to a session. Both servers get it from their client, and prove to each other
/// that they have the key, which never travels between them.
struct Ticket {
  std::string id, key;
};
/// Offer is what a server says to another one that has shown a ticket.
struct Offer {
  std::string nonce, proof;
};
/// KnownOp is a user-defined operation that a server knows.
struct KnownOp {
  std::string name;
  std::uint64_t fingerprint = 0;
};

struct Welcome {
  std::uint64_t session = 0;
  std::string secret;
  std::string device;
  std::uint64_t applied = 0;      // the number of the last Work frame that the session has applied
  double window = 0;              // seconds for which the session outlives its connection
  bool sends_to_servers = false;  // whether it takes Give
  std::vector<KnownOp> custom;
};

struct Refusal {
  ErrorKind kind = ErrorKind::Device;
  std::string sentence;
  std::vector<KnownOp> ops;  // where the tables differ: those of the server
};

/// Progress says how far a session is: the number of this message in its connection (1, 2, 3, ...; 0 of a Goodbye), the
/// last Work frame that was applied, and the first value that may still become a failure.
struct Progress {
  std::uint64_t sequence = 0, applied = 0, settled = 0;
};

/// Root is an error that occurred on the server. Failures of several values may have the same root, which is reported once.
struct Root {
  std::uint64_t id = 0;
  ErrorKind kind = ErrorKind::Device;
  std::string sentence;  // empty where the client has this root already
};

inline void begin(wire::Writer& out, Frame frame) { out.byte(static_cast<std::uint8_t>(frame)); }
inline void begin(wire::Writer& out, Entry entry) { out.whole(static_cast<std::uint64_t>(entry)); }
/// Writes a message or an entry, or its beginning: the kind, then fields.
template <class Kind, class... Fields>
void write(wire::Writer& out, Kind kind, const Fields&... fields) {
  begin(out, kind);
  (wire::write_field(out, fields), ...);
}
/// Returns a message or an entry.
template <class Kind, class... Fields>
std::vector<std::byte> written(Kind kind, const Fields&... fields) {
  wire::Writer out;
  write(out, kind, fields...);
  return out.take();
}
/// Begins the first message of an end: the kind, and the wire format's header.
wire::Writer begun(Frame first);
template <class... Fields>
std::vector<std::byte> written_first(Frame first, const Fields&... fields) {
  wire::Writer out = begun(first);
  (wire::write_field(out, fields), ...);
  return out.take();
}

std::int64_t bytes_of(const Desc& desc);
/// Returns the bytes of all, or the largest number where they are more than that.
std::int64_t bytes_of(std::span<const Desc> all);

/// Returns the sentence of any exception, and the kind of error that says it.
Refusal told(const std::exception_ptr& error);

/// Returns which operations this program's table and `others` have in different forms: "matmul, conv".
std::string differing_ops(const std::vector<KnownOp>& others);
std::vector<KnownOp> own_ops();

inline bool is_same_secret(std::string_view a, std::string_view b) { return net::constant_time_equal(a, b); }
inline std::string new_secret() { return net::random_hex(); }

}  // namespace kiln::remote
