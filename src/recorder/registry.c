/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program's modules (the executable and its shared libraries) declare: it is gathered from their sections
 * of entries, merged, checked, and numbered.
 *
 * A declaration in a header arrives once from each file that includes it: two are one if they stand in the same
 * line of a file of the same name. Ids are given once and never change. Text is copied, because a module may be
 * unloaded while its records are still in the rings. */
#include "recorder/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct module {
    struct module *next;
    struct spoor_entry *first, *end;
    bool collected; /* its entries are in the registry that was made last */
};

static struct module *modules;
static bool modules_short; /* memory ran out when one of them was registered */

static const volatile unsigned char off;

/* ---- modules come and go ---- */

static void append_late(void);
static unsigned tracepoint_id(const struct registry *registry, const char *name);
static int by_place(const void *a, const void *b);

void spoor_module_register_v1(struct spoor_entry *first, struct spoor_entry *end)
{
    if (first == end)
        return;
    recorder_lock();
    struct module **at = &modules;
    while (*at != NULL && (*at)->first != first)
        at = &(*at)->next;
    if (*at == NULL) {
        struct module *module = calloc(1, sizeof *module);
        if (module == NULL) {
            modules_short = true;
        } else {
            qsort(first, (size_t)(end - first), sizeof *first, by_place);
            module->first = first;
            module->end = end;
            *at = module;
            if (recorder_own() != NULL)
                append_late();
        }
    }
    recorder_unlock();
}

static void forget_tracepoint(struct registry *registry, const struct spoor_definition *definition)
{
    const unsigned id = tracepoint_id(registry, definition->name);
    if (id != 0 && registry->tracepoints[id - 1].definition == definition) {
        registry->tracepoints[id - 1].descriptor = NULL;
        registry->tracepoints[id - 1].definition = NULL;
    }
}

void spoor_module_unregister_v1(struct spoor_entry *first)
{
    recorder_lock();
    struct module **at = &modules;
    while (*at != NULL && (*at)->first != first)
        at = &(*at)->next;
    struct module *module = *at;
    if (module != NULL) {
        *at = module->next;
        struct registry *registry = recorder.registry;
        for (struct spoor_entry *entry = module->first; registry != NULL && entry < module->end; entry++)
            if (entry->kind == SPOOR_ENTRY_TRACEPOINT_)
                forget_tracepoint(registry, entry->detail);
        for (unsigned i = 0; registry != NULL && i < registry->enumeration_count; i++)
            if (registry->enumerations[i].module == module)
                /* Other enumerators may be loaded at this address later. */
                registry->enumerations[i].values = NULL;
        free(module);
    }
    recorder_unlock();
}

/* ---- merging ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool same_place(const char *file, int line, const char *other_file, int other_line)
{
    return line == other_line && strcmp(base_name(file), base_name(other_file)) == 0;
}

/* Appends an item of zeros to an array and returns it; NULL: memory ran out. The array grows one by one, because it
 * is small and made once. */
static void *add(void *array, unsigned *count, size_t size)
{
    void *grown = realloc(*(void **)array, (*count + 1) * size);
    if (grown == NULL) {
        recorder_fail(-ENOMEM, "no memory for the table of tracepoints");
        return NULL;
    }
    memcpy(array, &grown, sizeof grown);
    void *item = (char *)grown + *count * size;
    memset(item, 0, size);
    ++*count;
    return item;
}

static int copy(char **to, const char *text)
{
    *to = strdup(text);
    return *to != NULL ? 0 : recorder_fail(-ENOMEM, "no memory for the table of tracepoints");
}

static uint32_t hash_name(const char *name)
{
    return index_hash(INDEX_HASH_FIRST, name, strlen(name));
}

static bool is_group(const struct registry *registry, unsigned id, const void *name)
{
    return strcmp(registry->groups[id - 1].name, name) == 0;
}

static unsigned group_id(const struct registry *registry, const char *name)
{
    return index_find(&registry->groups_by_name, hash_name(name), is_group, registry, name);
}

static unsigned letter_id(const struct registry_letter *letters, unsigned count, const char *name)
{
    for (unsigned i = 0; name != NULL && i < count; i++)
        if (strcmp(letters[i].name, name) == 0)
            return i + 1;
    return 0;
}

static bool is_tracepoint(const struct registry *registry, unsigned id, const void *name)
{
    return strcmp(registry->tracepoints[id - 1].name, name) == 0;
}

static unsigned tracepoint_id(const struct registry *registry, const char *name)
{
    return index_find(&registry->tracepoints_by_name, hash_name(name), is_tracepoint, registry, name);
}

unsigned registry_owner_type(const struct registry *registry, const char *name)
{
    return letter_id(registry->owners, registry->owner_count, name);
}

static uint32_t hash_address(const void *address)
{
    return index_hash(INDEX_HASH_FIRST, &address, sizeof address);
}

static bool is_enumeration(const struct registry *registry, unsigned id, const void *values)
{
    return registry->enumerations[id - 1].values == values;
}

unsigned registry_enumeration(const struct registry *registry, const struct spoor_enumerator *values)
{
    return index_find(&registry->enumerations_by_address, hash_address(values), is_enumeration, registry,
                      values);
}

static int collect_group(struct registry *registry, const struct spoor_group *group)
{
    const unsigned id = group_id(registry, group->name);
    if (id != 0) {
        const struct registry_group *there = &registry->groups[id - 1];
        if (same_place(there->file, there->line, group->file, group->line))
            return 0;
        return recorder_fail(-EEXIST, "group '%s' is defined twice: %s:%d and %s:%d; rename one", group->name,
                             there->file, there->line, group->file, group->line);
    }
    struct registry_group *added = add(&registry->groups, &registry->group_count, sizeof *added);
    if (added == NULL || copy(&added->name, group->name) != 0 || copy(&added->text, group->text) != 0 ||
        copy(&added->file, group->file) != 0)
        return -ENOMEM;
    added->line = group->line;
    return index_add(&registry->groups_by_name, hash_name(added->name), registry->group_count);
}

static int collect_letter(struct registry_letter **letters, unsigned *count, const char *what,
                          const char *name, char letter, const char *file, int line)
{
    for (unsigned i = 0; i < *count; i++) {
        const struct registry_letter *there = &(*letters)[i];
        const bool same_name = strcmp(there->name, name) == 0;
        if (same_name && there->letter == letter && same_place(there->file, there->line, file, line))
            return 0;
        if (same_name)
            return recorder_fail(-EEXIST, "%s '%s' is defined twice: %s:%d and %s:%d; rename one", what, name,
                                 there->file, there->line, file, line);
        if (there->letter == letter)
            return recorder_fail(-EEXIST,
                                 "%ss '%s' and '%s' have the same letter '%c': %s:%d and %s:%d; change one",
                                 what, there->name, name, letter, there->file, there->line, file, line);
    }
    struct registry_letter *added = add(letters, count, sizeof *added);
    if (added == NULL || copy(&added->name, name) != 0 || copy(&added->file, file) != 0)
        return -ENOMEM;
    added->letter = letter;
    added->line = line;
    return 0;
}

static int collect_tracepoint(struct registry *registry, struct module *module,
                              const struct spoor_entry *entry)
{
    /* If the dynamic linker has made two descriptors of one name into one, its definition is that of the other
     * module. */
    struct spoor_tracepoint *descriptor = (struct spoor_tracepoint *)(uintptr_t)entry->what;
    const struct spoor_definition *definition = entry->detail;
    const struct spoor_definition *first = descriptor->definition;
    if (first != definition)
        return recorder_fail(-EEXIST,
                             "tracepoint '%s' has two homes: %s:%d and %s:%d; keep SPOOR_TRACEPOINT_HERE in "
                             "one module, or rename one",
                             definition->name, first->file, first->line, definition->file, definition->line);

    const unsigned id = tracepoint_id(registry, definition->name);
    struct registry_tracepoint *tracepoint = id != 0 ? &registry->tracepoints[id - 1] : NULL;
    if (tracepoint != NULL && tracepoint->definition == definition)
        return 0;
    if (tracepoint != NULL &&
        (tracepoint->descriptor != NULL ||
         !same_place(tracepoint->file, tracepoint->line, definition->file, definition->line)))
        return recorder_fail(-EEXIST, "tracepoint '%s' is defined twice: %s:%d and %s:%d; rename one",
                             definition->name, tracepoint->file, tracepoint->line, definition->file,
                             definition->line);
    const unsigned group = group_id(registry, definition->group->name);
    if (group == 0)
        return recorder_fail(-EINVAL, "%s:%d: tracepoint '%s' is in no group", definition->file,
                             definition->line, definition->name);
    if (tracepoint == NULL) {
        if (registry->tracepoint_count >= LAYOUT_ID_PADDING - 1)
            return recorder_fail(-E2BIG, "more than %u tracepoints", LAYOUT_ID_PADDING - 1);
        tracepoint = add(&registry->tracepoints, &registry->tracepoint_count, sizeof *tracepoint);
        if (tracepoint == NULL || copy(&tracepoint->name, definition->name) != 0 ||
            copy(&tracepoint->file, definition->file) != 0)
            return -ENOMEM;
        tracepoint->line = definition->line;
        tracepoint->group = group;
        tracepoint->object = letter_id(registry->objects, registry->object_count, definition->object->name);
        tracepoint->index = registry->groups[group - 1].tracepoints++;
        const int error = index_add(&registry->tracepoints_by_name, hash_name(tracepoint->name),
                                    registry->tracepoint_count);
        if (error != 0)
            return error;
    } /* else its module was unloaded, and has been loaded again */
    tracepoint->descriptor = descriptor;
    tracepoint->definition = definition;
    for (unsigned i = 0; i < definition->argument_count; i++) {
        const struct spoor_enumerator *values = definition->arguments[i].values;
        if (values->name == NULL || registry_enumeration(registry, values) != 0)
            continue;
        struct registry_enumeration *enumeration =
            add(&registry->enumerations, &registry->enumeration_count, sizeof *enumeration);
        if (enumeration == NULL)
            return -ENOMEM;
        enumeration->values = values;
        enumeration->module = module;
        const int error =
            index_add(&registry->enumerations_by_address, hash_address(values), registry->enumeration_count);
        if (error != 0)
            return error;
    }
    return 0;
}

static bool is_relation(const struct registry *registry, unsigned id, const void *key)
{
    const struct registry_relation *relation = &registry->relations[id - 1], *sought = key;
    return relation->tracepoint == sought->tracepoint && relation->argument == sought->argument &&
           relation->object == sought->object;
}

static int collect_relation(struct registry *registry, const struct spoor_relation *relation)
{
    const unsigned tracepoint = tracepoint_id(registry, relation->tracepoint);
    const struct spoor_definition *definition =
        tracepoint != 0 ? registry->tracepoints[tracepoint - 1].definition : NULL;
    const unsigned object = letter_id(registry->objects, registry->object_count, relation->object->name);
    if (definition == NULL || object == 0)
        return 0; /* the module of the tracepoint or of the object is not loaded */
    unsigned argument = 0;
    while (argument < definition->argument_count &&
           strcmp(definition->arguments[argument].name, relation->argument) != 0)
        argument++;
    if (argument == definition->argument_count)
        return recorder_fail(-EINVAL,
                             "%s:%d: tracepoint '%s' of %s:%d has no argument '%s': the modules were built "
                             "with different headers",
                             relation->file, relation->line, definition->name, definition->file,
                             definition->line, relation->argument);
    const struct registry_relation sought = {
        .tracepoint = tracepoint, .argument = argument, .object = object};
    const unsigned ids[] = {tracepoint, argument, object};
    const uint32_t hash = index_hash(INDEX_HASH_FIRST, ids, sizeof ids);
    if (index_find(&registry->relations_by_ids, hash, is_relation, registry, &sought) != 0)
        return 0;
    struct registry_relation *added = add(&registry->relations, &registry->relation_count, sizeof *added);
    if (added == NULL)
        return -ENOMEM;
    added->tracepoint = tracepoint;
    added->argument = argument;
    added->object = object;
    added->file = relation->file;
    added->line = relation->line;
    return index_add(&registry->relations_by_ids, hash, registry->relation_count);
}

struct place {
    const char *group, *file;
    int line;
};

static struct place place_of(const struct spoor_entry *entry)
{
    const struct spoor_group *group = entry->what;
    const struct spoor_object *object = entry->what;
    const struct spoor_owner_type *owner = entry->what;
    const struct spoor_relation *relation = entry->what;
    const struct spoor_definition *definition = entry->detail;
    switch (entry->kind) {
    case SPOOR_ENTRY_GROUP_: return (struct place){"", group->file, group->line};
    case SPOOR_ENTRY_OBJECT_: return (struct place){"", object->file, object->line};
    case SPOOR_ENTRY_OWNER_: return (struct place){"", owner->file, owner->line};
    case SPOOR_ENTRY_TRACEPOINT_:
        return (struct place){definition->group->name, definition->file, definition->line};
    case SPOOR_ENTRY_RELATION_: return (struct place){"", relation->file, relation->line};
    default: return (struct place){"", "", 0};
    }
}

/* Orders entries by kind, then by group, file and line, so that ids and masks do not depend on the order in which
 * compiler and linker arranged them. */
static int by_place(const void *a, const void *b)
{
    const struct spoor_entry *one = a, *other = b;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    const struct place first = place_of(one), second = place_of(other);
    int order = strcmp(first.group, second.group);
    if (order == 0)
        order = strcmp(base_name(first.file), base_name(second.file));
    return order != 0 ? order : (first.line > second.line) - (first.line < second.line);
}

static int collect_entry(struct registry *registry, struct module *module, const struct spoor_entry *entry)
{
    const struct spoor_object *object;
    const struct spoor_owner_type *owner;
    switch (entry->kind) {
    case SPOOR_ENTRY_GROUP_: return collect_group(registry, entry->what);
    case SPOOR_ENTRY_OBJECT_:
        object = entry->what;
        return collect_letter(&registry->objects, &registry->object_count, "object", object->name,
                              object->letter, object->file, object->line);
    case SPOOR_ENTRY_OWNER_:
        owner = entry->what;
        return collect_letter(&registry->owners, &registry->owner_count, "owner type", owner->name,
                              owner->letter, owner->file, owner->line);
    case SPOOR_ENTRY_TRACEPOINT_: return collect_tracepoint(registry, module, entry);
    default: return 0;
    }
}

/* Adds what modules declare that are not in the registry yet. Entries are sorted by kind, so that what tracepoints
 * refer to is there before them. `strict`: stops at the first error; else leaves out what is wrong. Returns 0 or
 * -errno. */
static int collect(struct registry *registry, bool strict)
{
    int error = modules_short ? recorder_fail(-ENOMEM, "no memory for the table of tracepoints") : 0;
    for (struct module *module = modules; module != NULL; module = module->next)
        for (struct spoor_entry *entry = module->first; !module->collected && entry < module->end; entry++) {
            if (strict && error != 0)
                return error;
            error = collect_entry(registry, module, entry);
        }
    for (struct module *module = modules; module != NULL; module = module->next) {
        module->collected = true;
        /* Relations of all modules: one may have been waiting for a tracepoint of a module that has just come. */
        for (struct spoor_entry *entry = module->first; entry < module->end; entry++) {
            if (strict && error != 0)
                return error;
            if (entry->kind == SPOOR_ENTRY_RELATION_)
                error = collect_relation(registry, entry->what);
        }
    }
    return error;
}

int registry_collect(struct registry **registry)
{
    *registry = calloc(1, sizeof **registry);
    if (*registry == NULL)
        return recorder_fail(-ENOMEM, "no memory for the table of tracepoints");
    for (struct module *module = modules; module != NULL; module = module->next)
        module->collected = false;
    const int error = collect(*registry, true);
    if (error != 0) {
        registry_free(*registry);
        *registry = NULL;
    }
    return error;
}

static void free_letters(struct registry_letter *letters, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        free(letters[i].name);
        free(letters[i].file);
    }
    free(letters);
}

void registry_free(struct registry *registry)
{
    if (registry == NULL)
        return;
    for (unsigned i = 0; i < registry->group_count; i++) {
        free(registry->groups[i].name);
        free(registry->groups[i].text);
        free(registry->groups[i].file);
    }
    free(registry->groups);
    free_letters(registry->objects, registry->object_count);
    free_letters(registry->owners, registry->owner_count);
    for (unsigned i = 0; i < registry->tracepoint_count; i++) {
        free(registry->tracepoints[i].name);
        free(registry->tracepoints[i].file);
    }
    free(registry->tracepoints);
    free(registry->enumerations);
    free(registry->relations);
    free(registry->groups_by_name.slots);
    free(registry->tracepoints_by_name.slots);
    free(registry->enumerations_by_address.slots);
    free(registry->relations_by_ids.slots);
    free(registry);
}

void registry_point(struct registry *registry, uint8_t *enable)
{
    for (unsigned i = 0; registry != NULL && i < registry->tracepoint_count; i++) {
        struct spoor_tracepoint *descriptor = registry->tracepoints[i].descriptor;
        if (descriptor == NULL)
            continue;
        __atomic_store_n(&descriptor->id, (i + 1) << 16, __ATOMIC_RELAXED);
        __atomic_store_n(&descriptor->enabled, enable != NULL ? enable + i + 1 : &off, __ATOMIC_RELEASE);
    }
}

/* Appends the declarations of a module that was loaded while a recording is open to the file. Tracepoints that are
 * wrong or find no room stay off and the program goes on: dlopen() has no caller to whom this could be reported. */
static void append_late(void)
{
    struct registry *registry = recorder.registry;
    struct layout_header *header = recorder.recording.header;
    struct layout_control *control = recorder.recording.control;
    const struct sections_from from = {registry->group_count,       registry->object_count,
                                       registry->owner_count,       registry->tracepoint_count,
                                       registry->enumeration_count, registry->relation_count};
    collect(registry, false);
    size_t bytes = 0;
    uint8_t *sections = sections_build(registry, &from, NULL, &bytes);
    if (sections != NULL && bytes <= header->sections_bytes - recorder.sections_used &&
        registry->tracepoint_count < header->enable_count) {
        memcpy(recorder.recording.memory + header->sections_offset + recorder.sections_used, sections, bytes);
        recorder.sections_used += bytes;
        __atomic_store_n(&control->sections_used, recorder.sections_used, __ATOMIC_RELEASE);
        uint8_t *enable = recorder.recording.memory + header->enable_offset;
        if (recorder.enabled != NULL)
            enable_apply(registry, recorder.enabled, enable, LAYOUT_ENABLE_ON, from.tracepoints);
        registry_point(registry, enable);
    } else {
        for (unsigned i = from.tracepoints; i < registry->tracepoint_count; i++)
            registry->tracepoints[i].descriptor = NULL;
    }
    free(sections);
}
