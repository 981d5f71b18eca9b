#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/team.hpp"

namespace myriad::team {
namespace {

thread_local bool inside_team = false;

/// Time that a thread looks for work before it sleeps: about the cost of waking it up.
constexpr std::chrono::microseconds patience{30};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `ready()`, but not longer than `patience`.
template <typename F>
void spin_until(F ready) {
  auto const end = std::chrono::steady_clock::now() + patience;
  do {
    for (int k = 0; k < 16; ++k) {
      if (ready()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
}

/// One call of run(). All members but `work` are guarded by the mutex of the pool; `members` may be read without it.
struct Job {
  Work work;
  int places;                   ///< threads that may still join
  std::atomic<int> members{0};  ///< threads of the pool that have joined and not left
  Job* next = nullptr;
  std::condition_variable left{};
};

/// Threads that sleep until there is a job. The caller of run() never waits for a thread that has not joined its job. Threads are added
/// when a job wants more than there are. They end before a fork, and else with the process, which may end at any time.
class Pool {
 public:
  /// The pool of this process
  static Pool& instance() {
    Pool* pool = instance_.load(std::memory_order_acquire);
    if (pool) return *pool;
    auto* const created = new Pool;
    if (instance_.compare_exchange_strong(pool, created, std::memory_order_acq_rel)) return *created;
    delete created;
    return *pool;
  }

  /// Ends the threads, unless another thread needs them now: Python warns of a fork of a process that has several.
  static void before_fork() {
    if (Pool* const pool = instance_.load(std::memory_order_acquire)) pool->end_idle_threads();
  }

  /// The child of a fork has none of the threads, and the mutex may be locked. The next call of instance() makes another pool.
  static void in_child() { instance_.store(nullptr, std::memory_order_relaxed); }

  void run(int size, Work work) {
    Job job{.work = work, .places = size - 1};
    {
      std::scoped_lock const lock(mutex_);
      add_threads(size - 1);
      job.next = jobs_;
      jobs_ = &job;
      open_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_one();  // who joins wakes up the next
    inside_team = true;
    work();
    inside_team = false;
    std::unique_lock lock(mutex_);
    if (job.places > 0) close(job);
    if (job.members == 0) return;
    lock.unlock();
    spin_until([&] { return job.members.load(std::memory_order_relaxed) == 0; });
    lock.lock();
    job.left.wait(lock, [&] { return job.members == 0; });
  }

 private:
  void add_threads(int wanted) {
    try {
      while (std::ssize(threads_) < wanted) threads_.emplace_back(&Pool::serve, this, generation_);
    } catch (std::system_error const&) {
      // The system has no more threads: work is done by those that are there.
    }
  }

  void end_idle_threads() {
    std::unique_lock lock(mutex_);
    if (jobs_ || busy_ > 0) return;
    std::vector<std::thread> ended;
    ended.swap(threads_);
    ++generation_;
    lock.unlock();
    wake_.notify_all();
    for (std::thread& thread : ended) thread.join();
  }

  /// Takes the job off the list of jobs that threads may join.
  void close(Job& job) {
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->next;
    *link = job.next;
    open_.fetch_sub(1, std::memory_order_relaxed);
  }

  void serve(int generation) {
    inside_team = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      lock.unlock();
      spin_until([&] { return open_.load(std::memory_order_relaxed) > 0; });
      lock.lock();
      wake_.wait(lock, [&] { return jobs_ || generation != generation_; });
      if (generation != generation_) return;
      Job& job = *jobs_;
      ++busy_;
      if (--job.places == 0) close(job);
      job.members.fetch_add(1, std::memory_order_relaxed);
      bool const others_wanted = jobs_;
      lock.unlock();
      if (others_wanted) wake_.notify_one();
      job.work();
      lock.lock();
      --busy_;
      // The job ends as soon as its owner can lock the mutex, so this is the last access to it.
      if (job.members.fetch_sub(1, std::memory_order_relaxed) == 1) job.left.notify_one();
    }
  }

  static inline std::atomic<Pool*> instance_ = nullptr;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> open_{0};  ///< length of jobs_, for threads that do not hold the mutex
  Job* jobs_ = nullptr;       ///< jobs that threads may join, youngest first
  int busy_ = 0;              ///< threads that have joined a job
  int generation_ = 0;        ///< threads of an earlier one end
  std::vector<std::thread> threads_;
};

[[maybe_unused]] int const at_fork = pthread_atfork(Pool::before_fork, nullptr, Pool::in_child);

}  // namespace

int default_size() {
  // The first number of OMP_NUM_THREADS, which may be a list of one number for each level of nesting
  if (char const* const text = std::getenv("OMP_NUM_THREADS")) {
    int threads = 0;
    auto const [end, error] = std::from_chars(text, text + std::strlen(text), threads);
    if (error == std::errc{} && threads > 0 && (*end == '\0' || *end == ',')) return threads;
  }
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(CPU_COUNT(&usable), 1);
  return static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));  // more cores than the set has bits
}

bool inside() { return inside_team; }

void run(int size, Work work) { Pool::instance().run(size, work); }

}  // namespace myriad::team
