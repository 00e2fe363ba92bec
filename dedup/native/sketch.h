/* Fingerprint and sketch of a text by the hashes of its tokens: see dedup/signature/plain.py, which is what to read. */
#ifndef DEDUP_SKETCH_H
#define DEDUP_SKETCH_H

#include "hashing.h"

enum { MINIMA = 128, BANDS = 24, MINIMA_OF_A_BAND = 4, SHINGLE_WORDS = 3, BITS = 64 };

/* 32-bit numbers side by side. */
enum { LANES = 16 };
typedef u32 Lanes __attribute__((vector_size(4 * LANES)));

/* Put each number once in front, in the order in which they first come; return how many there are.

   slots: a power of two of them, more than numbers; the fewer are taken, the faster. */
static u64 distinct(u64 *numbers, u64 count, u32 *slots, u64 mask, u64 key) {
    u64 found = 0;
    int shift = __builtin_clzll(mask);
    memset(slots, 0, (mask + 1) * sizeof *slots);
    for (u64 place = 0; place < count; place++) {
        u64 number = numbers[place], slot = number * key >> shift;
        while (slots[slot] && numbers[slots[slot] - 1] != number) slot = (slot + 1) & mask;
        if (slots[slot]) continue;
        numbers[found++] = number;
        slots[slot] = (u32)found;
    }
    return found;
}

/* Add three bits at each place: the sums' lower bits take the place of the first, the higher ones are returned. */
static inline u64 add_bits(u64 *a, u64 b, u64 c) {
    u64 differing = *a ^ b, carried = (*a & b) | (differing & c);
    *a = differing ^ c;
    return carried;
}

static inline void count_bits(u32 *sums, u64 bits, u32 weight) {
    for (int bit = 0; bit < BITS; bit++) sums[bit] += weight * (u32)(bits >> bit & 1);
}

/* The simhash of features: bit by bit what more than half of them have. Charikar, "Similarity estimation techniques
   from rounding algorithms", STOC 2002; Manku, Jain, Das Sarma, WWW 2007, section 2.

   Words are added as 64 adders side by side would do it, so that only every eighth one, of eights, is spread out and
   counted. H. Warren, "Hacker's Delight", 5-1. */
FOR_SEVERAL_PROCESSORS
static u64 simhash(const u64 *features, u64 count) {
    u32 sums[BITS] = {0};
    u64 ones = 0, twos = 0, fours = 0, whole = count / 8 * 8;
    for (u64 at = 0; at < whole;) {
        /* A word is eight counters of eight bits, which overflow at 256. */
        u64 counters[8] = {0}, end = at + 8 * 255 < whole ? at + 8 * 255 : whole;
        for (; at < end; at += 8) {
            const u64 *group = features + at;
            u64 first = add_bits(&ones, group[0], group[1]), second = add_bits(&ones, group[2], group[3]);
            u64 third = add_bits(&twos, first, second);
            first = add_bits(&ones, group[4], group[5]);
            second = add_bits(&ones, group[6], group[7]);
            u64 eights = add_bits(&fours, third, add_bits(&twos, first, second));
            for (int shift = 0; shift < 8; shift++) counters[shift] += eights >> shift & LOW;
        }
        for (int bit = 0; bit < BITS; bit++) sums[bit] += 8 * (u32)(counters[bit % 8] >> bit / 8 * 8 & 0xFF);
    }
    count_bits(sums, ones, 1);
    count_bits(sums, twos, 2);
    count_bits(sums, fours, 4);
    for (u64 at = whole; at < count; at++) count_bits(sums, features[at], 1);
    u64 fingerprint = 0;
    for (int bit = 0; bit < BITS; bit++) fingerprint |= (u64)(2 * (u64)sums[bit] > count) << bit;
    return fingerprint;
}

/* The hash of each shingle of three tokens; return how many there are. */
FOR_SEVERAL_PROCESSORS
static u64 hash_shingles(const u64 *hashes, u64 tokens, u32 *shingles) {
    u64 count = tokens >= SHINGLE_WORDS ? tokens - SHINGLE_WORDS + 1 : 0;
    for (u64 first = 0; first < count; first++) {
        u64 number = hashes[first] * 0x9E3779B97F4A7C15;
        number = ((number ^ number >> 29) + hashes[first + 1]) * 0xBF58476D1CE4E5B9;
        number = ((number ^ number >> 31) + hashes[first + 2]) * 0x94D049BB133111EB;
        shingles[first] = (u32)(number >> 32);
    }
    return count;
}

/* The minima over shingles, one for each of 128 permutations. Broder, "On the resemblance and containment of
   documents", 1997. */
FOR_SEVERAL_PROCESSORS
static void find_minima(const u32 *shingles, u64 count, const u32 *multipliers, const u32 *offsets, u32 *minima) {
    /* As many as stay in registers are brought through all shingles. */
    for (int first = 0; first < MINIMA; first += 4 * LANES) {
        Lanes by[4], plus[4], least[4];
        memcpy(by, multipliers + first, sizeof by);
        memcpy(plus, offsets + first, sizeof plus);
        memset(least, 0xFF, sizeof least);
        for (u64 at = 0; at < count; at++) {
            for (int each = 0; each < 4; each++) {
                Lanes value = shingles[at] * by[each] + plus[each];
                least[each] ^= (value ^ least[each]) & (Lanes)(value < least[each]);
            }
        }
        memcpy(minima + first, least, sizeof least);
    }
}

/* Write four bits of each minimum, the first the lowest, and the bands; zeros where there are no shingles. */
static void put_minima(const u32 *minima, u64 shingles, u64 *words, u64 *bands) {
    memset(words, 0, MINIMA / 2);
    for (int each = 0; each < MINIMA; each++) {
        /* The high bits of a minimum are almost always 0; mixed, its low four bits are uniform. */
        u64 lowest_bits = (u32)((minima[each] ^ minima[each] >> 16) * 0x85EBCA6B) >> 28;
        words[each / 16] |= lowest_bits << each % 16 * 4;
    }
    for (int band = 0; band < BANDS; band++) {
        u64 value = (u64)(band + 1) * 0x9E3779B97F4A7C15;
        for (int each = 0; each < MINIMA_OF_A_BAND; each++) {
            value = (value ^ minima[band * MINIMA_OF_A_BAND + each]) * 0xBF58476D1CE4E5B9;
            value ^= value >> 29;
        }
        bands[band] = shingles ? value : 0;
    }
}

#endif
