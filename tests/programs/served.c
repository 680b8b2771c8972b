/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile file system in user space: DIRECTORY gets one file, `file`, with the content of FILE.
 *
 *   served [-d DEVICE] [-u USER] [-o OWNER] [-p] DIRECTORY FILE WHAT [COMMAND…]
 *
 * WHAT: honest; changing: returns other bytes at each read; read, open: never answers that request; all: answers
 * only the mount. USER (65534, nobody) serves it, and says that OWNER (the same by default) owns it. All users may
 * access it; with -p (private) only USER. It prints "served" when it is mounted, "asked" at each request that it
 * does not answer, and unmounts when it is ended. COMMAND runs at the same time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534, FILE_NODE = 2, READ_MAX = 1 << 20, VALID = 60 /* seconds */ };

static int device, content;
static uint64_t size;
static unsigned user = NOBODY, owner = NOBODY;
static const char *directory, *what;

static void end(int signal)
{
    (void)signal;
    umount2(directory, MNT_DETACH);
    _exit(0);
}

static void answer(uint64_t unique, int error, const void *bytes, size_t length)
{
    static char out[sizeof(struct fuse_out_header) + READ_MAX];
    const struct fuse_out_header head = {(uint32_t)(sizeof head + length), error, unique};
    memcpy(out, &head, sizeof head);
    if (length)
        memcpy(out + sizeof head, bytes, length);
    if (write(device, out, head.len) < 0 && errno != ENOENT)
        perror("served");
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){.ino = node,
                              .size = node == FILE_NODE ? size : 0,
                              .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
                              .nlink = 1,
                              .uid = owner,
                              .gid = owner,
                              .blksize = 4096};
}

static void answer_read(uint64_t unique, const struct fuse_read_in *in)
{
    static char bytes[READ_MAX];
    const size_t wanted = in->size < sizeof bytes ? in->size : sizeof bytes;
    const ssize_t got = pread(content, bytes, wanted, (off_t)in->offset);
    for (int i = 0; !strcmp(what, "changing") && got > 0 && i < 20; i++)
        bytes[rand() % got] = (char)rand();
    answer(unique, got < 0 ? -errno : 0, bytes, got < 0 ? 0 : (size_t)got);
}

static int is_silent(uint32_t operation)
{
    return (!strcmp(what, "all") && operation != FUSE_INIT) ||
           (!strcmp(what, "read") && operation == FUSE_READ) ||
           (!strcmp(what, "open") && operation == FUSE_OPEN);
}

static void serve(const struct fuse_in_header *head, const void *body)
{
    if (is_silent(head->opcode)) {
        puts("asked");
        fflush(stdout);
        return;
    }
    switch (head->opcode) {
    case FUSE_INIT: {
        const struct fuse_init_in *in = body;
        const struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
                                          .minor = FUSE_KERNEL_MINOR_VERSION,
                                          .max_readahead = in->max_readahead,
                                          .max_write = 4096};
        answer(head->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_LOOKUP: {
        const struct fuse_entry_out out = {
            .nodeid = FILE_NODE, .entry_valid = VALID, .attr_valid = VALID, .attr = attributes(FILE_NODE)};
        const int is_there = !strcmp(body, "file");
        answer(head->unique, is_there ? 0 : -ENOENT, &out, is_there ? sizeof out : 0);
        break;
    }
    case FUSE_GETATTR: {
        const struct fuse_attr_out out = {.attr_valid = VALID, .attr = attributes(head->nodeid)};
        answer(head->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_STATFS: {
        const struct fuse_statfs_out out = {.st = {.bsize = 4096, .namelen = 255}};
        answer(head->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
        const struct fuse_open_out out = {.open_flags = strcmp(what, "changing") ? 0 : FOPEN_DIRECT_IO};
        answer(head->unique, 0, &out, sizeof out);
        break;
    }
    case FUSE_READ: answer_read(head->unique, body); break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR: answer(head->unique, 0, NULL, 0); break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: break;
    default: answer(head->unique, -ENOSYS, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    static char request[1 << 20];
    const char *path = "/dev/fuse", *who = ",allow_other";
    char options[128];
    struct stat status;
    for (int option; (option = getopt(argc, argv, "+d:u:o:p")) != -1;)
        switch (option) {
        case 'd': path = optarg; break;
        case 'u': user = (unsigned)atoi(optarg); break;
        case 'o': owner = (unsigned)atoi(optarg); break;
        case 'p': who = ""; break;
        default: return 2;
        }
    if (argc - optind < 3)
        return 2;
    directory = argv[optind];
    what = argv[optind + 2];
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* so that no process waits for a file system that was left behind */
    signal(SIGTERM, end);
    device = open(path, O_RDWR | O_CLOEXEC);
    content = open(argv[optind + 1], O_RDONLY | O_CLOEXEC);
    if (device < 0 || content < 0 || fstat(content, &status))
        return perror("served"), 77;
    size = (uint64_t)status.st_size;
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s", device, user, user,
             who);
    if (mount("served", directory, "fuse", 0, options))
        return perror("served"), 77;
    puts("served");
    fflush(stdout);
    if (argv[optind + 3] && !fork()) {
        execvp(argv[optind + 3], argv + optind + 3);
        perror("served");
        _exit(1);
    }
    for (ssize_t got; (got = read(device, request, sizeof request)) > 0 || errno == EINTR;)
        if (got >= (ssize_t)sizeof(struct fuse_in_header))
            serve((const struct fuse_in_header *)request, request + sizeof(struct fuse_in_header));
    end(0); /* the connection was ended */
}
