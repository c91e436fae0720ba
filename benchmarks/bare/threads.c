#include "threads.h"

#include <pthread.h>

enum { MOST = 64 };

int64_t bare_run(bare_jobs *jobs, int threads) {
    pthread_t started[MOST];
    int count = 0;
    if (threads > MOST) threads = MOST;
    while (count < threads && !pthread_create(&started[count], 0, jobs->work, jobs)) count++;
    for (int i = 0; i < count; i++) pthread_join(started[i], 0);
    return count < threads ? jobs->n : atomic_load(&jobs->failed);
}
