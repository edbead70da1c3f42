// Kills the process before or after one of its system calls on locks of git: the nth of all processes that load this
// library and share the file KILL_COUNT. The calls of an even number are followed by the kill, the others precede it.
// KILL_WIDE=1: on all files that git and superstep write; in every second pair of moments, a `superstep` that started the
// process is killed as well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_wide(void) {
    const char *wide = getenv("KILL_WIDE");
    return wide && *wide == '1';
}

static int is_lock(const char *path) {
    if (path && is_wide()) return strstr(path, ".git/") || strstr(path, ".superstep/") || strstr(path, "/runs/");
    size_t length = path ? strlen(path) : 0;
    const char *only = getenv("KILL_ONLY");
    return length > 5 && strcmp(path + length - 5, ".lock") == 0 && strstr(path, only && *only ? only : ".git/");
}

static void kill_parent(void) {
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", getppid());
    FILE *file = fopen(path, "r");
    if (file && fgets(name, sizeof name, file) && strncmp(name, "superstep", 9) == 0) kill(getppid(), SIGKILL);
    if (file) fclose(file);
}

// Counts this moment, and ends the process at the one that is asked for.
static void moment(void) {
    const char *count = getenv("KILL_COUNT"), *at = getenv("KILL_AT");
    if (!count || !at) return;
    int (*open_file)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int file = open_file(count, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct stat about;
    if (file < 0 || write(file, ".", 1) != 1 || fstat(file, &about)) return;
    close(file);
    if (about.st_size != atol(at)) return;
    if (is_wide() && about.st_size / 2 % 2) kill_parent();
    kill(getpid(), SIGKILL);
}

#define AROUND(locks, call)              \
    int watched = (locks);               \
    if (watched) moment();               \
    int result = (call);                 \
    if (watched) moment();               \
    return result;

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);          \
        va_list more;                                                           \
        va_start(more, flags);                                                  \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;       \
        va_end(more);                                                           \
        AROUND(is_lock(path) && (flags & O_CREAT), real(path, flags, mode))     \
    }
OPEN(open)
OPEN(open64)

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    AROUND(is_lock(from) || is_lock(to), real(from, to))
}

int unlink(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    AROUND(is_lock(path), real(path))
}

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    AROUND(is_wide() && is_lock(path), real(path, mode))
}

int rmdir(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "rmdir");
    AROUND(is_wide() && is_lock(path), real(path))
}

int link(const char *from, const char *to) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
    AROUND(is_lock(from) || is_lock(to), real(from, to))
}
