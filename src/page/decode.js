// SPDX-License-Identifier: BSD-3-Clause
// Reads the parts of the page, as src/export/html/chunk.c describes them.

// Places of the items of each group, in their order: items of group g are order[start[g]] to order[start[g + 1] - 1].
function grouped(groups, count, groupOf) {
    const start = new Uint32Array(groups + 1), order = new Uint32Array(count);
    for (let i = 0; i < count; i++) start[groupOf(i) + 1]++;
    for (let i = 0; i < groups; i++) start[i + 1] += start[i];
    const next = start.slice();
    for (let i = 0; i < count; i++) order[next[groupOf(i)]++] = i;
    return {start, order};
}

class Chunk {
    constructor(bytes, index, tables) {
        const reader = new Reader(bytes);
        this.index = index;
        this.reader = reader;
        this.tables = tables;
        const count = this.count = reader.number();
        const objects = this.objectCount = reader.number();
        const begun = reader.number();
        this.times = reader.numbers(count);
        for (let i = 0, time = begun; i < count; i++) this.times[i] = time += this.times[i];
        this.tracepoints = Uint16Array.from(reader.indexes(count));
        this.threads = Uint16Array.from(reader.indexes(count));
        const owners = reader.indexes(count);
        this.objects = Int32Array.from(reader.indexes(count), (value) => value - 1);
        this.sizeColumn = reader.skip();
        this.lost = new Map();
        const lostCount = reader.number();
        const lost = reader.numbers(2 * lostCount);
        for (let i = 0; i < lostCount; i++) this.lost.set(lost[2 * i], lost[2 * i + 1]);
        this.serials = reader.numbers(objects);
        this.tracks = reader.indexes(objects);
        this.lanes = reader.indexes(objects);
        this.owners = Uint16Array.from(owners, (owner, event) => {
            if (owner) return owner - 1;
            return this.objects[event] < 0 ? 0 : tables.tracks[this.tracks[this.objects[event]]].owner;
        });
        this.numbers = reader.numbers(objects);
        this.ids = reader.column(objects);
        this.ages = reader.numbers(objects);
        this.readRelations(reader);
        this.columns = new Map(); // by tracepoint: {at, textAt} of each argument
        this.decoded = new Map();
        this.readColumns(reader);
        this.makeRows();
        this.makeSteps();
        this.makeBegins(begun);
    }

    readRelations(reader) {
        const maskCount = reader.number(), masks = reader.indexes(maskCount);
        const relatedCount = reader.number(), related = reader.indexes(relatedCount);
        this.related = new Map(); // by event: objects of this chunk
        for (let i = 0, event = 0, at = 0; i < maskCount; event++) {
            if (!this.tables.tracepoints[this.tracepoints[event]].relations.length) continue;
            const found = [];
            for (let mask = masks[i++]; mask; mask &= mask - 1) found.push(related[at++] - 1);
            if (found.length) this.related.set(event, found);
        }
    }

    readColumns(reader) {
        for (let index; (index = reader.number());) {
            const rows = reader.number();
            const columns = this.tables.tracepoints[index - 1].arguments.map((argument) => {
                const column = {at: reader.skip(), rows, textAt: 0};
                if (argument.kind === STRING) {
                    const length = reader.number();
                    column.textAt = reader.at;
                    reader.at += length;
                }
                return column;
            });
            this.columns.set(index - 1, columns);
        }
    }

    makeRows() { // which event of its tracepoint an event is
        const next = new Uint32Array(this.tables.tracepoints.length);
        this.rows = new Uint32Array(this.count);
        for (let i = 0; i < this.count; i++) this.rows[i] = next[this.tracepoints[i]]++;
    }

    makeSteps() { // from an event of an object to its next
        const last = new Int32Array(this.objectCount).fill(-1);
        const from = new Int32Array(this.count), to = new Int32Array(this.count);
        let count = 0;
        this.before = new Int32Array(this.count).fill(-1); // the object's event before an event; -1: in another chunk
        for (let i = 0; i < this.count; i++) {
            const object = this.objects[i];
            if (object < 0) continue;
            if (last[object] >= 0) {
                from[count] = this.before[i] = last[object];
                to[count++] = i;
            }
            last[object] = i;
        }
        this.stepFrom = from.subarray(0, count);
        this.stepTo = to.subarray(0, count);
        this.stepEnds = Float64Array.from(this.stepTo, (event) => this.times[event]);
        this.stepsByTrack = grouped(this.tables.tracks.length, count, (step) => this.tracks[this.objects[to[step]]]);
        this.eventsByThread = grouped(this.tables.threads.length, this.count, (event) => this.threads[event]);
    }

    makeBegins(begun) { // when objects began
        this.begins = this.ages.map((age) => (age ? begun + 1 - age : -1));
        for (let i = 0; i < this.count; i++) {
            const object = this.objects[i];
            if (object >= 0 && this.begins[object] < 0) this.begins[object] = this.times[i];
        }
    }

    column(tracepoint, argument) {
        const key = tracepoint * 16 + argument;
        let column = this.decoded.get(key);
        if (column) return column;
        const place = this.columns.get(tracepoint)[argument];
        this.reader.at = place.at;
        column = {pairs: this.reader.column(place.rows), offsets: null};
        if (place.textAt) {
            column.offsets = new Uint32Array(place.rows);
            for (let i = 0, at = place.textAt; i < place.rows; i++) {
                column.offsets[i] = at;
                at += Math.max(0, (column.pairs[2 * i] - 1) >> 1);
            }
        }
        this.decoded.set(key, column);
        return column;
    }

    // The value of an argument: a BigInt of 64 bits without a sign, or the text of a string.
    value(event, argument) {
        const column = this.column(this.tracepoints[event], argument), row = this.rows[event];
        if (!column.offsets) return wordOf(column.pairs, row);
        const code = column.pairs[2 * row];
        if (!code) return '(null)';
        const at = column.offsets[row];
        return utf8.decode(this.reader.bytes.subarray(at, at + ((code - 1) >> 1))) + (code & 1 ? '' : '..');
    }

    size(event) {
        if (!this.sizes) {
            this.reader.at = this.sizeColumn;
            this.sizes = this.reader.numbers(this.count);
        }
        return this.sizes[event];
    }
}
