/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libyaml's events become a tree. The event interface is used because the parser's own document
 * interface takes a time that grows with the square of the nesting; here the depth is limited as
 * the events come. An alias shares the node that it names, and each node knows its size with the
 * aliases written out, so that a file that would expand to millions of values is refused without
 * expanding it.
 */
#include "models/base/text.h"
#include "models/base/utf8.h"
#include "models/scenario/tree.h"
#include "models/scenario/yaml_error.h"
#include "sim/contract.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* More errors of one document than this are not looked for. */
#define ERROR_LIMIT 200

/* A collection that is being read. */
struct frame {
    struct tree_node *node;
    struct tree_entry **tail; /* where the next entry is linked */
    struct tree_entry *entry; /* mapping: its key was read, its value is due */
    size_t count;
};

struct anchor {
    const char *name;
    struct tree_node *node;
};

struct builder {
    struct base_arena *arena;
    const struct tree_source *source;
    struct rlhfsim_diagnostics *diagnostics;
    enum rlhfsim_status status;
    bool stopped; /* after an error that leaves no tree */
    int documents, errors, depth;
    size_t nodes, anchor_count;
    struct tree_node *root;
    struct frame frames[TREE_DEPTH_LIMIT];
    struct anchor anchors[TREE_ANCHOR_LIMIT];
};

/* ---- errors ---------------------------------------------------------------------------------- */

static void note(struct builder *builder, enum rlhfsim_status status) {
    builder->status = status;
    builder->stopped =
        builder->stopped || status == RLHFSIM_NO_MEMORY || ++builder->errors >= ERROR_LIMIT;
}

static void stop(struct builder *builder, enum rlhfsim_status status) {
    note(builder, status);
    builder->stopped = true;
}

static struct tree_place place_of(const struct builder *builder, const yaml_event_t *event) {
    return yaml_place(builder->source, &event->start_mark);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct tree_node *node_new(struct builder *builder, enum tree_kind kind,
                                  struct tree_place place) {
    struct tree_node *node = base_arena_allocate(builder->arena, sizeof *node);
    if (node == NULL) {
        stop(builder, RLHFSIM_NO_MEMORY);
        return NULL;
    }
    *node = (struct tree_node){.kind = kind, .place = place, .text = "", .expanded = 1};
    if (++builder->nodes > TREE_NODE_LIMIT) {
        stop(builder,
             tree_error(builder->diagnostics, place, "more than %d values", TREE_NODE_LIMIT));
        return NULL;
    }
    return node;
}

static struct tree_entry *entry_new(struct builder *builder, struct tree_place place,
                                    const char *key) {
    struct tree_entry *entry = base_arena_allocate(builder->arena, sizeof *entry);
    if (entry == NULL) {
        stop(builder, RLHFSIM_NO_MEMORY);
        return NULL;
    }
    entry->place = place;
    entry->key = key;
    return entry;
}

static void link_entry(struct frame *frame, struct tree_entry *entry) {
    *frame->tail = entry;
    frame->tail = &entry->next;
    frame->count++;
}

/* Puts a value where the document is: as its root, behind a key or at the end of a list. */
static void attach(struct builder *builder, struct tree_node *node, struct tree_place place) {
    if (builder->depth == 0) {
        builder->root = node;
        return;
    }
    struct frame *frame = &builder->frames[builder->depth - 1];
    struct tree_entry *entry = frame->entry;
    frame->entry = NULL;
    if (frame->node->kind == TREE_LIST) {
        entry = entry_new(builder, place, NULL);
        if (entry == NULL)
            return;
        link_entry(frame, entry);
    }
    INVARIANT(entry != NULL, "a value of a mapping comes after its key");
    entry->value = node;
}

/* The size of a complete value counts in the collection around it. */
static void count_expanded(struct builder *builder, const struct tree_node *node,
                           struct tree_place place) {
    if (builder->depth == 0)
        return;
    struct tree_node *parent = builder->frames[builder->depth - 1].node;
    INVARIANT(parent != NULL, "a frame has its collection");
    parent->expanded += node->expanded;
    if (parent->expanded > TREE_NODE_LIMIT)
        stop(builder, tree_error(builder->diagnostics, place,
                                 "the aliases write out to more than %d values", TREE_NODE_LIMIT));
}

/* ---- anchors, aliases, tags ------------------------------------------------------------------ */

static void register_anchor(struct builder *builder, const yaml_char_t *name,
                            struct tree_node *node) {
    if (name == NULL)
        return;
    const char *text = (const char *)name;
    if (builder->anchor_count == TREE_ANCHOR_LIMIT) {
        stop(builder, tree_error(builder->diagnostics, node->place, "more than %d anchors",
                                 TREE_ANCHOR_LIMIT));
        return;
    }
    char *copy = base_arena_text(builder->arena, text, strlen(text));
    if (copy == NULL)
        stop(builder, RLHFSIM_NO_MEMORY);
    else
        builder->anchors[builder->anchor_count++] = (struct anchor){copy, node};
}

static struct tree_node *find_anchor(const struct builder *builder, const char *name) {
    for (size_t i = builder->anchor_count; i-- > 0;)
        if (strcmp(builder->anchors[i].name, name) == 0)
            return builder->anchors[i].node;
    return NULL;
}

static bool is_open(const struct builder *builder, const struct tree_node *node) {
    for (int i = 0; i < builder->depth; i++)
        if (builder->frames[i].node == node)
            return true;
    return false;
}

/* Tags of YAML itself are named as they are written: !!int. */
static void refuse_tag(struct builder *builder, const yaml_char_t *tag, struct tree_place place) {
    static const char standard[] = "tag:yaml.org,2002:";
    size_t length = sizeof standard - 1;
    const char *name = (const char *)tag;
    if (name == NULL)
        return;
    bool is_standard = strncmp(name, standard, length) == 0;
    note(builder, tree_error(builder->diagnostics, place,
                             "tags such as '%s%.40s' are not supported; leave it out",
                             is_standard ? "!!" : "", is_standard ? name + length : name));
}

static bool key_is_due(const struct builder *builder) {
    const struct frame *frame = builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
    return frame != NULL && frame->node->kind == TREE_MAPPING && frame->entry == NULL;
}

static void read_alias(struct builder *builder, const yaml_event_t *event) {
    const char *name = (const char *)event->data.alias.anchor;
    struct tree_place place = place_of(builder, event);
    char quoted[BASE_QUOTE_SIZE];
    if (key_is_due(builder)) {
        stop(builder, tree_error(builder->diagnostics, place,
                                 "an alias cannot be a key, expected plain text"));
        return;
    }
    struct tree_node *node = find_anchor(builder, name);
    bool open = node != NULL && is_open(builder, node);
    if (node == NULL)
        note(builder, tree_error(builder->diagnostics, place, "no anchor %s comes before its alias",
                                 base_quote(name, quoted)));
    else if (open)
        note(builder,
             tree_error(builder->diagnostics, place,
                        "alias %s stands inside the value it refers to", base_quote(name, quoted)));
    if (node == NULL || open) {
        node = node_new(builder, TREE_TEXT, place);
        if (node == NULL)
            return;
        node->broken = true;
    }
    attach(builder, node, place);
    count_expanded(builder, node, place);
}

/* ---- keys and texts -------------------------------------------------------------------------- */

/* A copy of a scalar's text without NUL and control characters, which escapes can bring in. */
static const char *copy_scalar(struct builder *builder, const yaml_event_t *event) {
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    struct base_utf8_fault fault = base_utf8_check(value, length);
    if (fault.message != NULL) {
        note(builder,
             tree_error(builder->diagnostics, place_of(builder, event), "%s", fault.message));
        return "";
    }
    char *copy = base_arena_text(builder->arena, value, length);
    if (copy == NULL)
        stop(builder, RLHFSIM_NO_MEMORY);
    return copy;
}

static void read_key(struct builder *builder, const yaml_event_t *event) {
    struct frame *frame = &builder->frames[builder->depth - 1];
    struct tree_place place = place_of(builder, event);
    refuse_tag(builder, event->data.scalar.tag, place);
    if (event->data.scalar.anchor != NULL)
        note(builder, tree_error(builder->diagnostics, place, "a key cannot have an anchor"));
    const char *key = copy_scalar(builder, event);
    if (key == NULL)
        return;
    frame->entry = entry_new(builder, place, key);
    if (frame->entry == NULL)
        return;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && strcmp(key, "<<") == 0)
        note(builder, tree_error(builder->diagnostics, place,
                                 "merge keys ('<<') are not supported; write the keys out, or use "
                                 "an alias for a whole value"));
    else
        link_entry(frame, frame->entry);
}

static void read_scalar(struct builder *builder, const yaml_event_t *event) {
    if (key_is_due(builder)) {
        read_key(builder, event);
        return;
    }
    struct tree_place place = place_of(builder, event);
    struct tree_node *node = node_new(builder, TREE_TEXT, place);
    if (node == NULL)
        return;
    const char *text = copy_scalar(builder, event);
    if (text == NULL)
        return;
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    refuse_tag(builder, event->data.scalar.tag, place);
    register_anchor(builder, event->data.scalar.anchor, node);
    attach(builder, node, place);
    count_expanded(builder, node, place);
}

/* ---- collections ----------------------------------------------------------------------------- */

static void open_collection(struct builder *builder, const yaml_event_t *event, enum tree_kind kind,
                            const yaml_char_t *anchor, const yaml_char_t *tag) {
    struct tree_place place = place_of(builder, event);
    if (key_is_due(builder)) {
        stop(builder, tree_error(builder->diagnostics, place,
                                 "a list or a mapping cannot be a key, expected plain text"));
        return;
    }
    if (builder->depth == TREE_DEPTH_LIMIT) {
        stop(builder, tree_error(builder->diagnostics, place, "nested deeper than %d levels",
                                 TREE_DEPTH_LIMIT));
        return;
    }
    struct tree_node *node = node_new(builder, kind, place);
    if (node == NULL)
        return;
    refuse_tag(builder, tag, place);
    register_anchor(builder, anchor, node);
    attach(builder, node, place);
    builder->frames[builder->depth++] = (struct frame){.node = node, .tail = &node->first};
}

static int compare_keys(const void *first, const void *second) {
    const struct tree_entry *a = *(struct tree_entry *const *)first;
    const struct tree_entry *b = *(struct tree_entry *const *)second;
    int order = strcmp(a->key, b->key);
    if (order == 0)
        order = a->place.line - b->place.line;
    return order != 0 ? order : a->place.column - b->place.column;
}

/* Takes out the entries whose key was set to NULL. */
static void unlink_dropped(struct tree_node *mapping) {
    struct tree_entry **link = &mapping->first;
    while (*link != NULL)
        if ((*link)->key == NULL)
            *link = (*link)->next;
        else
            link = &(*link)->next;
}

static void refuse_repeats(struct builder *builder, struct tree_entry **sorted, size_t count) {
    char quoted[BASE_QUOTE_SIZE];
    size_t first = 0;
    for (size_t i = 1; i < count && !builder->stopped; i++) {
        if (strcmp(sorted[i]->key, sorted[first]->key) != 0) {
            first = i;
            continue;
        }
        note(builder, tree_error(builder->diagnostics, sorted[i]->place,
                                 "duplicate key %s, first written at %d:%d",
                                 base_quote(sorted[i]->key, quoted), sorted[first]->place.line,
                                 sorted[first]->place.column));
        sorted[i]->key = NULL;
    }
}

/* Sorting finds the duplicates of a long mapping without comparing each key with each. */
static void check_duplicates(struct builder *builder, const struct frame *frame) {
    if (frame->count < 2)
        return;
    struct tree_entry **sorted = malloc(frame->count * sizeof(struct tree_entry *));
    if (sorted == NULL) {
        stop(builder, RLHFSIM_NO_MEMORY);
        return;
    }
    size_t count = 0;
    for (struct tree_entry *entry = frame->node->first; entry != NULL; entry = entry->next)
        sorted[count++] = entry;
    qsort(sorted, count, sizeof(struct tree_entry *), compare_keys);
    refuse_repeats(builder, sorted, count);
    unlink_dropped(frame->node);
    free(sorted);
}

static void close_collection(struct builder *builder) {
    struct frame *frame = &builder->frames[--builder->depth];
    if (frame->node->kind == TREE_MAPPING)
        check_duplicates(builder, frame);
    count_expanded(builder, frame->node, frame->node->place);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void read_event(struct builder *builder, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++builder->documents > 1)
            stop(builder, tree_error(builder->diagnostics, place_of(builder, event),
                                     "a second document starts here, expected exactly one"));
        break;
    case YAML_ALIAS_EVENT:
        read_alias(builder, event);
        break;
    case YAML_SCALAR_EVENT:
        read_scalar(builder, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_collection(builder, event, TREE_LIST, event->data.sequence_start.anchor,
                        event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        open_collection(builder, event, TREE_MAPPING, event->data.mapping_start.anchor,
                        event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(builder);
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

static void read_events(struct builder *builder, yaml_parser_t *parser) {
    bool ended = false;
    while (!ended && !builder->stopped) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            stop(builder, yaml_error_add(parser, builder->source, builder->diagnostics));
            return;
        }
        read_event(builder, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    if (!builder->stopped && builder->root == NULL)
        builder->root =
            node_new(builder, TREE_TEXT,
                     (struct tree_place){builder->source->file, 1, builder->source->column});
}

enum rlhfsim_status tree_read(struct base_arena *arena, const struct tree_source *source,
                              struct rlhfsim_diagnostics *diagnostics, struct tree_node **root) {
    struct builder builder = {.arena = arena, .source = source, .diagnostics = diagnostics};
    yaml_parser_t parser;
    *root = NULL;
    if (!yaml_parser_initialize(&parser))
        return RLHFSIM_NO_MEMORY;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)source->text, source->length);
    read_events(&builder, &parser);
    yaml_parser_delete(&parser);
    if (!builder.stopped)
        *root = builder.root;
    return builder.status;
}
