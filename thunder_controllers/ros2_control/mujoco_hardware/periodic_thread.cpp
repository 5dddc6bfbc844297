// SPDX-License-Identifier: Apache-2.0
#include "periodic_thread.hpp"

#include <utility>

namespace thunder {

PeriodicThread::PeriodicThread(std::chrono::milliseconds period, std::function<void()> task)
    : task_(std::move(task)), thread_(&PeriodicThread::run, this, period) {}

PeriodicThread::~PeriodicThread() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
  }
  ending_changed_.notify_all();
  thread_.join();
}

void PeriodicThread::run(std::chrono::milliseconds period) {
  std::unique_lock<std::mutex> lock(mutex_);
  bool is_last = false;
  while (!is_last) {
    is_last = ending_changed_.wait_for(lock, period, [this] { return is_ending_; });
    task_();
  }
}

}  // namespace thunder
