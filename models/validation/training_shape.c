/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Prototypes of BLOOM (BigScience, "chronicles-prequel" of tr11-176B-ml, February 2022). What is
 * written beside their step times is not complete, so:
 *
 * - width: NHIDDEN of the row, else of the pairs of width and depth in the notes the last one whose
 *   model has the printed size; else 14,400, the width of the first "200B" model;
 * - depth: of that pair, else the multiple of the pipeline's stages whose blocks alone, or blocks
 *   and embedding, come nearest to the printed size (both were printed at times: 77 layers are
 *   called 191B and 195B);
 * - heads: NHEADS of the row, else the last one in the notes; else 96 at 14,400 (its heads have 150
 *   numbers) and 64 elsewhere ("all NHEADS=64, above too").
 *
 * 4 x width in the feed-forward, a vocabulary of 250,880.
 */

#include "models/validation/training_shape.h"

#include "models/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOOM_PREFIX "BLOOM-proto"
#define BLOOM_VOCABULARY 250880
#define BLOOM_WIDTH 14400
#define BLOOM_WIDE_HEADS 96
#define BLOOM_HEADS 64
/* A printed size is rounded to 1e9 parameters and was truncated at times. */
#define SIZE_TOLERANCE 0.01

/* ---- notes ----------------------------------------------------------------------------------- */

/* The whole number behind the first `key` in `text`; 0 where there is none. */
static int64_t number_behind(const char *text, const char *key) {
    const char *found = strstr(text, key);
    if (found == NULL)
        return 0;
    char *end;
    long number = strtol(found + strlen(key), &end, 10);
    return end == found + strlen(key) || number <= 0 || number > LLM_HIDDEN_LIMIT ? 0 : number;
}

/* The same, behind the first and the last one that has a number. */
static int64_t first_number_behind(const char *text, const char *key) {
    const char *at = strstr(text, key);
    while (at != NULL && number_behind(at, key) == 0)
        at = strstr(at + 1, key);
    return at == NULL ? 0 : number_behind(at, key);
}

static int64_t last_number_behind(const char *text, const char *key) {
    int64_t last = 0;
    for (const char *at = strstr(text, key); at != NULL; at = strstr(at + 1, key)) {
        int64_t number = number_behind(at, key);
        if (number > 0)
            last = number;
    }
    return last;
}

/* ---- prototypes ------------------------------------------------------------------------------ */

static double block_parameters(double width) {
    return 12.0 * width * width;
}

static double embedding_parameters(double width) {
    return BLOOM_VOCABULARY * width;
}

/* How far a model is from a printed size, blocks with or without the embedding. */
static double distance(double width, double layers, double size) {
    double blocks = layers * block_parameters(width);
    return fmin(fabs(blocks - size), fabs(blocks + embedding_parameters(width) - size)) / size;
}

/* The last pair "HIDDEN=h / NLAYERS=l" (";" and a space as well) of the printed size. */
static bool find_pair(const char *notes, double size, int64_t *width, int64_t *layers) {
    static const char key[] = "HIDDEN=", second[] = "LAYERS=";
    bool found = false;
    for (const char *at = strstr(notes, key); at != NULL; at = strstr(at + 1, key)) {
        const char *depth = strstr(at, second);
        int64_t h = number_behind(at, key), l = depth == NULL ? 0 : number_behind(depth, second);
        if (h == 0 || l == 0 || depth - at > 24 ||
            distance((double)h, (double)l, size) > SIZE_TOLERANCE)
            continue;
        *width = h;
        *layers = l;
        found = true;
    }
    /* "NLAYERS=72; NHIDDEN=14336; NHEADS=64" is the other way round. */
    int64_t l = number_behind(notes, "; NLAYERS="), h = first_number_behind(notes, "; NHIDDEN=");
    if (!found && l > 0 && h > 0 && distance((double)h, (double)l, size) <= SIZE_TOLERANCE) {
        *width = h;
        *layers = l;
        found = true;
    }
    return found;
}

/* The multiple of `stages` layers next to the size. */
static int64_t fit_layers(double width, double size, int64_t stages) {
    int64_t best = stages;
    for (int64_t layers = stages; layers <= LLM_LAYERS_LIMIT; layers += stages)
        if (distance(width, (double)layers, size) < distance(width, (double)best, size))
            best = layers;
    return best;
}

static int64_t prototype_heads(const char *notes, int64_t width) {
    int64_t heads = number_behind(notes, "NHEADS=");
    if (heads == 0)
        heads = last_number_behind(notes, "NHEADS=");
    if (heads > 0 && width % heads == 0)
        return heads;
    return width == BLOOM_WIDTH ? BLOOM_WIDE_HEADS : BLOOM_HEADS;
}

/* Width and depth; false where they are not known. */
static bool prototype_size(const char *notes, double size, int64_t stages, int64_t *width,
                           int64_t *layers) {
    *width = number_behind(notes, "; NHIDDEN=");
    *layers = number_behind(notes, "layers=");
    if (*layers > 0 && *width == 0)
        *width = last_number_behind(notes, "HIDDEN=");
    if (*layers == 0 && !find_pair(notes, size, width, layers)) {
        *width = *width > 0 ? *width : BLOOM_WIDTH;
        *layers = fit_layers((double)*width, size, stages);
    }
    return *width > 0 && distance((double)*width, (double)*layers, size) <= 2.0 * SIZE_TOLERANCE;
}

static void fill_prototype(const char *name, int64_t width, int64_t layers, int64_t heads,
                           struct llm_architecture *architecture) {
    *architecture = (struct llm_architecture){.family = "bloom",
                                              .layers = layers,
                                              .hidden = width,
                                              .heads = heads,
                                              .kv_heads = heads,
                                              .head_dim = width / heads,
                                              .ffn = 4 * width,
                                              .vocab = BLOOM_VOCABULARY,
                                              .max_position = 2048,
                                              .tied_embeddings = true,
                                              .qkv_bias = true,
                                              .output_bias = true,
                                              .ffn_bias = true,
                                              .norm = LLM_NORM_LAYER,
                                              .embedding_norm = true};
    base_text_copy(architecture->name, sizeof architecture->name, name);
}

static bool prototype(const struct training_cells *cells, struct llm_architecture *architecture,
                      char reason[TRAINING_REASON_SIZE]) {
    const char *notes = cells->text[TRAINING_NOTE_TEXT];
    double size = cells->number[TRAINING_PARAMS], pp = cells->number[TRAINING_PP];
    int64_t width, layers, heads = 0;
    if (isnan(size)) {
        (void)snprintf(reason, TRAINING_REASON_SIZE, "not stated: params (of a prototype)");
        return false;
    }
    if (prototype_size(notes, size, isnan(pp) ? 1 : (int64_t)pp, &width, &layers))
        heads = prototype_heads(notes, width);
    if (heads == 0 || width % heads != 0) {
        (void)snprintf(reason, TRAINING_REASON_SIZE,
                       "the notes have no width and depth of the prototype's size");
        return false;
    }
    fill_prototype(cells->text[TRAINING_MODEL], width, layers, heads, architecture);
    return true;
}

/* ---- all models ------------------------------------------------------------------------------ */

/* Keeps the first `layers`; those with experts and windows in proportion. */
static void cut_layers(struct llm_architecture *architecture, int64_t layers) {
    int64_t whole = architecture->layers;
    architecture->moe_layers = architecture->moe_layers * layers / whole;
    architecture->window_layers = architecture->window_layers * layers / whole;
    architecture->window_moe_layers = architecture->window_moe_layers * layers / whole;
    architecture->layers = layers;
}

/* "PROXY model with 7 of 126 layers": false where it is not of this model. */
static bool cut_proxy(const char *notes, struct llm_architecture *architecture,
                      char reason[TRAINING_REASON_SIZE]) {
    const char *proxy = strstr(notes, "PROXY model with ");
    if (proxy == NULL)
        return true;
    int64_t layers = number_behind(proxy, "with "), whole = number_behind(proxy, " of ");
    if (layers > 0 && layers <= architecture->layers && whole == architecture->layers) {
        cut_layers(architecture, layers);
        return true;
    }
    (void)snprintf(reason, TRAINING_REASON_SIZE, "the notes have no layers of the proxy");
    return false;
}

bool training_shape(const struct catalog *catalog, const struct training_cells *cells,
                    struct llm_architecture *architecture, char reason[TRAINING_REASON_SIZE]) {
    const char *name = cells->text[TRAINING_MODEL];
    if (strncmp(name, BLOOM_PREFIX, strlen(BLOOM_PREFIX)) == 0)
        return prototype(cells, architecture, reason);
    const struct llm_architecture *known = catalog_model(catalog, name);
    if (known == NULL) {
        (void)snprintf(reason, TRAINING_REASON_SIZE, "the catalog has no model '%.120s'", name);
        return false;
    }
    *architecture = *known;
    return cut_proxy(cells->text[TRAINING_NOTE_TEXT], architecture, reason);
}
