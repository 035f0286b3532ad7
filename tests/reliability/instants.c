/* Tells a test of each step that a program is about to take in a folder, and waits for its answer.

   A step is a call that makes, fills, renames, links, cuts or deletes a file. While the test looks,
   no other thread takes one, so that what lies in the folder is what a kill at this instant leaves.
   Every write is done in two halves, so that between them the file is half written. Of all files but
   those of a log, only the first write is shown: thousands follow that change nothing that is read.

   cc -shared -fPIC -o instants.so instants.c -ldl
   LD_PRELOAD=instants.so INSTANTS_OF=/folder INSTANTS_TO=3 program
   where 3 is a connected socket: "CALL PATH\n" is sent, and one byte is read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int to = -1;
static pid_t watched;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("INSTANTS_OF");
    const char *socket = getenv("INSTANTS_TO");
    to = socket ? atoi(socket) : -1;
    watched = getpid();
}

static int is_within(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    if (to < 0 || !path || getpid() != watched) return 0;
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int is_open_within(int file, char *path) {
    char link[64];
    if (to < 0 || file == to) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    struct stat found;
    int is_shown = strstr(path, "_delta_log") || (!fstat(file, &found) && !found.st_size);
    return is_shown && is_within(path);
}

static void show(const char *call, const char *path) {
    char text[PATH_MAX + 32], answer;
    int length = snprintf(text, sizeof text, "%s %s\n", call, path);
    if (send(to, text, length, MSG_NOSIGNAL) < 0 || recv(to, &answer, 1, 0) < 1) to = -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The path is absolute wherever the programs that are tested name one. */
#define STEP(name, path, call)                         \
    {                                                  \
        if (!is_within(path)) return REAL(name) call;  \
        pthread_mutex_lock(&one_at_a_time);            \
        show(#name, path);                             \
        int done = REAL(name) call;                    \
        pthread_mutex_unlock(&one_at_a_time);          \
        return done;                                   \
    }

#define MODE                                           \
    mode_t mode = 0;                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {               \
        va_list rest;                                  \
        va_start(rest, flags);                         \
        mode = va_arg(rest, mode_t);                   \
        va_end(rest);                                  \
    }
#define WRITES(flags, path) ((flags) & (O_CREAT | O_TRUNC) ? (path) : NULL)

int open(const char *path, int flags, ...) {
    MODE STEP(open, WRITES(flags, path), (path, flags, mode))
}
int open64(const char *path, int flags, ...) {
    MODE STEP(open64, WRITES(flags, path), (path, flags, mode))
}
int openat(int at, const char *path, int flags, ...) {
    MODE STEP(openat, WRITES(flags, path), (at, path, flags, mode))
}
int openat64(int at, const char *path, int flags, ...) {
    MODE STEP(openat64, WRITES(flags, path), (at, path, flags, mode))
}
int mkdir(const char *path, mode_t mode) STEP(mkdir, path, (path, mode))
int mkdirat(int at, const char *path, mode_t mode) STEP(mkdirat, path, (at, path, mode))
int rmdir(const char *path) STEP(rmdir, path, (path))
int unlink(const char *path) STEP(unlink, path, (path))
int unlinkat(int at, const char *path, int flags) STEP(unlinkat, path, (at, path, flags))
int rename(const char *from, const char *path) STEP(rename, path, (from, path))
int renameat(int at, const char *from, int in, const char *path)
    STEP(renameat, path, (at, from, in, path))
int renameat2(int at, const char *from, int in, const char *path, unsigned flags)
    STEP(renameat2, path, (at, from, in, path, flags))
int link(const char *from, const char *path) STEP(link, path, (from, path))
int linkat(int at, const char *from, int in, const char *path, int flags)
    STEP(linkat, path, (at, from, in, path, flags))

#define FILLS(name, file, half, call)                            \
    {                                                            \
        char path[PATH_MAX];                                     \
        if (!is_open_within(file, path)) return REAL(name) call; \
        pthread_mutex_lock(&one_at_a_time);                      \
        show(#name, path);                                       \
        half;                                                    \
        __typeof__(REAL(name) call) done = REAL(name) call;      \
        pthread_mutex_unlock(&one_at_a_time);                    \
        return done;                                             \
    }
/* Whoever is told that half was written writes the rest at once, in the same thread. */
static __thread int is_rest;
#define HALF(n) if ((is_rest = !is_rest && (n) > 1)) (n) /= 2

ssize_t write(int file, const void *data, size_t n) FILLS(write, file, HALF(n), (file, data, n))
ssize_t pwrite(int file, const void *data, size_t n, off_t start)
    FILLS(pwrite, file, HALF(n), (file, data, n, start))
ssize_t pwrite64(int file, const void *data, size_t n, off64_t start)
    FILLS(pwrite64, file, HALF(n), (file, data, n, start))
ssize_t writev(int file, const struct iovec *parts, int n)
    FILLS(writev, file, HALF(n), (file, parts, n))
int ftruncate(int file, off_t size) FILLS(ftruncate, file, , (file, size))
int ftruncate64(int file, off64_t size) FILLS(ftruncate64, file, , (file, size))
