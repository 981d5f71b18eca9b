#pragma once
/// Interface of libmyriad_mpi.so, the part of the program that is linked with MPI. The program opens it where mpirun has started it, and
/// needs no MPI otherwise.

#include <cstddef>

namespace myriad::cli {

struct MpiPlugin {
  static constexpr int current_version = 1;

  int version = current_version;
  int rank = 0, size = 1;
  int local_rank = 0;  ///< among the ranks of this host
  int hosts = 1;
  double cores = 1;  ///< cores that this rank may use; one that several ranks may use is divided among them

  /// Sends a message without waiting for the receiver.
  void (*send)(int to, char const* data, std::size_t size) = nullptr;
  /// Passes the memory that `allocate(context, size)` returns the next message, if one has come. Returns its sender, or -1.
  int (*receive)(void* (*allocate)(void* context, std::size_t size), void* context) = nullptr;
  /// Waits for all ranks. Nothing may be called afterwards.
  void (*close)() = nullptr;
};

/// Joins the other ranks; at most one call.
using OpenMpiPlugin = MpiPlugin const*();
inline constexpr char const* open_mpi_plugin_name = "myriad_open_mpi_plugin";

}  // namespace myriad::cli
