/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/library.h"
#include "top/view.h"

/* ---- ncurses: what is used of it, which has been the same since its version 6. Its headers are not needed. ---- */

struct curses_window;
struct curses_screen;
enum {
    ATTRIBUTE_UNDERLINE = 1 << 17,
    ATTRIBUTE_REVERSE = 1 << 18,
    ATTRIBUTE_DIM = 1 << 20,
    ATTRIBUTE_BOLD = 1 << 21,
    ATTRIBUTE_PAIR_SHIFT = 8,
    CURSES_ERROR = -1,
    KEY_CODE_MIN = 0400,
};

static struct {
    struct curses_screen *(*newterm)(const char *type, FILE *out, FILE *in);
    int (*endwin)(void);
    void (*delscreen)(struct curses_screen *screen);
    int (*cbreak)(void);
    int (*noecho)(void);
    int (*keypad)(struct curses_window *window, bool on);
    int (*nodelay)(struct curses_window *window, bool on);
    int (*wgetch)(struct curses_window *window);
    int (*wmove)(struct curses_window *window, int row, int column);
    int (*waddnstr)(struct curses_window *window, const char *text, int length);
    int (*werase)(struct curses_window *window);
    int (*wrefresh)(struct curses_window *window);
    int (*wattrset)(struct curses_window *window, int attributes);
    int (*start_color)(void);
    int (*use_default_colors)(void);
    int (*init_pair)(short pair, short foreground, short background);
    bool (*has_colors)(void);
    int (*curs_set)(int visibility);
    int (*resizeterm)(int rows, int columns);
    int (*set_escdelay)(int milliseconds);
    char *(*tigetstr)(const char *name);
    struct curses_window **window;
    int *colours;
} curses;

static const struct library_symbol symbols[] = {
    {"newterm", &curses.newterm},
    {"endwin", &curses.endwin},
    {"delscreen", &curses.delscreen},
    {"cbreak", &curses.cbreak},
    {"noecho", &curses.noecho},
    {"keypad", &curses.keypad},
    {"nodelay", &curses.nodelay},
    {"wgetch", &curses.wgetch},
    {"wmove", &curses.wmove},
    {"waddnstr", &curses.waddnstr},
    {"werase", &curses.werase},
    {"wrefresh", &curses.wrefresh},
    {"wattrset", &curses.wattrset},
    {"start_color", &curses.start_color},
    {"use_default_colors", &curses.use_default_colors},
    {"init_pair", &curses.init_pair},
    {"has_colors", &curses.has_colors},
    {"curs_set", &curses.curs_set},
    {"resizeterm", &curses.resizeterm},
    {"set_escdelay", &curses.set_escdelay},
    {"tigetstr", &curses.tigetstr},
    {"stdscr", &curses.window},
    {"COLORS", &curses.colours},
};

int terminal_load(struct text *why)
{
    return library_load("libncursesw.so.6", symbols, sizeof symbols / sizeof *symbols, why);
}

/* ---- how styles look ---- */

struct look {
    short foreground, background; /* -1: the terminal's own */
    int attributes;
};

static const struct look looks_256[STYLE_COUNT] = {
    [STYLE_PLAIN] = {-1, -1, 0},
    [STYLE_DIM] = {243, -1, 0},
    [STYLE_STRONG] = {-1, -1, ATTRIBUTE_BOLD},
    [STYLE_HEAD] = {250, 237, 0},
    [STYLE_SORT] = {222, 237, ATTRIBUTE_BOLD},
    [STYLE_TAB] = {234, 110, ATTRIBUTE_BOLD},
    [STYLE_KEY] = {110, -1, ATTRIBUTE_BOLD},
    [STYLE_BAR] = {67, -1, 0},
    [STYLE_NEW] = {215, -1, 0},
    [STYLE_MARK] = {176, -1, 0},
    [STYLE_GOOD] = {108, -1, 0},
    [STYLE_WARNING] = {215, -1, ATTRIBUTE_BOLD},
};
static const struct look looks_8[STYLE_COUNT] = {
    [STYLE_PLAIN] = {-1, -1, 0},
    [STYLE_DIM] = {-1, -1, ATTRIBUTE_DIM},
    [STYLE_STRONG] = {-1, -1, ATTRIBUTE_BOLD},
    [STYLE_HEAD] = {0, 7, 0},
    [STYLE_SORT] = {0, 6, 0},
    [STYLE_TAB] = {0, 6, 0},
    [STYLE_KEY] = {6, -1, ATTRIBUTE_BOLD},
    [STYLE_BAR] = {4, -1, ATTRIBUTE_BOLD},
    [STYLE_NEW] = {3, -1, ATTRIBUTE_BOLD},
    [STYLE_MARK] = {5, -1, 0},
    [STYLE_GOOD] = {2, -1, 0},
    [STYLE_WARNING] = {3, -1, ATTRIBUTE_BOLD},
};
static const struct look looks_plain[STYLE_COUNT] = {
    [STYLE_STRONG] = {.attributes = ATTRIBUTE_BOLD},
    [STYLE_HEAD] = {.attributes = ATTRIBUTE_UNDERLINE},
    [STYLE_SORT] = {.attributes = ATTRIBUTE_UNDERLINE | ATTRIBUTE_BOLD},
    [STYLE_TAB] = {.attributes = ATTRIBUTE_REVERSE},
    [STYLE_KEY] = {.attributes = ATTRIBUTE_BOLD},
    [STYLE_NEW] = {.attributes = ATTRIBUTE_BOLD},
    [STYLE_MARK] = {.attributes = ATTRIBUTE_BOLD},
    [STYLE_WARNING] = {.attributes = ATTRIBUTE_BOLD},
};
enum { COLOURS_MANY = 256, COLOURS_FEW = 8, SELECTED_BACKGROUND = 239 };

/* ---- the terminal that is held ---- */

static struct {
    bool is_held;
    struct curses_screen *screen;
    FILE *out, *in;
    int kept[3]; /* the standard streams as they were; -1: not replaced */
    int printed; /* the end of the pipe that is read */
    int colours; /* how many are used; 0: none */
    struct termios modes;
    bool has_modes;
    char farewell[128]; /* what a terminal gets from a program that goes wrong */
    size_t farewell_length;
} held = {.kept = {-1, -1, -1}, .printed = -1};

bool terminal_is_held(void)
{
    return held.is_held;
}

int terminal_descriptor(void)
{
    return held.is_held && held.in ? fileno(held.in) : -1;
}

static void choose_looks(void)
{
    const char *refused = getenv("NO_COLOR");
    held.colours = 0;
    if ((refused && *refused) || !curses.has_colors() || curses.start_color() == CURSES_ERROR)
        return;
    const short own = curses.use_default_colors() == CURSES_ERROR ? 0 : -1;
    held.colours = *curses.colours >= COLOURS_MANY  ? COLOURS_MANY
                   : *curses.colours >= COLOURS_FEW ? COLOURS_FEW
                                                    : 0;
    const struct look *looks = held.colours == COLOURS_MANY ? looks_256 : looks_8;
    for (short i = 0; held.colours && i < STYLE_COUNT; i++) {
        const short foreground = looks[i].foreground < 0 ? (own < 0 ? -1 : 7) : looks[i].foreground;
        const short background = looks[i].background < 0 ? own : looks[i].background;
        curses.init_pair((short)(2 * i + 1), foreground, background);
        curses.init_pair((short)(2 * i + 2), foreground, SELECTED_BACKGROUND);
    }
}

static int attributes_of(const struct canvas_cell *cell)
{
    const struct look *looks = held.colours == COLOURS_MANY ? looks_256
                               : held.colours               ? looks_8
                                                            : looks_plain;
    int attributes = looks[cell->style].attributes;
    if (held.colours == COLOURS_MANY && cell->is_selected)
        attributes |= (2 * cell->style + 2) << ATTRIBUTE_PAIR_SHIFT;
    else if (held.colours)
        attributes |= (2 * cell->style + 1) << ATTRIBUTE_PAIR_SHIFT;
    if (held.colours != COLOURS_MANY && cell->is_selected)
        attributes ^= ATTRIBUTE_REVERSE;
    return attributes;
}

/* ---- when the program goes wrong ---- */

static const int fatal[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE};

/* Everything here may be called by a handler of signals. */
static void leave_at_once(int signal)
{
    const int file = held.kept[STDOUT_FILENO];
    const ssize_t written = write(file, held.farewell, held.farewell_length);
    (void)written;
    if (held.has_modes)
        tcsetattr(file, TCSANOW, &held.modes);
    dup2(held.kept[STDERR_FILENO], STDERR_FILENO);
    (void)!kill(getpid(), signal); /* the handler is gone: it is the end */
}

static void watch_for_the_worst(bool on)
{
    const struct sigaction leaving = {.sa_handler = leave_at_once, .sa_flags = (int)SA_RESETHAND};
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], on ? &leaving : &usual, NULL);
}

static void keep_farewell(void)
{
    static const char *const names[] = {"sgr0", "cnorm", "rmkx", "rmcup"};
    held.farewell_length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = curses.tigetstr(names[i]);
        const size_t length = text && text != (char *)-1 ? strlen(text) : 0;
        if (held.farewell_length + length <= sizeof held.farewell)
            memcpy(held.farewell + held.farewell_length, text ? text : "", length);
        held.farewell_length += held.farewell_length + length <= sizeof held.farewell ? length : 0;
    }
}

/* ---- taking it and giving it back ---- */

static FILE *open_copy(int descriptor, const char *mode)
{
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    FILE *file = copy < 0 ? NULL : fdopen(copy, mode);
    if (!file && copy >= 0)
        close(copy);
    return file;
}

/* Opens what keys come from: standard input or, if that is no terminal, the one that this process has. */
static FILE *open_keys(void)
{
    if (isatty(STDIN_FILENO))
        return open_copy(STDIN_FILENO, "r");
    const int file = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return file < 0 ? NULL : fdopen(file, "r");
}

/* From here on the standard streams are a pipe and nothing. */
static int replace_streams(void)
{
    int ends[2];
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int error = nothing < 0 || pipe2(ends, O_CLOEXEC) ? -errno : 0;
    if (error) {
        if (nothing >= 0)
            close(nothing);
        return error;
    }
    const int with[3] = {nothing, ends[1], ends[1]};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    held.printed = ends[0];
    for (int i = 0; i < 3 && !error; i++) {
        held.kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
        if (held.kept[i] < 0 || dup2(with[i], i) < 0)
            error = -errno;
    }
    close(nothing);
    close(ends[1]);
    return error;
}

static void restore_streams(void)
{
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        if (held.kept[i] >= 0) {
            dup2(held.kept[i], i);
            close(held.kept[i]);
            held.kept[i] = -1;
        }
}

static void close_files(void)
{
    if (held.out)
        fclose(held.out);
    if (held.in)
        fclose(held.in);
    if (held.printed >= 0)
        close(held.printed);
    held.out = held.in = NULL;
    held.printed = -1;
}

static const char *unusable(const char *type)
{
    if (!type || !*type)
        return "TERM is not set";
    return !strcmp(type, "dumb") ? "it cannot place characters (TERM=dumb)" : NULL;
}

static int open_screen(const char *type, struct text *why)
{
    held.out = open_copy(STDOUT_FILENO, "w");
    held.in = open_keys();
    if (!held.out || !held.in) {
        text_printf(why, "the terminal cannot be opened: %s", strerror(errno));
        return -errno;
    }
    held.has_modes = !tcgetattr(fileno(held.in), &held.modes);
    held.screen = curses.newterm(type, held.out, held.in);
    if (!held.screen) {
        text_printf(why, "this terminal is not known to ncurses: TERM=%s", type);
        return -ENOTTY;
    }
    return 0;
}

int terminal_begin(struct text *why)
{
    static bool ends_at_exit;
    const char *type = getenv("TERM"), *reason = unusable(type);
    setlocale(LC_CTYPE, "");
    int error = reason ? -ENOTTY : 0;
    if (reason)
        text_printf(why, "the terminal is of no use for a screen: %s", reason);
    else
        error = open_screen(type, why);
    if (!error && (error = replace_streams())) {
        curses.endwin();
        text_printf(why, "the standard streams cannot be replaced: %s", strerror(-error));
    }
    if (error) {
        restore_streams();
        close_files();
        return error;
    }
    held.is_held = true;
    curses.cbreak();
    curses.noecho();
    curses.keypad(*curses.window, true);
    curses.nodelay(*curses.window, true);
    curses.set_escdelay(25);
    curses.curs_set(0);
    choose_looks();
    keep_farewell();
    watch_for_the_worst(true);
    if (!ends_at_exit)
        ends_at_exit = !atexit(terminal_end);
    return 0;
}

void terminal_end(void)
{
    if (!held.is_held)
        return;
    held.is_held = false;
    watch_for_the_worst(false);
    curses.endwin();
    restore_streams();
    curses.delscreen(held.screen);
    close_files();
}

/* ---- the picture ---- */

int terminal_fit(struct canvas *canvas)
{
    struct winsize size = {0};
    unsigned rows = 24, columns = 80;
    if (!ioctl(fileno(held.out), TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
        rows = size.ws_row;
        columns = size.ws_col;
    }
    rows = rows > CANVAS_ROWS_MAX ? CANVAS_ROWS_MAX : rows;
    columns = columns > CANVAS_COLUMNS_MAX ? CANVAS_COLUMNS_MAX : columns;
    if (canvas->cells && canvas->rows == rows && canvas->columns == columns)
        return 0;
    canvas->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    curses.resizeterm((int)rows, (int)columns);
    return canvas_resize(canvas, rows, columns) ? -ENOMEM : 1;
}

static void show_row(const struct canvas *canvas, unsigned row)
{
    char run[CANVAS_COLUMNS_MAX * CANVAS_BYTES + 1];
    for (unsigned column = 0; column < canvas->columns;) {
        const struct canvas_cell *first = canvas_cell(canvas, row, column);
        size_t length = 0;
        const unsigned begin = column;
        for (; column < canvas->columns; column++) {
            const struct canvas_cell *cell = canvas_cell(canvas, row, column);
            if (cell->style != first->style || cell->is_selected != first->is_selected)
                break;
            const size_t bytes = strnlen(cell->bytes, CANVAS_BYTES);
            memcpy(run + length, cell->bytes, bytes);
            length += bytes;
        }
        curses.wattrset(*curses.window, attributes_of(first));
        curses.wmove(*curses.window, (int)row, (int)begin);
        curses.waddnstr(*curses.window, run, (int)length);
    }
}

void terminal_show(const struct canvas *canvas)
{
    /* A terminal that takes nothing now gets the next picture: this process must not wait for it. */
    if (poll(&(struct pollfd){fileno(held.out), POLLOUT, 0}, 1, 0) != 1)
        return;
    curses.wattrset(*curses.window, 0);
    curses.werase(*curses.window);
    for (unsigned row = 0; row < canvas->rows; row++)
        show_row(canvas, row);
    curses.wrefresh(*curses.window);
}

/* ---- keys ---- */

static const struct {
    int code;
    enum view_key key;
} codes[] = {
    {0402, VIEW_DOWN},      {0403, VIEW_UP},        {0404, VIEW_LEFT},      {0405, VIEW_RIGHT},
    {0406, VIEW_HOME},      {0407, VIEW_BACKSPACE}, {0522, VIEW_PAGE_DOWN}, {0523, VIEW_PAGE_UP},
    {0527, VIEW_ENTER},     {0541, VIEW_BACK_TAB},  {0550, VIEW_END},       {'\r', VIEW_ENTER},
    {'\b', VIEW_BACKSPACE},
};

uint32_t terminal_key(void)
{
    struct pollfd ready = {terminal_descriptor(), POLLIN, 0};
    const int code = curses.wgetch(*curses.window);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (code == codes[i].code)
            return codes[i].key;
    if (code > 0 && code < KEY_CODE_MIN)
        return (uint32_t)code;
    if (code == CURSES_ERROR && poll(&ready, 1, 0) == 1 && ready.revents & (POLLHUP | POLLERR | POLLNVAL))
        return UINT32_MAX;
    return VIEW_NO_KEY;
}

size_t terminal_read_printed(char *bytes, size_t room)
{
    const ssize_t length = held.printed < 0 ? -1 : read(held.printed, bytes, room);
    return length > 0 ? (size_t)length : 0;
}
