/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of ZIP archives that are stored without compression: programs load libraries straight from there.
 */
#ifndef SPOOR_SYM_ELF_ARCHIVE_H
#define SPOOR_SYM_ELF_ARCHIVE_H

#include <stdint.h>

/* Finds where the bytes of a member are in the archive. -ENOENT: there is no such member; -ENOTSUP: it is
 * compressed or encrypted; -ENOEXEC: the file is no ZIP archive; -EBADMSG: it is damaged; -EFBIG: it has the 64-bit
 * form. */
int archive_member(int fd, const char *member, uint64_t *offset, uint64_t *size);

#endif
