/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/sample.h"

#include "otlp/choice.h"

enum {
    SHARE = 16,          /* a limit holds until there are more lives, by one part in so many */
    FEW_LIVES = 1 << 10, /* so many are needed before a limit that was found before is given up */
};

static void find_limit(struct sampled *sampled, uint32_t percentile)
{
    const uint64_t count = sampled->lives.count;
    if (count < sampled->next)
        return;
    sampled->limit = latency_quantile(&sampled->lives, (double)percentile / PERCENTILE_ALL);
    sampled->next = count + count / SHARE + 1;
    if (count < SAMPLE_SPANS_MAX)
        return;
    latency_clear(&sampled->lives);
    sampled->next = FEW_LIVES;
}

int sample_see(struct sample *sample, const struct otlp_span *span)
{
    struct sampled *sampled = &sample->types[(size_t)span->type % SAMPLE_TYPES_MAX];
    const uint64_t life = span->end - span->start;
    if (!sample->percentile)
        return 1;
    const bool is_asked_for = !sample->is_of_type || span->type == sample->type;
    const bool is_wanted = span->is_error || (is_asked_for && life > sampled->limit);
    const int error = latency_add(&sampled->lives, life);
    if (error)
        return error;
    find_limit(sampled, sample->percentile);
    sample->left_out += !is_wanted;
    return is_wanted;
}

void sample_free(struct sample *sample)
{
    for (size_t i = 0; i < SAMPLE_TYPES_MAX; i++)
        latency_clear(&sample->types[i].lives);
}
