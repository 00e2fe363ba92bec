/* Signatures of texts, dictionaries, and what two texts share, for Python. */
#include "functions.h"

#include "folding.h"
#include "hashing.h"
#include "shared.h"
#include "sketch.h"
#include "words.h"

/* A signature in words of 64 bits, see `dedup.signature.signature.SIGNATURE`. Until the digest is there, its words say
   where the normalised text ends, and where its words do. */
enum { END = 0, WORDS_END = 1, FINGERPRINT = 2, MINIMA_AT = 3, COUNTS = 11, NUMBERS = 12, BANDS_AT = 13, ROW = 37 };

/* Which rooms a signature is made in; one after the other in one piece of memory would be harder to check. */
typedef struct {
    u8 *normalised, *kinds, *words;
    i32 *edges;
    u64 *hashes, *pairs, *lengths;
    u32 *shingles, *slots;
    Run run;
} Rooms;

static void free_rooms(Rooms *rooms) {
    free(rooms->normalised);
    free(rooms->kinds);
    free(rooms->words);
    free(rooms->edges);
    free(rooms->hashes);
    free(rooms->pairs);
    free(rooms->lengths);
    free(rooms->slots);
    free(rooms->shingles);
    free(rooms->run.characters);
}

static int make_rooms(Rooms *rooms, u64 room, u64 longest, int with_words) {
    u64 most = longest / 2 + 8;
    /* Where each of two bytes is a word, and the other a sign, there are eight bytes for two. */
    rooms->normalised = malloc(room);
    rooms->kinds = malloc(longest);
    rooms->words = malloc(with_words ? 4 * room + 16 : 1);
    rooms->edges = malloc((longest + 16) * sizeof *rooms->edges);
    rooms->hashes = malloc(most * sizeof *rooms->hashes);
    rooms->pairs = malloc(most * sizeof *rooms->pairs);
    rooms->lengths = malloc(most * sizeof *rooms->lengths);
    rooms->slots = malloc(power_of_two(4 * most) * sizeof *rooms->slots);
    rooms->shingles = malloc(most * sizeof *rooms->shingles);
    return rooms->normalised && rooms->kinds && rooms->words && rooms->edges && rooms->hashes && rooms->pairs &&
           rooms->lengths && rooms->slots && rooms->shingles;
}

/* Write the signature of a text, but for its digest, by its tokens. */
FOR_SEVERAL_PROCESSORS
static void put_signature(
    const Rooms *rooms, const u8 *normalised, i64 size, i64 tokens, const u32 *multipliers, const u32 *offsets, u64 key,
    u64 *row
) {
    u64 count = (u64)tokens, pairs = count ? count - 1 : 0, mask = power_of_two(4 * count + 2) - 1;
    u32 minima[MINIMA];
    i32 longest = 0;
    for (u64 token = 0; token < count; token++) {
        i32 start = rooms->edges[2 * token], end = rooms->edges[2 * token + 1];
        rooms->lengths[token] = (u64)(end - start);
        read_rest(normalised + start, rooms->lengths[token], &rooms->hashes[token], &rooms->pairs[token]);
        if (end - start > longest) longest = end - start;
    }
    hash_short(rooms->hashes, rooms->pairs, rooms->lengths, count);
    for (u64 token = 0; longest > 15 && token < count; token++) {
        i32 start = rooms->edges[2 * token], end = rooms->edges[2 * token + 1];
        if (end - start > 15) rooms->hashes[token] = hash_of(normalised + start, (u64)(end - start));
    }
    hash_pairs(rooms->hashes, count, rooms->pairs);
    row[FINGERPRINT] = simhash(rooms->pairs, distinct(rooms->pairs, pairs, rooms->slots, mask, key));
    u64 shingles = hash_shingles(rooms->hashes, count, rooms->shingles);
    find_minima(rooms->shingles, shingles, multipliers, offsets, minima);
    put_minima(minima, shingles, row + MINIMA_AT, row + BANDS_AT);
    for (u64 each = 0; each < shingles; each++) rooms->pairs[each] = rooms->shingles[each];
    row[COUNTS] = count << 32 | distinct(rooms->pairs, shingles, rooms->slots, mask, key);
    row[NUMBERS] = bloom_of_numbers(rooms->hashes, rooms->edges, tokens, rooms->kinds, size);
}

/* How many places a hash table of a dictionary has, as a power of two; 0: it is none. */
static int bits_of(Py_ssize_t edges) {
    int bits = 0;
    while (((i64)1 << (bits + 1)) + FROM_ROOT <= edges) bits++;
    return edges > FROM_ROOT && ((i64)1 << bits) + FROM_ROOT == edges ? bits : 0;
}

PyObject *sign(PyObject *module, PyObject *arguments) {
    Py_buffer data, offsets, classes, starts, replaced, edges, weights, multipliers, additions, rows;
    unsigned int refused;
    int segmenter, with_words, with_rows;
    unsigned long long key;
    PyObject *result = NULL;
    Rooms rooms = {0};
    if (!PyArg_ParseTuple(
            arguments, "y*y*Ippp(y*y*y*)(y*y*)(y*y*)Kw*", &data, &offsets, &refused, &segmenter, &with_words, &with_rows,
            &classes, &starts, &replaced, &edges, &weights, &multipliers, &additions, &key, &rows
        ))
        return NULL;
    i64 texts = offsets.len / 8 - 1, longest = 0;
    const i64 *places = offsets.buf;
    REQUIRE(texts >= 0 && rows.len >= texts * ROW * 8);
    REQUIRE(multipliers.len == MINIMA * 4 && additions.len == MINIMA * 4);
    REQUIRE(classes.len == 0x110000 && starts.len == 0x110000 * 4);
    for (i64 text = 0; text < texts; text++) {
        REQUIRE(places[text] >= 0 && places[text] <= places[text + 1]);
        if (places[text + 1] - places[text] > longest) longest = places[text + 1] - places[text];
    }
    REQUIRE(places[texts] <= data.len);
    if (longest > INT32_MAX / 4) {
        PyErr_SetString(PyExc_ValueError, "a text has more than 500 MB");
        goto done;
    }
    Trie trie = {edges.buf, bits_of(edges.len / 8), weights.buf};
    REQUIRE(!trie.bits || weights.len / 8 > edges.len / 8);
    const Folding tables = {classes.buf, starts.buf, replaced.buf};
    i64 end = 0;
    u32 needed = 0;
    u64 room = SLACK, largest = 0;
    for (i64 text = 0; text < texts; text++) {
        u64 own = room_for((u8 *)data.buf + places[text], (u64)(places[text + 1] - places[text]));
        room += own - SLACK;
        if (own > largest) largest = own;
    }
    int has_memory = make_rooms(&rooms, room, largest, with_words);
    if (!has_memory) {
        PyErr_NoMemory();
        goto done;
    }
    u8 *words = rooms.words;
    Py_BEGIN_ALLOW_THREADS
    for (i64 text = 0; has_memory && text < texts; text++) {
        u8 *own = rooms.normalised + end;
        u64 *row = (u64 *)rows.buf + text * ROW;
        Folded folded = fold(
            data.buf, (u64)places[text], (u64)places[text + 1], (u64)data.len, refused, &tables, own, rooms.kinds
        );
        /* As `dedup.signature.tokens.is_chinese` says. */
        int is_chinese = (double)folded.kana < 0.1 * (double)folded.han;
        if (folded.refused) needed = folded.seen;
        else if (segmenter && is_chinese && !trie.bits) needed = HAN;
        if (needed) break;
        const Trie *cutting = trie.bits && is_chinese ? &trie : NULL;
        i64 tokens = find_tokens(own, rooms.kinds, &folded, cutting, &rooms.run, rooms.edges);
        if (!(has_memory = tokens >= 0)) break;
        if (with_rows) put_signature(&rooms, own, (i64)folded.size, tokens, multipliers.buf, additions.buf, key, row);
        if (with_words) {
            words = join_tokens(words, own, rooms.edges, tokens);
            words = join_signs(
                words, own, rooms.kinds, (i64)folded.size, rooms.edges, tokens, classes.buf
            );
        }
        end += (i64)folded.size;
        row[END] = (u64)end;
        row[WORDS_END] = (u64)(words - rooms.words);
    }
    Py_END_ALLOW_THREADS
    if (!has_memory) PyErr_NoMemory();
    else if (needed) result = Py_BuildValue("Iy#y#", needed, "", (Py_ssize_t)0, "", (Py_ssize_t)0);
    else
        result = Py_BuildValue(
            "Iy#y#", 0, (char *)rooms.normalised, (Py_ssize_t)end, (char *)rooms.words,
            (Py_ssize_t)(words - rooms.words)
        );
done:
    free_rooms(&rooms);
    RELEASE(&data, &offsets, &classes, &starts, &replaced, &edges, &weights, &multipliers, &additions, &rows);
    return result;
}

PyObject *combining(PyObject *module, PyObject *arguments) {
    Py_buffer data, classes, starts;
    Py_ssize_t start, end, most;
    PyObject *result = NULL;
    i64 *found = NULL;
    if (!PyArg_ParseTuple(arguments, "y*nnny*y*", &data, &start, &end, &most, &classes, &starts)) return NULL;
    REQUIRE(0 <= start && start <= end && end <= data.len && most > 0);
    REQUIRE(classes.len == 0x110000 && starts.len == 0x110000 * 4);
    const Folding tables = {classes.buf, starts.buf, NULL};
    if (!(found = malloc(2 * (size_t)most * sizeof *found))) {
        PyErr_NoMemory();
        goto done;
    }
    u64 count;
    Py_BEGIN_ALLOW_THREADS
    count = find_combining(data.buf, (u64)start, (u64)end, &tables, found, (u64)most);
    Py_END_ALLOW_THREADS
    result = PyBytes_FromStringAndSize((char *)found, (Py_ssize_t)(16 * count));
done:
    free(found);
    RELEASE(&data, &classes, &starts);
    return result;
}

/* Write the edges of a dictionary, and of each node the frequency of its word, where there are zeros. */
PyObject *read_dictionary(PyObject *module, PyObject *arguments) {
    Py_buffer data, edges, frequencies;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(arguments, "y*w*w*", &data, &edges, &frequencies)) return NULL;
    int bits = bits_of(edges.len / 8), is_full = 0;
    REQUIRE(bits && frequencies.len / 8 > edges.len / 8);
    const u8 *text = data.buf;
    i64 size = data.len, left = ((i64)1 << bits) / 4 * 3, total = 0, line = 0, at = 0, bad_line = 0;
    Py_BEGIN_ALLOW_THREADS
    while (at < size && !is_full && !bad_line) {
        u64 node = 0;
        int is_word = 1;
        line++;
        while (at < size && text[at] != ' ' && text[at] != '\n' && !is_full) {
            int bytes;
            u64 character = han_at(text + at, size - at, &bytes);
            at += bytes;
            /* A word that goes on in another script never stands in a run of Han. */
            is_word = is_word && character;
            if (is_word) {
                u64 key = node << CHARACTER_BITS | character, place = place_of(edges.buf, bits, key);
                if (!((u64 *)edges.buf)[place]) {
                    is_full = !left--;
                    if (!is_full) ((u64 *)edges.buf)[place] = key;
                }
                node = place + 1;
            }
        }
        i64 frequency = 0, digits = 0;
        for (at++; at < size && (u8)(text[at] - '0') < 10 && digits < 18; at++, digits++) {
            frequency = frequency * 10 + text[at] - '0';
        }
        if (!is_full && (!digits || text[at - digits - 1] != ' ')) bad_line = line;
        if (is_full || bad_line) break;
        total += frequency;
        if (is_word) ((i64 *)frequencies.buf)[node] = frequency;
        while (at < size && text[at] != '\n') at++;
        at++;
    }
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LOL", total, is_full ? Py_True : Py_False, bad_line);
done:
    RELEASE(&data, &edges, &frequencies);
    return result;
}

/* The bands of a text by its tokens, with a line feed between them. */
PyObject *bands_of(PyObject *module, PyObject *arguments) {
    Py_buffer words, multipliers, additions;
    PyObject *result = NULL;
    u8 *data = NULL;
    u64 *hashes = NULL, minima_words[MINIMA / 16], bands[BANDS], count = 0;
    u32 *shingles = NULL, minima[MINIMA];
    if (!PyArg_ParseTuple(arguments, "y*(y*y*)", &words, &multipliers, &additions)) return NULL;
    REQUIRE(multipliers.len == MINIMA * 4 && additions.len == MINIMA * 4);
    size_t size = (size_t)words.len;
    data = calloc(size + SLACK, 1);
    hashes = malloc((size + 1) * sizeof *hashes);
    shingles = malloc((size + 1) * sizeof *shingles);
    if (!data || !hashes || !shingles) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    memcpy(data, words.buf, size);
    for (size_t start = 0, place = 0; size && place <= size; place++) {
        if (place < size && data[place] != '\n') continue;
        hashes[count++] = hash_of(data + start, place - start);
        start = place + 1;
    }
    u64 found = hash_shingles(hashes, count, shingles);
    find_minima(shingles, found, multipliers.buf, additions.buf, minima);
    put_minima(minima, found, minima_words, bands);
    Py_END_ALLOW_THREADS
    result = PyBytes_FromStringAndSize((char *)bands, sizeof bands);
done:
    free(data);
    free(hashes);
    free(shingles);
    RELEASE(&words, &multipliers, &additions);
    return result;
}

/* Read the two texts that a function was given, and the key of its hash tables; 0 where that fails.

   data: takes both as one, with a line feed between them, and room behind it for what is read at once. */
static int read_texts(PyObject *arguments, Pair *pair, u8 **data) {
    Py_buffer a, b;
    unsigned long long key;
    int is_read = 0;
    if (!PyArg_ParseTuple(arguments, "y*y*K", &a, &b, &key)) return 0;
    i64 middle = a.len, end = middle + 1 + b.len;
    if (end < INT32_MAX && (*data = malloc((size_t)end + SLACK))) {
        Py_BEGIN_ALLOW_THREADS
        memcpy(*data, a.buf, (size_t)a.len);
        (*data)[middle] = '\n';
        memcpy(*data + middle + 1, b.buf, (size_t)b.len);
        memset(*data + end, '\n', SLACK);
        is_read = read_pair(pair, *data, middle, end, key);
        Py_END_ALLOW_THREADS
    }
    if (!is_read) PyErr_NoMemory();
    RELEASE(&a, &b);
    return is_read;
}

PyObject *bounds(PyObject *module, PyObject *arguments) {
    PyObject *result = NULL;
    Pair pair = {0};
    u8 *data = NULL;
    i64 *room = NULL, shared;
    double jaccard, containment;
    int number_gone, number_come, twice_gone, twice_come;
    if (!read_texts(arguments, &pair, &data)) goto done;
    if (!pair.distinct) {
        result = Py_NewRef(Py_None);
        goto done;
    }
    /* There are no more numbers than tokens. */
    if (!(room = malloc((size_t)pair.count * sizeof *room))) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    overlap(&pair, &jaccard, &containment);
    shared = count_in_order(&pair, room);
    memset(room, 0, (size_t)pair.distinct * sizeof *room);
    for (i64 token = 0; token < pair.count; token++) room[pair.tokens[token]] += token < pair.ours ? 1 : -1;
    net_words(&pair, 0, pair.ours, room, &number_gone, &twice_gone);
    for (i64 number = 0; number < pair.distinct; number++) room[number] = -room[number];
    net_words(&pair, pair.ours, pair.count, room, &number_come, &twice_come);
    Py_END_ALLOW_THREADS
    double ours = (double)pair.ours, theirs = (double)(pair.count - pair.ours), in_order = (double)shared;
    double shorter = ours < theirs ? ours : theirs, longer = ours < theirs ? theirs : ours;
    result = Py_BuildValue(
        "dddddOO", jaccard, containment, (shorter - in_order) / shorter, (longer - in_order) / shorter, 100 / shorter,
        number_gone && number_come ? Py_True : Py_False, twice_gone && twice_come ? Py_True : Py_False
    );
done:
    free(data);
    free(room);
    free_pair(&pair);
    return result;
}

PyObject *shared_tokens(PyObject *module, PyObject *arguments) {
    PyObject *result = NULL;
    Pair pair = {0};
    u8 *data = NULL;
    if (read_texts(arguments, &pair, &data)) {
        if (!pair.distinct) result = Py_NewRef(Py_None);
        else if ((result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)pair.ours))) {
            u8 *marks = (u8 *)PyBytes_AsString(result);
            Py_BEGIN_ALLOW_THREADS
            mark_shared(&pair, marks);
            Py_END_ALLOW_THREADS
        }
    }
    free(data);
    free_pair(&pair);
    return result;
}
