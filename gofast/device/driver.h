// The part of the CUDA driver that moves batches. Own prototypes: the driver's library is found at run time, so building
// needs no CUDA, and a machine without a GPU loads nothing. The names with _v2 are the ABI since CUDA 4; all are in every
// driver since 11.
#ifndef GOFAST_DRIVER_H
#define GOFAST_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int gf_cu_result; // CUresult; 0 is success
typedef int gf_cu_device;
typedef uint64_t gf_cu_address; // CUdeviceptr
typedef struct gf_cu_context_s *gf_cu_context;
typedef struct gf_cu_stream_s *gf_cu_stream;
typedef struct gf_cu_event_s *gf_cu_event;
typedef struct gf_cu_module_s *gf_cu_module;
typedef struct gf_cu_function_s *gf_cu_function;

enum {
    GF_CU_NOT_READY = 600,        // CUDA_ERROR_NOT_READY: what a query says of work under way
    GF_CU_CAPABILITY_MAJOR = 75,  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    GF_CU_CAPABILITY_MINOR = 76,
    GF_CU_HOST_PORTABLE = 1,      // CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTREGISTER_PORTABLE
    GF_CU_STREAM_NON_BLOCKING = 1,
    GF_CU_CAPTURE_RELAXED = 2,    // CU_STREAM_CAPTURE_MODE_RELAXED
    GF_CU_EVENT_DISABLE_TIMING = 2,
};

// name, its symbol in the library, arguments
#define GF_DRIVER_CALLS(CALL)                                                                                          \
    CALL(init, "cuInit", (unsigned flags))                                                                             \
    CALL(driver_version, "cuDriverGetVersion", (int *version))                                                         \
    CALL(device_count, "cuDeviceGetCount", (int *count))                                                               \
    CALL(device_get, "cuDeviceGet", (gf_cu_device *, int ordinal))                                                     \
    CALL(device_name, "cuDeviceGetName", (char *name, int bytes, gf_cu_device))                                        \
    CALL(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, gf_cu_device))                          \
    CALL(context_retain, "cuDevicePrimaryCtxRetain", (gf_cu_context *, gf_cu_device))                                  \
    CALL(context_release, "cuDevicePrimaryCtxRelease_v2", (gf_cu_device))                                              \
    CALL(context_push, "cuCtxPushCurrent_v2", (gf_cu_context))                                                         \
    CALL(context_pop, "cuCtxPopCurrent_v2", (gf_cu_context *))                                                         \
    CALL(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                                               \
    CALL(memory_info, "cuMemGetInfo_v2", (size_t *left, size_t *total))                                                \
    CALL(memory_alloc, "cuMemAlloc_v2", (gf_cu_address *, size_t bytes))                                               \
    CALL(memory_free, "cuMemFree_v2", (gf_cu_address))                                                                 \
    CALL(host_alloc, "cuMemHostAlloc", (void **, size_t bytes, unsigned flags))                                        \
    CALL(host_free, "cuMemFreeHost", (void *))                                                                         \
    CALL(host_register, "cuMemHostRegister_v2", (void *, size_t bytes, unsigned flags))                                \
    CALL(host_unregister, "cuMemHostUnregister", (void *))                                                             \
    CALL(copy_in, "cuMemcpyHtoDAsync_v2", (gf_cu_address to, const void *from, size_t bytes, gf_cu_stream))            \
    CALL(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, gf_cu_address from, size_t bytes, gf_cu_stream))                 \
    CALL(stream_create, "cuStreamCreate", (gf_cu_stream *, unsigned flags))                                            \
    CALL(stream_destroy, "cuStreamDestroy_v2", (gf_cu_stream))                                                         \
    CALL(stream_wait, "cuStreamWaitEvent", (gf_cu_stream, gf_cu_event, unsigned flags))                                \
    CALL(stream_synchronize, "cuStreamSynchronize", (gf_cu_stream))                                                    \
    CALL(event_create, "cuEventCreate", (gf_cu_event *, unsigned flags))                                               \
    CALL(event_destroy, "cuEventDestroy_v2", (gf_cu_event))                                                            \
    CALL(event_record, "cuEventRecord", (gf_cu_event, gf_cu_stream))                                                   \
    CALL(event_query, "cuEventQuery", (gf_cu_event))                                                                   \
    CALL(event_elapsed, "cuEventElapsedTime", (float *milliseconds, gf_cu_event from, gf_cu_event to))                 \
    CALL(module_load, "cuModuleLoadData", (gf_cu_module *, const void *image))                                         \
    CALL(module_unload, "cuModuleUnload", (gf_cu_module))                                                              \
    CALL(module_function, "cuModuleGetFunction", (gf_cu_function *, gf_cu_module, const char *name))                   \
    CALL(launch, "cuLaunchKernel",                                                                                     \
         (gf_cu_function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,       \
          unsigned block_z, unsigned shared_bytes, gf_cu_stream, void **parameters, void **extra))                     \
    CALL(error_name, "cuGetErrorName", (gf_cu_result, const char **))                                                  \
    CALL(error_string, "cuGetErrorString", (gf_cu_result, const char **))

#define GF_DRIVER_MEMBER(name, symbol, arguments) gf_cu_result(*name) arguments;
typedef struct {
    GF_DRIVER_CALLS(GF_DRIVER_MEMBER)
    int version; // 12040 is 12.4
} gf_driver;
#undef GF_DRIVER_MEMBER

// Loads the driver's library and starts the driver, once a process. NULL with words in text if that is not possible.
const gf_driver *gf_driver_load(const char *library, char *text, size_t text_bytes);

#endif
