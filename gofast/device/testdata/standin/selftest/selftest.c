// The stand-in finds what it is there to find. From the repository's root, after the library (see ../standin.h):
//
//   gcc -std=gnu11 -O2 -Wall -Wextra -o selftest gofast/device/testdata/standin/selftest/selftest.c ./libstandin.so -pthread
//
// It prints what is not so, and exits with 1 then.
#define _GNU_SOURCE // RTLD_DEFAULT
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../driver.h"
#include "../../../making.h"
#include "../standin.h"

static gf_driver cuda;
static int failures;

#define EXPECT(what)                                                             \
    do {                                                                         \
        if (!(what)) {                                                           \
            printf("selftest.c:%d: not so: %s\n", __LINE__, #what);              \
            failures++;                                                          \
        }                                                                        \
    } while (0)
#define SAYS(text, part) says(__LINE__, text, part)
#define VIOLATED(part) (SAYS(standin_violations(), part), standin_clear_violations())
#define CLEAN() EXPECT(!*standin_violations())

// A text has one line, which begins with a part or has it inside.
static void says(int line, const char *text, const char *part) {
    const char *end = strchr(text, '\n');
    if (end && !end[1] && strstr(text, part)) return;
    printf("selftest.c:%d: not one line with \"%s\": \"%s\"\n", line, part, text);
    failures++;
}

static gf_cu_context context;
static gf_cu_stream stream; // the loader's
static gf_cu_event event;
static uint8_t *pinned; // 4096 bytes
static void *consumer;

static void set_up(int mode) {
    standin_reset();
    standin_mode(mode);
    EXPECT(!cuda.context_retain(&context, 0) && !cuda.context_push(context));
    EXPECT(!cuda.stream_create(&stream, GF_CU_STREAM_NON_BLOCKING) && !cuda.event_create(&event, GF_CU_EVENT_DISABLE_TIMING));
    EXPECT(!cuda.host_alloc((void **)&pinned, 4096, 0));
    memset(pinned, 1, 4096);
    consumer = standin_stream(0);
}

// Copies, and lets the consumer wait for it.
static uint64_t send(uint64_t bytes, void *made_on) {
    uint64_t memory = standin_malloc(0, bytes, made_on);
    EXPECT(!cuda.copy_in(memory, pinned, bytes, stream) && !cuda.event_record(event, stream) && !cuda.stream_wait(consumer, event, 0));
    return memory;
}

static void before_start(void) {
    gf_cu_context none;
    const char *name = NULL, *words = NULL;
    int version = 0;
    EXPECT(cuda.context_retain(&none, 0) == 3 && !cuda.driver_version(&version) && version == 12040);
    standin_devices(0);
    EXPECT(cuda.init(0) == 100);
    standin_devices(1);
    EXPECT(!cuda.init(0) && !cuda.error_name(700, &name) && !cuda.error_string(700, &words));
    EXPECT(!strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS") && !strcmp(words, "an illegal memory access was encountered"));
    CLEAN();
}

static void *call_without_context(void *unused) {
    size_t left, total;
    EXPECT(cuda.memory_info(&left, &total) == 201);
    return unused;
}

static void contexts(void) {
    set_up(STANDIN_MANUAL);
    pthread_t thread; // the context is another thread's
    pthread_create(&thread, NULL, call_without_context, NULL);
    pthread_join(thread, NULL);
    VIOLATED("cuMemGetInfo_v2: the thread has no context");
    gf_cu_context popped;
    EXPECT(!cuda.context_pop(&popped) && popped == context && cuda.context_pop(&popped) == 201);
    VIOLATED("cuCtxPopCurrent_v2: the thread has pushed no context");
    EXPECT(!cuda.context_release(0) && cuda.context_push(context) == 201);
    VIOLATED("cuCtxPushCurrent_v2: the context of device 0 is not retained");
    EXPECT(cuda.context_release(0) == 201);
    VIOLATED("cuDevicePrimaryCtxRelease_v2: the context of device 0 is not retained");
    fflush(stdout);
    if (!fork()) _exit(cuda.device_count(&(int){0}) != 3);
    int status = 1;
    EXPECT(wait(&status) > 0 && !status);
}

static void order(void) {
    set_up(STANDIN_MANUAL);
    uint8_t got[8] = {0};
    int ready = 0;
    uint64_t memory = send(8, consumer);
    standin_read(consumer, memory, 8, got, &ready);
    EXPECT(cuda.event_query(event) == GF_CU_NOT_READY && standin_advance(consumer, -1) == 0 && standin_pending() == 4);
    EXPECT(standin_advance(stream, 1) == 1 && cuda.event_query(event) == GF_CU_NOT_READY);
    EXPECT(standin_advance(stream, -1) == 1 && cuda.event_query(event) == 0);
    EXPECT(standin_advance(consumer, -1) == 2 && ready && got[7] == 1 && !standin_pending());
    // A wait is for the record that was the latest then.
    EXPECT(!cuda.event_record(event, stream) && !cuda.stream_wait(consumer, event, 0) && standin_advance(stream, -1) == 1);
    EXPECT(!cuda.event_record(event, stream) && standin_advance(consumer, -1) == 1 && cuda.event_query(event) == GF_CU_NOT_READY);
    EXPECT(standin_syncs() == 0 && !cuda.stream_synchronize(stream) && standin_syncs() == 1 && cuda.event_query(event) == 0);
    CLEAN();
    gf_cu_event fresh;
    EXPECT(!cuda.event_create(&fresh, 0) && !cuda.stream_wait(consumer, fresh, 0));
    VIOLATED("cuStreamWaitEvent: a wait for an event that was never recorded");
    EXPECT(!cuda.event_destroy(fresh) && cuda.event_record(fresh, stream) == 400);
    VIOLATED("cuEventRecord: ");
}

static void modes(void) {
    for (int mode = STANDIN_LATE; mode <= STANDIN_ON_SIGHT; mode++) {
        set_up(mode);
        uint64_t memory = send(8, consumer);
        uint8_t got[8] = {0};
        EXPECT(standin_pending() == (mode == STANDIN_LATE ? 3 : 0) && *(uint8_t *)memory == (mode == STANDIN_LATE ? 0xcd : 1));
        standin_read(consumer, memory, 8, got, NULL);
        EXPECT(got[0] == 1 && !standin_pending());
        CLEAN();
    }
    int reads_before = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        set_up(STANDIN_RANDOM);
        standin_seed(seed);
        int ready = 0;
        standin_read(consumer, send(8, consumer), 8, NULL, &ready);
        for (int i = 0; i < 3; i++) cuda.event_query(event);
        reads_before += ready;
        while (cuda.event_query(event) == GF_CU_NOT_READY) continue;
        CLEAN();
    }
    EXPECT(reads_before > 0 && reads_before < 20);
}

static void memory_of_torch(void) {
    set_up(STANDIN_MANUAL);
    // On its own stream, memory may be freed behind the work that uses it.
    uint64_t memory = send(8, stream);
    standin_free(memory);
    standin_advance_all();
    CLEAN();
    EXPECT(*(uint8_t *)memory == 0xdd);
    // Another stream's use must be recorded.
    for (int recorded = 0; recorded < 2; recorded++) {
        memory = send(8, stream);
        standin_touch(consumer, memory, 8);
        if (recorded) standin_record(memory, consumer);
        standin_free(memory);
        standin_advance_all();
        if (recorded) CLEAN();
        else VIOLATED("standin_touch: use after free");
        EXPECT(*(uint8_t *)memory == 0xdd);
    }
    EXPECT(!cuda.copy_in(memory, pinned, 8, stream) && !cuda.stream_synchronize(stream));
    VIOLATED("cuMemcpyHtoDAsync_v2: use after free");
    // New memory of a busy stream is not everybody's yet.
    standin_touch(consumer, standin_malloc(0, 8, consumer), 8);
    memory = standin_malloc(0, 8, consumer);
    EXPECT(!cuda.copy_in(memory, pinned, 8, stream) && standin_advance(stream, -1) == 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: use before allocation");
    EXPECT(!cuda.copy_in(memory, pinned, 9, stream) && !cuda.copy_in(memory + 4096, pinned, 1, stream));
    standin_advance(stream, 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: out of bounds: the target of 9 bytes at 0 of the 8");
    standin_advance(stream, 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: out of bounds: the target of 1 bytes");
    standin_memory(10, 100);
    EXPECT(standin_malloc(0, 11, stream) == 0 && cuda.memory_alloc(&memory, 11) == 2 && !cuda.memory_alloc(&memory, 10));
    EXPECT(!cuda.copy_in(memory, pinned, 8, stream) && !cuda.memory_free(memory));
    VIOLATED("cuMemFree_v2: freed while work that uses it is under way");
}

static void host_memory(void) {
    set_up(STANDIN_MANUAL);
    uint64_t memory = standin_malloc(0, 4096, stream);
    uint8_t own[8] = {5}, back[8] = {0};
    EXPECT(!cuda.copy_in(memory, own, 8, stream) && standin_staged() == 1);
    own[0] = 6;
    EXPECT(!cuda.copy_out(back, memory, 8, stream) && back[0] == 5 && standin_syncs() == 1);
    CLEAN();
    EXPECT(!cuda.copy_in(memory, pinned, 4096, stream));
    pinned[4095] = 2;
    EXPECT(standin_advance(stream, 1) == 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: source written before its copy");
    EXPECT(!cuda.copy_in(memory, pinned, 8, stream) && !cuda.host_free(pinned) && standin_advance(stream, 1) == 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: source unpinned before its copy");
    uint8_t *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(!cuda.host_register(pages + 8, 4096, 1) && standin_is_pinned(pages + 8) && !standin_is_pinned(pages));
    EXPECT(cuda.host_register(pages + 4200, 8, 1) == 712 && cuda.host_unregister(pages) == 713);
    EXPECT(cuda.copy_in(memory, pages, 16, stream) == 1);
    VIOLATED("cuMemcpyHtoDAsync_v2: only a part of 16 bytes");
    standin_pin_limit(3 * 4096);
    EXPECT(cuda.host_register(pages + 8192, 8192, 1) == 2 && !cuda.host_register(pages + 8192, 4096, 1));
    EXPECT(!cuda.host_unregister(pages + 8) && !cuda.host_unregister(pages + 8192));
    munmap(pages, 3 * 4096);
}

// 3 samples of 5 bytes and a label of 2, of rows 1, 0 and 1 of two.
static void kernels(void) {
    set_up(STANDIN_MANUAL);
    gf_cu_module module;
    gf_cu_function function;
    EXPECT(cuda.module_load(&module, "") == 200 && !cuda.module_load(&module, "image"));
    EXPECT(cuda.module_function(&function, module, "gf_make_5_1") == 500 && !cuda.module_function(&function, module, "gf_make_1_5"));
    uint64_t stored = standin_malloc(0, 10, stream), rows = standin_malloc(0, 24, stream), made = standin_malloc(0, 60, stream);
    uint64_t labels = standin_malloc(0, 4, stream), labels_made = standin_malloc(0, 6, stream);
    for (int i = 0; i < 10; i++) ((uint8_t *)stored)[i] = (uint8_t)(51 * (i % 6));
    memcpy((void *)rows, (int64_t[]){1, 0, 1}, 24);
    memcpy((void *)labels, "abcd", 4);
    gf_making making = {.stored = (void *)stored, .rows = (void *)rows, .made = (void *)made, .labels = (void *)labels, .labels_made = (void *)labels_made,
                        .count = 3, .width = 5, .label_bytes = 2, .plane = 5, .channels = 1, .divide = 1};
    void *parameters[] = {&making};
#define LAUNCH(block) cuda.launch(function, 2, 2, 1, block, 2, 1, 0, stream, parameters, NULL)
    EXPECT(!LAUNCH(4) && standin_advance(stream, 1) == 1);
    CLEAN();
    const float expected[2][5] = {{0, 0.2f, 0.4f, 0.6f, 0.8f}, {1, 0, 0.2f, 0.4f, 0.6f}};
    for (int i = 0; i < 3; i++) EXPECT(!memcmp((float *)made + 5 * i, expected[(int[]){1, 0, 1}[i]], 20));
    EXPECT(!memcmp((void *)labels_made, "cdabcd", 6));
    EXPECT(LAUNCH(1024) == 1);
    VIOLATED("cuLaunchKernel: 2 x 2 x 1 blocks of 1024 x 2 x 1 threads");
    EXPECT(!LAUNCH(4));
    ((int64_t *)rows)[2] = 2; // rows are read when the kernel runs
    standin_advance(stream, 1);
    VIOLATED("cuLaunchKernel: out of bounds: stored rows of gf_make_1_5 of 15 bytes at 0 of the 10");
    ((int64_t *)rows)[2] = -1;
    EXPECT(!LAUNCH(4) && standin_advance(stream, 1) == 1);
    VIOLATED("cuLaunchKernel: out of bounds: gf_make_1_5 is asked for row -1");
    ((int64_t *)rows)[2] = 0;
    making.made += 2;
    EXPECT(!LAUNCH(4));
    making.made += 2; // parameters are taken at the call
    EXPECT(!LAUNCH(4) && standin_advance(stream, 1) == 1);
    VIOLATED("cuLaunchKernel: misaligned: samples");
    standin_advance(stream, 1);
    VIOLATED("cuLaunchKernel: out of bounds: samples of gf_make_1_5 of 60 bytes at 4 of the 60");
    making.made -= 4;
    EXPECT(!LAUNCH(4) && !cuda.module_unload(module) && standin_advance(stream, 1) == 1);
    VIOLATED("cuLaunchKernel: the module of gf_make_1_5 is unloaded");
    EXPECT(LAUNCH(4) == 400);
    VIOLATED("cuLaunchKernel: the function's module is unloaded");
}

static void faults(void) {
    set_up(STANDIN_MANUAL);
    uint64_t memory;
    standin_fail("cuMemAlloc_v2", 2, 999);
    EXPECT(!cuda.memory_alloc(&memory, 8) && cuda.memory_alloc(&memory, 8) == 999 && !cuda.memory_free(memory));
    EXPECT(standin_calls("cuMemAlloc_v2") == 2);
    CLEAN();
    standin_fail("cuMemAlloc", 1, 1);
    VIOLATED("standin_fail: there is no call cuMemAlloc");
    EXPECT(!cuda.event_record(event, stream));
    standin_lose(0);
    EXPECT(cuda.event_query(event) == 700 && cuda.stream_synchronize(stream) == 700 && cuda.event_destroy(event) == 700);
    CLEAN();
}

static void leaks(void) {
    gf_cu_context popped;
    set_up(STANDIN_MANUAL);
    SAYS(strstr(standin_leaks(), "pinned memory"), "of 4096 bytes");
    cuda.host_free(pinned);
    SAYS(strstr(standin_leaks(), "event"), "of device 0");
    cuda.event_destroy(event);
    SAYS(strstr(standin_leaks(), "stream"), "of device 0");
    cuda.stream_destroy(stream);
    uint64_t memory;
    cuda.memory_alloc(&memory, 9);
    SAYS(strstr(standin_leaks(), "allocation"), "of 9 bytes");
    cuda.memory_free(memory);
    SAYS(strstr(standin_leaks(), "pushed"), "by thread");
    cuda.context_pop(&popped);
    SAYS(standin_leaks(), "context of device 0, retained 1 times");
    cuda.context_release(0);
    EXPECT(!*standin_leaks());
    CLEAN();
}

int main(void) {
#define FIND(name, symbol, arguments) \
    *(void **)&cuda.name = dlsym(RTLD_DEFAULT, symbol); \
    if (!cuda.name) return printf("there is no %s\n", symbol), 1;
    GF_DRIVER_CALLS(FIND)
    before_start();
    contexts();
    order();
    modes();
    memory_of_torch();
    host_memory();
    kernels();
    faults();
    leaks();
    standin_reset();
    return failures != 0;
}
