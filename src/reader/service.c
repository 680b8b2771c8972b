/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/service.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "reader/recording_wire.h"

enum {
    TOGETHER = 64,          /* events */
    BATCH_BYTES = 256 << 10 /* of an answer's events; one of them may go beyond */
};

struct service {
    struct recording *recording;
    struct liveness told;
    struct text path, refusal; /* what `told` and the recording refer to */
    int file;                  /* -1: none, or it belongs to the recording */
    bool keeps_up;
    struct recording_sent sent;
};

struct service *service_make(void)
{
    struct service *service = calloc(1, sizeof *service);
    if (service)
        service->file = -1;
    return service;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    recording_close(service->recording);
    if (service->file >= 0)
        close(service->file);
    recording_sent_free(&service->sent);
    text_free(&service->path);
    text_free(&service->refusal);
    free(service);
}

static int find_writer(struct service *service, struct apart_question *question, struct text *answer)
{
    const char *path = wire_take_text(&question->in);
    bool is_spdk;
    if (!path || question->fd < 0 || service->file >= 0 || service->recording)
        return -EINVAL;
    text_add(&service->path, path);
    service->file = question->fd;
    question->fd = -1;
    const pid_t named = recording_names_writer(service->file, path, &is_spdk);
    wire_put(answer, is_spdk);
    wire_put(answer, (uint64_t)((int64_t)named + 1));
    return 0;
}

static void put_batch(struct service *service, struct text *answer)
{
    struct recording_event events[TOGETHER];
    struct text batch = {0};
    int count;
    while ((count = recording_next_few(service->recording, events, TOGETHER)) > 0) {
        recording_put_events(&batch, service->recording, events, (size_t)count, &service->sent);
        if (batch.failed || batch.length >= BATCH_BYTES)
            break;
    }
    wire_put(answer, count > 0);
    recording_put_counts(answer, service->recording);
    text_append(answer, batch.bytes, batch.length);
    answer->failed |= batch.failed;
    text_free(&batch);
}

static int open_recording(struct service *service, struct cursor *in, struct text *answer)
{
    struct recording_options options = {.follow = true, .only_cpu = -1, .told = &service->told};
    struct text why = {0};
    options.relate = wire_take(in);
    liveness_take(in, &service->told);
    if (in->is_bad || service->file < 0)
        return -EINVAL;
    if (service->told.refusal) {
        text_add(&service->refusal, service->told.refusal);
        service->told.refusal = text_string(&service->refusal);
    }
    const int file = service->file;
    service->file = -1;
    const int error =
        recording_open_file(file, text_string(&service->path), &options, &service->recording, &why);
    wire_put(answer, (uint64_t)-error);
    if (error)
        wire_put_text(answer, text_string(&why));
    text_free(&why);
    if (error)
        return 0;
    recording_put_state(answer, service->recording, &service->sent);
    put_batch(service, answer);
    return 0;
}

static int refresh(struct service *service, struct cursor *in, struct text *answer)
{
    liveness_take(in, &service->told);
    service->told.refusal = NULL; /* it was asked when the recording was opened */
    const int lives = in->is_bad ? -EINVAL : recording_refresh(service->recording);
    wire_put(answer, lives < 0 ? (uint64_t)-lives : 0);
    if (lives < 0)
        return 0;
    recording_put_state(answer, service->recording, &service->sent);
    put_batch(service, answer);
    return 0;
}

int service_serve(void *state, struct apart_question *question, struct text *answer)
{
    struct service *service = state;
    if (question->kind == SERVICE_WRITER)
        return find_writer(service, question, answer);
    if (question->kind == SERVICE_OPEN)
        return open_recording(service, &question->in, answer);
    if (!service->recording)
        return -EINVAL;
    if (question->kind == SERVICE_REFRESH)
        return refresh(service, &question->in, answer);
    if (question->kind == SERVICE_NEXT)
        put_batch(service, answer);
    service->keeps_up |= question->kind == SERVICE_KEEP_UP;
    return 0;
}

int service_idle(void *state)
{
    const struct service *service = state;
    const struct recording *recording = service->recording;
    if (!recording || !recording->follower || !recording->live || !service->keeps_up)
        return -1;
    return follower_step(recording->follower);
}
