/* SPDX-License-Identifier: BSD-3-Clause */
/* Each client has at most one command under way; until it is answered, the client's input is not read. */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target.h"

enum { CLIENTS_MAX = 16, LINE_BYTES_MAX = 1024, WORDS_MAX = 5 };

struct control {
    struct target *target;
    struct listener listener;
    unsigned count;
    TAILQ_HEAD(, client) clients;
};

struct client {
    /* NULL: the control socket was closed while this client's command was under way */
    struct control *control;
    struct source source;
    bool busy, closed;
    unsigned length;
    char line[LINE_BYTES_MAX];
    TAILQ_ENTRY(client) link;
};

static void client_free(void *context)
{
    free(context);
}

/* Closes a client. If its command is under way, it is freed when the answer would be due. */
static void client_close(struct client *client)
{
    const int fd = client->source.fd;
    if (client->closed)
        return;
    client->closed = true;
    thread_unwatch(&client->source);
    close(fd);
    TAILQ_REMOVE(&client->control->clients, client, link);
    client->control->count--;
    if (!client->busy)
        thread_send_msg(thread_current(), client_free, client);
}

/* Sends an answer. A client that does not read its answers is disconnected. */
__attribute__((format(printf, 2, 3))) static void say(struct client *client, const char *format, ...)
{
    char text[LINE_BYTES_MAX];
    va_list arguments;
    if (client->closed)
        return;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (send(client->source.fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        client_close(client);
}

static void say_status(struct client *client, int status)
{
    if (status < 0)
        say(client, "error: %s\n", strerror(-status));
    else
        say(client, "ok\n");
}

/* ---- commands ---- */

static void client_lines(struct client *client);

static void command_done(void *context, int status)
{
    struct client *client = context;
    client->busy = false;
    if (client->closed) {
        client_free(client);
        return;
    }
    say_status(client, status);
    client_lines(client);
    if (!client->closed)
        thread_rewatch(&client->source, client->busy ? 0 : EPOLLIN);
}

/* Returns the export that a command names if it can be changed now; else answers with an error and returns NULL. */
static struct export *named(struct client *client, const char *name)
{
    struct export *export = target_find_export(client->control->target, name);
    if (!export)
        say(client, "error: there is no export %s\n", name);
    else if (export->changing)
        say(client, "error: %s is just changing its state\n", name);
    return export && !export->changing ? export : NULL;
}

static void command_add(struct client *client, char *words[])
{
    uint64_t size;
    if (!bdev_find_kind(words[1])) {
        say(client, "error: no kind of device is called %s\n", words[1]);
    } else if (!export_name_good(words[2])) {
        say(client, "error: a name has 1 to %d letters, digits and signs, no colon\n", EXPORT_NAME_MAX);
    } else if (options_parse_size(words[3], &size) < 0) {
        say(client, "error: %s: a size is a number of bytes, or of K, M, G, T\n", words[3]);
    } else {
        client->busy = true;
        target_add_export(client->control->target, words[1], words[2], size, command_done, client);
    }
}

static void command_remove(struct client *client, char *words[])
{
    struct export *export = named(client, words[1]);
    if (!export)
        return;
    client->busy = true;
    target_remove_export(client->control->target, export, command_done, client);
}

static void change(struct client *client, const char *name, enum export_state from, enum export_state to)
{
    struct export *export = named(client, name);
    if (!export)
        return;
    if (export->state != from) {
        say(client, "error: %s is %s\n", name, export_state_name(export->state));
        return;
    }
    client->busy = true;
    target_change_export(client->control->target, export, to, command_done, client);
}

static void command_pause(struct client *client, char *words[])
{
    change(client, words[1], EXPORT_ACTIVE, EXPORT_PAUSED);
}

static void command_resume(struct client *client, char *words[])
{
    change(client, words[1], EXPORT_PAUSED, EXPORT_ACTIVE);
}

static void command_list(struct client *client, char *words[])
{
    struct export *export;
    (void)words;
    TAILQ_FOREACH(export, &client->control->target->exports, link)
    say(client, "%s %s %llu %s\n", export->name, export->bdev->kind->name,
        (unsigned long long)export->bdev->size, export_state_name(export->state));
    say(client, "ok\n");
}

static const struct {
    const char *name;
    unsigned words;
    void (*run)(struct client *client, char *words[]);
    const char *usage;
} commands[] = {
    {"add", 4, command_add, "add KIND NAME SIZE"},
    {"remove", 2, command_remove, "remove NAME"},
    {"pause", 2, command_pause, "pause NAME"},
    {"resume", 2, command_resume, "resume NAME"},
    {"list", 1, command_list, "list"},
};

static void client_command(struct client *client, char *line)
{
    char *words[WORDS_MAX], *rest = NULL;
    unsigned count = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest))
        words[count++] = word;
    if (count == 0)
        return;
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(words[0], commands[i].name) != 0)
            continue;
        if (count == commands[i].words)
            commands[i].run(client, words);
        else
            say(client, "error: write %s\n", commands[i].usage);
        return;
    }
    say(client, "error: commands are add, remove, pause, resume and list\n");
}

/* ---- clients ---- */

/* Handles the complete lines that are there, until a command takes time. */
static void client_lines(struct client *client)
{
    char *end;
    while (!client->busy && !client->closed && (end = memchr(client->line, '\n', client->length))) {
        char line[LINE_BYTES_MAX];
        const unsigned length = (unsigned)(end - client->line);
        memcpy(line, client->line, length);
        line[length] = '\0';
        client->length -= length + 1;
        memmove(client->line, end + 1, client->length);
        client_command(client, line);
    }
    if (!client->busy && !client->closed && client->length == LINE_BYTES_MAX) {
        say(client, "error: a command has less than %d characters\n", LINE_BYTES_MAX);
        client_close(client);
    }
}

static void client_ready(void *context, uint32_t events)
{
    struct client *client = context;
    if (client->busy) { /* the event can only mean that the client has gone */
        if (events & (EPOLLHUP | EPOLLERR))
            client_close(client);
        return;
    }
    const ssize_t count =
        recv(client->source.fd, client->line + client->length, LINE_BYTES_MAX - client->length, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        client_close(client);
        return;
    }
    client->length += (unsigned)count;
    client_lines(client);
    if (!client->closed && client->busy)
        thread_rewatch(&client->source, 0);
}

static void client_accepted(void *context, int fd, const char *peer)
{
    struct control *control = context;
    (void)peer;
    if (control->count >= CLIENTS_MAX) {
        close(fd);
        return;
    }
    struct client *client = memory_get(sizeof *client);
    client->control = control;
    client->source = (struct source){.fd = fd, .ready = client_ready, .context = client};
    if (thread_watch(&client->source, EPOLLIN) < 0) {
        close(fd);
        free(client);
        return;
    }
    control->count++;
    TAILQ_INSERT_TAIL(&control->clients, client, link);
}

int control_open(struct control **result, struct target *target, const char *path)
{
    struct control *control = memory_get(sizeof *control);
    control->target = target;
    TAILQ_INIT(&control->clients);
    control->listener.source.fd = -1;
    /* Everyone who can write to the socket can remove exports. */
    const mode_t mask = umask(0077);
    int error = listener_open_unix(&control->listener, path);
    umask(mask);
    if (!error)
        error = listener_start(&control->listener, client_accepted, control);
    if (error) {
        free(control);
        return error;
    }
    *result = control;
    return 0;
}

static void control_free(void *context)
{
    free(context);
}

void control_close(struct control *control)
{
    struct client *client;
    if (!control)
        return;
    while ((client = TAILQ_FIRST(&control->clients)))
        client_close(client);
    listener_close(&control->listener);
    /* this turn's events may still name its descriptors */
    thread_send_msg(thread_current(), control_free, control);
}
