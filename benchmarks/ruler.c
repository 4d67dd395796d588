/* The figures of `assay quick` by the shortest C that an expert would write, for benchmarks/against_others.py.
 *
 *   ruler DIRECTORY [PART...]
 *   ruler FILE_OR_DEVICE
 *
 * Works in DIRECTORY, which exists and is empty, and prints a line `measure value` for each figure. The parts are stream, random,
 * commit and names, in that order, and if named only: direct (cold reads past the cache) and create (creates alone).
 * Of a file or device of at least 256 MiB it reads only, past the cache.
 * Root drops all caches, an ordinary user those of the file. It leaves the files behind. */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, HUGE = 2 * MIB, STREAM = 256 * MIB, COMMIT = 64 * MIB, PAGE = 4096, READS = 12000, COMMITS = 3000, FILES = 10000, LIST = 1000 };

static char *buffer;
static double cpu_ns; /* of an operation, of what was done last */
static uint64_t seed = 88172645463325252u;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double spent(void) { /* CPU time */
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t random64(void) { /* xorshift64 */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static void must(int fine, const char *what) {
    if (!fine) err(1, "%s", what);
}

static int opened(const char *name, int flags) {
    int fd = open(name, flags, 0644);
    must(fd >= 0, name);
    return fd;
}

/* Memory that the guest gave back to its host costs more than the I/O: take it, touch it, and free it right before the clock.
 * In huge pages: with pages of 4 KiB the page cache still took others, and the reads came to 0.5 to 2.2 GB/s, else to 1.7 to 2.7. */
static char *held(void) {
    char *memory = aligned_alloc(HUGE, STREAM);
    must(memory != NULL, "memory");
    (void)madvise(memory, STREAM, MADV_HUGEPAGE); /* a kernel without huge pages takes the small ones */
    for (long at = 0; at < STREAM; at += PAGE) memory[at] = 1;
    __asm__ volatile("" : : "r"(memory) : "memory");
    return memory;
}

static void drop(const char *name) {
    char *memory = held();
    sync();
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
    if (fd >= 0) must(write(fd, "3", 1) == 1, "drop_caches");
    else posix_fadvise(fd = opened(name, O_RDONLY), 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    free(memory);
}

/* New data for each record, as storage that finds repeated data needs it: eight generators of type xorshift64 side by side. */
static void fill(char *record, int size) {
    static uint64_t lane[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t *word = (uint64_t *)record;
    if (lane[0] == 1) for (int i = 0; i < 8; i++) lane[i] = random64();
    for (int at = 0; at < size / 8; at += 8)
        for (int i = 0; i < 8; i++) {
            uint64_t x = lane[i];
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            word[at + i] = lane[i] = x;
        }
}

static double written(const char *name, long size, int record) {
    int fd = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
    double from = now();
    for (long at = 0; at < size; at += record) {
        fill(buffer, record);
        must(write(fd, buffer, record) == record, "write");
    }
    must(fsync(fd) == 0, "fsync");
    double took = now() - from;
    close(fd);
    return took;
}

static double read_once(const char *name, int flags) {
    int fd = opened(name, O_RDONLY | flags);
    double from = now(), used = spent();
    for (long at = 0; at < STREAM; at += MIB) must(read(fd, buffer, MIB) == MIB, "read");
    double took = now() - from;
    cpu_ns = (spent() - used) * 1e9 / (STREAM / MIB);
    close(fd);
    return took;
}

static double random_reads(const char *name) {
    int fd = opened(name, O_RDONLY | O_DIRECT);
    double from = now();
    for (int i = 0; i < READS; i++)
        must(pread(fd, buffer, PAGE, random64() % (STREAM / PAGE) * PAGE) == PAGE, "pread");
    double took = now() - from;
    close(fd);
    return took;
}

static double commits(const char *name) {
    int fd = opened(name, O_WRONLY);
    double from = now();
    for (int i = 0; i < COMMITS; i++) {
        fill(buffer, PAGE);
        must(pwrite(fd, buffer, PAGE, random64() % (COMMIT / PAGE) * PAGE) == PAGE, "pwrite");
        must(fsync(fd) == 0, "fsync");
    }
    double took = now() - from;
    close(fd);
    return took;
}

static void create(int parent) {
    char name[32];
    double listed = 0, not_ours = 0, from = now(), used = spent();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%07d", i);
        int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        must(fd >= 0, name);
        close(fd);
        if ((i + 1) % LIST == 0) {
            double began = now(), before = spent();
            DIR *all = fdopendir(openat(parent, ".", O_RDONLY | O_DIRECTORY));
            must(all != NULL, "fdopendir");
            while (readdir(all)) continue;
            closedir(all);
            listed += now() - began;
            not_ours += spent() - before;
        }
    }
    printf("files.create.ops_per_s %f\n", FILES / (now() - from - listed));
    printf("files.create.cpu_ns_per_op %f\n", (spent() - used - not_ours) * 1e9 / FILES);
}

static void names(int parent) {
    char name[32];
    struct stat found;
    create(parent);
    double from = now();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%07d", i);
        must(fstatat(parent, name, &found, 0) == 0, name);
    }
    printf("files.stat.ops_per_s %f\n", FILES / (now() - from));
    from = now();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%07d", i);
        must(unlinkat(parent, name, 0) == 0, name);
    }
    printf("files.unlink.ops_per_s %f\n", FILES / (now() - from));
}

static int folder(void) {
    must(mkdir("names", 0755) == 0, "mkdir");
    return opened("names", O_RDONLY | O_DIRECTORY);
}

static char **parts;

/* Whether a part was named; where none is, those that `usual` says. */
static int wanted(const char *part, int usual) {
    if (!*parts) return usual;
    for (char **one = parts; *one; one++)
        if (strcmp(*one, part) == 0) return 1;
    return 0;
}

static void raw(const char *device) {
    printf("raw.read.bytes_per_s %f\n", STREAM / read_once(device, O_DIRECT));
    printf("raw.random_read.ops_per_s %f\n", READS / random_reads(device));
}

static void files(void) {
    int streams = wanted("stream", 1), randoms = wanted("random", 1), directs = wanted("direct", 0);
    if (streams || randoms || directs) {
        double took = written("stream", STREAM, MIB);
        if (streams) printf("stream.write.bytes_per_s %f\n", STREAM / took);
    }
    if (streams) {
        drop("stream");
        printf("stream.read.bytes_per_s %f\n", STREAM / read_once("stream", 0));
        printf("stream.read.cpu_ns_per_op %f\n", cpu_ns);
        read_once("stream", 0);
        printf("again.read.bytes_per_s %f\n", STREAM / read_once("stream", 0));
    }
    if (directs) {
        drop("stream");
        printf("stream.direct.bytes_per_s %f\n", STREAM / read_once("stream", O_DIRECT));
        printf("stream.direct.cpu_ns_per_op %f\n", cpu_ns);
    }
    if (randoms) {
        drop("stream");
        printf("random.random_read.ops_per_s %f\n", READS / random_reads("stream"));
    }
    if (wanted("commit", 1)) {
        written("commit", COMMIT, PAGE);
        printf("commit.random_write.ops_per_s %f\n", COMMITS / commits("commit"));
    }
    if (wanted("names", 1)) names(folder());
    if (wanted("create", 0)) create(folder());
}

int main(int argc, char **argv) {
    struct stat place;
    if (argc < 2) errx(2, "usage: ruler DIRECTORY [PART...]");
    seed ^= (uint64_t)time(NULL) << 20 ^ getpid();
    parts = argv + 2;
    must(stat(argv[1], &place) == 0, argv[1]);
    must(posix_memalign((void **)&buffer, PAGE, MIB) == 0, "memory");
    free(held());
    if (!S_ISDIR(place.st_mode)) return raw(argv[1]), 0;
    must(chdir(argv[1]) == 0, argv[1]);
    files();
    return 0;
}
