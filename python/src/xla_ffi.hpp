#pragma once
/// The part of XLA's foreign function interface that the handlers of xla.cpp use, so that neither XLA nor jaxlib is needed to build them.
///
/// The layout is that of version 0.3 of XLA's C interface (jaxlib 0.10). Later versions add members behind these. XLA refuses handlers of a
/// version that is newer than its own, and promises to take those of older ones for a year: raise `minor_version` only when a member is
/// needed. Source: xla/ffi/api/c_api.h, which jaxlib installs in its folder `include`.

#include <cstddef>
#include <cstdint>

namespace myriad::xla {

inline constexpr int major_version = 0;
inline constexpr int minor_version = 3;

/// The first member of most structs: its size, and a list of extensions.
struct Header {
  std::size_t size = 0;
  struct Extension* extensions = nullptr;
};

/// Metadata of a handler, which XLA asks for by a call with this extension.
struct Version {
  Header header;
  int major;
  int minor;
};
struct Metadata {
  std::size_t size;
  Version version;
  std::uint32_t traits;
  std::int64_t state_type;  ///< 0: none
};
struct Extension {
  std::size_t size;
  enum class Type : int { metadata = 1 } type;
  Extension* next;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Error;    // opaque
struct Context;  // opaque
struct Future;   // opaque

enum class ErrorCode : int { invalid_argument = 3, resource_exhausted = 8, unimplemented = 12, internal = 13, unavailable = 14 };

enum class Type : int { predicate = 1, s32 = 4, u8 = 6, s64 = 5, f32 = 11, f64 = 12, c64 = 15, c128 = 18 };

struct Buffer {
  Header header;
  Type type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

struct Text {
  char const* data;
  std::size_t size;
};

struct Scalar {
  Type type;
  void* value;
};

/// Arguments or results: `size` buffers.
struct Operands {
  Header header;
  std::int64_t size;
  int* kinds;  ///< 1: a buffer
  Buffer** buffers;
};

struct Attributes {
  Header header;
  std::int64_t size;
  int* kinds;    ///< 3: a Scalar
  Text** names;  ///< in alphabetical order
  void** values;
};

/// Stages of a call. Buffers have addresses in all but the first two, and contents in the last.
enum class Stage : int { instantiate = 0, prepare = 1, initialize = 2, execute = 3 };

struct CallFrame {
  Header header;
  struct Api const* api;
  Context* context;
  Stage stage;
  Operands arguments;
  Operands results;
  Attributes attributes;
  Future* future;
};

// ---- Functions of XLA: each takes a struct of its arguments and results, and most return NULL or an error ----

struct CreateError {
  Header header;
  char const* message;
  ErrorCode code;
};
struct ErrorMessage {
  Header header;
  Error* error;
  char const* message;  ///< result
};
struct DestroyError {
  Header header;
  Error* error;
};
struct GetStream {
  Header header;
  Context* context;
  void* stream;  ///< result: CUstream
};
struct GetDevice {
  Header header;
  Context* context;
  std::int32_t device;  ///< result
};
struct Allocate {
  Header header;
  Context* context;
  std::size_t bytes;
  std::size_t alignment;
  void* memory;  ///< result
};
struct Free {
  Header header;
  Context* context;
  std::size_t bytes;
  void* memory;
};
struct Schedule {
  Header header;
  Context* context;
  void (*task)(void*);
  void* data;
};
struct CountThreads {
  Header header;
  Context* context;
  std::int64_t* threads;  ///< result
};

using Unused = void (*)();

struct Api {
  Header header;
  Version version;
  void const* internal;
  Error* (*create_error)(CreateError*);
  void (*error_message)(ErrorMessage*);
  void (*destroy_error)(DestroyError*);
  Unused register_handler;
  Error* (*get_stream)(GetStream*);
  Unused register_type;
  Unused get_from_context;
  Unused set_state;
  Unused get_state;
  Error* (*allocate)(Allocate*);
  Error* (*free)(Free*);
  Error* (*schedule)(Schedule*);
  Error* (*count_threads)(CountThreads*);
  Unused create_future;
  Unused set_future;
  Unused set_future_error;
  Unused get_run;
  Error* (*get_device)(GetDevice*);
};

/// A struct of arguments with its header. `Last` says where the struct ends for XLA, which does not count padding.
template <typename T, typename Member>
T arguments(Member T::*last) {
  T x{};
  x.header.size = static_cast<std::size_t>(reinterpret_cast<char const*>(&(x.*last)) - reinterpret_cast<char const*>(&x)) + sizeof(Member);
  return x;
}

}  // namespace myriad::xla
