// Pinned memory of the host.
#include <sys/mman.h>

#include "state.h"

typedef struct {
    uint64_t number;
    uintptr_t from, to;
    void *mapped; // of cuMemHostAlloc
} pinned;

static pinned *pins;
static int n_pins, room;
static uint64_t next_number = 1, pages_bytes, limit; // limit 0: none

static uintptr_t page_below(uintptr_t address) { return address / PAGE * PAGE; }
static uintptr_t page_above(uintptr_t address) { return (address + PAGE - 1) / PAGE * PAGE; }
static uint64_t pages_of(uintptr_t from, uintptr_t to) { return page_above(to) - page_below(from); }

void set_pin_limit(uint64_t bytes) { limit = bytes; }

int pin(void *memory, size_t bytes, void *mapped) {
    uintptr_t from = (uintptr_t)memory, to = from + bytes;
    for (int i = 0; i < n_pins; i++)
        if (page_below(from) < page_above(pins[i].to) && page_below(pins[i].from) < page_above(to)) return ALREADY_REGISTERED;
    if (limit && pages_bytes + pages_of(from, to) > limit) return OUT_OF_MEMORY;
    if (n_pins == room) {
        room = room ? 2 * room : 16;
        pins = realloc(pins, (size_t)room * sizeof *pins);
    }
    pages_bytes += pages_of(from, to);
    pins[n_pins++] = (pinned){next_number++, from, to, mapped};
    return SUCCESS;
}

int unpin(void *memory, int mapped) {
    for (int i = 0; i < n_pins; i++) {
        pinned p = pins[i];
        if (p.from != (uintptr_t)memory || mapped != (p.mapped != NULL)) continue;
        pages_bytes -= pages_of(p.from, p.to);
        pins[i] = pins[--n_pins];
        if (mapped) munmap(p.mapped, page_above(p.to) - p.from);
        return 1;
    }
    return 0;
}

void *host_alloc(size_t bytes, int *code) {
    void *memory = mmap(NULL, page_above(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *code = memory == MAP_FAILED ? OUT_OF_MEMORY : pin(memory, bytes, memory);
    if (*code) {
        if (memory != MAP_FAILED) munmap(memory, page_above(bytes));
        return NULL;
    }
    return memory;
}

int64_t pin_of(const void *memory, size_t bytes) {
    uintptr_t from = (uintptr_t)memory, to = from + bytes;
    for (int i = 0; i < n_pins; i++) {
        if (pins[i].from <= from && to <= pins[i].to) return (int64_t)pins[i].number;
        if (from < pins[i].to && pins[i].from < to) return -1;
    }
    return 0;
}

int pin_lives(uint64_t number) {
    for (int i = 0; i < n_pins; i++)
        if (pins[i].number == number) return 1;
    return 0;
}

int standin_is_pinned(const void *memory) {
    LOCKED;
    return pin_of(memory, 1) > 0;
}

void list_pins(void) {
    for (int i = 0; i < n_pins; i++)
        leak("pinned memory of %zu bytes at %#zx", (size_t)(pins[i].to - pins[i].from), (size_t)pins[i].from);
}

void forget_pins(void) {
    for (int i = 0; i < n_pins; i++)
        if (pins[i].mapped) munmap(pins[i].mapped, page_above(pins[i].to) - pins[i].from);
    n_pins = 0;
    pages_bytes = limit = 0;
}
