/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/page.h"

#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/output.h"
#include "cmd/stop.h"
#include "history/history.h"

struct page {
    const char *path;
    struct output file;
    struct history history;
};

int page_begin(struct options *options, const char *title, struct page **out)
{
    struct page *page = *out = NULL;
    if (!options->page)
        return 0;
    if (!(page = calloc(1, sizeof *page))) {
        fputs("ERROR: there is not enough memory\n", stderr);
        return 1;
    }
    if (output_open(&page->file, options->page, false)) {
        free(page);
        return 1;
    }
    page->path = options->page;
    history_begin(&page->history, title, options->session.is_json);
    page->history.watcher.next = options->session.watcher;
    options->session.watcher = &page->history.watcher;
    page->history.observer.next = options->session.observer;
    options->session.observer = &page->history.observer;
    *out = page;
    return 0;
}

/* Returns whether the file has the whole page. */
static bool write_page(struct page *page)
{
    static volatile int asked;
    struct text text = {0};
    stop_on_signals(&asked); /* whoever asks for the end again does not want to lose the page */
    const int error = history_write(&page->history, &text);
    if (error)
        command_print(stderr, "ERROR: there is not enough memory for the page '%s'\n", page->path);
    const bool is_written = !error && !output_write(&page->file, NULL, text_string(&text), text.length);
    text_free(&text);
    return is_written;
}

int page_end(struct page *page, int status)
{
    if (!page)
        return status;
    const bool is_written = page->history.has_begun && write_page(page);
    if (page->history.failed)
        command_print(stderr, "ERROR: there was not enough memory: something is missing in the page '%s'\n",
                      page->path);
    if ((output_close(&page->file, is_written) || page->history.failed ||
         (page->history.has_begun && !is_written)) &&
        !status)
        status = 1;
    history_free(&page->history);
    free(page);
    return status;
}
