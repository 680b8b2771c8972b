/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/terminal.h"
#include "otlp/address.h"
#include "otlp/answer.h"
#include "otlp/curl.h"
#include "otlp/header.h"

enum { SLOTS = 4, ANSWER_MAX = 64 << 10, FASTEST = 1, WAIT_MS = 100 };
enum { REQUEST_MAX_MS = 10000, CONNECT_MAX_MS = 5000, DELAY_MIN_MS = 250, DELAY_MAX_MS = 15000 };

#define USER_AGENT "User-Agent: spoor/" SPOOR_VERSION

struct slot { /* a request */
    enum { SLOT_FREE, SLOT_WAITS, SLOT_FLIES } state;
    struct curl_easy *easy;
    struct text body, answer;
    uint64_t items;
    char error[CURL_ERROR_SIZE];
};

struct sender {
    struct sender_options options;
    struct text url;
    const char *authorities; /* a file of certificates; NULL: those of the system */
    struct curl_multi *multi;
    struct curl_list *headers;
    struct slot slots[SLOTS];
    struct sender_counts counts;
    struct text reason;
    unsigned failures;      /* since the receiver took something last */
    uint64_t failing_since; /* monotonic clock; 0: all is well */
    uint64_t not_before;    /* when it is tried again */
    bool has_given_up;
    bool is_refused; /* the receiver takes nothing of this kind */
};

/* ---- opening ---- */

static int append_header(void *context, const char *line)
{
    struct sender *sender = context;
    struct curl_list *longer = curl.append(sender->headers, line);
    if (!longer)
        return -ENOMEM;
    sender->headers = longer;
    return 0;
}

static int add_headers(struct sender *sender, struct text *why)
{
    /* Nobody is asked whether a body may be sent: that takes as long as sending it. */
    static const char *const ours[] = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip",
                                       USER_AGENT, "Expect:"};
    int error = 0;
    for (size_t i = 0; !error && i < sizeof ours / sizeof *ours; i++)
        error = append_header(sender, ours[i]);
    const struct header_receiver receiver = {append_header, sender};
    if (!error)
        error = headers_given(sender->options.headers, &receiver, why);
    if (!error)
        error = headers_of_environment(sender->options.headers, &receiver, why);
    return error;
}

static size_t take_answer(const char *bytes, size_t size, size_t count, void *state)
{
    struct slot *slot = state;
    const size_t length = size * count;
    if (slot->answer.length + length <= ANSWER_MAX)
        text_append(&slot->answer, bytes, length);
    else
        slot->answer.failed = true; /* too long to be one */
    return length;
}

/* Finds the certificates that the user trusts: a file that cannot be read is said now, and not with every request. */
static int find_authorities(struct sender *sender, struct text *why)
{
    const char *file = secure_getenv(SENDER_CERTIFICATE_VARIABLE);
    if (!file || !*file)
        return 0;
    sender->authorities = file;
    if (!access(file, R_OK))
        return 0;
    const int error = errno;
    terminal_print(why, SENDER_CERTIFICATE_VARIABLE ": cannot read '%s': %s", file, strerror(error));
    return -error;
}

static int open_slot(struct sender *sender, struct slot *slot)
{
    struct curl_easy *easy = slot->easy = curl.easy();
    const uint64_t patience_ms = sender->options.patience_ns / NSEC_PER_MSEC;
    const long limit = patience_ms < REQUEST_MAX_MS ? (long)patience_ms + 1 : REQUEST_MAX_MS;
    if (!easy)
        return -ENOMEM;
    const bool is_set = !curl.set(easy, CURL_URL, text_string(&sender->url)) &&
                        !curl.set(easy, CURL_PROTOCOLS, (long)CURL_HTTP_AND_HTTPS) &&
                        !curl.set(easy, CURL_HEADERS, sender->headers) && !curl.set(easy, CURL_POST, 1L) &&
                        !curl.set(easy, CURL_NO_SIGNAL, 1L) && !curl.set(easy, CURL_TIMEOUT_MS, limit) &&
                        !curl.set(easy, CURL_CONNECT_TIMEOUT_MS, (long)CONNECT_MAX_MS) &&
                        !curl.set(easy, CURL_ERROR_TEXT, slot->error) &&
                        !curl.set(easy, CURL_WRITE, take_answer) && !curl.set(easy, CURL_WRITE_STATE, slot) &&
                        !curl.set(easy, CURL_PRIVATE, slot) &&
                        (!sender->authorities || !curl.set(easy, CURL_AUTHORITIES, sender->authorities));
    return is_set ? 0 : -EINVAL;
}

int sender_open(const struct sender_options *options, struct sender **out, struct text *why,
                struct text *hint)
{
    struct sender *sender = *out = calloc(1, sizeof *sender);
    struct text reason = {0};
    if (!sender)
        return -ENOMEM;
    sender->options = *options;
    if (!options->patience_ns)
        sender->options.patience_ns = SENDER_PATIENCE_NS;
    int error = address_make(options->url, options->path, &sender->url, why);
    if (!error && (error = curl_load(&reason))) {
        text_printf(why, "sending needs libcurl.so.4: %s", text_string(&reason));
        text_add(hint, "install Debian's package libcurl4, or Fedora's libcurl; a file does without");
    }
    text_free(&reason);
    if (!error)
        error = add_headers(sender, why);
    if (!error)
        error = find_authorities(sender, why);
    if (!error && !(sender->multi = curl.multi()))
        error = -ENOMEM;
    for (size_t i = 0; !error && i < SLOTS; i++)
        error = open_slot(sender, &sender->slots[i]);
    return error;
}

void sender_close(struct sender *sender)
{
    if (!sender)
        return;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &sender->slots[i];
        if (slot->state == SLOT_FLIES)
            curl.take(sender->multi, slot->easy);
        if (slot->easy)
            curl.easy_free(slot->easy);
        text_free(&slot->body);
        text_free(&slot->answer);
    }
    if (sender->multi)
        curl.multi_free(sender->multi);
    if (sender->headers)
        curl.list_free(sender->headers);
    text_free(&sender->url);
    text_free(&sender->reason);
    free(sender);
}

/* ---- what becomes of a request ---- */

static void say(struct sender *sender, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct sender *sender, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    sender->options.report(sender->options.report_state, text_string(&text));
    text_free(&text);
}

static void release(struct slot *slot)
{
    slot->state = SLOT_FREE;
    slot->items = 0;
    text_clear(&slot->body);
    text_clear(&slot->answer);
}

static void note_reason(struct sender *sender, const char *reason)
{
    if (!sender->reason.length)
        text_add(&sender->reason, reason);
}

static void count_missing(struct sender *sender, uint64_t items)
{
    *(sender->is_refused ? &sender->counts.refused : &sender->counts.lost) += items;
}

static void lose(struct sender *sender, struct slot *slot, const char *reason)
{
    count_missing(sender, slot->items);
    note_reason(sender, reason);
    release(slot);
}

static bool is_stopped(const struct sender *sender)
{
    return sender->options.stop && *sender->options.stop;
}

static void give_up(struct sender *sender, const char *reason)
{
    sender->has_given_up = !sender->options.goes_on || is_stopped(sender);
    sender->failing_since = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &sender->slots[i];
        if (slot->state == SLOT_FLIES)
            curl.take(sender->multi, slot->easy);
        if (slot->state != SLOT_FREE)
            lose(sender, slot, reason);
    }
}

static void deliver(struct sender *sender, struct slot *slot)
{
    struct answer answer;
    sender->failures = 0;
    sender->failing_since = 0;
    const bool is_known =
        !slot->answer.failed && answer_read(slot->answer.bytes, slot->answer.length, true, &answer);
    const uint64_t rejected = !is_known ? 0 : answer.rejected < slot->items ? answer.rejected : slot->items;
    sender->counts.sent += slot->items - rejected;
    sender->counts.rejected += rejected;
    if (is_known && (rejected || answer.text[0])) {
        if (!sender->reason.length)
            say(sender, "WARNING: %s says: %s", text_string(&sender->url), answer.text);
        note_reason(sender, answer.text[0] ? answer.text : "the receiver did not say why");
    }
    release(slot);
}

/* Returns how long to wait before the next try, twice as long each time, and at random so that many who wait do not come
 * at once. */
static uint64_t back_off(const struct sender *sender)
{
    uint64_t delay = DELAY_MIN_MS, random = 0;
    for (unsigned i = 1; i < sender->failures && delay < DELAY_MAX_MS; i++)
        delay *= 2;
    if (delay > DELAY_MAX_MS)
        delay = DELAY_MAX_MS;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = clock_ns(CLOCK_MONOTONIC);
    return (delay / 2 + random % (delay / 2 + 1)) * NSEC_PER_MSEC;
}

/* Has a request wait for the next try, unless the receiver has had its time. wanted: how long it wants to be left alone,
 * in seconds; 0: it does not say. */
static void try_later(struct sender *sender, struct slot *slot, const char *reason, int64_t wanted)
{
    const uint64_t now = clock_ns(CLOCK_MONOTONIC), patience = sender->options.patience_ns;
    if (!sender->failing_since) {
        sender->failing_since = now;
        if (!sender->failures) /* said once, until all is well again */
            say(sender, "WARNING: %s: %s; it is tried again for %g seconds", text_string(&sender->url),
                reason, (double)patience / NSEC_PER_SEC);
    }
    const uint64_t deadline = sender->failing_since + patience;
    const uint64_t limit = patience / NSEC_PER_SEC + 1;
    uint64_t next = now + back_off(sender);
    if (next > deadline)
        next = deadline;
    if (wanted > 0)
        next = now + ((uint64_t)wanted < limit ? (uint64_t)wanted : limit) * NSEC_PER_SEC;
    slot->state = SLOT_WAITS;
    sender->failures++;
    sender->counts.retries++;
    if (next > sender->not_before)
        sender->not_before = next;
    if (now >= deadline || next > deadline)
        give_up(sender, reason);
}

static bool is_temporary(int error)
{
    return error == CURL_NO_PROXY || error == CURL_NO_HOST || error == CURL_NO_CONNECTION ||
           error == CURL_PARTIAL || error == CURL_TIMEOUT || error == CURL_NOTHING ||
           error == CURL_NOT_SENT || error == CURL_NOT_RECEIVED;
}

/* Whether the receiver has answered that it takes nothing of this kind, and need not. */
static bool refuses(const struct sender *sender, long status)
{
    return sender->options.refusable && !sender->counts.sent && !sender->counts.rejected &&
           answer_is_refusal(status);
}

static void settle(struct sender *sender, struct slot *slot, int error)
{
    struct text reason = {0};
    struct answer answer = {0};
    long status = 0;
    int64_t wanted = 0;
    curl.ask(slot->easy, CURL_STATUS, &status);
    curl.ask(slot->easy, CURL_RETRY_AFTER, &wanted);
    curl.take(sender->multi, slot->easy);
    if (!error && status / 100 == 2) {
        deliver(sender, slot);
        return;
    }
    if (error)
        text_add(&reason, slot->error[0] ? slot->error : curl.error_text(error));
    else {
        text_printf(&reason, "it answers %ld", status);
        if (!slot->answer.failed && answer_read(slot->answer.bytes, slot->answer.length, false, &answer) &&
            answer.text[0])
            text_printf(&reason, ", %s", answer.text);
    }
    text_clear(&slot->answer);
    if (error ? is_temporary(error) : answer_is_temporary(status))
        try_later(sender, slot, text_string(&reason), error ? 0 : wanted);
    else if (!error && refuses(sender, status)) {
        say(sender, "NOTE: %s takes no %s (%s): they are not sent", text_string(&sender->url),
            sender->options.refusable, text_string(&reason));
        slot->state = SLOT_WAITS;
        sender->is_refused = true;
        sender->options.goes_on = false;
        give_up(sender, text_string(&reason));
    } else {
        if (!sender->reason.length)
            say(sender, "WARNING: %s: %s", text_string(&sender->url), text_string(&reason));
        lose(sender, slot, text_string(&reason));
    }
    text_free(&reason);
}

/* ---- running ---- */

static void start(struct sender *sender, struct slot *slot)
{
    slot->error[0] = 0;
    slot->answer.failed = false;
    const bool is_set = !curl.set(slot->easy, CURL_BODY, text_string(&slot->body)) &&
                        !curl.set(slot->easy, CURL_BODY_SIZE, (int64_t)slot->body.length) &&
                        !curl.add(sender->multi, slot->easy);
    if (!is_set) {
        lose(sender, slot, "libcurl has no memory");
        return;
    }
    slot->state = SLOT_FLIES;
    sender->counts.requests++;
    sender->counts.bytes += slot->body.length;
}

static struct slot *find_slot(struct sender *sender, int state)
{
    for (size_t i = 0; i < SLOTS; i++)
        if ((int)sender->slots[i].state == state)
            return &sender->slots[i];
    return NULL;
}

bool sender_is_busy(const struct sender *sender)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (sender->slots[i].state != SLOT_FREE)
            return true;
    return false;
}

void sender_run(struct sender *sender, int wait_ms)
{
    struct curl_message *message;
    int running, left;
    if (is_stopped(sender) && !sender->has_given_up)
        give_up(sender, "it was interrupted");
    /* A receiver that has failed is asked by one request, until it takes one. */
    const bool is_well = !sender->failures;
    const bool is_due = clock_ns(CLOCK_MONOTONIC) >= sender->not_before;
    for (size_t i = 0; i < SLOTS && is_due; i++)
        if (sender->slots[i].state == SLOT_WAITS && (is_well || !find_slot(sender, SLOT_FLIES)))
            start(sender, &sender->slots[i]);
    curl.run(sender->multi, &running);
    while ((message = curl.message(sender->multi, &left))) {
        char *slot = NULL;
        if (message->kind == CURL_DONE && !curl.ask(message->easy, CURL_PRIVATE_OF, &slot) && slot)
            settle(sender, (struct slot *)slot, message->data.error);
    }
    if (wait_ms > 0 && sender_is_busy(sender))
        curl.wait(sender->multi, NULL, 0, wait_ms, NULL);
}

bool sender_has_room(const struct sender *sender)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (sender->slots[i].state == SLOT_FREE)
            return true;
    return false;
}

int sender_send(struct sender *sender, const struct text *body, uint64_t items)
{
    struct slot *slot;
    while (!sender->has_given_up && !(slot = find_slot(sender, SLOT_FREE)))
        sender_run(sender, WAIT_MS);
    if (sender->has_given_up) {
        count_missing(sender, items);
        return 0;
    }
    slot->items = items;
    if (body->failed || gzip_append(&slot->body, body->bytes, body->length, FASTEST)) {
        lose(sender, slot, "there is not enough memory");
        return -ENOMEM;
    }
    slot->state = SLOT_WAITS;
    sender_run(sender, 0);
    return 0;
}

void sender_goes_no_further(struct sender *sender)
{
    sender->options.goes_on = false;
}

void sender_finish(struct sender *sender)
{
    while (sender_is_busy(sender))
        sender_run(sender, WAIT_MS);
}

const char *sender_url(const struct sender *sender)
{
    return text_string(&sender->url);
}

struct sender_counts sender_counts(const struct sender *sender)
{
    return sender->counts;
}

const char *sender_reason(const struct sender *sender)
{
    return text_string(&sender->reason);
}
