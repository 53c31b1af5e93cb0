/* SPDX-License-Identifier: MIT
   One vector file: reads it whole, finds its family, runs its cases one after the other.

   Every step is counted once, as run or as skipped with a reason; what is no vector file is refused whole.  A case is
   skipped for a flag, or for a limiter key, an op or an argument that its family does not list; no name of a file or a
   case decides anything. Leaves: what the steps mean to the families. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

enum { FILE_SIZE_MAX = 1 << 28, MS_NS = 1000000 };

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "weir-vectors: %s: %s\n", path, what);
    return -1;
}

/* ---- from bytes to JSON ------------------------------------------------------------------------------------ */

static char *read_open_file(FILE *file, size_t *size)
{
    size_t room = 1 << 16;
    char *bytes = NULL;
    *size = 0;
    do {
        room *= 2;
        char *more = room > FILE_SIZE_MAX ? NULL : realloc(bytes, room);
        if (more == NULL) {
            free(bytes);
            errno = EFBIG;
            return NULL;
        }
        bytes = more;
        *size += fread(bytes + *size, 1, room - *size, file);
    } while (*size == room);
    bytes[*size] = '\0';
    if (!ferror(file)) return bytes;
    free(bytes);
    return NULL;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = file == NULL ? NULL : read_open_file(file, size);
    if (bytes == NULL) complain(path, strerror(errno));
    if (file != NULL) fclose(file);
    return bytes;
}

/* Is this number a whole one that does not fit in 64 bits? */
static bool is_wide(const char *number, size_t size)
{
    if (size == 0 || strcspn(number, ".Ee") < size) return false;
    errno = 0;
    if (*number == '-') strtoll(number, NULL, 10);
    else strtoull(number, NULL, 10);
    return errno == ERANGE;
}

/* A copy in which such numbers are texts: json-c would cut them to the greatest that fits. */
static char *quote_wide(const char *bytes, size_t *size)
{
    char *copy = malloc(*size + *size / 4 + 3); /* two quotes to 18 digits or more; an escape may end it */
    bool in_text = false;
    size_t to = 0;
    for (size_t from = 0; copy != NULL && from < *size;) {
        const char *at = bytes + from;
        const size_t digits = in_text ? 0 : strspn(at, "+-.0123456789Ee");
        const bool wide_number = is_wide(at, digits);
        const size_t length = most(digits, in_text && *at == '\\' ? 2 : 1);
        if (*at == '"') in_text = !in_text;
        if (wide_number) copy[to++] = '"';
        memcpy(copy + to, at, length);
        to += length;
        from += length;
        if (wide_number) copy[to++] = '"';
    }
    *size = to;
    return copy;
}

/* NULL after a message. */
static struct json_object *parse(const char *path, const char *bytes, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    if (tokener == NULL) {
        complain(path, "no memory");
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    struct json_object *root = json_tokener_parse_ex(tokener, bytes, (int)size);
    if (root == NULL) {
        const enum json_tokener_error error = json_tokener_get_error(tokener);
        const char *what = error == json_tokener_continue ? "it ends too early" : json_tokener_error_desc(error);
        fprintf(stderr, "weir-vectors: %s: malformed JSON at byte %zu: %s\n", path, json_tokener_get_parse_end(tokener),
                what);
    }
    json_tokener_free(tokener);
    return root;
}

/* ---- is it a vector file? ---------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *object, const char *key, enum json_type type)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(object, key, &value)) return NULL;
    return json_object_is_type(value, type) ? value : NULL;
}

static bool is_step(struct json_object *step)
{
    struct json_object *expect = NULL;
    if (json_object_object_get_ex(step, "expect", &expect) && !json_object_is_type(expect, json_type_object))
        return false;
    return member(step, "op", json_type_string) != NULL && json_object_object_get_ex(step, "t_ns", NULL);
}

static bool is_case(struct json_object *one)
{
    struct json_object *steps = member(one, "steps", json_type_array);
    if (member(one, "name", json_type_string) == NULL || member(one, "limiter", json_type_object) == NULL) return false;
    for (size_t i = 0; steps != NULL && i < json_object_array_length(steps); i++)
        if (!is_step(json_object_array_get_idx(steps, i))) return false;
    return steps != NULL;
}

static int check_file(struct json_object *root, const char *path)
{
    struct json_object *cases = member(root, "cases", json_type_array);
    if (member(root, "system", json_type_string) == NULL)
        return complain(path, "no \"system\" text: not a vector file");
    if (cases == NULL) return complain(path, "no \"cases\" array: not a vector file");
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        if (is_case(json_object_array_get_idx(cases, i))) continue;
        fprintf(stderr, "weir-vectors: %s: case %zu lacks name, limiter, steps, or a step lacks t_ns, op\n", path, i);
        return -1;
    }
    return 0;
}

/* ---- can the case be run? ---------------------------------------------------------------------------------- */

static bool listed(const char *const *list, const char *text)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, text) == 0) return true;
    return false;
}

/* The first key of the object that is not listed, or NULL. */
static const char *unlisted_key(struct json_object *object, const char *const *list)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    const struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at))
        if (!listed(list, json_object_iter_peek_name(&at))) return json_object_iter_peek_name(&at);
    return NULL;
}

static bool not_yet(char *reason, const char *kind, const char *what)
{
    snprintf(reason, REASON_SIZE, "not yet (%s%.40s)", kind, what);
    return false;
}

static bool step_fits(const struct family *family, struct json_object *step, char *reason)
{
    uint128 from_zero_ns = 0;
    int64_t before_zero_ns = 0;
    const char *op = json_object_get_string(json_object_object_get(step, "op"));
    const char *key = unlisted_key(step, family->step_key);
    if (!listed(family->op, op)) return not_yet(reason, "", op);
    if (key != NULL) return not_yet(reason, "argument ", key);
    if (!field_wide(step, "t_ns", &from_zero_ns) && !field_i64(step, "t_ns", &before_zero_ns))
        return not_yet(reason, "", "a time of over 126 bits, or below 0 of over 64");
    return true;
}

static bool case_fits(const struct family *family, const struct scene *scene, char *reason)
{
    const char *key = unlisted_key(scene->limiter, family->limiter_key);
    if (key != NULL) return not_yet(reason, "limiter ", key);
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++)
        if (!step_fits(family, json_object_array_get_idx(scene->steps, i), reason)) return false;
    return true;
}

/* ---- running ----------------------------------------------------------------------------------------------- */

/* What makes the earliest time 0 or later, in whole ms. */
static uint64_t shift_of(struct json_object *steps)
{
    uint64_t shift_ns = 0;
    for (size_t i = 0; i < json_object_array_length(steps); i++) {
        int64_t t_ns = 0;
        if (!field_i64(json_object_array_get_idx(steps, i), "t_ns", &t_ns) || t_ns >= 0) continue;
        const uint64_t needed_ns = (0 - (uint64_t)t_ns + MS_NS - 1) / MS_NS * MS_NS;
        if (needed_ns > shift_ns) shift_ns = needed_ns;
    }
    return shift_ns;
}

static uint128 time_of(struct json_object *step, uint64_t shift_ns)
{
    uint128 t_ns = 0;
    int64_t before_zero_ns = 0;
    if (field_wide(step, "t_ns", &t_ns)) return t_ns + shift_ns;
    if (!field_i64(step, "t_ns", &before_zero_ns)) return 0;
    return subtract_to_zero(shift_ns, 0 - (uint64_t)before_zero_ns);
}

/* To weir a cost is never below 0, so it is refused before it is asked about. */
static bool refuses_cost(struct step *step)
{
    int64_t n = 0;
    if (!field_i64(step->json, "n", &n) || n >= 0) return false;
    if (!judge_has(step, "error")) judge_stop(step, "n", "an answer", "a refusal: it is below 0");
    return true;
}

static void run_steps(const struct family *family, struct scene *scene, void *subject)
{
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        struct json_object *json = json_object_array_get_idx(scene->steps, i);
        struct step step = {.scene = scene, .index = i, .json = json};
        step.expect = member(json, "expect", json_type_object);
        step.op = json_object_get_string(json_object_object_get(json, "op"));
        step.at_ns = time_of(json, scene->shift_ns);
        step.now.ns = wide_to_64(step.at_ns);
        if (!refuses_cost(&step)) family->step(subject, &step);
        judge_end(&step);
    }
}

static void run_case(const struct family *family, struct scene *scene)
{
    void *subject = calloc(1, family->subject_size);
    if (subject == NULL) {
        fprintf(stderr, "weir-vectors: no memory\n");
        exit(EXIT_TROUBLE);
    }
    const char *reason = family->open(subject, scene);
    if (reason == NULL) run_steps(family, scene, subject);
    else judge_skip(scene->tally, reason, json_object_array_length(scene->steps));
    family->close(subject);
    free(subject);
}

static const struct family *family_of(const char *system)
{
#define FAMILY_CALL(name) family_##name(),
    const struct family *families[] = {FAMILIES(FAMILY_CALL)};
#undef FAMILY_CALL
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(system, families[i]->system, strlen(families[i]->system)) == 0) return families[i];
    return NULL;
}

static void judge_case(struct tally *tally, const struct family *family, struct json_object *one, bool quirk)
{
    char reason[REASON_SIZE];
    struct scene scene = {.tally = tally};
    scene.name = json_object_get_string(json_object_object_get(one, "name"));
    scene.limiter = json_object_object_get(one, "limiter");
    scene.steps = json_object_object_get(one, "steps");
    const uint64_t steps = json_object_array_length(scene.steps);
    if (!field_u64(one, "tolerance_ns", &scene.tolerance_ns)) scene.tolerance_ns = 0;
    if (quirk || json_object_get_boolean(json_object_object_get(one, "peer_quirk")))
        judge_skip(tally, "peer_quirk", steps);
    else if (family == NULL) judge_skip(tally, "not yet (no adapter for this system)", steps);
    else if (!case_fits(family, &scene, reason)) judge_skip(tally, reason, steps);
    else {
        scene.shift_ns = family->starts_at_zero ? 0 : shift_of(scene.steps);
        run_case(family, &scene);
    }
}

int file_run(struct tally *tally, const char *path)
{
    size_t size = 0;
    char *bytes = read_file(path, &size);
    if (bytes == NULL) return -1;
    char *quoted = quote_wide(bytes, &size);
    struct json_object *root = quoted == NULL ? NULL : parse(path, quoted, size);
    if (quoted == NULL) complain(path, strerror(ENOMEM));
    free(quoted);
    free(bytes);
    if (root == NULL) return -1;
    const int status = check_file(root, path);
    if (status == 0) {
        const struct family *family = family_of(json_object_get_string(json_object_object_get(root, "system")));
        struct json_object *cases = json_object_object_get(root, "cases");
        const bool quirk = json_object_get_boolean(json_object_object_get(root, "peer_quirk"));
        for (size_t i = 0; i < json_object_array_length(cases); i++)
            judge_case(tally, family, json_object_array_get_idx(cases, i), quirk);
    }
    json_object_put(root);
    return status;
}
