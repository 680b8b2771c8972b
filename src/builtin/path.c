/* SPDX-License-Identifier: BSD-3-Clause */
/* path(struct path *): the path of a file as the current task would write it.
 *
 * bpf_d_path() exists for a handful of hooks only, so we walk ourselves, from the file up to the task's root,
 * and write names from the end of a buffer to its front. The kernel may rename meanwhile: it would start
 * again; we do not. State and buffer are scratch memory, which an iteration of the loop finds at carried[0]. */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"
#include "builtin/kernel_field.h"

enum path_field {
    PATH_MOUNT,
    PATH_ENTRY,
    MOUNT_ROOT,
    MOUNT_VFS,
    MOUNT_PARENT,
    MOUNT_POINT,
    ENTRY_PARENT,
    ENTRY_NAME,
    ENTRY_LENGTH,
    ENTRY_HASHED,
    ENTRY_INODE,
    ENTRY_SYSTEM,
    SYSTEM_TYPE,
    TYPE_NAME_TEXT,
    INODE_NUMBER,
    TASK_FS,
    FS_ROOT,
    FIELDS
};
static const struct kernel_field fields[FIELDS] = {
    [PATH_MOUNT] = {"struct path", "mnt"},
    [PATH_ENTRY] = {"struct path", "dentry"},
    [MOUNT_ROOT] = {"struct vfsmount", "mnt_root"},
    [MOUNT_VFS] = {"struct mount", "mnt"},
    [MOUNT_PARENT] = {"struct mount", "mnt_parent"},
    [MOUNT_POINT] = {"struct mount", "mnt_mountpoint"},
    [ENTRY_PARENT] = {"struct dentry", "d_parent"},
    [ENTRY_NAME] = {"struct dentry", "d_name.name"},
    [ENTRY_LENGTH] = {"struct dentry", "d_name.len"},
    [ENTRY_HASHED] = {"struct dentry", "d_hash.pprev"},
    [ENTRY_INODE] = {"struct dentry", "d_inode"},
    [ENTRY_SYSTEM] = {"struct dentry", "d_sb"},
    [SYSTEM_TYPE] = {"struct super_block", "s_type"},
    [TYPE_NAME_TEXT] = {"struct file_system_type", "name"},
    [INODE_NUMBER] = {"struct inode", "i_ino"},
    [TASK_FS] = {"struct task_struct", "fs"},
    [FS_ROOT] = {"struct fs_struct", "root"},
};

/* What the walk keeps. Mounts are kept as the kernel's struct vfsmount, which struct path has, too. */
enum {
    STATE_ENTRY = 0,
    STATE_MOUNT = 8,
    STATE_POSITION = 16, /* position of the text's first byte in the buffer */
    STATE_ROOT_ENTRY = 24,
    STATE_ROOT_MOUNT = 32,
    STATE_BYTES = 40,
};
enum { NAME_BYTES_MAX = 255, ITERATIONS_MAX = 512, DIGITS_MAX = 20 };

struct walk {
    const uint32_t *at;
    uint32_t room;  /* bytes for the text, a power of two; behind them are a NUL and room for one more name */
    uint32_t front; /* the text may not begin before this */
    struct ir *state;
    struct span span;
};

static bool is_path(const struct type *type)
{
    const struct type *target = type->kind == TYPE_POINTER ? type->target : type;
    return target && target->kind == TYPE_STRUCT && target->name && !strcmp(target->name, "path");
}

static const struct type *check_path(struct checker *checker, struct node *node)
{
    struct node *path = check_argument(node, 0), *size = check_argument(node, 1);
    uint64_t capacity = size && size->kind == NODE_INTEGER ? size->integer.value : checker->max_strlen;
    if (!is_path(path->type)) {
        check_error(checker, path->span, "path() needs a pointer to struct path, found a value of type '%s'",
                    type_text(checker->arena, path->type));
        check_hint(checker, "for instance path(args.file->f_path)");
        return NULL;
    }
    if (capacity < 2 || capacity > checker->max_strlen) {
        check_error(checker, size ? size->span : node->span, "path(): the size must be 2 to %u, found %llu",
                    checker->max_strlen, (unsigned long long)capacity);
        return NULL;
    }
    if (!node->call.data)
        node->call.data = (void *)kernel_field_offsets(checker, node, "path()", fields, FIELDS);
    return node->call.data ? type_string(checker->arena, (uint32_t)capacity) : NULL;
}

static struct ir *field(struct lowering *l, const struct walk *walk, struct ir *address,
                        enum path_field which)
{
    const struct type *type = which == ENTRY_LENGTH ? &type_u32 : &type_u64;
    return kernel_field_word(l, address, walk->at[which], type, walk->span);
}

static struct ir *kept(struct lowering *l, const struct walk *walk, int32_t offset)
{
    return ir_load(&l->b, walk->state, offset, 8, false);
}

static void keep(struct lowering *l, const struct walk *walk, int32_t offset, struct ir *value)
{
    ir_store(&l->b, walk->state, offset, 8, value);
}

static void jump_if_equal(struct lowering *l, struct ir *x, struct ir *y, struct ir_block *label)
{
    ir_jump_if(&l->b, ir_binary(&l->b, IR_EQ, x, y), label);
}

/* ---- writing to the front ---- */

/* The address of a byte of the buffer, as the verifier can follow it. */
static struct ir *byte_at(struct lowering *l, const struct walk *walk, struct ir *position)
{
    struct ir *inside = ir_binary_constant(&l->b, IR_AND, position, walk->room - 1);
    return ir_binary(&l->b, IR_ADD, walk->state, inside);
}

static void put_byte(struct lowering *l, const struct walk *walk, struct ir *value)
{
    struct ir *position = ir_binary_constant(&l->b, IR_SUB, kept(l, walk, STATE_POSITION), 1);
    keep(l, walk, STATE_POSITION, position);
    ir_store(&l->b, byte_at(l, walk, position), STATE_BYTES, 1, value);
}

static void put_text(struct lowering *l, const struct walk *walk, const char *text)
{
    for (size_t i = strlen(text); i-- > 0;)
        put_byte(l, walk, ir_constant(&l->b, text[i]));
}

/* The name of a directory entry; goes to `full` when there is no room for it and a slash. */
static void put_name(struct lowering *l, const struct walk *walk, struct ir *entry, struct ir_block *full)
{
    struct ir_builder *b = &l->b;
    struct ir *name = field(l, walk, entry, ENTRY_NAME);
    struct ir *length = ir_binary_constant(b, IR_AND, field(l, walk, entry, ENTRY_LENGTH), NAME_BYTES_MAX);
    struct ir *position = ir_binary(b, IR_SUB, kept(l, walk, STATE_POSITION), length);
    ir_jump_unless(b, ir_binary_constant(b, IR_SGT, position, walk->front), full);
    keep(l, walk, STATE_POSITION, position);
    ir_call(b, BPF_FUNC_probe_read_kernel, 3, ir_offset(b, byte_at(l, walk, position), STATE_BYTES), length,
            name);
}

static void put_number(struct lowering *l, const struct walk *walk, struct ir *number)
{
    struct ir_builder *b = &l->b;
    struct ir_block *end = ir_label(b);
    for (unsigned i = 0; i < DIGITS_MAX; i++) {
        struct ir *rest = ir_binary_constant(b, IR_UDIV, number, 10);
        struct ir *digit = ir_binary(b, IR_SUB, number, ir_binary_constant(b, IR_MUL, rest, 10));
        put_byte(l, walk, ir_binary_constant(b, IR_ADD, digit, '0'));
        ir_jump_unless(b, rest, end);
        number = rest;
    }
    ir_place(b, end);
}

/* ---- one iteration: a name, or the step to where a file system is mounted ---- */

static struct ir *step(struct lowering *l, struct ir *index, struct ir *const *carried, void *state)
{
    struct ir_builder *b = &l->b;
    struct walk walk = *(const struct walk *)state;
    uint32_t answer = ir_variable(b);
    struct ir_block *mounted = ir_label(b), *done = ir_label(b), *full = ir_label(b), *end = ir_label(b);
    (void)index;
    walk.state = carried[0];
    struct ir *entry = kept(l, &walk, STATE_ENTRY), *mount = kept(l, &walk, STATE_MOUNT);
    struct ir *differs = ir_binary(b, IR_OR, ir_binary(b, IR_XOR, entry, kept(l, &walk, STATE_ROOT_ENTRY)),
                                   ir_binary(b, IR_XOR, mount, kept(l, &walk, STATE_ROOT_MOUNT)));
    ir_jump_unless(b, differs, done);
    jump_if_equal(l, entry, field(l, &walk, mount, MOUNT_ROOT), mounted);
    struct ir *parent = field(l, &walk, entry, ENTRY_PARENT);
    jump_if_equal(l, entry, parent, done); /* in no directory: a pipe, a socket */
    put_name(l, &walk, entry, full);
    put_text(l, &walk, "/");
    keep(l, &walk, STATE_ENTRY, parent);
    ir_write(b, answer, ir_constant(b, LOWER_GO_ON));
    ir_jump(b, end);

    ir_place(b, mounted);
    struct ir *here = ir_binary_constant(b, IR_SUB, mount, walk.at[MOUNT_VFS]);
    struct ir *above = field(l, &walk, here, MOUNT_PARENT);
    ir_jump_if(b, ir_binary(b, IR_EQ, here, above), done);
    keep(l, &walk, STATE_ENTRY, field(l, &walk, here, MOUNT_POINT));
    keep(l, &walk, STATE_MOUNT, ir_binary_constant(b, IR_ADD, above, walk.at[MOUNT_VFS]));
    ir_write(b, answer, ir_constant(b, LOWER_GO_ON));
    ir_jump(b, end);

    ir_place(b, full);
    lower_runtime_error(l, RUNTIME_ERROR_TRUNCATED, walk.span, -1, NULL);
    ir_write(b, answer, ir_constant(b, LOWER_STOP));
    ir_jump(b, end);
    ir_place(b, done);
    ir_write(b, answer, ir_constant(b, LOWER_FOUND));
    ir_place(b, end);
    return ir_read(b, answer);
}

/* ---- what has no directory ---- */

static int64_t word_of(const char *text)
{
    int64_t word = 0;
    memcpy(&word, text, strlen(text));
    return word;
}

/* pipe:[123], socket:[123], anon_inode:[eventpoll], /memfd:name (deleted) */
static void put_nameless(struct lowering *l, const struct walk *walk, struct ir_block *end)
{
    static const struct {
        bool is_numbered;
        const char *system, *before, *after;
    } forms[] = {
        {true, "pipefs", "pipe:[", "]"},
        {true, "sockfs", "socket:[", "]"},
        {false, "tmpfs", "/", " (deleted)"},
        {false, NULL, "anon_inode:", ""},
    };
    struct ir_builder *b = &l->b;
    struct ir *entry = kept(l, walk, STATE_ENTRY);
    struct ir *type = field(l, walk, field(l, walk, entry, ENTRY_SYSTEM), SYSTEM_TYPE);
    struct ir *system = kernel_field_word(l, field(l, walk, type, TYPE_NAME_TEXT), 0, &type_u64, walk->span);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ir_block *next = ir_label(b);
        if (forms[i].system) { /* compares the name and the NUL */
            uint64_t mask = UINT64_MAX >> (8 * (7 - strlen(forms[i].system)));
            struct ir *known = ir_binary(b, IR_AND, system, ir_constant(b, (int64_t)mask));
            ir_jump_unless(b, ir_binary(b, IR_EQ, known, ir_constant(b, word_of(forms[i].system))), next);
        }
        put_text(l, walk, forms[i].after);
        if (forms[i].is_numbered)
            put_number(l, walk, field(l, walk, field(l, walk, entry, ENTRY_INODE), INODE_NUMBER));
        else
            put_name(l, walk, entry, end);
        put_text(l, walk, forms[i].before);
        ir_jump(b, end);
        ir_place(b, next);
    }
}

static void begin(struct lowering *l, const struct walk *walk, struct ir *path, enum address_space space)
{
    struct ir_builder *b = &l->b;
    struct ir *task = ir_call(b, BPF_FUNC_get_current_task, 0);
    uint32_t root_entry = ir_variable(b), root_mount = ir_variable(b);
    keep(l, walk, STATE_ENTRY,
         lower_read_scalar(l, ir_binary_constant(b, IR_ADD, path, walk->at[PATH_ENTRY]), &type_u64, space,
                           walk->span));
    keep(l, walk, STATE_MOUNT,
         lower_read_scalar(l, ir_binary_constant(b, IR_ADD, path, walk->at[PATH_MOUNT]), &type_u64, space,
                           walk->span));
    keep(l, walk, STATE_POSITION, ir_constant(b, walk->room));
    ir_store_constant(b, walk->state, STATE_BYTES, 8, 0); /* when not even the last name has room */
    ir_store_constant(b, walk->state, STATE_BYTES + (int32_t)walk->room, 8, 0);
    /* A task that is ending has no root directory any more: then the walk ends at the root of the machine. */
    struct ir *fs = field(l, walk, task, TASK_FS);
    ir_write(b, root_entry, ir_constant(b, 0));
    ir_write(b, root_mount, ir_constant(b, 0));
    struct ir_if some = ir_if(b, fs);
    struct ir *root = ir_binary_constant(b, IR_ADD, fs, walk->at[FS_ROOT]);
    ir_write(b, root_entry, field(l, walk, root, PATH_ENTRY));
    ir_write(b, root_mount, field(l, walk, root, PATH_MOUNT));
    ir_end_if(b, &some);
    keep(l, walk, STATE_ROOT_ENTRY, ir_read(b, root_entry));
    keep(l, walk, STATE_ROOT_MOUNT, ir_read(b, root_mount));
}

/* A file that was removed: in a directory, and not found in it any more. */
static void put_deleted(struct lowering *l, const struct walk *walk)
{
    struct ir_block *end = ir_label(&l->b);
    struct ir_builder *b = &l->b;
    struct ir *entry = kept(l, walk, STATE_ENTRY);
    jump_if_equal(l, entry, field(l, walk, entry, ENTRY_PARENT), end);
    ir_jump_if(b, field(l, walk, entry, ENTRY_HASHED), end);
    if (walk->room - walk->front > strlen(" (deleted)"))
        put_text(l, walk, " (deleted)");
    ir_place(b, end);
}

static struct ir *lower_path(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    enum address_space space;
    uint32_t capacity = node->type->size;
    struct walk walk = {.at = node->call.data, .span = node->span, .room = 128};
    while (walk.room < capacity)
        walk.room *= 2;
    walk.front = walk.room + 1 - capacity;
    if (!destination_is_memory(into))
        return NULL;
    struct ir *path = lower_pointer(l, check_argument(node, 0), &space);
    struct memory scratch = lower_scratch(l, STATE_BYTES + walk.room + NAME_BYTES_MAX + 9, false);
    walk.state = ir_offset(b, scratch.base, scratch.offset);
    struct ir_block *nameless = ir_label(b), *root = ir_label(b), *end = ir_label(b);
    begin(l, &walk, path, space);
    struct ir_if some = ir_if(b, kept(l, &walk, STATE_ENTRY));
    put_deleted(l, &walk);
    struct ir *carried[] = {walk.state};
    struct ir *iterations = lower_find(l, ITERATIONS_MAX, carried, 1, step, &walk, node->span);
    ir_jump_if(b, iterations, end); /* else it was at the end at once, and nothing was written */
    struct ir *entry = kept(l, &walk, STATE_ENTRY);
    jump_if_equal(l, entry, kept(l, &walk, STATE_ROOT_ENTRY), root);
    jump_if_equal(l, entry, field(l, &walk, kept(l, &walk, STATE_MOUNT), MOUNT_ROOT), root);
    ir_place(b, nameless);
    put_nameless(l, &walk, end);
    ir_jump(b, end);
    ir_place(b, root);
    put_text(l, &walk, "/");
    ir_place(b, end);
    struct ir *text = ir_offset(b, byte_at(l, &walk, kept(l, &walk, STATE_POSITION)), STATE_BYTES);
    lower_read_string(l, into, capacity, NULL, text, SPACE_BPF, TEXT_PADDED, node->span);
    ir_else(b, &some); /* no file: no path */
    ir_zero(b, into->memory.base, into->memory.offset, type_storage(node->type));
    ir_end_if(b, &some);
    return NULL;
}

const struct builtin builtins_path[] = {
    {"path",
     "path(struct path * [, size])",
     BUILTIN_CALL | BUILTIN_READS_KERNEL,
     1,
     2,
     {PARAMETER_BYTES, PARAMETER_LITERAL_INTEGER},
     .check = check_path,
     .lower = lower_path},
    {0},
};
