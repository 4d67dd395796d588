/* Four threads that sleep with a mutex: `workers SECONDS one|apart`. With `apart` each has its own. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4 };
static pthread_mutex_t locks[THREADS];
static double ends;
static int apart;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

static void *work(void *number) {
    pthread_mutex_t *lock = &locks[apart ? (long)number : 0];
    while (now() < ends) {
        pthread_mutex_lock(lock);
        usleep(5000);
        pthread_mutex_unlock(lock);
        sched_yield();
    }
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[THREADS];
    if (count != 3) return 2;
    ends = now() + atof(words[1]);
    apart = strcmp(words[2], "apart") == 0;
    for (long at = 0; at < THREADS; at++) pthread_mutex_init(&locks[at], NULL);
    for (long at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, work, (void *)at);
    for (long at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    return 0;
}
