/* Normalising a text character by character: what `dedup.signature.normalise.fold` does. */
#ifndef DEDUP_FOLDING_H
#define DEDUP_FOLDING_H

#include "bytes.h"

/* Bits of the classes of characters, see dedup/signature/text_folding.py. */
enum {
    START = 0x40, CONTINUE = 0x04, HAN = 0x20, KANA = 0x28, UNSPACED = 0x10, SIGN = 0x08, KIND = 0x7C, DIGIT = 0x80,
    CHANGED = 0x02, COMBINING = 0x01,
};

/* So many bytes behind a normalised text are written: blocks are read whole, and tokens as `hash_of` does. */
enum { SLACK = BLOCK };

typedef struct {
    const u8 *classes;   /* of each code point */
    const i32 *starts;   /* of each changed character where `replaced` says what it becomes */
    const u16 *replaced; /* a number of bytes, and behind it these, in the upper eight bits the class of each */
} Folding;

typedef struct {
    u64 size;      /* in bytes */
    u32 seen;      /* all bits of the classes of what is not ASCII, or those of the character that is refused */
    i64 han, kana; /* how many characters are Han or kana, and how many of them kana */
    int refused;
} Folded;

/* Lower case, and the classes, of 64 characters of printable ASCII. */
static inline void fold_block(const u8 *data, u8 *normalised, u8 *kinds) {
    for (int at = 0; at < BLOCK; at++) {
        u8 byte = data[at];
        byte |= (u8)(byte - 'A') < 26 ? 0x20 : 0;
        normalised[at] = byte;
        kinds[at] = ((u8)(byte - 'a') < 26 ? START : 0) | ((u8)(byte - '0') < 10 ? START | DIGIT : 0);
    }
}

/* How many bytes `fold` may need for a text: a character becomes three times as long at most. */
FOR_SEVERAL_PROCESSORS
static u64 room_for(const u8 *data, u64 size) {
    u64 wide = 0;
    for (u64 at = 0; at < size; at++) wide += data[at] >> 7;
    return size + 2 * wide + SLACK;
}

/* Write the normalised text, combining characters as they stand, and of each of its bytes the class of its character;
   a sign of ASCII may have none. Zeros stand behind both.

   data, start, end, length: texts in UTF-8, where this one starts and ends, and how many bytes there are in all.
   refused: bits of classes; at the first character with any of them it stops. */
FOR_SEVERAL_PROCESSORS
static Folded fold(
    const u8 *data, u64 start, u64 end, u64 length, u32 refused, const Folding *tables, u8 *normalised, u8 *kinds
) {
    Folded folded = {0};
    u64 at = start, size = 0, is_behind_space = 1; /* of white space behind white space nothing is left */
    while (at < end) {
        u64 stop = end;
        if (at + BLOCK <= length) {
            u64 spaces = 0, odd = 0;
            for (int place = 0; place < BLOCK; place += 8) {
                u64 eight = eight_bytes(data + at + place);
                spaces |= gathered(are(eight, ' ')) << place;
                odd |= gathered(are_below(eight, ' ') | (~are_below(eight, 0x7F) & HIGH)) << place;
            }
            odd |= spaces & (spaces << 1 | is_behind_space);
            u64 plain = lowest(odd);
            if (plain > end - at) plain = end - at;
            if (plain) {
                /* All of it is written, and overwritten from the first byte on that is not plain. */
                fold_block(data + at, normalised + size, kinds + size);
                is_behind_space = spaces >> (plain - 1) & 1;
                at += plain;
                size += plain;
            }
            stop = plain < BLOCK ? at + 1 : at;
        }
        while (at < end && (at < stop || data[at] >= 0x80 || (at + 1 < end && data[at + 1] >= 0x80))) {
            int bytes;
            u32 point = character_at(data + at, (i64)(end - at), &bytes), kind = tables->classes[point];
            if (kind & refused) {
                folded.seen = kind & refused;
                folded.refused = 1;
                return folded;
            }
            if (kind & CHANGED) {
                const u16 *replaced = tables->replaced + tables->starts[point];
                for (u32 place = 1; place <= replaced[0]; place++) {
                    u8 byte = (u8)replaced[place];
                    kind = replaced[place] >> 8;
                    if (byte == ' ') {
                        if (is_behind_space) continue;
                        is_behind_space = 1;
                    } else {
                        is_behind_space = 0;
                    }
                    folded.seen |= kind;
                    if (kind & HAN && !is_continuing(byte)) {
                        folded.han++;
                        folded.kana += (kind & KANA) == KANA;
                    }
                    normalised[size] = byte;
                    kinds[size++] = (u8)kind;
                }
            } else {
                if (kind & CONTINUE) kind = size ? kinds[size - 1] & START : 0;
                kind &= KIND | DIGIT;
                folded.seen |= kind;
                if (kind & HAN) {
                    folded.han++;
                    folded.kana += (kind & KANA) == KANA;
                }
                is_behind_space = 0;
                for (int place = 0; place < bytes; place++) {
                    normalised[size] = data[at + place];
                    kinds[size++] = (u8)kind;
                }
            }
            at += bytes;
        }
    }
    if (is_behind_space && size) size--;
    memset(normalised + size, 0, SLACK);
    memset(kinds + size, 0, SLACK);
    folded.size = size;
    return folded;
}

static inline int is_removed(u32 point, const Folding *tables) {
    return tables->classes[point] & CHANGED && tables->starts[point] == 0;
}

/* Find the stretches of a text whose normalisation depends on more than single characters: a character, and what may
   join it behind it.

   found: takes start and end of each, one after the other; most: so many of them, and no more are looked for.
   Returns how many there are. */
static u64 find_combining(const u8 *data, u64 start, u64 end, const Folding *tables, i64 *found, u64 most) {
    u64 count = 0, behind = start;
    for (u64 at = start; at < end && count < most; at++) {
        int bytes;
        if (data[at] < 0xC0 || at < behind) continue;
        u32 point = character_at(data + at, (i64)(end - at), &bytes);
        if (!(tables->classes[point] & COMBINING)) continue;
        u64 first = at;
        /* What is removed in between does not part them. */
        while (first > behind) {
            first--;
            while (first > behind && is_continuing(data[first])) first--;
            if (!is_removed(character_at(data + first, (i64)(end - first), &bytes), tables)) break;
        }
        character_at(data + at, (i64)(end - at), &bytes);
        behind = at + bytes;
        while (behind < end) {
            point = character_at(data + behind, (i64)(end - behind), &bytes);
            if (!(tables->classes[point] & COMBINING) && !is_removed(point, tables)) break;
            behind += bytes;
        }
        found[2 * count] = (i64)first;
        found[2 * count + 1] = (i64)behind;
        count++;
    }
    return count;
}

#endif
