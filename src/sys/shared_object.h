// SharedObject: an object that this process and the processes that it forks later have in common. The other processes
// keep the object after this owner is gone.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <new>
#include <type_traits>

namespace dlaunch::sys {

/// Empty if the kernel has no memory; errno is then set.
template <class T>
class SharedObject {
 public:
  /// The object gets its default values, or zeros.
  static SharedObject make() {
    static_assert(std::is_trivially_destructible_v<T>, "no process destroys the object");
    SharedObject made;
    void* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) made.object_.reset(new (memory) T());
    return made;
  }

  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  struct Unmap {
    void operator()(T* object) const { ::munmap(object, sizeof(T)); }
  };
  std::unique_ptr<T, Unmap> object_;
};

}  // namespace dlaunch::sys
