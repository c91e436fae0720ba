// Primary contexts and each thread's stack of them.
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

// A thread's stack. It outlives its thread, so that standin_leaks shows what the thread left there.
typedef struct stack stack;
struct stack {
    stack *next;
    long thread;
    int depth;
    object *context[64];
};
static stack *stacks;
static _Thread_local stack *mine;
static object *primary[MOST_DEVICES];

static stack *my_stack(void) {
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        mine->thread = syscall(SYS_gettid);
        mine->next = stacks;
        stacks = mine;
    }
    return mine;
}

object *current_context(void) {
    const stack *s = my_stack();
    return s->depth ? s->context[s->depth - 1] : NULL;
}

void list_contexts(void) {
    for (int device = 0; device < MOST_DEVICES; device++)
        if (primary[device] && primary[device]->retains)
            leak("context of device %d, retained %d times", device, primary[device]->retains);
    for (const stack *s = stacks; s; s = s->next)
        for (int i = 0; i < s->depth; i++) leak("context of device %d, pushed by thread %ld", s->context[i]->device, s->thread);
}

void forget_contexts(void) {
    memset(primary, 0, sizeof primary);
    for (stack *s = stacks; s; s = s->next) s->depth = 0;
}

// -- calls

EXPORT gf_cu_result cuDevicePrimaryCtxRetain(gf_cu_context *made, gf_cu_device device) {
    BEGIN(context_retain, NEEDS_DRIVER);
    if (device < 0 || device >= machine.devices) return INVALID_DEVICE;
    if (!primary[device]) primary[device] = make_object(CONTEXT, device);
    primary[device]->retains++;
    *made = (gf_cu_context)primary[device];
    return SUCCESS;
}

EXPORT gf_cu_result cuDevicePrimaryCtxRelease_v2(gf_cu_device device) {
    BEGIN(context_release, NEEDS_DRIVER);
    if (device < 0 || device >= machine.devices) return INVALID_DEVICE;
    if (!primary[device] || !primary[device]->retains) {
        violation(call, "the context of device %d is not retained", device);
        return INVALID_CONTEXT;
    }
    primary[device]->retains--;
    return SUCCESS;
}

EXPORT gf_cu_result cuCtxPushCurrent_v2(gf_cu_context handle) {
    BEGIN(context_push, NEEDS_DRIVER);
    object *context = need_object(call, handle, CONTEXT, "context");
    if (!context) return INVALID_CONTEXT;
    if (!context->retains) {
        violation(call, "the context of device %d is not retained", context->device);
        return INVALID_CONTEXT;
    }
    stack *s = my_stack();
    if (s->depth == (int)(sizeof s->context / sizeof *s->context)) {
        violation(call, "the thread has pushed too many contexts and popped none");
        return INVALID_CONTEXT;
    }
    s->context[s->depth++] = context;
    return SUCCESS;
}

EXPORT gf_cu_result cuCtxPopCurrent_v2(gf_cu_context *popped) {
    BEGIN(context_pop, NEEDS_DRIVER);
    stack *s = my_stack();
    if (!s->depth) {
        violation(call, "the thread has pushed no context");
        return INVALID_CONTEXT;
    }
    *popped = (gf_cu_context)s->context[--s->depth];
    return SUCCESS;
}
