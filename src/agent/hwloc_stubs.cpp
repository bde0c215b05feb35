// Replaces functions that Debian's libhwloc.a requires but a static agent cannot have. hwloc_symbols.txt redirects the
// library's calls to these functions, so that no other code is affected.
//
// udev_*: model names of disks. There is no libudev.a. dlaunch turns off I/O discovery, so these functions are never
// called; a null from udev_new means "no udev here", and hwloc continues without udev. dl*: plugins (CUDA, OpenCL, GL,
// …) from the host's /usr/lib/…/hwloc. hwloc opens all of them before it reads any setting; a static program must not
// load plugins, and a GPU plugin would start the GPU driver for nothing.
extern "C" {

struct udev;
struct udev_device;

udev* dlaunch_hwloc_udev_new() { return nullptr; }
udev* dlaunch_hwloc_udev_unref(udev*) { return nullptr; }
udev_device* dlaunch_hwloc_udev_device_new_from_subsystem_sysname(udev*, const char*, const char*) { return nullptr; }
udev_device* dlaunch_hwloc_udev_device_unref(udev_device*) { return nullptr; }
const char* dlaunch_hwloc_udev_device_get_property_value(udev_device*, const char*) { return nullptr; }

void* dlaunch_hwloc_dlopen(const char*, int) { return nullptr; }
void* dlaunch_hwloc_dlsym(void*, const char*) { return nullptr; }
int dlaunch_hwloc_dlclose(void*) { return 0; }
const char* dlaunch_hwloc_dlerror() { return "plugins are not loaded"; }
}
