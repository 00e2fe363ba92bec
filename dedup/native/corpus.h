/* Documents of a corpus by their digests and by their keys, in arrays of Python's: see dedup/files/. */
#ifndef DEDUP_CORPUS_H
#define DEDUP_CORPUS_H

#include <stdlib.h>

#include "bytes.h"

/* In the place of the next entry: the last one; and of one that was left out, since its key was read to the bound. */
static const u32 LAST_ENTRY = 0, LEFT_OUT = 0xFFFFFFFF;

/* A rarity of all keys together is less than this; above it stands the number of a document. */
enum { RARITY_BITS = 28 };
static const u64 BAND = (u64)1 << 27, RARITY = ((u64)1 << 27) - 1;

/* Digests of documents, of two halves each, `stride` bytes apart, and a hash table of their numbers plus one. */
typedef struct {
    const u8 *digests;
    i64 stride, count;
    u32 *slots;
    u64 mask, key;
} Digests;

static inline void digest_at(const Digests *known, i64 number, u64 *halves) {
    memcpy(halves, known->digests + number * known->stride, 16);
}

/* The number of the document with a digest; -1 if none has it. */
static i64 find_digest(const Digests *known, const u64 *wanted) {
    u64 found[2], slot = slot_of(wanted[0], known->key, known->mask);
    for (; known->slots[slot]; slot = (slot + 1) & known->mask) {
        i64 number = (i64)known->slots[slot] - 1;
        digest_at(known, number, found);
        if (found[0] == wanted[0] && found[1] == wanted[1]) return number;
    }
    return -1;
}

static void insert_digest(const Digests *known, i64 number) {
    u64 own[2];
    digest_at(known, number, own);
    u64 slot = slot_of(own[0], known->key, known->mask);
    while (known->slots[slot]) slot = (slot + 1) & known->mask;
    known->slots[slot] = (u32)(number + 1);
}

/* A hash table with chains: see dedup/files/key_map.py. */
typedef struct {
    u32 *heads;
    u64 mask;     /* of the heads, a power of two, all but one */
    u32 *entries; /* of each the hash of its key, and the next entry of its chain plus one */
    i64 room;     /* how many entries there can be */
    i64 keys, tables, most;
    u64 key;
} Chains;

static inline u64 head_of(const Chains *chains, u32 value) { return slot_of(value, chains->key, chains->mask); }

static void leave_out(const Chains *chains, i64 document) {
    for (i64 number = 0; number < chains->keys; number++) {
        chains->entries[2 * (document * chains->keys + number) + 1] = LEFT_OUT;
    }
}

/* Read the documents that share keys with one, and enter its keys.

   rarities: takes each document that shares a key, shifted, whether the key is a band, and how rare it is; NULL:
   nothing is read. weights: how rare a key is, by how many have it. Returns how many were written. */
static i64 read_keys(
    const Chains *chains, const u32 *hashes, i64 document, const i64 *weights, u64 *rarities
) {
    i64 end = 0;
    for (i64 number = 0; number < chains->keys; number++) {
        u32 value = hashes[number];
        u64 head = head_of(chains, value);
        i64 entry = (i64)chains->heads[head] - 1, last = -1, count = 0;
        while (entry >= 0 && count < chains->most) {
            if (chains->entries[2 * entry] == value && entry % chains->keys == number) {
                if (rarities) rarities[end + count] = (u64)(entry / chains->keys);
                count++;
            }
            last = entry;
            entry = (i64)chains->entries[2 * entry + 1] - 1;
        }
        i64 own = document * chains->keys + number;
        chains->entries[2 * own] = value;
        chains->entries[2 * own + 1] = count < chains->most ? LAST_ENTRY : LEFT_OUT;
        if (count < chains->most) *(last >= 0 ? &chains->entries[2 * last + 1] : &chains->heads[head]) = (u32)(own + 1);
        if (rarities) {
            u64 weight = (u64)weights[count] | (number >= chains->tables ? BAND : 0);
            for (i64 place = end; place < end + count; place++) {
                rarities[place] = rarities[place] << RARITY_BITS | weight;
            }
            end += count;
        }
    }
    return end;
}

static int rising(const void *a, const void *b) {
    u64 one = *(const u64 *)a, other = *(const u64 *)b;
    return (one > other) - (one < other);
}

/* Choose whom to look at as `dedup.keys.choose` does, but for those that are too far away; rising.

   orders: room for two numbers of each rarity. Returns how many. */
static i64 choose(
    u64 *rarities, i64 read, const u8 *fingerprints, i64 stride, u64 fingerprint, i64 most, int radius, u64 *orders,
    i64 *chosen
) {
    /* The rarest first, and then the earliest, as one number. */
    u64 *sorted = orders + read;
    i64 count = 0, size = 0;
    qsort(rarities, (size_t)read, sizeof *rarities, rising);
    for (i64 place = 0; place < read; place++) {
        u64 document = rarities[place] >> RARITY_BITS;
        if (!count || document != rarities[place - 1] >> RARITY_BITS) {
            sorted[count] = 0;
            orders[count++] = RARITY << 32 | document;
        }
        orders[count - 1] -= (rarities[place] & RARITY) << 32;
        sorted[count - 1] |= rarities[place] & BAND;
    }
    for (i64 place = 0; place < count; place++) rarities[place] = sorted[place]; /* which share a band */
    u64 limit = ~(u64)0;
    if (count > most) {
        memcpy(sorted, orders, (size_t)count * sizeof *sorted);
        qsort(sorted, (size_t)count, sizeof *sorted, rising);
        limit = sorted[most];
    }
    for (i64 place = 0; place < count; place++) {
        i64 document = (i64)(orders[place] & 0xFFFFFFFF);
        u64 theirs;
        memcpy(&theirs, fingerprints + document * stride, 8);
        if (orders[place] < limit && (rarities[place] || __builtin_popcountll(theirs ^ fingerprint) <= radius)) {
            chosen[size++] = document;
        }
    }
    return size;
}

#endif
