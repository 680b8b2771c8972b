/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal, by ncurses, which is loaded when it is asked for (Debian: libncursesw6). While it is held, the standard streams
 * are not the terminal: what commands and libraries print comes out of a pipe, so that nothing disturbs the picture. */
#ifndef SPOOR_TOP_TERMINAL_H
#define SPOOR_TOP_TERMINAL_H

#include "top/canvas.h"

/* Loads ncurses. Returns 0, or -ENOENT with the reason. */
int terminal_load(struct text *why);
/* Takes the terminal. Returns 0, or -errno with the reason. It is given back by terminal_end(), at exit(), and by the signals of
 * a program that goes wrong. */
int terminal_begin(struct text *why);
void terminal_end(void);
bool terminal_is_held(void);

/* Makes the canvas as large as the terminal. Returns 1 if that changed it, 0, or -ENOMEM. */
int terminal_fit(struct canvas *canvas);
void terminal_show(const struct canvas *canvas);
/* Returns a key (enum view_key, or a character), or 0: none was pressed. UINT32_MAX: there is nobody any more. */
uint32_t terminal_key(void);
/* Reads what was printed past the picture. Returns how many bytes. */
size_t terminal_read_printed(char *bytes, size_t room);
/* A descriptor on which keys come; -1: none. */
int terminal_descriptor(void);

#endif
