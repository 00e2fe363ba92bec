/* The tokens of a normalised text, and its words as a signature keeps them: see dedup/signature/tokens.py. */
#ifndef DEDUP_WORDS_H
#define DEDUP_WORDS_H

#include <math.h>
#include <stdlib.h>

#include "folding.h"

/* jieba's dictionary as a trie: see dedup/signature/segmenter.py. */
typedef struct {
    u64 *edges; /* those of the root by character, then a hash table with open addressing of 2**bits places */
    int bits;
    const double *weights; /* of each node the logarithm of its word's share; nan: no word ends there */
} Trie;

/* What jieba takes for parts of words; other characters are words of their own. */
enum { FIRST_HAN = 0x4E00, LAST_HAN = 0x9FD5, CHARACTER_BITS = 15, FROM_ROOT = 1 << CHARACTER_BITS };

typedef struct {
    i32 *edges; /* start and end of each token, one after the other */
    i64 count;  /* of tokens */
} Tokens;

/* The number of a character, 1 for U+4E00, or 0 if it is none that words are made of. */
static inline u64 han_at(const u8 *data, i64 left, int *size) {
    u32 point = character_at(data, left, size);
    return point >= FIRST_HAN && point <= LAST_HAN ? point - FIRST_HAN + 1 : 0;
}

/* Where the edge from a node that leads on by a character stands, or would stand. */
static inline u64 place_of(const u64 *edges, int bits, u64 key) {
    if (key < FROM_ROOT) return key;
    u64 place = key * 0x9E3779B97F4A7C15 >> (64 - bits), last = ((u64)1 << bits) - 1;
    while (edges[FROM_ROOT + place] && edges[FROM_ROOT + place] != key) place = (place + 1) & last;
    return FROM_ROOT + place;
}

typedef struct {
    double best;
    u64 character;
    i64 after;
    i32 start;
} Character;

typedef struct {
    Character *characters;
    i64 room;
} Run;

/* Cut a run of Han into words: of all ways the one whose product of frequencies is largest, as
   `jieba.Tokenizer.cut(text, HMM=False)` does, whose sums are added up in the same order.

   Returns where the next edge goes; -1 where there is no memory. */
static i64 cut_run(const u8 *data, i64 start, i64 end, const Trie *trie, Run *rooms, i32 *edges, i64 count) {
    i64 characters = 0, most = (end - start) / 3 + 2;
    if (most > rooms->room) {
        Character *more = realloc(rooms->characters, 2 * (size_t)most * sizeof *more);
        if (!more) return -1;
        rooms->characters = more;
        rooms->room = 2 * most;
    }
    Character *run = rooms->characters;
    for (i64 at = start; at < end;) {
        int size;
        run[characters].start = (i32)at;
        run[characters].character = han_at(data + at, end - at, &size);
        characters++;
        at += size;
    }
    run[characters].start = (i32)end;
    run[characters].best = 0;
    for (i64 first = characters - 1; first >= 0; first--) {
        run[first].after = first + 1;
        run[first].best = 0;
        if (!run[first].character) continue; /* what stands before starts from 0 again, as at the end of the run */
        /* The likeliest of the words that begin here; of equally likely ones the longest. */
        double most = -INFINITY;
        u64 node = 0;
        for (i64 last = first; last < characters && run[last].character;) {
            u64 place = place_of(trie->edges, trie->bits, node << CHARACTER_BITS | run[last].character);
            if (!trie->edges[place]) break;
            node = place + 1;
            last++;
            double value = trie->weights[node] + run[last].best;
            if (value >= most) { /* never so for nan */
                most = value;
                run[first].after = last;
            }
        }
        run[first].best = most > -INFINITY ? most : trie->weights[0] + run[first + 1].best;
    }
    for (i64 word = 0; word < characters; word = run[word].after) {
        edges[2 * count] = run[word].start;
        edges[2 * count + 1] = run[run[word].after].start;
        count++;
    }
    return count;
}

/* Write the edges of overlapping pairs of characters, or of one that is alone; return where the next one goes. */
static i64 put_pairs(const u8 *data, i64 start, i64 end, i32 *edges, i64 count) {
    i64 before = -1, last = start;
    for (i64 place = start + 1; place <= end; place++) {
        if (place < end && is_continuing(data[place])) continue;
        if (before >= 0) {
            edges[2 * count] = (i32)before;
            edges[2 * count + 1] = (i32)place;
            count++;
        }
        before = last;
        last = place;
    }
    if (before == start) {
        edges[2 * count] = (i32)start;
        edges[2 * count + 1] = (i32)end;
        count++;
    }
    return count;
}

/* The edges of the tokens of a text in which spaces or the like are between all words. */
FOR_SEVERAL_PROCESSORS
static i64 find_spaced(const u8 *kinds, i64 size, i32 *edges) {
    i64 count = 0;
    u64 before = 0;
    for (i64 first = 0; first <= size; first += BLOCK) {
        u64 parts = 0;
        for (int place = 0; place < BLOCK; place += 8) {
            parts |= gathered(~are_below(eight_bytes(kinds + first + place), START) & HIGH) << place;
        }
        u64 changes = parts ^ (parts << 1 | before);
        before = parts >> 63;
        for (; changes; changes &= changes - 1) edges[count++] = (i32)(first + lowest(changes));
    }
    return count / 2;
}

/* Find the tokens of a text that `fold` normalised.

   trie: NULL: Chinese is cut into pairs of characters. edges: room for one of each byte, and two more.
   Returns how many there are; -1 where there is no memory. */
static i64 find_tokens(
    const u8 *normalised, const u8 *kinds, const Folded *folded, const Trie *trie, Run *run, i32 *edges
) {
    i64 size = (i64)folded->size, count = 0;
    if (!(folded->seen & (HAN | UNSPACED))) return find_spaced(kinds, size, edges);
    for (i64 start = 0; start < size;) {
        u8 kind = kinds[start] & (START | HAN | UNSPACED);
        i64 end = start + 1;
        while (end < size && (kinds[end] & (START | HAN | UNSPACED)) == kind) end++;
        if (kind == START) {
            edges[2 * count] = (i32)start;
            edges[2 * count + 1] = (i32)end;
            count++;
        } else if (kind == HAN && trie) {
            count = cut_run(normalised, start, end, trie, run, edges, count);
            if (count < 0) return -1;
        } else if (kind) {
            count = put_pairs(normalised, start, end, edges, count);
        }
        start = end;
    }
    return count;
}

/* One bit for the hash of each token that has a decimal digit. */
FOR_SEVERAL_PROCESSORS
static u64 bloom_of_numbers(const u64 *hashes, const i32 *edges, i64 count, const u8 *kinds, i64 size) {
    u64 bloom = 0;
    i64 first = 0;
    for (i64 block = 0; block < size; block += BLOCK) {
        u64 digits = 0;
        for (int place = 0; place < BLOCK; place += 8) digits |= gathered(eight_bytes(kinds + block + place) & HIGH) << place;
        for (; digits; digits &= digits - 1) {
            i64 place = block + (i64)lowest(digits);
            while (first < count && edges[2 * first + 1] <= place) first++;
            /* Pairs of characters overlap. */
            for (i64 token = first; token < count && edges[2 * token] <= place; token++) {
                bloom |= (u64)1 << (hashes[token] & 63);
            }
        }
    }
    return bloom;
}

/* Copy bytes, and a line feed behind them; return where that ends. Up to 16 bytes more are written. */
static inline u8 *put_line(u8 *target, const u8 *data, i64 start, i64 end) {
    /* Most words have fewer: there is nothing to guess. */
    for (i64 at = start; at < end; at += 16) memcpy(target + (at - start), data + at, 16);
    target += end - start;
    *target++ = '\n';
    return target;
}

/* Write tokens one after the other, a line feed between them; return where that ends. */
FOR_SEVERAL_PROCESSORS
static u8 *join_tokens(u8 *target, const u8 *normalised, const i32 *edges, i64 count) {
    for (i64 token = 0; token < count; token++) {
        target = put_line(target, normalised, edges[2 * token], edges[2 * token + 1]);
    }
    return count ? target - 1 : target;
}

/* Write each place with a sign, see `dedup.signature.plain`, a zero before each; return where that ends. */
FOR_SEVERAL_PROCESSORS
static u8 *join_signs(
    u8 *target, const u8 *normalised, const u8 *kinds, i64 size, const i32 *edges, i64 count, const u8 *classes
) {
    i64 behind = 0, token = 0;
    for (i64 block = 0; count && block < size; block += BLOCK) {
        u64 odd = 0;
        for (int place = 0; place < BLOCK; place += 8) {
            u64 eight = eight_bytes(normalised + block + place);
            u64 plain = are(eight, ' ') | are(eight, ',') | are(eight, '.');
            odd |= gathered(are_below(eight_bytes(kinds + block + place), UNSPACED) & ~plain) << place;
        }
        for (; odd; odd &= odd - 1) {
            i64 place = block + (i64)lowest(odd);
            int bytes;
            if (place >= size) break;
            if (place < behind || is_continuing(normalised[place])) continue;
            if ((classes[character_at(normalised + place, size - place, &bytes)] & KIND) != SIGN) continue;
            while (token < count && edges[2 * token] <= place) token++;
            i64 before = token ? edges[2 * token - 2] : 0, start = token ? edges[2 * token - 1] : 0;
            i64 end = token < count ? edges[2 * token + 1] : size;
            behind = token < count ? edges[2 * token] : size;
            *target++ = 0;
            target = put_line(target, normalised, before, start);
            target = put_line(target, normalised, start, behind);
            target = put_line(target, normalised, behind, end) - 1;
        }
    }
    return target;
}

#endif
