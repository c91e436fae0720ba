// What every call does first: it is counted, may be slow or fail, and is refused without its context.
#include <unistd.h>

#include "state.h"

#define SYMBOL(name, symbol, arguments) symbol,
const char *const symbols[N_CALLS] = {GF_DRIVER_CALLS(SYMBOL)};

static const machine_state defaults = {.devices = 1, .version = 12040, .major = 9};
machine_state machine = {.devices = 1, .version = 12040, .major = 9};

_Thread_local int capture_mode; // of the thread: 0 is global

static pid_t started_by; // the process that called cuInit

typedef struct {
    int call, at, code;
} fault;
static fault faults[256];
static int n_faults;

int call_of(const char *symbol, const char *who) {
    for (int i = 0; i < N_CALLS; i++)
        if (!strcmp(symbols[i], symbol)) return i;
    violation(who, "there is no call %s", symbol);
    return -1;
}

void add_fault(int call, int nth, int code) {
    if (n_faults < (int)(sizeof faults / sizeof *faults)) faults[n_faults++] = (fault){call, machine.calls[call] + nth, code};
    else violation("standin_fail", "too many faults");
}

static int fault_now(int call) {
    for (int i = 0; i < n_faults; i++)
        if (faults[i].call == call && faults[i].at == machine.calls[call]) return faults[i].code;
    return 0;
}

int begin(int call, needs what) {
    int slow = machine.slow[call];
    if (slow) {
        int held = 1;
        unlock_all(&held);
        usleep((useconds_t)slow);
        lock_all();
    }
    machine.calls[call]++;
    int code = fault_now(call);
    if (machine.log) fprintf(stderr, "standin: %s%s\n", symbols[call], code ? ": is made to fail" : "");
    wander();
    if (code || what == NEEDS_NOTHING) return code;
    if (!started_by) return NOT_INITIALIZED;
    if (what == NEEDS_DRIVER) return SUCCESS;
    object *context = current_context();
    if (!context) {
        violation(symbols[call], "the thread has no context");
        return INVALID_CONTEXT;
    }
    if (!context->retains) {
        violation(symbols[call], "the thread's context is no longer retained");
        return INVALID_CONTEXT;
    }
    // By default a capture forbids every thread what a graph cannot have, such as to query an event.
    if (machine.capturing && capture_mode != GF_CU_CAPTURE_RELAXED) violation(symbols[call], "a capture is under way: this ends it");
    return machine.lost[context->device] && what != ENDS ? ILLEGAL_ADDRESS : SUCCESS;
}

int ended(void) { return machine.lost[current_context()->device] ? ILLEGAL_ADDRESS : SUCCESS; }

void initialise(void) { started_by = getpid(); }

// The driver does not survive a fork; the lock, which a thread of the parent may have held, does not either.
int is_forked(void) { return started_by && started_by != getpid(); }

void forget_faults(void) { n_faults = 0; }

void forget_calls(void) {
    machine = defaults;
    forget_faults();
}
