/* Bytes, 8 and 64 at a time, and UTF-8. Whoever calls makes sure that they are there. */
#ifndef DEDUP_BYTES_H
#define DEDUP_BYTES_H

#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

enum { BLOCK = 64 };

/* Where functions may be made for several processors, the one that fits is chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && defined(__GLIBC__)
#define FOR_SEVERAL_PROCESSORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "sse4.1", "default")))
#else
#define FOR_SEVERAL_PROCESSORS
#endif

static const u64 LOW = 0x0101010101010101, HIGH = 0x8080808080808080;

/* Eight bytes as one number, the first the lowest. */
static inline u64 eight_bytes(const u8 *data) {
    u64 number;
    memcpy(&number, data, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    return number;
}

static inline void put_eight_bytes(u8 *target, u64 number) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    memcpy(target, &number, 8);
}

/* Where the lowest bit that is 1 stands; 64 where there is none. */
static inline u64 lowest(u64 bits) { return bits ? (u64)__builtin_ctzll(bits) : 64; }

/* The topmost bits of eight bytes as eight bits, that of the first byte the lowest. */
static inline u64 gathered(u64 bits) { return (bits >> 7) * 0x0102040810204080 >> 56; }

/* Of eight bytes: the topmost bit of each says whether it is so much. */
static inline u64 are(u64 eight, u8 byte) {
    u64 differing = eight ^ LOW * byte;
    return ~(((differing & ~HIGH) + ~HIGH) | differing) & HIGH;
}

/* Likewise, whether it is less than so much, 1 to 128. */
static inline u64 are_below(u64 eight, u8 byte) {
    u64 at_least = (eight | HIGH) - LOW * (byte & 0x7F);
    return (byte == 0x80 ? ~eight : ~eight & ~at_least) & HIGH;
}

static inline int is_continuing(u8 byte) { return (byte & 0xC0) == 0x80; }

/* A character of UTF-8, and how many bytes it has, of so many that are left; a byte of what is no UTF-8 is U+FFFD, so
   that no character takes room that was counted for ASCII. */
static inline u32 character_at(const u8 *data, i64 left, int *size) {
    u32 first = data[0], point;
    int bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    *size = 1;
    if (first < 0x80) return first;
    if (first < 0xC0 || bytes > left || !is_continuing(data[1])) return 0xFFFD;
    point = data[1] & 0x3F;
    for (int place = 2; place < bytes; place++) {
        if (!is_continuing(data[place])) return 0xFFFD;
        point = point << 6 | (data[place] & 0x3F);
    }
    point |= (first & (0x7Fu >> bytes)) << 6 * (bytes - 1);
    if (point >= 0x110000) return 0xFFFD;
    *size = bytes;
    return point;
}

/* The slot that a hash table has for a number: the topmost bits of a product, that any two rarely share.

   M. Dietzfelbinger et al., "A reliable randomized algorithm for the closest-pair problem", 1997. The key, another in
   each process, makes sure that nobody can make numbers that crowd; mask: of the slots, a power of two, all but one. */
static inline u64 slot_of(u64 number, u64 key, u64 mask) {
    return mask ? number * key >> __builtin_clzll(mask) : 0;
}

/* The least power of two that is no less. */
static inline u64 power_of_two(u64 least) {
    u64 room = 1;
    while (room < least) room *= 2;
    return room;
}

#endif
