/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/picture.h"

#include <stdlib.h>
#include <string.h>

#include "chart/chart.h"
#include "cmd/command.h"
#include "cmd/output.h"

struct picture {
    struct output file;
    struct chart chart;
    const char *title;
    bool is_drawn;
};

/* Draws when the trace is over: types that the maps have live as long as the session. */
static int draw(void *state, struct session *session)
{
    struct picture *picture = state;
    struct text text = {0};
    (void)session;
    const int error = chart_draw(&picture->chart, picture->title, &text);
    if (picture->chart.failed)
        command_print(stderr,
                      "ERROR: there was not enough memory: something is missing in the picture '%s'\n",
                      picture->file.path);
    if (error)
        command_print(stderr, "ERROR: there is not enough memory for the picture '%s'\n", picture->file.path);
    else if (!output_write(&picture->file, NULL, text_string(&text), text.length))
        picture->is_drawn = true;
    text_free(&text);
    return picture->is_drawn && !picture->chart.failed ? 0 : 1;
}

int picture_begin(struct options *options, const char *title, struct picture **out)
{
    struct picture *picture = *out = NULL;
    if (!options->picture)
        return 0;
    if (!(picture = calloc(1, sizeof *picture))) {
        fputs("ERROR: there is not enough memory\n", stderr);
        return 1;
    }
    if (output_open(&picture->file, options->picture, false)) {
        free(picture);
        return 1;
    }
    picture->title = title;
    chart_begin(&picture->chart);
    options->session.watcher = &picture->chart.watcher;
    options->finish = draw;
    options->finish_state = picture;
    *out = picture;
    return 0;
}

int picture_end(struct picture *picture, int status)
{
    if (!picture)
        return status;
    if (output_close(&picture->file, picture->is_drawn) && !status)
        status = 1;
    chart_free(&picture->chart);
    free(picture);
    return status;
}
