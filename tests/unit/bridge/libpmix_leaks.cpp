// What LeakSanitizer finds in libpmix 4.2, which is libpmix's: what its start keeps, and the key of an info that ends
// early. Whose a leak is shows the whole stack only, as libpmix is compiled without frame pointers.
extern "C" {

const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
const char* __lsan_default_suppressions() { return "leak:PMIx_server_init\nleak:pmix_bfrops_base_unpack_info\n"; }
const char* __lsan_default_options() { return "print_suppressions=0"; }

}  // extern "C"
