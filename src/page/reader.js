// SPDX-License-Identifier: BSD-3-Clause
// Reads data of a page: base64, zlib, and columns of 64-bit numbers as src/export/html/column.h describes them. A column is
// an array of pairs of 32-bit words, the lower one first.

function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

async function inflate(element) {
    const stream = new Blob([fromBase64(element.textContent)]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
        this.low = this.high = 0; // of the number that was read last
    }

    pair() {
        const bytes = this.bytes;
        let byte = bytes[this.at++];
        let low = byte & 127, high = 0;
        for (let shift = 7; byte > 127 && shift < 70; shift += 7) {
            byte = bytes[this.at++];
            const bits = byte & 127;
            if (shift < 32) {
                low |= bits << shift;
                if (shift === 28) high = bits >>> 4;
            } else {
                high |= bits << (shift - 32);
            }
        }
        this.low = low >>> 0;
        this.high = high >>> 0;
    }

    number() {
        this.pair();
        return this.high * 0x100000000 + this.low;
    }

    // Writes `count` numbers, the first as it is and the differences of the others folded.
    steps(pairs, count) {
        let low = 0, high = 0;
        for (let i = 0; i < count; i++) {
            this.pair();
            if (i) {
                const sign = -(this.low & 1);
                const before = low;
                low = (low + ((((this.low >>> 1) | (this.high << 31)) ^ sign) >>> 0)) >>> 0;
                high = (high + (((this.high >>> 1) ^ sign) >>> 0) + (low < before ? 1 : 0)) >>> 0;
            } else {
                low = this.low;
                high = this.high;
            }
            pairs[2 * i] = low;
            pairs[2 * i + 1] = high;
        }
    }

    column(count) {
        const mode = this.number(), shift = this.number(), end = this.number() + this.at;
        const pairs = new Uint32Array(2 * count);
        if (mode === 0) {
            for (let i = 0; i < count; i++) {
                this.pair();
                pairs[2 * i] = this.low;
                pairs[2 * i + 1] = this.high;
            }
        } else if (mode === 1) {
            this.steps(pairs, count);
        } else if (mode === 2) {
            const distinct = this.number();
            const values = new Uint32Array(2 * distinct);
            this.steps(values, distinct);
            for (let i = 0; i < count; i++) {
                const index = this.number();
                pairs[2 * i] = values[2 * index];
                pairs[2 * i + 1] = values[2 * index + 1];
            }
        } else {
            this.pair();
            for (let i = 0; i < count; i++) {
                pairs[2 * i] = this.low;
                pairs[2 * i + 1] = this.high;
            }
        }
        if (shift) shiftLeft(pairs, shift);
        this.at = end;
        return pairs;
    }

    numbers(count) { // as doubles: times and counts, which are whole below 2^53
        const pairs = this.column(count), numbers = new Float64Array(count);
        for (let i = 0; i < count; i++) numbers[i] = pairs[2 * i + 1] * 0x100000000 + pairs[2 * i];
        return numbers;
    }

    indexes(count) {
        const pairs = this.column(count), indexes = new Uint32Array(count);
        for (let i = 0; i < count; i++) indexes[i] = pairs[2 * i];
        return indexes;
    }

    skip() { // a column; returns where it begins
        const begin = this.at;
        this.number();
        this.number();
        const length = this.number();
        this.at += length;
        return begin;
    }

    text(length) {
        this.at += length;
        return this.bytes.subarray(this.at - length, this.at);
    }
}

function shiftLeft(pairs, shift) {
    for (let i = 0; i < pairs.length; i += 2) {
        const low = pairs[i], high = pairs[i + 1];
        pairs[i] = shift < 32 ? low << shift : 0;
        pairs[i + 1] = shift < 32 ? (high << shift) | (low >>> (32 - shift)) : low << (shift - 32);
    }
}

function wordOf(pairs, index) {
    return (BigInt(pairs[2 * index + 1]) << 32n) | BigInt(pairs[2 * index]);
}

const utf8 = new TextDecoder();
