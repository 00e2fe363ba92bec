/* The shingles and words that two texts share, and how far they may differ at most: see dedup/rules/shared_shingles.py.

   Tokens are compared byte by byte: words of other bytes can be made to have the same hashes. */
#ifndef DEDUP_SHARED_H
#define DEDUP_SHARED_H

#include <stdlib.h>

#include "hashing.h"
#include "sketch.h"

/* Two texts by the numbers of their tokens, the same for the same bytes. */
typedef struct {
    const u8 *data; /* both: tokens with a line feed between them, and one between the texts */
    i32 *edges;     /* start and end of each token, one after the other */
    i64 *tokens;    /* their numbers, from 0 */
    i64 count, ours; /* how many there are, and how many are of the first text */
    i64 distinct;   /* how many numbers there are; 0 where tokens of other bytes have the same hash */
    u64 *shingles;  /* a number of each shingle, those of the first text first */
    i64 our_shingles, their_shingles;
    i64 *slots; /* a hash table with room for all of them */
    u64 mask, key;
} Pair;

static void clear_slots(Pair *pair) { memset(pair->slots, 0, (pair->mask + 1) * sizeof *pair->slots); }

static int is_same(const Pair *pair, i64 a, i64 b) {
    i64 length = pair->edges[2 * a + 1] - pair->edges[2 * a];
    return length == pair->edges[2 * b + 1] - pair->edges[2 * b] &&
           !memcmp(pair->data + pair->edges[2 * a], pair->data + pair->edges[2 * b], (size_t)length);
}

static void free_pair(Pair *pair) {
    free(pair->edges);
    free(pair->tokens);
    free(pair->shingles);
    free(pair->slots);
}

static i64 number_shingles(const Pair *pair, i64 first, i64 tokens, u64 *shingles) {
    i64 count = tokens >= SHINGLE_WORDS ? tokens - SHINGLE_WORDS + 1 : 0;
    for (i64 place = 0; place < count; place++) {
        u64 number = 0;
        /* The same for the same tokens alone while there are fewer than 2.6 million. */
        for (int each = 0; each < SHINGLE_WORDS; each++) {
            number = number * (u64)pair->distinct + (u64)pair->tokens[first + place + each];
        }
        shingles[place] = number;
    }
    return count;
}

/* Read two texts; 0 where there is no memory. data: 32 bytes behind it can be read. */
static int read_pair(Pair *pair, const u8 *data, i64 middle, i64 end, u64 key) {
    i64 most = 1;
    for (i64 place = 0; place <= end; place++) most += data[place] == '\n' || place == end;
    memset(pair, 0, sizeof *pair);
    pair->data = data;
    pair->key = key;
    pair->mask = power_of_two(2 * (u64)most + 1) - 1;
    pair->edges = malloc(2 * (size_t)most * sizeof *pair->edges);
    pair->tokens = malloc((size_t)most * sizeof *pair->tokens);
    pair->shingles = malloc((size_t)most * sizeof *pair->shingles);
    pair->slots = calloc(pair->mask + 1, sizeof *pair->slots);
    u64 *hashes = malloc((size_t)most * sizeof *hashes);
    int is_read = pair->edges && pair->tokens && pair->shingles && pair->slots && hashes;
    for (i64 start = 0, place = 0; is_read && place <= end; place++) {
        if (place < end && data[place] != '\n') continue;
        i64 token = pair->count++;
        pair->ours += start < middle;
        pair->edges[2 * token] = (i32)start;
        pair->edges[2 * token + 1] = (i32)place;
        hashes[token] = hash_of(data + start, (u64)(place - start));
        start = place + 1;
        u64 slot = slot_of(hashes[token], key, pair->mask);
        while (pair->slots[slot] && hashes[pair->slots[slot] - 1] != hashes[token]) slot = (slot + 1) & pair->mask;
        i64 known = pair->slots[slot] - 1;
        if (known < 0) {
            pair->slots[slot] = token + 1;
            pair->tokens[token] = pair->distinct++;
        } else if (is_same(pair, token, known)) {
            pair->tokens[token] = pair->tokens[known];
        } else {
            pair->distinct = 0;
            break;
        }
    }
    free(hashes);
    if (is_read && pair->distinct) {
        pair->our_shingles = number_shingles(pair, 0, pair->ours, pair->shingles);
        u64 *theirs = pair->shingles + pair->our_shingles;
        pair->their_shingles = number_shingles(pair, pair->ours, pair->count - pair->ours, theirs);
    }
    return is_read;
}

/* The slot of a shingle among some, or the one where it belongs. */
static u64 slot_of_shingle(const Pair *pair, u64 shingle) {
    u64 slot = slot_of(shingle, pair->key, pair->mask);
    while (pair->slots[slot] && pair->shingles[pair->slots[slot] - 1] != shingle) slot = (slot + 1) & pair->mask;
    return slot;
}

/* Write 1 for each token of the first text that is in a shingle which the other one has, else 0. */
static void mark_shared(Pair *pair, u8 *is_shared) {
    clear_slots(pair);
    for (i64 place = pair->our_shingles; place < pair->our_shingles + pair->their_shingles; place++) {
        pair->slots[slot_of_shingle(pair, pair->shingles[place])] = place + 1;
    }
    memset(is_shared, 0, (size_t)pair->ours);
    for (i64 place = 0; place < pair->our_shingles; place++) {
        if (pair->slots[slot_of_shingle(pair, pair->shingles[place])]) memset(is_shared + place, 1, SHINGLE_WORDS);
    }
}

/* Jaccard similarity and containment of the shingles of both. */
static void overlap(Pair *pair, double *jaccard, double *containment) {
    i64 ours = 0, theirs = 0, shared = 0;
    clear_slots(pair);
    for (i64 place = 0; place < pair->our_shingles + pair->their_shingles; place++) {
        u64 slot = slot_of_shingle(pair, pair->shingles[place]);
        int is_ours = place < pair->our_shingles;
        if (!pair->slots[slot]) {
            pair->slots[slot] = place + 1;
            ours += is_ours;
            theirs += !is_ours;
        } else if (!is_ours && pair->slots[slot] <= pair->our_shingles) {
            /* Met again it is one of theirs, which are counted once. */
            pair->slots[slot] = place + 1;
            shared++;
            theirs++;
        }
    }
    i64 together = ours + theirs - shared, smaller = ours < theirs ? ours : theirs;
    *jaccard = together ? (double)shared / (double)together : 0;
    *containment = smaller ? (double)shared / (double)smaller : 0;
}

/* How many shingles have the same order in both texts, each taken to be only where it comes first. */
static i64 count_in_order(Pair *pair, i64 *last) {
    i64 length = 0;
    clear_slots(pair);
    for (i64 place = 0; place < pair->our_shingles; place++) {
        u64 slot = slot_of_shingle(pair, pair->shingles[place]);
        if (!pair->slots[slot]) pair->slots[slot] = place + 1;
    }
    /* The longest rising row of places: of each length the one that ends first. C. Schensted, "Longest increasing and
       decreasing subsequences", 1961. */
    for (i64 each = pair->our_shingles; each < pair->our_shingles + pair->their_shingles; each++) {
        i64 place = pair->slots[slot_of_shingle(pair, pair->shingles[each])];
        if (!place) continue;
        if (!length || last[length - 1] < place) {
            last[length++] = place;
            continue;
        }
        i64 low = 0, high = length - 1;
        while (low < high) {
            i64 middle = (low + high) / 2;
            if (last[middle] < place) low = middle + 1;
            else high = middle;
        }
        last[low] = place;
    }
    return length;
}

/* Of what one text has more often than the other: whether a number may be in it, and a word twice.

   excess: of each number how much more often that text has it. */
static void net_words(const Pair *pair, i64 first, i64 end, const i64 *excess, int *may_have_number, int *is_repeated) {
    *may_have_number = *is_repeated = 0;
    for (i64 token = first; token < end; token++) {
        i64 more = excess[pair->tokens[token]];
        if (more <= 0) continue;
        int has_digit = 0, is_ascii = 1;
        for (i32 place = pair->edges[2 * token]; place < pair->edges[2 * token + 1]; place++) {
            has_digit |= (u8)(pair->data[place] - '0') < 10;
            is_ascii &= pair->data[place] < 0x80;
        }
        /* Other scripts have digits of their own. */
        *may_have_number |= has_digit || !is_ascii;
        *is_repeated |= more > 1 && !has_digit;
    }
}

#endif
