/* Documents of a corpus by their digests and by their keys, for Python. */
#include "functions.h"

#include "corpus.h"

/* An array of Python's; `stride` bytes from one of its elements to the next. */
static int get_strided(PyObject *array, Py_buffer *view, int flags, i64 *count, i64 *stride) {
    if (PyObject_GetBuffer(array, view, PyBUF_STRIDES | flags)) return 0;
    *count = view->ndim ? view->shape[0] : 0;
    *stride = view->ndim ? view->strides[0] : 0;
    return 1;
}

/* The places of a hash table, of 32 bits each; their mask is all of them but one. */
static int get_table(PyObject *array, Py_buffer *view, u32 **places, u64 *mask) {
    if (PyObject_GetBuffer(array, view, PyBUF_WRITABLE)) return 0;
    i64 count = view->len / 4;
    *places = view->buf;
    *mask = (u64)count - 1;
    if (count > 0 && !(count & (count - 1))) return 1;
    PyErr_SetString(PyExc_ValueError, "a hash table has a power of two places");
    PyBuffer_Release(view);
    return 0;
}

/* Digests and their hash table, of the arguments that all functions on them begin with. */
static int get_digests(PyObject *digests, PyObject *slots, u64 key, int flags, Py_buffer *views, Digests *known) {
    if (!get_strided(digests, &views[0], flags, &known->count, &known->stride)) return 0;
    known->digests = views[0].buf;
    known->key = key;
    if (get_table(slots, &views[1], &known->slots, &known->mask)) return 1;
    PyBuffer_Release(&views[0]);
    return 0;
}

PyObject *find_document(PyObject *module, PyObject *arguments) {
    Py_buffer views[2], wanted;
    PyObject *digests, *slots, *result = NULL;
    unsigned long long key;
    Digests known;
    if (!PyArg_ParseTuple(arguments, "OOKy*", &digests, &slots, &key, &wanted)) return NULL;
    if (!get_digests(digests, slots, key, 0, views, &known)) {
        PyBuffer_Release(&wanted);
        return NULL;
    }
    REQUIRE(wanted.len == 16);
    u64 halves[2];
    memcpy(halves, wanted.buf, sizeof halves);
    result = PyLong_FromLongLong(find_digest(&known, halves));
done:
    RELEASE(&views[0], &views[1], &wanted);
    return result;
}

PyObject *enter_documents(PyObject *module, PyObject *arguments) {
    Py_buffer views[2];
    PyObject *digests, *slots, *result = NULL;
    unsigned long long key;
    Py_ssize_t start, end;
    Digests known;
    if (!PyArg_ParseTuple(arguments, "OOKnn", &digests, &slots, &key, &start, &end)) return NULL;
    if (!get_digests(digests, slots, key, 0, views, &known)) return NULL;
    REQUIRE(0 <= start && end <= known.count && end < (i64)known.mask + 1);
    Py_BEGIN_ALLOW_THREADS
    for (i64 number = start; number < end; number++) insert_digest(&known, number);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    RELEASE(&views[0], &views[1]);
    return result;
}

/* Give numbers to documents of digests that are not known yet: see `dedup.files.document_table.DocumentTable.reserve`. */
PyObject *reserve(PyObject *module, PyObject *arguments) {
    Py_buffer views[2], digests, has_digest, numbers, originals;
    PyObject *known_digests, *slots, *result = NULL;
    unsigned long long key;
    Py_ssize_t first;
    Digests known;
    if (!PyArg_ParseTuple(
            arguments, "OOKny*y*w*w*", &known_digests, &slots, &key, &first, &digests, &has_digest, &numbers, &originals
        ))
        return NULL;
    if (!get_digests(known_digests, slots, key, PyBUF_WRITABLE, views, &known)) goto unread;
    i64 documents = digests.len / 16;
    REQUIRE(has_digest.len == documents && numbers.len == 8 * documents && originals.len == 8 * documents);
    REQUIRE(first >= 0 && first + documents <= known.count && first + documents < (i64)known.mask + 1);
    Py_BEGIN_ALLOW_THREADS
    for (i64 place = 0, number = first; place < documents; place++) {
        if (!((u8 *)has_digest.buf)[place]) continue;
        const u64 *own = (u64 *)digests.buf + 2 * place;
        i64 original = find_digest(&known, own);
        if (original >= 0) {
            ((i64 *)originals.buf)[place] = original;
            continue;
        }
        memcpy((u8 *)known.digests + number * known.stride, own, 16);
        insert_digest(&known, number);
        ((i64 *)numbers.buf)[place] = number++;
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    RELEASE(&views[0], &views[1]);
unread:
    RELEASE(&digests, &has_digest, &numbers, &originals);
    return result;
}

/* The chains of the keys of documents: heads, entries, keys, tables, most, key. */
static int get_chains(PyObject *given, Py_buffer *views, Chains *chains) {
    PyObject *heads, *entries;
    Py_ssize_t keys, tables, most;
    unsigned long long key;
    if (!PyArg_ParseTuple(given, "OOnnnK", &heads, &entries, &keys, &tables, &most, &key)) return 0;
    if (PyObject_GetBuffer(entries, &views[0], PyBUF_WRITABLE)) return 0;
    *chains = (Chains){NULL, 0, views[0].buf, views[0].len / 8, keys, tables, most, key};
    if (keys <= 0) PyErr_SetString(PyExc_ValueError, "a document has at least one key");
    else if (get_table(heads, &views[1], &chains->heads, &chains->mask)) return 1;
    PyBuffer_Release(&views[0]);
    return 0;
}

PyObject *chain_again(PyObject *module, PyObject *arguments) {
    Py_buffer views[2];
    PyObject *given, *result = NULL;
    Py_ssize_t entries;
    Chains chains;
    if (!PyArg_ParseTuple(arguments, "On", &given, &entries) || !get_chains(given, views, &chains)) return NULL;
    REQUIRE(0 <= entries && entries <= chains.room);
    Py_BEGIN_ALLOW_THREADS
    /* From the last one to the first, each becomes the head. */
    for (i64 entry = entries - 1; entry >= 0; entry--) {
        if (chains.entries[2 * entry + 1] == LEFT_OUT) continue;
        u32 *head = &chains.heads[head_of(&chains, chains.entries[2 * entry])];
        chains.entries[2 * entry + 1] = *head;
        *head = (u32)(entry + 1);
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    RELEASE(&views[0], &views[1]);
    return result;
}

/* Enter the keys of documents with rising numbers. */
PyObject *add_keys(PyObject *module, PyObject *arguments) {
    Py_buffer views[2], hashes, indexed;
    PyObject *given, *result = NULL;
    Py_ssize_t first;
    Chains chains;
    if (!PyArg_ParseTuple(arguments, "Oy*y*n", &given, &hashes, &indexed, &first)) return NULL;
    if (!get_chains(given, views, &chains)) goto unread;
    i64 documents = indexed.len / 8;
    REQUIRE(hashes.len == documents * chains.keys * 4);
    REQUIRE(first >= 0 && (first + documents) * chains.keys <= chains.room);
    Py_BEGIN_ALLOW_THREADS
    for (i64 place = 0; place < documents; place++) {
        if (((i64 *)indexed.buf)[place])
            read_keys(&chains, (u32 *)hashes.buf + place * chains.keys, first + place, NULL, NULL);
        else
            leave_out(&chains, first + place);
    }
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    RELEASE(&views[0], &views[1]);
unread:
    RELEASE(&hashes, &indexed);
    return result;
}

/* The document within a radius that is closest, of equally close ones the first; -1 if there is none. */
PyObject *find_closest(PyObject *module, PyObject *arguments) {
    Py_buffer views[2], hashes, prints = {0};
    PyObject *given, *fingerprints, *result = NULL;
    unsigned long long fingerprint;
    int radius;
    i64 count, stride, closest = -1;
    Chains chains;
    if (!PyArg_ParseTuple(arguments, "Oy*OKi", &given, &hashes, &fingerprints, &fingerprint, &radius)) return NULL;
    if (!get_chains(given, views, &chains)) goto unread;
    if (!get_strided(fingerprints, &prints, 0, &count, &stride)) goto done;
    REQUIRE(hashes.len == chains.keys * 4);
    int least = radius + 1;
    Py_BEGIN_ALLOW_THREADS
    for (i64 number = 0; number < chains.keys; number++) {
        i64 entry = (i64)chains.heads[head_of(&chains, ((u32 *)hashes.buf)[number])] - 1;
        for (; entry >= 0; entry = (i64)chains.entries[2 * entry + 1] - 1) {
            i64 other = entry / chains.keys;
            u64 theirs;
            if (other >= count) continue;
            memcpy(&theirs, (u8 *)prints.buf + other * stride, 8);
            int distance = __builtin_popcountll(theirs ^ fingerprint);
            if (distance < least || (distance == least && other < closest)) {
                closest = other;
                least = distance;
            }
        }
    }
    Py_END_ALLOW_THREADS
    result = PyLong_FromLongLong(closest);
done:
    RELEASE(&prints, &views[0], &views[1]);
unread:
    PyBuffer_Release(&hashes);
    return result;
}

/* Look up the documents of a batch, one after the other, and enter their keys: see `dedup.files.key_map.KeyMap.find`. */
PyObject *find_candidates(PyObject *module, PyObject *arguments) {
    Py_buffer views[2], hashes, numbers, comparable, weights, ends, found, prints = {0};
    PyObject *given, *fingerprints, *result = NULL;
    Py_ssize_t most;
    int radius, has_memory;
    i64 count, stride, end = 0;
    u64 *rarities = NULL, *orders = NULL;
    Chains chains;
    if (!PyArg_ParseTuple(
            arguments, "Oy*y*y*Oy*niw*w*", &given, &hashes, &numbers, &comparable, &fingerprints, &weights, &most,
            &radius, &ends, &found
        ))
        return NULL;
    if (!get_chains(given, views, &chains)) goto unread;
    if (!get_strided(fingerprints, &prints, 0, &count, &stride)) goto done;
    i64 documents = numbers.len / 8;
    REQUIRE(hashes.len == documents * chains.keys * 4 && comparable.len == documents && ends.len == 8 * documents);
    REQUIRE(found.len / 8 >= documents * most && weights.len / 8 > chains.most);
    for (i64 place = 0; place < documents; place++) {
        i64 number = ((i64 *)numbers.buf)[place];
        REQUIRE(number < 0 || (number < count && (number + 1) * chains.keys <= chains.room));
    }
    Py_BEGIN_ALLOW_THREADS
    rarities = malloc((size_t)(chains.keys * chains.most) * sizeof *rarities);
    orders = malloc(2 * (size_t)(chains.keys * chains.most) * sizeof *orders);
    has_memory = rarities && orders;
    for (i64 place = 0; has_memory && place < documents; place++) {
        i64 document = ((i64 *)numbers.buf)[place];
        if (document >= 0 && ((u8 *)comparable.buf)[place]) {
            u64 own;
            memcpy(&own, (u8 *)prints.buf + document * stride, 8);
            i64 read = read_keys(&chains, (u32 *)hashes.buf + place * chains.keys, document, weights.buf, rarities);
            end += choose(rarities, read, prints.buf, stride, own, most, radius, orders, (i64 *)found.buf + end);
        } else if (document >= 0) {
            leave_out(&chains, document);
        }
        ((i64 *)ends.buf)[place] = end;
    }
    Py_END_ALLOW_THREADS
    if (has_memory) result = Py_NewRef(Py_None);
    else PyErr_NoMemory();
done:
    free(rarities);
    free(orders);
    RELEASE(&prints, &views[0], &views[1]);
unread:
    RELEASE(&hashes, &numbers, &comparable, &weights, &ends, &found);
    return result;
}
