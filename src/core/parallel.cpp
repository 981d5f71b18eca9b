#include "core/parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "core/lapack.hpp"
#include "core/team.hpp"

namespace myriad {
namespace {

#ifdef MYRIAD_LAPACK_IS_PRIVATE
/// Makes OpenBLAS run every call in the calling thread: nobody else uses this copy of it.
struct OneBlasThread {
  OneBlasThread() { [[maybe_unused]] static bool const done = (MYRIAD_LAPACK_NAME(openblas_set_num_threads)(1), true); }
};
#else
/// While any of these exists, OpenBLAS runs every call in the calling thread; the last destructor restores the caller's setting.
class OneBlasThread {
 public:
  OneBlasThread() {
    std::scoped_lock const lock(mutex_);
    if (users_++ == 0) {
      before_ = MYRIAD_LAPACK_NAME(openblas_get_num_threads)();
      if (before_ != 1) MYRIAD_LAPACK_NAME(openblas_set_num_threads)(1);
    }
  }
  ~OneBlasThread() {
    std::scoped_lock const lock(mutex_);
    if (--users_ == 0 && before_ != 1) MYRIAD_LAPACK_NAME(openblas_set_num_threads)(before_);
  }
  OneBlasThread(OneBlasThread const&) = delete;
  OneBlasThread& operator=(OneBlasThread const&) = delete;

  // Another thread may hold the mutex at a fork, and does not exist in the child.
  static void before_fork() { mutex_.lock(); }
  static void after_fork() { mutex_.unlock(); }
  static void in_child() {
    bool const lowered = users_ > 0 && before_ != 1;
    users_ = 0;
    mutex_.unlock();
    if (lowered) MYRIAD_LAPACK_NAME(openblas_set_num_threads)(before_);  // its users are threads of the parent
  }

 private:
  static inline std::mutex mutex_;
  static inline int users_ = 0;
  static inline int before_ = 1;
};
[[maybe_unused]] int const at_fork = pthread_atfork(OneBlasThread::before_fork, OneBlasThread::after_fork, OneBlasThread::in_child);
#endif

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

}  // namespace

void parallel_for(int threads, std::int64_t count, std::int64_t grain, RangeBody body) {
  if (count <= 0) return;
  OneBlasThread const one_blas_thread;
  Loop loop{.body = body, .count = count, .grain = grain};
  std::int64_t const pieces = (count + grain - 1) / grain;
  int const size = static_cast<int>(std::min<std::int64_t>(threads, pieces));
  if (size <= 1 || team::inside()) {
    loop.work();
  } else {
    auto const work = [&loop]() noexcept { loop.work(); };
    team::run(size, team::Work(work));
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace myriad
