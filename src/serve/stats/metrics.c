/* SPDX-License-Identifier: MIT
   What the service has done, in Prometheus's text format 0.0.4: the rows of figures.c.

   No key is a label: there may be millions of them.  Verdicts exclude each other, so their sum is what was offered.

   Fits STATS_METRICS_MAX; each family has a HELP and a TYPE; no worker waits. */
#include "serve/stats/figures.h"
#include "serve/stats/text.h"

enum { SECOND_NS = 1000000000 };

/* A metric with all its labels: rows of one name. */
struct family {
    const struct figures_row *row;
    unsigned count;
    bool in_seconds, is_counter;
};

static bool ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), end_size = strlen(end);
    return size > end_size && strcmp(name + size - end_size, end) == 0;
}

/* The family that begins with this row. */
static struct family family_of(const struct figures_row *row, const struct figures_row *end)
{
    struct family family = {
        .row = row, .in_seconds = ends_in(row->name, "_seconds"), .is_counter = ends_in(row->name, "_total")};
    while (row < end && strcmp(row->name, family.row->name) == 0) family.count++, row++;
    return family;
}

/* ---- words ---- */

static void head(struct bytes *out, const struct family *family)
{
    const char *name = family->row->name;
    const char *type = family->row->of == FIGURES_TIMES ? "histogram" : family->is_counter ? "counter" : "gauge";
    const char *const words[] = {"# HELP ", name, " ", family->row->help, "\n# TYPE ", name, " ", type, "\n"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) bytes_text(out, words[i]);
}

/* All but these three stand in a label as they are. */
static void label_value(struct bytes *out, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n') bytes_text(out, "\\n");
        else if (*value == '"' || *value == '\\') bytes_add(out, (struct slice){(const char[]){'\\', *value}, 2});
        else bytes_byte(out, *value);
    }
}

static void seconds(struct bytes *out, uint64_t ns)
{
    bytes_number(out, ns / SECOND_NS);
    uint64_t rest = ns % SECOND_NS;
    if (rest != 0) bytes_byte(out, '.');
    for (uint64_t place = SECOND_NS / 10; rest != 0; place /= 10) {
        bytes_byte(out, (char)('0' + rest / place));
        rest %= place;
    }
}

static void value(struct bytes *out, uint64_t number, bool in_seconds)
{
    bytes_byte(out, ' ');
    if (in_seconds) seconds(out, number);
    else bytes_number(out, number);
    bytes_byte(out, '\n');
}

/* ---- the three kinds ---- */

static void of_service(struct bytes *out, const struct family *family, const struct figures *figures)
{
    for (unsigned i = 0; i < family->count; i++) {
        const struct figures_row *row = &family->row[i];
        bytes_text(out, row->name);
        if (row->label != NULL) {
            bytes_byte(out, '{');
            bytes_text(out, row->label);
            bytes_byte(out, '}');
        }
        value(out, figures_value(figures, row), family->in_seconds);
    }
}

static void of_limit(struct bytes *out, const struct family *family, const char *limit, struct sums_limit sum)
{
    sum.allowed = sums_less(sum.allowed, sum.shadowed);
    for (unsigned i = 0; i < family->count; i++) {
        const struct figures_row *row = &family->row[i];
        bytes_text(out, row->name);
        bytes_text(out, "{limit=\"");
        label_value(out, limit);
        bytes_byte(out, '"');
        if (row->label != NULL) bytes_byte(out, ',');
        if (row->label != NULL) bytes_text(out, row->label);
        bytes_byte(out, '}');
        value(out, figures_at(&sum, row), family->in_seconds);
    }
}

/* A limit that has no tenants has nothing to say of them, nor one that is not concurrent of slots; how many are held is
   known where one key is for all. */
static bool is_told(const struct family *family, const struct policy_limit *limit, bool by_text, bool held)
{
    static const char concurrent[] = "weir_concurrent_", tenant[] = "weir_tenant_";
    if (strncmp(family->row->name, tenant, sizeof tenant - 1) == 0) return limit != NULL && limit->others != NULL;
    if (strncmp(family->row->name, concurrent, sizeof concurrent - 1) != 0) return true;
    if (!family->is_counter) return held;
    return by_text || (limit != NULL && backend_holds(&limit->plan));
}

/* Of limits that were removed only what was counted is left.  No name begins like these two. */
static void of_limits(struct bytes *out, const struct family *family, const struct figures *figures)
{
    const struct sums_crew *crew = &figures->crew;
    struct sums_name name;
    const uint64_t now_ns = crew->service->now_ns(crew->service->clock);
    for (unsigned number = 0; number < crew->numbers; number++) {
        if (!sums_name(crew, number, &name)) continue;
        struct sums_limit sum = sums_of_limit(crew, number);
        const struct policy_limit *limit = policy_numbered(figures->policy, number);
        const bool held = limit != NULL && backend_held(limit, now_ns, &sum.held);
        if (!is_told(family, limit, number == 0, held)) continue;
        of_limit(out, family, number == 0 ? "(text)" : name.text, sum);
    }
    const struct sums_limit gone = sums_of_gone(crew);
    if (family->is_counter && (gone.allowed | gone.denied | gone.never) != 0) of_limit(out, family, "(removed)", gone);
}

static void histogram(struct bytes *out, const struct family *family, const struct figures *figures)
{
    const char *name = family->row->name;
    const struct figures_times *times = (const void *)((const char *)figures + family->row->at);
    uint64_t count = 0;
    for (unsigned i = 0; i < WEIR_ENGINE_ROUND_TRIPS; i++) {
        count += times->count[i];
        bytes_text(out, name);
        bytes_text(out, "_bucket{le=\"");
        if (i == WEIR_ENGINE_ROUND_TRIPS - 1) bytes_text(out, "+Inf");
        else seconds(out, (UINT64_C(1) << (FIGURES_BOUND_FIRST + i)) - 1);
        bytes_text(out, "\"}");
        value(out, count, false);
    }
    bytes_text(out, name);
    bytes_text(out, "_sum");
    value(out, times->sum_ns, true);
    bytes_text(out, name);
    bytes_text(out, "_count");
    value(out, count, false);
}

void stats_write_metrics(struct service *service, struct bytes *out)
{
    struct figures figures;
    unsigned count;
    const struct figures_row *row = figures_rows(&count), *end = row + count;
    figures_read(&figures, service);
    while (row < end) {
        const struct family family = family_of(row, end);
        row += family.count;
        if (figures.engine == NULL && strncmp(family.row->name, "weir_engine_", strlen("weir_engine_")) == 0) continue;
        head(out, &family);
        if (family.row->of == FIGURES_TIMES) histogram(out, &family, &figures);
        else if (family.row->of == FIGURES_OF_LIMIT) of_limits(out, &family, &figures);
        else of_service(out, &family, &figures);
    }
    figures_release(&figures);
}
