/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers, segments, sections, notes. Symbols are in elf/symbols.c. A file that has a descriptor is read by a
 * service without privileges; elf/tables.c brings its tables from there.
 *
 * Every number from the file is checked where it is used: a range is (offset <= size && length <= size - offset),
 * counts are bounded by the bytes that would hold them. */
#include "base/open_foreign.h"
#include "sym/elf/note.h"
#include "sym/elf/private.h"
#include "sym/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEGMENTS_MAX = 256,
    SECTIONS_MAX = 1 << 20,
    NOTE_MAX = 1 << 20,
    NAMES_MAX = 64 << 20,
    DYNAMIC_MAX = 4096,
    PAGE_LARGEST = 64 << 10,
};
#define SECTION_MAX ((uint64_t)512 << 20)

int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return -EBADMSG;
    if (file->bytes) {
        memcpy(bytes, file->bytes + offset, size);
        return 0;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(file->fd, (char *)bytes + done, size - done, (off_t)(file->base + offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0) /* it has become shorter since its size was read */
            return -EBADMSG;
        done += (size_t)got;
    }
    return 0;
}

static int elf_allocate_read(const struct elf_file *file, uint64_t offset, uint64_t size, uint64_t most,
                             void **out)
{
    if (offset > file->size || size > file->size - offset)
        return -EBADMSG;
    if (size > most)
        return -EFBIG;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return -ENOMEM;
    int error = elf_file_read(file, offset, bytes, size);
    if (error) {
        free(bytes);
        return error;
    }
    bytes[size] = '\0';
    *out = bytes;
    return 0;
}

static int elf_read_header(struct elf_file *file)
{
    Elf64_Ehdr *header = &file->header;
    int error = elf_file_read(file, 0, header, sizeof *header);
    if (error)
        return error == -EBADMSG ? -ENOEXEC : error;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        return -ENOEXEC;
    return 0;
}

static int elf_read_segments(struct elf_file *file)
{
    const Elf64_Ehdr *header = &file->header;
    if (!header->e_phnum)
        return 0;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
        return -EBADMSG;
    void *bytes = NULL;
    int error =
        elf_allocate_read(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), SECTION_MAX, &bytes);
    if (error)
        return error;
    file->segments = bytes;
    file->segment_count = header->e_phnum;
    return 0;
}

/* Reads the section headers, which are not essential: a file without them, or with wrong ones, has no symbols. */
static int elf_read_sections(struct elf_file *file)
{
    const Elf64_Ehdr *header = &file->header;
    if (!header->e_shoff || header->e_shentsize != sizeof(Elf64_Shdr))
        return 0;
    Elf64_Shdr first;
    if (elf_file_read(file, header->e_shoff, &first, sizeof first))
        return 0;
    uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size;
    uint64_t names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
    if (count > SECTIONS_MAX || count * sizeof(Elf64_Shdr) > file->size)
        return -EBADMSG;
    void *bytes = NULL;
    int error = elf_allocate_read(file, header->e_shoff, count * sizeof(Elf64_Shdr), SECTION_MAX, &bytes);
    if (error)
        return error == -ENOMEM ? error : 0;
    file->sections = bytes;
    file->section_count = count;
    if (names >= count || file->sections[names].sh_type != SHT_STRTAB)
        return 0;
    error = elf_allocate_read(file, file->sections[names].sh_offset, file->sections[names].sh_size, NAMES_MAX,
                              &bytes);
    if (error)
        return error == -ENOMEM ? error : 0;
    file->section_names = bytes;
    file->section_names_size = file->sections[names].sh_size;
    return 0;
}

/* Finds the GNU build id in one block of notes. */
static void elf_take_build_id(struct elf_file *file, const uint8_t *notes, size_t size)
{
    struct cursor left = cursor_over(notes, size);
    struct elf_note note;
    while (elf_note_take(&left, &note))
        if (note.type == NT_GNU_BUILD_ID && elf_note_is_of(&note, "GNU") && note.size &&
            note.size <= sizeof file->build_id) {
            file->build_id_size = note.size;
            memcpy(file->build_id, note.content, note.size);
            return;
        }
}

static int elf_read_build_id(struct elf_file *file)
{
    for (size_t i = 0; i < file->segment_count && !file->build_id_size; i++) {
        void *bytes = NULL;
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_NOTE)
            continue;
        int error = elf_allocate_read(file, segment->p_offset, segment->p_filesz, NOTE_MAX, &bytes);
        if (error == -ENOMEM)
            return error;
        if (error)
            continue;
        elf_take_build_id(file, bytes, segment->p_filesz);
        free(bytes);
    }
    struct elf_section section; /* in files made by `objcopy --only-keep-debug` the segments are wrong */
    if (!file->build_id_size && elf_file_section_named(file, ".note.gnu.build-id", &section) &&
        section.type == SHT_NOTE) {
        void *bytes = NULL;
        size_t size;
        int error = section.size <= NOTE_MAX ? elf_file_section_read(file, &section, &bytes, &size) : -EFBIG;
        if (error == -ENOMEM)
            return error;
        if (!error)
            elf_take_build_id(file, bytes, size);
        free(bytes);
    }
    return 0;
}

static bool elf_says_pie(const struct elf_file *file)
{
    const Elf64_Phdr *dynamic = NULL;
    for (size_t i = 0; i < file->segment_count; i++) {
        if (file->segments[i].p_type == PT_INTERP)
            return true;
        if (file->segments[i].p_type == PT_DYNAMIC)
            dynamic = &file->segments[i];
    }
    for (uint64_t i = 0; dynamic && i < DYNAMIC_MAX && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        if (dynamic->p_offset > file->size ||
            elf_file_read(file, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_FLAGS_1)
            return entry.d_un.d_val & DF_1_PIE;
    }
    return false;
}

static int elf_start(struct elf_file *file)
{
    if (tables_are_apart(file))
        return elf_ask_tables(file);
    int error = elf_read_header(file);
    if (!error)
        error = elf_read_segments(file);
    if (!error)
        error = elf_read_sections(file);
    if (!error)
        error = elf_read_build_id(file);
    if (error)
        return error;
    switch (file->header.e_machine) {
    case EM_X86_64: file->machine = MACHINE_X86_64; break;
    case EM_AARCH64: file->machine = MACHINE_AARCH64; break;
    default: file->machine = MACHINE_OTHER;
    }
    file->entry = file->header.e_entry;
    file->kind = ELF_OTHER;
    if (file->header.e_type == ET_EXEC)
        file->kind = ELF_EXECUTABLE;
    else if (file->header.e_type == ET_DYN)
        file->kind = elf_says_pie(file) ? ELF_EXECUTABLE : ELF_SHARED;
    return 0;
}

static int elf_finish(struct elf_file *file, struct elf_file **out)
{
    int error = elf_start(file);
    if (error) {
        elf_file_close(file);
        return error;
    }
    *out = file;
    return 0;
}

int elf_file_open_part(int fd, uint64_t base, uint64_t size, struct elf_file **out)
{
    struct elf_file *file = calloc(1, sizeof *file);
    if (!file)
        return -ENOMEM;
    file->base = base;
    file->size = size;
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (file->fd < 0 || fstat(file->fd, &file->status)) {
        int error = -errno;
        if (file->fd >= 0)
            close(file->fd);
        free(file);
        return error;
    }
    return elf_finish(file, out);
}

uint64_t elf_file_base(const struct elf_file *file)
{
    return file->base;
}

uint64_t elf_file_size(const struct elf_file *file)
{
    return file->size;
}

size_t elf_file_memory(const struct elf_file *file)
{
    return sizeof *file + file->segment_count * sizeof *file->segments +
           file->section_count * sizeof *file->sections + file->section_names_size + file->symbols.memory;
}

int elf_file_descriptor(const struct elf_file *file)
{
    return file->base ? -1 : file->fd;
}

int elf_file_open_fd(int fd, struct elf_file **out)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -ENOEXEC;
    return elf_file_open_part(fd, 0, (uint64_t)status.st_size, out);
}

int elf_file_open(const char *path, struct elf_file **out)
{
    int fd = foreign_open(path);
    if (fd < 0)
        return foreign_is_not_regular(fd) ? -ENOEXEC : fd;
    int error = elf_file_open_fd(fd, out);
    close(fd);
    return error;
}

struct elf_file *elf_file_without_bytes(void)
{
    struct elf_file *file = calloc(1, sizeof *file);
    if (file)
        file->fd = -1;
    return file;
}

int elf_file_open_memory(const void *bytes, size_t size, struct elf_file **out)
{
    struct elf_file *file = elf_file_without_bytes();
    if (!file)
        return -ENOMEM;
    file->bytes = bytes;
    file->size = size;
    return elf_finish(file, out);
}

void elf_file_close(struct elf_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    elf_symbols_free(&file->symbols);
    free(file->section_names);
    free(file->sections);
    free(file->segments);
    free(file);
}

enum elf_kind elf_file_kind(const struct elf_file *file)
{
    return file->kind;
}

uint64_t elf_file_entry(const struct elf_file *file)
{
    return file->entry;
}

enum machine elf_file_machine(const struct elf_file *file)
{
    return file->machine;
}

const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *size)
{
    *size = file->build_id_size;
    return file->build_id_size ? file->build_id : NULL;
}

int elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            *offset = segment->p_offset + (address - segment->p_vaddr);
            return 0;
        }
    }
    return -ENOENT;
}

static int elf_offset_to_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
                                 uint64_t *address)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            offset >= segment->p_offset && offset - segment->p_offset < segment->p_filesz) {
            *address = segment->p_vaddr + (offset - segment->p_offset);
            return 0;
        }
    }
    return -ENOENT;
}

int elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *address)
{
    return elf_offset_to_address(file, offset, 0, address);
}

int elf_file_code_address(const struct elf_file *file, uint64_t offset, uint64_t *address)
{
    if (!elf_offset_to_address(file, offset, PF_X, address))
        return 0;
    /* A segment need not begin at a page, but its mapping does. */
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && offset < segment->p_offset &&
            segment->p_offset - offset < PAGE_LARGEST && segment->p_offset - offset < segment->p_align) {
            *address = segment->p_vaddr - (segment->p_offset - offset);
            return 0;
        }
    }
    return -ENOENT;
}

size_t elf_file_section_count(const struct elf_file *file)
{
    return file->section_count;
}

bool elf_file_section(const struct elf_file *file, size_t index, struct elf_section *out)
{
    if (index >= file->section_count)
        return false;
    const Elf64_Shdr *section = &file->sections[index];
    *out = (struct elf_section){
        .name = section->sh_name < file->section_names_size ? file->section_names + section->sh_name : "",
        .type = section->sh_type,
        .flags = section->sh_flags,
        .address = section->sh_addr,
        .offset = section->sh_offset,
        .size = section->sh_size};
    return true;
}

bool elf_file_section_named(const struct elf_file *file, const char *name, struct elf_section *out)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (elf_file_section(file, i, out) && !strcmp(out->name, name))
            return true;
    return false;
}

int elf_file_section_read(const struct elf_file *file, const struct elf_section *section, void **bytes,
                          size_t *size)
{
    *bytes = NULL;
    *size = 0;
    if (section->type == SHT_NOBITS)
        return -ENOENT;
    int error = elf_allocate_read(file, section->offset, section->size, SECTION_MAX, bytes);
    if (!error)
        *size = section->size;
    return error;
}
