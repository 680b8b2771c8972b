// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the chunks: the story of an object, what is in a selection. Who waited for whom is in waits.js.

const STORY_MAX = 2000;

// Calls act(chunk) for each chunk with events between two times, decoded one after the other.
async function eachChunk(from, to, act) {
    const [first, end] = chunksBetween(from, to);
    for (let i = first; i < end; i++) {
        if (act(await chunkLoad(i)) === false) return;
        if (i % 4 === 3) await new Promise((resolve) => setTimeout(resolve)); // the page stays alive
    }
}

// The time of an object's last event, which may be in a later chunk than the one that is known.
async function endOf(serial, index) {
    let last = 0;
    for (let at = index; at < chunks.length;) {
        const chunk = await chunkLoad(at), object = chunk.serials.indexOf(serial);
        for (let event = chunk.count - 1; object >= 0 && event >= 0; event--) {
            if (chunk.objects[event] === object) {
                last = Math.max(last, chunk.times[event]);
                break;
            }
        }
        const steps = crossing.bySerial.get(serial) || [];
        const on = steps.find((step) => crossing.from[step] === last && crossing.from[step] + crossing.length[step] > last);
        if (on === undefined) break;
        const until = crossing.from[on] + crossing.length[on];
        let next = at + 1;
        while (next < chunks.length && chunks[next].to < until) next++;
        at = next;
    }
    return last;
}

// The step that ends with an event of an object; null: the event is its first.
function stepBefore(chunk, event) {
    const before = chunk.before[event];
    if (before >= 0) return {from: chunk.times[before], tracepoint: chunk.tracepoints[before]};
    const across = crossing.bySerial.get(chunk.serials[chunk.objects[event]]) || [];
    const step = across.find((i) => crossing.from[i] + crossing.length[i] === chunk.times[event]);
    return step === undefined ? null : {from: crossing.from[step], tracepoint: crossing.tracepoint[step]};
}

// The story of an object: its events, those of its parent meanwhile, and those of all that are related to it.
async function storyOf(serial, begun, ended) {
    const members = new Set([serial]), parents = new Set();
    const story = {serial, begun, ended, events: [], more: 0, label: '', type: -1, owner: 0, steps: []};
    let before = null;
    await eachChunk(begun, ended, (chunk) => {
        const first = lowerBound(chunk.times, begun);
        for (let event = first; event < chunk.count && chunk.times[event] <= ended; event++) {
            const object = chunk.objects[event], own = object < 0 ? -1 : chunk.serials[object];
            const related = chunk.related.get(event) || [];
            if (own === serial) {
                if (!story.label) {
                    story.label = chunkObjectLabel(chunk, object);
                    story.type = chunkObjectType(chunk, object);
                    story.track = chunk.tracks[object];
                    story.lane = chunk.lanes[object];
                    story.owner = tables.tracks[story.track].owner;
                }
                if (before) story.steps.push({...before, to: chunk.times[event]});
                before = {from: chunk.times[event], tracepoint: chunk.tracepoints[event]};
                if (!parents.size && related.length) parents.add(chunk.serials[related[0]]);
            } else if (!members.has(own) && !parents.has(own)) {
                if (!related.some((other) => members.has(chunk.serials[other]))) continue;
                if (own >= 0) members.add(own);
            }
            if (story.events.length < STORY_MAX) story.events.push({chunk, event, isOwn: own === serial, isParent: parents.has(own)});
            else story.more++;
        }
    });
    return story;
}

// ---- a selection ----

function statistics(values) {
    values.sort();
    const at = (share) => values[Math.min(values.length - 1, Math.max(0, Math.ceil(share * values.length) - 1))];
    let sum = 0;
    for (const value of values) sum += value;
    return {count: values.length, sum, mean: sum / values.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), most: values[values.length - 1]};
}

// What is between two times, in some rows of the timeline or (rows null) in all: events of each tracepoint, and steps
// that end there.
async function inside(from, to, rowsInside) {
    const threads = rowsInside && new Set(rowsInside.filter((row) => row.kind === 'thread').map((row) => row.thread));
    const tracks = rowsInside && new Set(rowsInside.filter((row) => row.kind === 'track').map((row) => row.track));
    const events = new Float64Array(tables.tracepoints.length), steps = new Map();
    const note = (type, before, after, time) => {
        const key = (type * 65536 + before) * 65536 + after;
        if (!steps.has(key)) steps.set(key, {type, before, after, values: []});
        steps.get(key).values.push(time);
    };
    let total = 0;
    await eachChunk(from, to, (chunk) => {
        for (let event = lowerBound(chunk.times, from); event < chunk.count && chunk.times[event] <= to; event++) {
            const object = chunk.objects[event], isOnTrack = object >= 0 && (!tracks || tracks.has(chunk.tracks[object]));
            if (rowsInside && !isOnTrack && !threads.has(chunk.threads[event])) continue;
            total++;
            events[chunk.tracepoints[event]]++;
            const step = isOnTrack ? stepBefore(chunk, event) : null;
            if (step) note(chunkObjectType(chunk, object), step.tracepoint, chunk.tracepoints[event], chunk.times[event] - step.from);
        }
    });
    const found = [...steps.values()].map((step) => ({...step, ...statistics(Float64Array.from(step.values))}));
    return {total, events, steps: found.sort((a, b) => b.sum - a.sum)};
}
