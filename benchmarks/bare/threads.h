// Threads that take jobs 0..n-1 from a counter.
#ifndef GOFAST_BARE_THREADS_H
#define GOFAST_BARE_THREADS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct bare_jobs bare_jobs;
struct bare_jobs {
    atomic_int_fast64_t next, failed;
    int64_t n;
    void *(*work)(void *); // a thread's, given the bare_jobs
    const void *what;
};

// Runs the jobs and returns how many failed. A thread that cannot be started fails all jobs.
int64_t bare_run(bare_jobs *, int threads);

#endif
