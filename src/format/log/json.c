/* SPDX-License-Identifier: MIT
   Lines that are a JSON object; its strings and numbers by their names, of objects in it too.

   All names that are looked for stand in buckets, by their ends and size; each name in a line is looked up once.  Lines
   of a log are alike: where a name stands as in the line before, it is neither parsed nor looked up again.
   The name of a value in an object in an object has points: request.client.  Of an array that begins with a string
   that is its value, as some servers write headers; others are passed over, and so are objects in more than DEPTH_MAX
   others, whatever they hold.  Of two members with one name the first counts.

   Reads each byte a bounded number of times, without recursion; reads all that is JSON, and some lines that are not
   quite. */
#include "format/log/problem.h"
#include "format/log/split.h"

enum { DEPTH_MAX = 8, PATH_SIZE = 256 };

struct reader {
    struct accesslog *log;
    struct found *found;
    struct accesslog_problem *problem;
    const char *begin, *at, *end;
    unsigned depth;   /* objects that are open */
    unsigned members; /* so far, of the outermost */
    size_t
        path_size[DEPTH_MAX + 1]; /* of the name so far, with its point, in each of them; above PATH_SIZE: too long */
    char path[PATH_SIZE];
};

static unsigned bucket_of(struct slice name)
{
    if (name.size == 0) return 0;
    const unsigned first = (unsigned char)name.bytes[0], last = (unsigned char)name.bytes[name.size - 1];
    return (first + 7 * (unsigned)name.size + 31 * last) % ACCESSLOG_BUCKETS;
}

void json_add(struct accesslog *log, unsigned from)
{
    for (unsigned i = from; i < log->sources; i++) {
        unsigned char *bucket = &log->bucket[bucket_of(log->source[i].name)];
        log->source[i].next = *bucket;
        *bucket = (unsigned char)(i + 1);
    }
    memset(log->member, 0, sizeof log->member);
}

/* ---- values ---- */

static bool expected(struct reader *reader, const char *what)
{
    return problem_is(reader->problem, (size_t)(reader->at - reader->begin) + 1, what);
}

static unsigned first_source(const struct accesslog *log, struct slice name)
{
    unsigned i = log->bucket[bucket_of(name)];
    while (i != 0 && !slice_is(log->source[i - 1].name, name)) i = log->source[i - 1].next;
    return i;
}

static void take(struct reader *reader, unsigned first, struct slice name, struct slice value)
{
    const struct accesslog *log = reader->log;
    for (unsigned i = first; i != 0; i = log->source[i - 1].next) {
        const struct accesslog_source *source = &log->source[i - 1];
        struct found *found = &reader->found[source->slot];
        if (found->source != NULL && found->source->rank <= source->rank) continue;
        if (i == first || slice_is(source->name, name)) *found = (struct found){value, source};
    }
}

/* A name, and the first source of that name, where it is a member of the outermost object. */
struct name {
    struct slice text;
    unsigned first;
};

static void take_named(struct reader *reader, const struct name *name, struct slice value)
{
    const size_t before = reader->path_size[reader->depth], size = name->text.size;
    if (slice_is_nothing(value)) return;
    if (before == 0) take(reader, name->first, name->text, value);
    else if (before + size <= PATH_SIZE) {
        memcpy(reader->path + before, name->text.bytes, size);
        const struct slice path = {reader->path, before + size};
        take(reader, first_source(reader->log, path), path, value);
    }
}

/* ---- the text ---- */

static void skip_spaces(struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && (*at == ' ' || *at == '\t')) at++;
    reader->at = at;
}

static bool is_next(const struct reader *reader, char byte)
{
    return reader->at < reader->end && *reader->at == byte;
}

/* At the quote that opens it. */
static bool read_string(struct reader *reader, struct slice *string)
{
    const char *start = reader->at + 1, *quote = start;
    for (;; quote++) {
        quote = slice_find(quote, reader->end, '"');
        if (quote == NULL) return expected(reader, "expected a second quote that closes the string");
        const char *first = quote;
        while (first > start && first[-1] == '\\') first--;
        if ((quote - first) % 2 == 0) break;
    }
    *string = slice_between(start, quote);
    reader->at = quote + 1;
    return true;
}

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '+' || c == 'E';
}

/* A number, true, false: nothing that a separator may be in. */
static bool read_word(struct reader *reader, struct slice *word)
{
    const char *at = reader->at;
    while (at < reader->end && is_word_byte(*at)) at++;
    *word = slice_between(reader->at, at);
    reader->at = at;
    if (word->size == 0) return expected(reader, "expected a value: a string, a number, true, false, null, { or [");
    if (slice_is(*word, slice_of("null"))) word->size = 0;
    return true;
}

/* At the brace or bracket that opens it. */
static bool skip_nested(struct reader *reader)
{
    struct slice ignored;
    size_t open = 0;
    while (reader->at < reader->end) {
        const char c = *reader->at;
        if (c == '"') {
            if (!read_string(reader, &ignored)) return false;
            continue;
        }
        reader->at++;
        if (c == '{' || c == '[') open++;
        if (c == '}' || c == ']') open--;
        if (open == 0) return true;
    }
    return expected(reader, "expected the ] or } that closes this line");
}

/* At the bracket. */
static bool read_array(struct reader *reader, const struct name *name)
{
    struct slice first;
    const char *bracket = reader->at++;
    skip_spaces(reader);
    if (is_next(reader, '"')) {
        if (!read_string(reader, &first)) return false;
        take_named(reader, name, first);
    }
    reader->at = bracket;
    return skip_nested(reader);
}

static void enter(struct reader *reader, struct slice name)
{
    const size_t before = reader->path_size[reader->depth];
    const bool fits = before + name.size + 1 <= PATH_SIZE;
    if (fits) {
        memcpy(reader->path + before, name.bytes, name.size);
        reader->path[before + name.size] = '.';
    }
    reader->path_size[++reader->depth] = fits ? before + name.size + 1 : PATH_SIZE + 1;
    reader->at++;
}

/* Behind the colon.  Of an object only its brace. */
static bool read_value(struct reader *reader, const struct name *name)
{
    struct slice value;
    if (is_next(reader, '{') && reader->depth < DEPTH_MAX) {
        enter(reader, name->text);
        return true;
    }
    if (is_next(reader, '[')) return read_array(reader, name);
    if (is_next(reader, '{')) return skip_nested(reader);
    if (!(is_next(reader, '"') ? read_string(reader, &value) : read_word(reader, &value))) return false;
    if (name->first != 0 || reader->depth != 0) take_named(reader, name, value);
    return true;
}

/* "name": and all spaces up to the value. */
static bool parse_name(struct reader *reader, struct name *name)
{
    if (!is_next(reader, '"')) return expected(reader, "expected a name in quotes");
    if (!read_string(reader, &name->text)) return false;
    skip_spaces(reader);
    if (!is_next(reader, ':')) return expected(reader, "expected a : after the name");
    reader->at++;
    skip_spaces(reader);
    if (reader->depth == 0) name->first = first_source(reader->log, name->text);
    return true;
}

/* Short names too: of those the lanes behind the name are shifted out. */
static bool stands_at(const struct accesslog_member *member, const char *at, const char *end)
{
    const size_t size = member->size, left = (size_t)(end - at);
    if (size == 0 || left < size || left < 8) return false;
    if (size < 8) return (slice_lanes(at) ^ slice_lanes(member->text)) << (64 - 8 * size) == 0;
    return slice_is_same(at, member->text, size);
}

static bool read_name(struct reader *reader, struct name *name)
{
    const char *from = reader->at;
    if (reader->depth != 0 || reader->members == ACCESSLOG_MEMBERS) return parse_name(reader, name);
    struct accesslog_member *member = &reader->log->member[reader->members++];
    if (stands_at(member, from, reader->end)) {
        name->text = (struct slice){member->text + 1, member->name_size};
        name->first = member->first;
        reader->at += member->size;
        return true;
    }
    if (!parse_name(reader, name)) return false;
    const size_t size = (size_t)(reader->at - from);
    if (size > ACCESSLOG_MEMBER_SIZE) return true;
    memcpy(member->text, from, size);
    member->size = (unsigned char)size;
    member->name_size = (unsigned char)name->text.size;
    member->first = (unsigned char)name->first;
    return true;
}

static bool read_member(struct reader *reader)
{
    struct name name = {{NULL, 0}, 0};
    return read_name(reader, &name) && read_value(reader, &name);
}

/* Behind a value or a brace: on to the next member.  False: at the end of the whole, or else *wrong. */
static bool next_member(struct reader *reader, bool opened, bool *wrong)
{
    skip_spaces(reader);
    while (is_next(reader, '}')) {
        reader->at++;
        skip_spaces(reader);
        opened = false;
        if (reader->depth-- > 0) continue;
        *wrong = reader->at != reader->end && !expected(reader, "expected nothing after the last }");
        return false;
    }
    if (opened) return true;
    *wrong = !is_next(reader, ',') && !expected(reader, "expected a , or a }");
    if (*wrong) return false;
    reader->at++;
    skip_spaces(reader);
    return true;
}

bool json_split(struct accesslog *log, struct slice line, struct found found[], struct accesslog_problem *problem)
{
    struct reader reader;
    reader.log = log;
    reader.found = found;
    reader.problem = problem;
    reader.begin = reader.at = line.bytes;
    reader.end = line.bytes + line.size;
    reader.depth = reader.members = 0;
    reader.path_size[0] = 0;
    found_clear(log, found);
    if (slice_begins(line, slice_of("\xef\xbb\xbf"))) reader.at += 3; /* the mark of UTF-8 */
    skip_spaces(&reader);
    if (!is_next(&reader, '{')) return expected(&reader, "expected a { at the start of the line");
    reader.at++;
    bool opened = true, wrong = false;
    while (next_member(&reader, opened, &wrong)) {
        const unsigned before = reader.depth;
        if (!read_member(&reader)) return false;
        opened = reader.depth > before;
    }
    return !wrong;
}
