#include "mpi/plugin.hpp"

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <cstring>
#include <list>
#include <vector>

namespace myriad::cli {
namespace {

/// A message on its way.
struct Sending {
  std::vector<char> data;
  MPI_Request request = MPI_REQUEST_NULL;
};
std::list<Sending> sendings;

void drop_delivered() {
  sendings.remove_if([](Sending& sending) {
    int delivered = 0;
    MPI_Test(&sending.request, &delivered, MPI_STATUS_IGNORE);
    return delivered != 0;
  });
}

void send(int to, char const* data, std::size_t size) {
  Sending& sending = sendings.emplace_back();
  sending.data.assign(data, data + size);
  MPI_Isend(sending.data.data(), static_cast<int>(size), MPI_BYTE, to, 0, MPI_COMM_WORLD, &sending.request);
}

int receive(void* (*allocate)(void* context, std::size_t size), void* context) {
  drop_delivered();
  int there = 0, size = 0;
  MPI_Message message;
  MPI_Status status;
  MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &message, &status);
  if (there == 0) return -1;
  MPI_Get_count(&status, MPI_BYTE, &size);
  MPI_Mrecv(allocate(context, static_cast<std::size_t>(size)), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  return status.MPI_SOURCE;
}

/// Receives messages that nobody waits for, whose senders may wait until they are received; then sleeps a little.
void discard_messages() {
  std::vector<char> data;
  auto const allocate = [](void* context, std::size_t size) -> void* {
    auto& target = *static_cast<std::vector<char>*>(context);
    target.resize(size + 1);
    return target.data();
  };
  while (receive(allocate, &data) >= 0) continue;
  timespec const pause{.tv_sec = 0, .tv_nsec = 200'000};
  ::nanosleep(&pause, nullptr);
}

void close() {
  for (drop_delivered(); !sendings.empty(); drop_delivered()) discard_messages();
  // Sleeps while others work: MPI_Finalize would occupy a core.
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int done = 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE), done == 0;) discard_messages();
  MPI_Finalize();
}

/// The cores of this process, where one that k ranks may use counts 1 / k.
double share_of_cores(cpu_set_t const& mine, MPI_Comm host, int ranks) {
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, host);
  double share = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &mine)) continue;
    int users = 0;
    for (cpu_set_t const& set : all) users += CPU_ISSET(core, &set) ? 1 : 0;
    share += 1.0 / users;
  }
  return share;
}

}  // namespace
}  // namespace myriad::cli

extern "C" __attribute__((visibility("default"))) myriad::cli::MpiPlugin const* myriad_open_mpi_plugin() {
  static myriad::cli::MpiPlugin plugin;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(0, sizeof cores, &cores);  // MPI may bind the thread that initializes it
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int local_size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &plugin.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &plugin.size);
  MPI_Comm_rank(host, &plugin.local_rank);
  MPI_Comm_size(host, &local_size);
  int const leads = plugin.local_rank == 0 ? 1 : 0;
  MPI_Allreduce(&leads, &plugin.hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  plugin.cores = myriad::cli::share_of_cores(cores, host, local_size);
  MPI_Comm_free(&host);
  plugin.send = myriad::cli::send;
  plugin.receive = myriad::cli::receive;
  plugin.close = myriad::cli::close;
  return &plugin;
}
