#include "core/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "core/lapack.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace myriad {
namespace {

/// While any of these exists, OpenBLAS runs every call in the calling thread; the last destructor restores the caller's setting.
class OneBlasThread {
 public:
  OneBlasThread() {
    std::scoped_lock const lock(mutex_);
    if (users_++ == 0) {
      before_ = openblas_get_num_threads();
      if (before_ != 1) openblas_set_num_threads(1);
    }
  }
  ~OneBlasThread() {
    std::scoped_lock const lock(mutex_);
    if (--users_ == 0 && before_ != 1) openblas_set_num_threads(before_);
  }
  OneBlasThread(OneBlasThread const&) = delete;
  OneBlasThread& operator=(OneBlasThread const&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline int users_ = 0;
  static inline int before_ = 1;
};

/// State that the threads of one parallel_for share.
struct Loop {
  RangeBody body;
  std::int64_t count;
  std::int64_t grain;
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error{};
  std::mutex error_mutex{};

  void work() noexcept {
    for (;;) {
      std::int64_t const begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      try {
        body(begin, std::min(begin + grain, count));
      } catch (...) {
        std::scoped_lock const lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }
};

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented, so the thread sanitizer does not see fork and join of a parallel region; these annotate them.
void after_fork(Loop& loop) { __tsan_acquire(&loop); }
void before_join(Loop& loop) { __tsan_release(&loop); }
#define MYRIAD_NO_THREAD_SANITIZER __attribute__((no_sanitize("thread")))
#else
void after_fork(Loop&) {}
void before_join(Loop&) {}
#define MYRIAD_NO_THREAD_SANITIZER
#endif

__attribute__((noinline)) void work_in_region(Loop& loop) {
  after_fork(loop);
  loop.work();
  before_join(loop);
}

MYRIAD_NO_THREAD_SANITIZER void fork_and_join(Loop* loop, int threads) {
#pragma omp parallel num_threads(threads)
  work_in_region(*loop);
}

}  // namespace

void parallel_for(int threads, std::int64_t count, std::int64_t grain, RangeBody body) {
  if (count <= 0) return;
  OneBlasThread const one_blas_thread;
  Loop loop{.body = body, .count = count, .grain = grain};
  std::int64_t const pieces = (count + grain - 1) / grain;
  int const team = static_cast<int>(std::min<std::int64_t>(threads, pieces));
  if (team <= 1 || omp_in_parallel()) {
    loop.work();
  } else {
    before_join(loop);  // this thread's writes are visible to the team
    fork_and_join(&loop, team);
    after_fork(loop);
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace myriad
