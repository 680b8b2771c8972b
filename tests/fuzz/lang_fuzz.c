/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: script text through lexer and parser. The resulting tree is copied, walked and printed. A text that
 * was parsed without an error must give a tree whose copy prints the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/c/definitions.h"
#include "lang/parse/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_node(struct node *node, void *state)
{
    assert(node);
    ++*(size_t *)state;
    return true;
}

static void exercise_node(struct arena *arena, struct node *node, bool is_good)
{
    struct text original = {0}, copy = {0};
    size_t nodes = 0, again = 0;
    struct node *clone = node_clone(arena, node);
    node_walk(node, count_node, &nodes);
    node_walk(clone, count_node, &again);
    assert(nodes == again);
    node_print(&original, node, 0);
    node_print(&copy, clone, 0);
    assert(!is_good || original.failed || !strcmp(text_string(&original), text_string(&copy)));
    text_free(&original);
    text_free(&copy);
}

/* Parses with definitions of C, as is always done: they change where a probe begins. */
static struct script *parse(struct arena *arena, struct diagnostics *diagnostics, const struct source *source,
                            const struct parameters *parameters)
{
    const struct c_options options = {.arena = arena, .diagnostics = diagnostics};
    struct c_definitions *definitions = c_open(&options);
    struct script *script = script_parse_with(arena, diagnostics, source, parameters, definitions);
    c_close(definitions);
    return script;
}

/* Checks --fmt: its result has the same meaning, and is not changed by --fmt again. */
static void exercise_layout(struct arena *arena, const struct source *source,
                            const struct parameters *parameters, const struct script *script)
{
    struct text once = {0}, twice = {0}, before = {0}, after = {0};
    struct diagnostics diagnostics = {.arena = arena};
    bool is_good = script_layout(&once, arena, &diagnostics, source, parameters);
    assert(is_good);
    struct source again = {.name = "again", .text = text_string(&once), .length = once.length};
    struct script *other = parse(arena, &diagnostics, &again, parameters);
    script_print(&before, script);
    script_print(&after, other);
    assert(once.failed || before.failed || !strcmp(text_string(&before), text_string(&after)));
    script_layout(&twice, arena, &diagnostics, &again, parameters);
    assert(once.failed || twice.failed || !strcmp(text_string(&once), text_string(&twice)));
    text_free(&once);
    text_free(&twice);
    text_free(&before);
    text_free(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const values[] = {"7", "a:b/c", "", "--a=1", "--b"};
    struct parameters parameters = {.values = values, .count = 3, .named = values + 3, .named_count = 2};
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf nowhere;
    char *memory = malloc(size + 1); /* exactly the text's size, so that every read too far is found */
    if (!memory)
        return 0;
    memcpy(memory, data, size);
    memory[size] = 0;
    if (arena_guard(&arena, nowhere)) {
        arena_free(&arena);
        free(memory);
        return 0;
    }
    struct source source = {"fuzz", memory, size};
    struct script *script = parse(&arena, &diagnostics, &source, &parameters);
    bool is_good = diagnostics.errors == 0;
    assert(script->block_count || script->imports || !is_good);
    for (struct action_block *block = script->blocks; block; block = block->next) {
        assert(block->body && (block->attach_points || !is_good));
        exercise_node(&arena, block->predicate, is_good);
        exercise_node(&arena, block->body, is_good);
    }
    for (struct macro *macro = script->macros; macro; macro = macro->next)
        exercise_node(&arena, macro->body, is_good);
    for (struct subprogram *subprogram = script->subprograms; subprogram; subprogram = subprogram->next)
        exercise_node(&arena, subprogram->body, is_good);
    struct text text = {0};
    if (is_good) {
        exercise_layout(&arena, &source, &parameters, script);
        script_expand(&arena, &diagnostics, script, NULL);
        script_take_options(&arena, &diagnostics, script, &parameters);
    }
    script_print(&text, script);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, false);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_WARNING, false);
    text_free(&text);
    attach_point_parse(&arena, &diagnostics, &source, &parameters);
    arena_free(&arena);
    free(memory);
    return 0;
}
