/*
 * assay-nfs: an NFSv3 client for a kernel that has none: libnfs below, FUSE above.
 *
 *     assay-nfs nfs://ADDRESS/EXPORT MOUNT_POINT ATTRIBUTE_CACHE_SECONDS FUSE_OPTIONS
 *
 * It stays in the foreground and ends when it is unmounted. One thread: the synchronous calls of libnfs take one at a time.
 * A write is sent when it is made. fsync and close send a COMMIT, so a file is on the server's storage when its close returns,
 * as the kernel's client has it. Attributes are kept for the stated time, also over an open; data until the next open.
 * Locks stay on the client: nothing of them is sent.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>

#include <nfsc/libnfs.h>

enum { TRANSFER_BYTES = 1 << 20 };

static struct nfs_context *server;
static double attribute_cache_s;

static struct nfsfh *file_of(const struct fuse_file_info *info) {
    return info ? (struct nfsfh *)(uintptr_t)info->fh : NULL;
}

static void *start(struct fuse_conn_info *connection, struct fuse_config *config) {
    connection->max_write = TRANSFER_BYTES;
    connection->max_readahead = TRANSFER_BYTES;
    config->use_ino = 1;
    config->attr_timeout = attribute_cache_s;
    config->entry_timeout = attribute_cache_s;
    config->negative_timeout = 0;
    return NULL;
}

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *info) {
    struct nfs_stat_64 found;
    struct nfsfh *file = file_of(info);
    int status = file ? nfs_fstat64(server, file, &found) : nfs_lstat64(server, path, &found);
    if (status < 0)
        return status;
    memset(out, 0, sizeof *out);
    out->st_ino = found.nfs_ino;
    out->st_mode = found.nfs_mode;
    out->st_nlink = found.nfs_nlink;
    out->st_uid = found.nfs_uid;
    out->st_gid = found.nfs_gid;
    out->st_rdev = found.nfs_rdev;
    out->st_size = found.nfs_size;
    out->st_blksize = found.nfs_blksize;
    out->st_blocks = found.nfs_blocks;
    out->st_atim = (struct timespec){found.nfs_atime, found.nfs_atime_nsec};
    out->st_mtim = (struct timespec){found.nfs_mtime, found.nfs_mtime_nsec};
    out->st_ctim = (struct timespec){found.nfs_ctime, found.nfs_ctime_nsec};
    return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                enum fuse_readdir_flags flags) {
    (void)offset, (void)info, (void)flags;
    struct nfsdir *directory;
    int status = nfs_opendir(server, path, &directory);
    if (status < 0)
        return status;
    for (struct nfsdirent *entry; (entry = nfs_readdir(server, directory));)
        fill(buffer, entry->name, NULL, 0, 0);
    nfs_closedir(server, directory);
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *info) {
    struct nfsfh *file;
    int status = nfs_open(server, path, info->flags & (O_ACCMODE | O_TRUNC | O_APPEND), &file);
    if (status < 0)
        return status;
    info->fh = (uintptr_t)file;
    return 0;
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *info) {
    struct nfsfh *file;
    int flags = O_CREAT | O_RDWR | (info->flags & (O_EXCL | O_TRUNC | O_APPEND));
    int status = nfs_open2(server, path, flags, mode & 07777, &file);
    if (status < 0)
        return status;
    info->fh = (uintptr_t)file;
    return 0;
}

static int read_file(const char *path, char *into, size_t length, off_t offset, struct fuse_file_info *info) {
    (void)path;
    return nfs_pread(server, file_of(info), offset, length, into);
}

static int write_file(const char *path, const char *from, size_t length, off_t offset, struct fuse_file_info *info) {
    (void)path;
    return nfs_pwrite(server, file_of(info), offset, length, (void *)from);
}

static int commit(const char *path, int data_only, struct fuse_file_info *info) {
    (void)path, (void)data_only;
    return nfs_fsync(server, file_of(info));
}

static int commit_at_close(const char *path, struct fuse_file_info *info) {
    return (info->flags & O_ACCMODE) == O_RDONLY ? 0 : commit(path, 0, info);
}

static int release_file(const char *path, struct fuse_file_info *info) {
    (void)path;
    return nfs_close(server, file_of(info));
}

static int set_length(const char *path, off_t length, struct fuse_file_info *info) {
    struct nfsfh *file = file_of(info);
    return file ? nfs_ftruncate(server, file, length) : nfs_truncate(server, path, length);
}

static int make_directory(const char *path, mode_t mode) { return nfs_mkdir2(server, path, mode & 07777); }
static int remove_directory(const char *path) { return nfs_rmdir(server, path); }
static int remove_file(const char *path) { return nfs_unlink(server, path); }
static int link_file(const char *from, const char *to) { return nfs_link(server, from, to); }
static int link_symbolically(const char *target, const char *path) { return nfs_symlink(server, target, path); }
static int make_node(const char *path, mode_t mode, dev_t device) { return nfs_mknod(server, path, mode, device); }

static int rename_entry(const char *from, const char *to, unsigned flags) {
    return flags ? -EINVAL : nfs_rename(server, from, to); /* NFSv3 knows neither exchange nor no-replace */
}

static int read_link(const char *path, char *into, size_t length) {
    int status = nfs_readlink(server, path, into, (int)length);
    return status < 0 ? status : 0;
}

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *info) {
    (void)info;
    return nfs_chmod(server, path, mode & 07777);
}

static int set_owner(const char *path, uid_t user, gid_t group, struct fuse_file_info *info) {
    (void)info;
    return nfs_chown(server, path, (int)user, (int)group);
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *info) {
    (void)info;
    struct timeval rounded[2];
    for (int which = 0; which < 2; which++) {
        if (times[which].tv_nsec == UTIME_NOW)
            gettimeofday(&rounded[which], NULL);
        else if (times[which].tv_nsec == UTIME_OMIT)
            return -ENOTSUP;
        else
            rounded[which] = (struct timeval){times[which].tv_sec, times[which].tv_nsec / 1000};
    }
    return nfs_utimes(server, path, rounded);
}

static int get_space(const char *path, struct statvfs *out) { return nfs_statvfs(server, path, out); }

static const struct fuse_operations OPERATIONS = {
    .init = start,
    .getattr = get_attributes,
    .readdir = list,
    .open = open_file,
    .create = create_file,
    .read = read_file,
    .write = write_file,
    .fsync = commit,
    .flush = commit_at_close,
    .release = release_file,
    .truncate = set_length,
    .mkdir = make_directory,
    .rmdir = remove_directory,
    .unlink = remove_file,
    .rename = rename_entry,
    .link = link_file,
    .symlink = link_symbolically,
    .readlink = read_link,
    .mknod = make_node,
    .chmod = set_mode,
    .chown = set_owner,
    .utimens = set_times,
    .statfs = get_space,
};

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "usage: assay-nfs nfs://ADDRESS/EXPORT MOUNT_POINT ATTRIBUTE_CACHE_SECONDS FUSE_OPTIONS\n");
        return 2;
    }
    server = nfs_init_context();
    struct nfs_url *url = server ? nfs_parse_url_dir(server, words[1]) : NULL;
    if (!url || nfs_mount(server, url->server, url->path)) {
        fprintf(stderr, "assay-nfs: %s: %s\n", words[1], server ? nfs_get_error(server) : "no memory");
        return 1;
    }
    attribute_cache_s = atof(words[3]);
    char *arguments[] = {words[0], words[2], "-f", "-s", "-o", words[4], NULL};
    return fuse_main(6, arguments, &OPERATIONS, NULL);
}
