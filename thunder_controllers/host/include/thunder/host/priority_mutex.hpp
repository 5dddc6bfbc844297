// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <system_error>

namespace thunder {

/// A mutex whose holder inherits the priority of the most urgent thread that waits for it.
///
/// A real-time thread may take it outside its updates: who holds it is not kept from running meanwhile by threads of a
/// priority between the two. std::mutex does not promise that.
class PriorityMutex {
 public:
  PriorityMutex() {
    pthread_mutexattr_t attributes;
    check(pthread_mutexattr_init(&attributes));
    int error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (error == 0) error = pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
    check(error);
  }
  ~PriorityMutex() { pthread_mutex_destroy(&mutex_); }
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;

  void lock() { check(pthread_mutex_lock(&mutex_)); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  static void check(int error) {
    if (error != 0) throw std::system_error(error, std::generic_category(), "mutex");
  }

  pthread_mutex_t mutex_;
};

}  // namespace thunder
