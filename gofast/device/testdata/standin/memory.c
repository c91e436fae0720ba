// Device memory: one reserved stretch of addresses, of which every allocation takes the next ones. So the table of
// allocations is sorted by itself, and no address is used twice.
#include <sys/mman.h>

#include "state.h"

enum { NEW = 0xcd, GONE = 0xdd };
static const uint64_t ARENA = 1ull << 40, DEFAULT_BYTES = 8ull << 30, POISON_BYTES = 256ull << 20, LEAST_POISON = 32 << 10;

typedef enum { LIVE, LEAVING, RELEASED } life;

typedef struct {
    uint64_t address, bytes, mapped;
    int device;
    life life;
    mark born;      // torch's: who else uses it must come behind
    mark *uses;     // torch's: streams; when it is leaving, how far they must come. The first is the one it was made on
    int n_uses;
} allocation;

static uint8_t *arena;
static uint64_t taken, poisoned;
static allocation *table;
static int n_table, room;
static struct {
    uint64_t used, most, total;
} device_memory[MOST_DEVICES];

// The last allocation that begins at or before an address.
static allocation *at_or_before(uint64_t address) {
    int from = 0, to = n_table;
    while (from < to) {
        int middle = (from + to) / 2;
        if (table[middle].address <= address) from = middle + 1;
        else to = middle;
    }
    return from ? &table[from - 1] : NULL;
}

static allocation *live(uint64_t address) {
    allocation *a = at_or_before(address);
    return a && a->address == address && a->life == LIVE ? a : NULL;
}

void set_memory(uint64_t left, uint64_t total) {
    for (int i = 0; i < MOST_DEVICES; i++) {
        device_memory[i].most = device_memory[i].used + left;
        device_memory[i].total = total;
    }
}

void memory_info(int device, size_t *left, size_t *total) {
    if (!device_memory[device].total) set_memory(DEFAULT_BYTES, DEFAULT_BYTES);
    uint64_t most = device_memory[device].most, used = device_memory[device].used;
    *left = most > used ? most - used : 0;
    *total = device_memory[device].total;
}

uint64_t allocate(int device, uint64_t bytes, object *torch_stream) {
    size_t left, total;
    memory_info(device, &left, &total);
    if (!bytes || bytes > left) return 0;
    if (!arena) {
        arena = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        taken = PAGE;
    }
    uint64_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    if (arena == MAP_FAILED || taken + mapped + PAGE > ARENA || mprotect(arena + taken, mapped, PROT_READ | PROT_WRITE)) {
        fputs("standin: the machine has no such memory\n", stderr);
        abort();
    }
    if (n_table == room) {
        room = room ? 2 * room : 64;
        table = realloc(table, (size_t)room * sizeof *table);
    }
    allocation *a = &table[n_table++];
    *a = (allocation){.address = (uint64_t)(uintptr_t)(arena + taken), .bytes = bytes, .mapped = mapped, .device = device};
    memset(arena + taken, NEW, bytes);
    taken += mapped + PAGE;
    device_memory[device].used += bytes;
    if (torch_stream) {
        a->born = end_of(torch_stream);
        note_use(a->address, torch_stream);
    }
    return a->address;
}

int device_of(uint64_t address) {
    const allocation *a = at_or_before(address);
    return a ? a->device : -1;
}

int reach(const char *call, const object *stream, uint64_t address, uint64_t bytes, const char *what) {
    if (!bytes) return 1;
    const allocation *a = at_or_before(address);
    unsigned long long from = address, n = bytes;
    if (!a || address - a->address >= a->mapped) {
        violation(call, "out of bounds: %s of %llu bytes at %#llx, where no memory is", what, n, from);
    } else if (a->life == RELEASED) {
        violation(call, "use after free: %s of %llu bytes at %#llx", what, n, from);
    } else if (address - a->address > a->bytes || bytes > a->bytes - (address - a->address)) {
        violation(call, "out of bounds: %s of %llu bytes at %llu of the %llu at %#llx", what, n,
                  (unsigned long long)(address - a->address), (unsigned long long)a->bytes, (unsigned long long)a->address);
    } else if (a->device != stream->device) {
        violation(call, "%s lies on device %d, and the stream is of device %d", what, a->device, stream->device);
    } else if (a->born.stream && a->born.stream != stream && !reached(a->born)) {
        violation(call, "use before allocation: %s at %#llx may still be used by what was on stream %d then", what, from, a->born.stream->number);
    } else {
        return 1;
    }
    return 0;
}

int note_use(uint64_t address, object *stream) {
    allocation *a = live(address);
    if (!a) return 0;
    for (int i = 0; i < a->n_uses; i++)
        if (a->uses[i].stream == stream) return 1;
    a->uses = realloc(a->uses, (size_t)(a->n_uses + 1) * sizeof *a->uses);
    a->uses[a->n_uses++] = (mark){stream, 0};
    return 1;
}

static void release(allocation *a) {
    uint8_t *memory = arena + (a->address - (uint64_t)(uintptr_t)arena);
    // What can be read is a mapping of its own, of which a process has 65,530: a small piece counts as a larger one.
    uint64_t counts = a->mapped > LEAST_POISON ? a->mapped : LEAST_POISON;
    if (poisoned + counts <= POISON_BYTES) {
        memset(memory, GONE, a->bytes);
        mprotect(memory, a->mapped, PROT_READ);
        poisoned += counts;
    } else {
        // Anew, and not by mprotect: only so it becomes one mapping with what lies around it.
        mmap(memory, a->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    a->life = RELEASED;
    device_memory[a->device].used -= a->bytes;
    free(a->uses);
    a->uses = NULL;
    a->n_uses = 0;
}

// Indices of allocations that are leaving.
static int *leaving;
static int n_leaving, leaving_room;

int free_later(uint64_t address) {
    allocation *a = live(address);
    if (!a || !a->born.stream) return 0;
    a->life = LEAVING;
    for (int i = 0; i < a->n_uses; i++) a->uses[i] = end_of(a->uses[i].stream);
    if (n_leaving == leaving_room) {
        leaving_room = leaving_room ? 2 * leaving_room : 64;
        leaving = realloc(leaving, (size_t)leaving_room * sizeof *leaving);
    }
    leaving[n_leaving++] = (int)(a - table);
    release_what_is_left();
    return 1;
}

void release_what_is_left(void) {
    for (int i = 0; i < n_leaving;) {
        allocation *a = &table[leaving[i]];
        int passed = 1;
        for (int k = 0; k < a->n_uses && passed; k++) passed = reached(a->uses[k]);
        if (passed) {
            release(a);
            leaving[i] = leaving[--n_leaving];
        } else {
            i++;
        }
    }
}

int free_now(uint64_t address, uint64_t *bytes) {
    allocation *a = live(address);
    if (!a || a->born.stream) return 0;
    *bytes = a->bytes;
    release(a);
    return 1;
}

void list_memory(void) {
    for (int i = 0; i < n_table; i++)
        if (table[i].life == LIVE)
            leak("allocation of %llu bytes at %#llx on device %d", (unsigned long long)table[i].bytes, (unsigned long long)table[i].address, table[i].device);
}

void forget_memory(void) {
    if (arena) munmap(arena, ARENA);
    for (int i = 0; i < n_table; i++) free(table[i].uses);
    arena = NULL;
    n_table = n_leaving = 0;
    poisoned = 0;
    memset(device_memory, 0, sizeof device_memory);
}
