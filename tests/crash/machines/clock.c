// Loaded into a process by LD_PRELOAD, it sets the clock of that process wrong by CLOCK_SHIFT seconds. The clocks that measure
// time that passes stay right.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    const char *shift = getenv("CLOCK_SHIFT");
    if (failed == 0 && shift != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += atol(shift);
    return failed;
}
