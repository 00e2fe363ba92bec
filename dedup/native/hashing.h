/* Hashes of tokens and of pairs of them: MurmurHash3_x64_128, the first half, as mmh3.hash64 returns it. */
#ifndef DEDUP_HASHING_H
#define DEDUP_HASHING_H

#include "bytes.h"

static inline u64 rotated(u64 value, int bits) { return value << bits | value >> (64 - bits); }

static inline u64 mixed(u64 value) {
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53;
    return value ^ value >> 33;
}

static inline u64 first_part(u64 value) { return rotated(value * 0x87C37B91114253D5, 31) * 0x4CF5AD432745937F; }
static inline u64 second_part(u64 value) { return rotated(value * 0x4CF5AD432745937F, 33) * 0x87C37B91114253D5; }

static inline void mix_block(u64 *h1, u64 *h2, u64 first, u64 second) {
    *h1 ^= first_part(first);
    *h1 = (rotated(*h1, 27) + *h2) * 5 + 0x52DCE729;
    *h2 ^= second_part(second);
    *h2 = (rotated(*h2, 31) + *h1) * 5 + 0x38495AB5;
}

/* What is left behind the blocks of a token of so many bytes, as two numbers; 16 bytes can be read. */
static inline void read_rest(const u8 *rest, u64 length, u64 *first, u64 *second) {
    /* Without a branch to guess, and by no more than 63 bits at once. */
    u64 left = length & 15, has_second = -(left >> 3), lowest = ~(~(u64)0 << 8 * (left & 7));
    *first = eight_bytes(rest) & (lowest | has_second);
    *second = eight_bytes(rest + 8) & lowest & has_second;
}

static inline u64 finished(u64 h1, u64 h2, u64 first, u64 second, u64 length) {
    h2 ^= second_part(second) ^ length;
    h1 ^= first_part(first) ^ length;
    h1 += h2;
    h2 += h1;
    return mixed(h1) + mixed(h2);
}

/* The hash of a token; 16 bytes from its start on can be read, and as many behind it. */
static inline u64 hash_of(const u8 *token, u64 length) {
    u64 h1 = 0, h2 = 0;
    for (u64 left = length; left >= 16; left -= 16, token += 16) {
        mix_block(&h1, &h2, eight_bytes(token), eight_bytes(token + 8));
    }
    u64 first, second;
    read_rest(token, length, &first, &second);
    return finished(h1, h2, first, second, length);
}

/* Put the hashes of tokens of up to 15 bytes in the place of the first of the two numbers that are theirs. */
FOR_SEVERAL_PROCESSORS
static void hash_short(u64 *restrict hashes, const u64 *restrict second, const u64 *restrict lengths, u64 count) {
    for (u64 each = 0; each < count; each++) hashes[each] = finished(0, 0, hashes[each], second[each], lengths[each]);
}

/* The hash of two neighbouring tokens: that of the 16 bytes of their hashes. */
static inline u64 hash_of_two(u64 one, u64 other) {
    u64 h1 = 0, h2 = 0;
    mix_block(&h1, &h2, one, other);
    h1 ^= 16;
    h2 ^= 16;
    h1 += h2;
    h2 += h1;
    return mixed(h1) + mixed(h2);
}

/* The hashes of each two neighbours of some tokens. */
FOR_SEVERAL_PROCESSORS
static void hash_pairs(const u64 *restrict hashes, u64 count, u64 *restrict pairs) {
    for (u64 each = 0; each + 1 < count; each++) pairs[each] = hash_of_two(hashes[each], hashes[each + 1]);
}

#endif
