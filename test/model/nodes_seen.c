/* SPDX-License-Identifier: MIT
   A table of hashes of worlds, by what they can still become.

   Times count from now; the name of an epoch only as how far it is behind the engine's, for two behind is over; nodes
   that live alike are added up, each with its mail, so that they may change places.

   See nodes_seen.h. */
#include "nodes_seen.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "planted_nodes.h"

enum { FIRST_SIZE = 1 << 16, OVER = 3, NS_PER_US = 1000, GCRA_LEASE_CELL = 7 };
enum { SEEN, LEVEL, EPOCH, EPOCH_END, LIFETIME, NEW, OLD };

struct hash {
    uint64_t half[2];
};

static uint64_t mix(uint64_t hash, uint64_t word, uint64_t factor)
{
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 31;
}

static void put(struct hash *hash, uint64_t word)
{
    hash->half[0] = mix(hash->half[0], word, UINT64_C(0x9e3779b97f4a7c15));
    hash->half[1] = mix(hash->half[1] ^ word >> 7, word << 9 | 1, UINT64_C(0xd6e8feb86659fd93));
}

static void put_all(struct hash *hash, const void *from, size_t size)
{
    uint64_t word;
    for (size_t at = 0; at < size; at += sizeof word) {
        memcpy(&word, (const char *)from + at, sizeof word);
        put(hash, word);
    }
}

static void put_store(struct hash *hash, const struct nodes_world *model, const struct store *store, uint64_t now)
{
    const uint64_t *word = store->cell.word, per = model->plan.rule[0].per;
    put(hash, store->known);
    if (store->known == 0) return;
    const bool leases = store->cell.words == GCRA_LEASE_CELL;
    const uint64_t out = leases ? word[NEW] + word[OLD] : 0, age = now - word[SEEN];
    const bool empty = out == 0 && word[SEEN] <= now && age * per >= word[LEVEL];
    put(hash, empty ? 0 : word[LEVEL]);
    put(hash, empty ? 0 : age);
    put(hash, leases ? subtract_to_zero(word[EPOCH] + 1, now) : 0);
    for (int i = NEW; i <= OLD && leases; i++) put(hash, word[i]);
    put(hash, out == 0 ? 0 : word[EPOCH_END] - now);
    put(hash, out == 0 ? 0 : word[LIFETIME]);
    put(hash, subtract_to_zero(store->idle, now));
}

static void put_turn(struct hash *hash, const struct store *store, uint64_t now, uint64_t epoch)
{
    if (store->known == 0 || store->cell.words != GCRA_LEASE_CELL)
        put(hash, OVER + 1 + subtract_to_zero(epoch + 1, now));
    else put(hash, epoch > store->cell.word[EPOCH] ? OVER + 1 : least(store->cell.word[EPOCH] - epoch, OVER));
}

static void put_epochs(struct hash *hash, const struct world *world, uint64_t epoch)
{
    put_turn(hash, &world->engine, world->now + world->engine_ahead, epoch);
    put_turn(hash, &world->replica, world->now + world->engine_ahead, epoch);
}

static void add(struct hash *sum, const struct hash *hash)
{
    sum->half[0] += hash->half[0];
    sum->half[1] += hash->half[1];
}

static struct hash hash_mail(const struct world *world, const struct mail *mail)
{
    struct hash hash = {{3, 4}};
    put(&hash, mail->reply);
    put(&hash, mail->orphan);
    put(&hash, mail->want);
    put(&hash, mail->permits);
    put(&hash, mail->back.permits);
    put(&hash, mail->back.unused);
    if (mail->back.permits > 0) put_epochs(&hash, world, mail->back.id);
    if (mail->permits > 0) put_epochs(&hash, world, mail->id);
    return hash;
}

/* A node's own. */
static void put_part(struct hash *hash, const struct world *world, const struct engine_lease_part *part)
{
    const uint64_t now_ns = world->now * NS_PER_US;
    put(hash, part->permits);
    if (part->permits == 0) return;
    put(hash, part->left);
    put(hash, now_ns - part->sent_ns);
    put(hash, subtract_to_zero(part->spend_before_ns, now_ns));
    put_epochs(hash, world, part->id);
}

static struct hash hash_node(const struct nodes_world *model, const struct world *world, unsigned who)
{
    const struct node *node = &world->node[who];
    const uint64_t now_ns = world->now * NS_PER_US;
    struct hash hash = {{5, 6}}, mails = {{0, 0}};
    put(&hash, model->scene->lifetime[who]);
    put(&hash, node->asks);
    put(&hash, node->returns);
    put(&hash, node->looked);
    put(&hash, node->lease.waiting ? 1 + now_ns - node->lease.asked_ns : 0);
    put_part(&hash, world, &node->lease.before);
    put_part(&hash, world, &node->lease.now);
    for (int i = 0; i < MAIL_MAX; i++) {
        if (world->mail[i].used == 0 || world->mail[i].node != who) continue;
        const struct hash mail = hash_mail(world, &world->mail[i]);
        add(&mails, &mail);
    }
    put(&hash, mails.half[0]);
    put(&hash, mails.half[1]);
    return hash;
}

static struct hash hash_world(const struct nodes_world *model, const struct world *world)
{
    struct hash hash = {{1, 2}}, nodes = {{0, 0}};
    const bool exactly = model->scene->planted != PLANTED_NOTHING || model->scene->node_mistake != NODE_RIGHT;
    if (exactly) {
        put_all(&hash, world, sizeof *world);
        return hash;
    }
    put_store(&hash, model, &world->engine, world->now + world->engine_ahead);
    put_store(&hash, model, &world->replica, world->now + world->engine_ahead);
    put(&hash, world->full);
    put(&hash, world->disturbed);
    put_all(&hash, world->left, sizeof world->left);
    for (int i = 0; i < PROMISES; i++) {
        put(&hash, world->promised[i]);
        put(&hash, world->promised[i] == 0 ? 0 : world->promised_at[i] - world->now);
    }
    for (unsigned i = 0; i < model->scene->nodes; i++) {
        const struct hash node = hash_node(model, world, i);
        add(&nodes, &node);
    }
    put_all(&hash, &nodes, sizeof nodes);
    return hash;
}

static void grow(struct nodes_seen *seen)
{
    const struct nodes_seen old = *seen;
    seen->size = old.size == 0 ? FIRST_SIZE : old.size * 2;
    seen->slot = calloc(seen->size, sizeof *seen->slot);
    if (seen->slot == NULL) abort();
    for (size_t i = 0; i < old.size; i++) {
        if (old.slot[i][0] == 0) continue;
        size_t at = old.slot[i][0] / 2 % seen->size;
        while (seen->slot[at][0] != 0) at = (at + 1) % seen->size;
        memcpy(seen->slot[at], old.slot[i], sizeof *seen->slot);
    }
    free(old.slot);
}

bool nodes_enter(struct nodes_seen *seen, const struct nodes_world *model, const struct world *world)
{
    if (seen->count * 2 >= seen->size) grow(seen);
    struct hash hash = hash_world(model, world);
    hash.half[0] |= 1; /* 0 is free */
    size_t at = hash.half[0] / 2 % seen->size;
    for (; seen->slot[at][0] != 0; at = (at + 1) % seen->size) {
        if (seen->slot[at][0] == hash.half[0] && seen->slot[at][1] == hash.half[1]) return false;
    }
    memcpy(seen->slot[at], hash.half, sizeof hash.half);
    seen->count++;
    return true;
}

void nodes_seen_free(struct nodes_seen *seen)
{
    free(seen->slot);
    *seen = (struct nodes_seen){0};
}
