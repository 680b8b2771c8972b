/* SPDX-License-Identifier: BSD-3-Clause */
/* Flame graphs as SVG: a rectangle for each function on each way to it, as wide as what was spent there. They can be
 * looked at without a script; in a browser, flame.js zooms and searches. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flame.inc"
#include "profile/look.h"

enum {
    WIDTH = 1200, /* if nothing else is chosen */
    MARGIN = 10,
    TOP = 64,
    ROW = 17,
    BOTTOM = 30,
    TITLE_LEFT = 280,
    DEPTH_MAX = 1000, /* what is deeper is left out: nobody could look at it */
};
static const double letter_width = 6.62; /* of the 11 pixels high letters */
static const double title_letter_width = 9.03;
static const double least_width = 0.1; /* of a rectangle; narrower ones are left out */

struct flame {
    struct profile_tree tree;
    struct text *out;
    unsigned width; /* of the rectangles */
    bool is_icicle;
    uint32_t depth;       /* of the deepest rectangle */
    double largest_delta; /* between the shares of a node in both profiles */
    uint64_t left_out;    /* how much has no rectangle of its own */
    bool has[LANGUAGES];
    uint64_t *starts; /* of each node, how much is on its left */
};

struct colour {
    unsigned red, green, blue;
};

static struct colour mix(struct colour one, struct colour other, double part)
{
    return (struct colour){(unsigned)(one.red + part * ((double)other.red - one.red) + 0.5),
                           (unsigned)(one.green + part * ((double)other.green - one.green) + 0.5),
                           (unsigned)(one.blue + part * ((double)other.blue - one.blue) + 0.5)};
}

static const struct colour language_colours[LANGUAGES] = {
    [LANGUAGE_UNKNOWN] = {200, 198, 190},    [LANGUAGE_PROCESS] = {178, 184, 196},
    [LANGUAGE_CONTAINER] = {150, 165, 190},  [LANGUAGE_C] = {238, 190, 92},
    [LANGUAGE_CPP] = {226, 168, 112},        [LANGUAGE_RUST] = {214, 140, 112},
    [LANGUAGE_GO] = {122, 196, 206},         [LANGUAGE_PYTHON] = {128, 172, 222},
    [LANGUAGE_JAVASCRIPT] = {226, 214, 104}, [LANGUAGE_JAVA] = {146, 200, 126},
    [LANGUAGE_GENERATED] = {176, 200, 150},  [LANGUAGE_KERNEL] = {232, 128, 92},
    [LANGUAGE_MODULE] = {222, 140, 150},
};
static const struct colour white = {255, 255, 255}, grown = {224, 58, 52}, shrunk = {52, 110, 224},
                           unchanged = {240, 238, 232};

static const struct profile_function *function_of(const struct flame *flame, uint32_t node)
{
    const uint32_t function = flame->tree.nodes[node].function;
    return function == TREE_NONE ? NULL : &flame->tree.profile->functions[function];
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double magnitude(double value)
{
    return value < 0 ? -value : value;
}

/* By how much the share of a node has grown since the other profile. */
static double delta(const struct flame *flame, uint32_t node)
{
    const struct tree_node *at = &flame->tree.nodes[node];
    return share(at->total, flame->tree.profile->total) - share(at->old, flame->tree.profile->old_total);
}

/* What neighbours are told apart by: functions of one language differ a little, and each is the same everywhere. */
static struct colour colour_of(const struct flame *flame, uint32_t node)
{
    const struct profile_function *function = function_of(flame, node);
    if (flame->tree.profile->has_old) {
        const double change = delta(flame, node);
        const double part = flame->largest_delta > 0 ? magnitude(change) / flame->largest_delta : 0;
        return mix(unchanged, change > 0 ? grown : shrunk, part * (2 - part));
    }
    const enum profile_language language = function ? function->language : LANGUAGE_PROCESS;
    const char *name = function ? function->name : "";
    const double tint = (double)(table_hash(name, strlen(name)) % 64) / 64;
    return mix(language_colours[language], white,
               tint * 0.3 + (flame->tree.nodes[node].is_inlined ? 0.25 : 0));
}

/* ---- what has room ---- */

static double width_of(const struct flame *flame, uint32_t node)
{
    return share(flame->tree.nodes[node].total, flame->tree.profile->total) * flame->width;
}

static bool is_shown(const struct flame *flame, uint32_t node)
{
    return flame->tree.nodes[node].depth <= DEPTH_MAX &&
           (node == TREE_ROOT || width_of(flame, node) >= least_width);
}

/* Returns the node behind one that is not shown and what is below it. */
static uint32_t skip(const struct flame *flame, uint32_t node)
{
    while (node != TREE_NONE && flame->tree.nodes[node].next == TREE_NONE)
        node = flame->tree.nodes[node].parent;
    return node == TREE_NONE ? TREE_NONE : flame->tree.nodes[node].next;
}

/* Finds where each node begins, and what the picture will have. */
static void measure(struct flame *flame)
{
    const struct tree_node *nodes = flame->tree.nodes;
    for (uint32_t node = TREE_ROOT; node != TREE_NONE;) {
        uint64_t start = flame->starts[node];
        for (uint32_t child = nodes[node].child; child != TREE_NONE; child = nodes[child].next) {
            flame->starts[child] = start;
            start += nodes[child].total;
        }
        if (!is_shown(flame, node)) {
            flame->left_out += nodes[node].total;
            node = skip(flame, node);
            continue;
        }
        const struct profile_function *function = function_of(flame, node);
        flame->has[function ? function->language : LANGUAGE_PROCESS] |= function != NULL;
        flame->depth = nodes[node].depth > flame->depth ? nodes[node].depth : flame->depth;
        const double change = magnitude(delta(flame, node));
        flame->largest_delta = change > flame->largest_delta ? change : flame->largest_delta;
        node = tree_next(&flame->tree, node);
    }
}

/* ---- the picture ---- */

/* Writes as much of a name as has room, with ".." for the rest. Characters of several bytes stay whole. */
static void write_label(struct text *out, const char *name, double width)
{
    const size_t letters = width > 6 ? (size_t)((width - 6) / letter_width) : 0;
    size_t length = 0, bytes = 0;
    for (const char *at = name; *at; at++)
        length += (*at & 0xc0) != 0x80;
    if (letters < 3)
        return;
    if (length <= letters) {
        xml_escape(out, name);
        return;
    }
    for (size_t seen = 0; name[bytes]; bytes++)
        if ((name[bytes] & 0xc0) != 0x80 && seen++ == letters - 2)
            break;
    struct text part = {0};
    text_append(&part, name, bytes);
    xml_escape(out, text_string(&part));
    text_add(out, "..");
    text_free(&part);
}

static void write_tooltip(struct flame *flame, uint32_t node)
{
    const struct profile *profile = flame->tree.profile;
    const struct tree_node *at = &flame->tree.nodes[node];
    const struct profile_function *function = function_of(flame, node);
    struct text *out = flame->out;
    xml_escape(out, tree_name(&flame->tree, node));
    text_add(out, "\n");
    profile_amount(out, profile, at->total);
    text_add(out, ", ");
    look_percent(out, at->total, profile->total);
    if (at->self && at->self != at->total) {
        text_add(out, ", itself ");
        look_percent(out, at->self, profile->total);
    }
    if (profile->has_old) {
        text_add(out, ", before ");
        look_percent(out, at->old, profile->old_total);
        text_printf(out, " (%+.1f)", 100 * delta(flame, node));
    }
    if (function && function->module[0]) {
        text_add(out, "\n");
        xml_escape(out, function->module);
    }
    if (at->is_inlined)
        text_add(out, "\ninlined");
}

static void write_frame(struct flame *flame, uint32_t node)
{
    const struct tree_node *at = &flame->tree.nodes[node];
    const struct colour colour = colour_of(flame, node);
    const uint32_t row = flame->is_icicle ? at->depth : flame->depth - at->depth;
    const double x = share(flame->starts[node], flame->tree.profile->total) * flame->width;
    text_printf(flame->out,
                "<g class=\"f\" data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\" data-d=\"%" PRIu32
                "\" transform=\"translate(%.2f,%u)\"><title>",
                flame->starts[node], at->total, at->depth, MARGIN + x, TOP + row * ROW);
    write_tooltip(flame, node);
    text_printf(
        flame->out,
        "</title><rect width=\"%.2f\" height=\"%d\" fill=\"#%02x%02x%02x\" rx=\"1\"/><text x=\"3\" y=\"12\">",
        width_of(flame, node), ROW - 1, colour.red, colour.green, colour.blue);
    write_label(flame->out, tree_name(&flame->tree, node), width_of(flame, node));
    text_add(flame->out, "</text></g>\n");
}

/* Writes the squares that say which colour is what. */
static void write_legend(struct flame *flame)
{
    double x = MARGIN;
    for (int language = 0; language < LANGUAGES && !flame->tree.profile->has_old; language++) {
        if (!flame->has[language])
            continue;
        const struct colour colour = mix(language_colours[language], white, 0.15);
        const char *name = profile_language_names[language];
        text_printf(flame->out,
                    "<rect x=\"%.1f\" y=\"47\" width=\"9\" height=\"9\" rx=\"1\" fill=\"#%02x%02x%02x\"/>"
                    "<text class=\"quiet\" x=\"%.1f\" y=\"55\">%s</text>\n",
                    x, colour.red, colour.green, colour.blue, x + 12, name);
        x += 24 + letter_width * (double)strlen(name);
    }
    if (flame->tree.profile->has_old)
        text_printf(flame->out,
                    "<text class=\"quiet\" x=\"%d\" y=\"55\">red: a larger share than before; blue: a "
                    "smaller one</text>\n",
                    MARGIN);
}

/* Writes what the picture does not show by itself. */
static void write_facts(struct flame *flame)
{
    const struct profile *profile = flame->tree.profile;
    struct text *out = flame->out;
    text_printf(out, "<text class=\"quiet\" x=\"%d\" y=\"38\">", MARGIN);
    profile_amount(out, profile, profile->total);
    if (profile->lasted)
        text_printf(out, " in %.1f s", (double)profile->lasted / 1e9);
    if (profile->has_old) {
        uint64_t gone = 0;
        for (size_t i = 0; i < profile->stack_count; i++)
            gone += profile->stacks[i].weight ? 0 : profile->stacks[i].old;
        text_add(out, ", compared with ");
        profile_amount(out, profile, profile->old_total);
        text_add(out, ", of which ");
        look_percent(out, gone, profile->old_total);
        text_add(out, " in stacks that are gone");
    }
    if (flame->left_out && profile->total) {
        text_add(out, "; ");
        look_percent(out, flame->left_out, profile->total);
        text_add(out, " in frames too small to draw");
    }
    text_add(out, "</text>\n");
}

static void write_controls(struct flame *flame, unsigned bottom)
{
    const unsigned right = MARGIN + flame->width;
    text_printf(flame->out,
                "<g class=\"controls\" display=\"none\"><text class=\"button search\" x=\"%u\" y=\"22\" "
                "text-anchor=\"end\">search</text>"
                "<text class=\"button turn\" x=\"%u\" y=\"22\" text-anchor=\"end\">icicle</text>"
                "<text class=\"button reset\" x=\"%u\" y=\"22\" text-anchor=\"end\">whole</text></g>\n"
                "<text class=\"quiet found-text\" x=\"%u\" y=\"38\" text-anchor=\"end\"></text>\n"
                "<text class=\"about\" x=\"%d\" y=\"%u\"></text>\n",
                right - 110, right - 50, right, right, MARGIN, bottom);
}

static void write_picture(struct flame *flame, bool is_in_page)
{
    const struct profile *profile = flame->tree.profile;
    const unsigned height = TOP + (flame->depth + 1) * ROW + BOTTOM, width = flame->width + 2 * MARGIN;
    struct text *out = flame->out;
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%u\" height=\"%u\" "
                "viewBox=\"0 0 %u %u\" data-width=\"%u\" data-margin=\"%d\" data-top=\"%d\" data-row=\"%d\" "
                "data-depth=\"%" PRIu32 "\" data-letter=\"%.2f\" data-icicle=\"%d\">\n<title>",
                width, height, width, height, flame->width, MARGIN, TOP, ROW, flame->depth, letter_width,
                flame->is_icicle);
    xml_escape(out, profile->title);
    text_add(out, "</title>\n");
    if (!is_in_page)
        text_printf(out, "<style>\n%s</style>\n", flame_style);
    text_printf(
        out, "<rect width=\"%u\" height=\"%u\" fill=\"#fdfcf8\"/>\n<text class=\"title\" x=\"%d\" y=\"22\">",
        width, height, MARGIN);
    /* It leaves room for the words at the right. */
    write_label(out, profile->title, (flame->width - TITLE_LEFT) * letter_width / title_letter_width);
    text_add(out, "</text>\n");
    write_facts(flame);
    write_legend(flame);
    write_controls(flame, height - 10);
    for (uint32_t node = TREE_ROOT; node != TREE_NONE;)
        if (is_shown(flame, node)) {
            write_frame(flame, node);
            node = tree_next(&flame->tree, node);
        } else
            node = skip(flame, node);
    if (!is_in_page)
        text_printf(out, "<script>\n%s</script>\n", flame_script);
    text_add(out, "</svg>\n");
}

int look_flame(const struct profile *profile, const struct profile_look *look, bool is_in_page,
               struct text *out)
{
    const unsigned width = look->width ? look->width : WIDTH;
    struct flame flame = {.out = out, .is_icicle = look->is_icicle, .width = width - 2 * MARGIN};
    int error = tree_build(&flame.tree, profile);
    if (!error && !(flame.starts = calloc(flame.tree.count, sizeof *flame.starts)))
        error = -ENOMEM;
    if (!error) {
        measure(&flame);
        write_picture(&flame, is_in_page);
    }
    free(flame.starts);
    tree_free(&flame.tree);
    return error;
}

static int write_svg(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    return look_flame(profile, look, false, out);
}

const struct profile_format profile_svg = {
    .name = "svg", .endings = ".svg", .opens = "any browser opens it", .write = write_svg};
