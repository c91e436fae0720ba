// The calls of the driver about itself, its devices, modules and errors.
#include "state.h"

EXPORT gf_cu_result cuInit(unsigned flags) {
    BEGIN(init, NEEDS_NOTHING);
    if (flags) return INVALID_VALUE;
    if (!machine.devices) return NO_DEVICE;
    initialise();
    return SUCCESS;
}

EXPORT gf_cu_result cuDriverGetVersion(int *version) {
    BEGIN(driver_version, NEEDS_NOTHING);
    *version = machine.version;
    return SUCCESS;
}

EXPORT gf_cu_result cuDeviceGetCount(int *count) {
    BEGIN(device_count, NEEDS_DRIVER);
    *count = machine.devices;
    return SUCCESS;
}

EXPORT gf_cu_result cuDeviceGet(gf_cu_device *device, int ordinal) {
    BEGIN(device_get, NEEDS_DRIVER);
    if (ordinal < 0 || ordinal >= machine.devices) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

EXPORT gf_cu_result cuDeviceGetName(char *name, int bytes, gf_cu_device device) {
    BEGIN(device_name, NEEDS_DRIVER);
    if (device < 0 || device >= machine.devices) return INVALID_DEVICE;
    if (bytes <= 0) return INVALID_VALUE;
    snprintf(name, (size_t)bytes, "stand-in %d", device);
    return SUCCESS;
}

EXPORT gf_cu_result cuDeviceGetAttribute(int *value, int attribute, gf_cu_device device) {
    BEGIN(device_attribute, NEEDS_DRIVER);
    if (device < 0 || device >= machine.devices) return INVALID_DEVICE;
    switch (attribute) {
    case GF_CU_CAPABILITY_MAJOR: *value = machine.major; return SUCCESS;
    case GF_CU_CAPABILITY_MINOR: *value = machine.minor; return SUCCESS;
    default: return INVALID_VALUE;
    }
}

// -- modules

EXPORT gf_cu_result cuModuleLoadData(gf_cu_module *made, const void *image) {
    BEGIN(module_load, NEEDS_CONTEXT);
    if (!image || !*(const char *)image) return INVALID_IMAGE;
    *made = (gf_cu_module)make_object(MODULE, current_context()->device);
    return SUCCESS;
}

EXPORT gf_cu_result cuModuleUnload(gf_cu_module handle) {
    BEGIN(module_unload, ENDS);
    object *module = need_object(call, handle, MODULE, "module");
    if (!module) return INVALID_HANDLE;
    module->live = 0;
    return ended();
}

EXPORT gf_cu_result cuModuleGetFunction(gf_cu_function *made, gf_cu_module handle, const char *name) {
    BEGIN(module_function, NEEDS_CONTEXT);
    object *module = need_object(call, handle, MODULE, "module");
    if (!module) return INVALID_HANDLE;
    const kernel *found = find_kernel(name);
    if (!found) return NOT_FOUND;
    object *function = make_object(FUNCTION, module->device);
    function->module = module;
    function->kernel = found;
    *made = (gf_cu_function)function;
    return SUCCESS;
}

static int limits_hold(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes) {
    return gx && gy && gz && bx && by && bz && gx < 1u << 31 && gy <= 65535 && gz <= 65535 && bx <= 1024 && by <= 1024 && bz <= 64 &&
           (uint64_t)bx * by * bz <= 1024 && shared_bytes <= 48 << 10;
}

EXPORT gf_cu_result cuLaunchKernel(gf_cu_function handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared_bytes, gf_cu_stream on, void **parameters,
                                   void **extra) {
    BEGIN(launch, NEEDS_CONTEXT);
    int device = current_context()->device;
    object *function = need_object(call, handle, FUNCTION, "function");
    object *stream = stream_of(call, on, device);
    if (!function || !stream) return INVALID_HANDLE;
    if (!function->module->live || function->device != device || stream->device != device) {
        violation(call, "%s", function->module->live ? "function, stream and context are of different devices" : "the function's module is unloaded");
        return INVALID_HANDLE;
    }
    if (!limits_hold(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes) || !parameters || extra) {
        violation(call, "%u x %u x %u blocks of %u x %u x %u threads with %u bytes, parameters %p, extra %p", grid_x, grid_y, grid_z, block_x,
                  block_y, block_z, shared_bytes, (void *)parameters, (void *)extra);
        return INVALID_VALUE;
    }
    // The kernel knows no z: threads of another z would do the same once more.
    operation o = {.kind = KERNEL, .call = call, .function = function, .across = grid_x * block_x, .down = grid_y * block_y};
    memcpy(&o.making, parameters[0], sizeof o.making);
    enqueue(stream, &o);
    return SUCCESS;
}

// -- errors

static const struct {
    int code;
    const char *name, *words;
} errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int error_text(gf_cu_result code, const char **name, const char **words) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *name = errors[i].name;
            *words = errors[i].words;
            return SUCCESS;
        }
    *name = *words = NULL;
    return INVALID_VALUE;
}

EXPORT gf_cu_result cuGetErrorName(gf_cu_result code, const char **name) {
    BEGIN(error_name, NEEDS_NOTHING);
    const char *words;
    return error_text(code, name, &words);
}

EXPORT gf_cu_result cuGetErrorString(gf_cu_result code, const char **words) {
    BEGIN(error_string, NEEDS_NOTHING);
    const char *name;
    return error_text(code, &name, words);
}
