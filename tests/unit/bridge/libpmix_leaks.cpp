// Leaks inside libpmix 4.2, ignored by LeakSanitizer: memory of its initialization, and the key of a truncated info.
// Only the whole stack identifies the owner of a leak, because libpmix is compiled without frame pointers.
extern "C" {

const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
const char* __lsan_default_suppressions() { return "leak:PMIx_server_init\nleak:pmix_bfrops_base_unpack_info\n"; }
const char* __lsan_default_options() { return "print_suppressions=0"; }

}  // extern "C"
