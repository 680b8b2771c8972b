// SPDX-License-Identifier: BSD-3-Clause
// Who waited for whom: which other objects of the same owner were in a step while an object was in one of its own.

// The steps of objects that one owner has, between two times: calls see(serial, label, tracepoint, from, to).
async function eachStepOf(owner, from, to, see) {
    const isOwners = tables.tracks.map((track) => track.owner === owner);
    for (let i = 0; i < crossing.count; i++) {
        const begun = crossing.from[i], ended = begun + crossing.length[i], track = crossing.track[i];
        if (isOwners[track] && begun < to && ended > from)
            see(crossing.serial[i], () => objectLabel(tables.tracks[track].type, crossing.number[i], crossing.id[i]), crossing.tracepoint[i], begun, ended);
    }
    await eachChunk(from, to, (chunk) => {
        for (let step = 0; step < chunk.stepFrom.length; step++) {
            const event = chunk.stepFrom[step], object = chunk.objects[event];
            const begun = chunk.times[event], ended = chunk.times[chunk.stepTo[step]];
            if (begun < to && ended > from && isOwners[chunk.tracks[object]])
                see(chunk.serials[object], () => chunkObjectLabel(chunk, object), chunk.tracepoints[event], begun, ended);
        }
    });
}

// Whom an object waited for: of its longest steps, which other objects of its owner were in which steps meanwhile.
async function waitsOf(story) {
    const relatives = new Set(story.events.map(({chunk, event}) => (chunk.objects[event] < 0 ? -1 : chunk.serials[chunk.objects[event]])));
    const longest = story.steps.slice().sort((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, 3)
        .filter((step) => step.to - step.from > (story.ended - story.begun) / 20);
    const waits = [];
    for (const step of longest) {
        const others = new Map();
        await eachStepOf(story.owner, step.from, step.to, (serial, label, tracepoint, from, to) => {
            if (relatives.has(serial)) return;
            const key = serial * 65536 + tracepoint;
            const other = others.get(key) || {serial, label, tracepoint, time: 0};
            other.time += Math.min(to, step.to) - Math.max(from, step.from);
            others.set(key, other);
        });
        const named = [...others.values()].sort((a, b) => b.time - a.time);
        waits.push({step, count: named.length, others: named.slice(0, 5).map((other) => ({...other, label: other.label()}))});
    }
    return waits;
}

// How steps met between two times: of each kind of step how long objects were in it, and how long in all, counted for
// each other object, others of the same owner were in each kind of step meanwhile. Kinds are tracepoints that begin
// steps; rowsInside: only objects of these rows of the timeline, null: all.
async function meetingsOf(from, to, rowsInside) {
    const tracks = rowsInside && new Set(rowsInside.filter((row) => row.kind === 'track').map((row) => row.track));
    const kinds = tables.tracepoints.length, times = new Float64Array(kinds), met = [], owners = new Map();
    const change = (track, kind, time, by) => {
        if (tracks && !tracks.has(track)) return;
        const {owner} = tables.tracks[track];
        let state = owners.get(owner);
        if (!state) owners.set(owner, state = {since: from, inside: new Map()});
        const length = Math.min(time, to) - state.since;
        if (length > 0) {
            state.since += length;
            for (const [kind_, many] of state.inside) {
                times[kind_] += many * length;
                const row = met[kind_] ||= new Float64Array(kinds);
                for (const [other, others] of state.inside) row[other] += many * (other === kind_ ? others - 1 : others) * length;
            }
        }
        const now = (state.inside.get(kind) || 0) + by;
        if (now) state.inside.set(kind, now);
        else state.inside.delete(kind);
    };
    const across = [];
    for (let i = 0; i < crossing.count; i++) {
        if (crossing.from[i] >= to || crossing.end[i] <= from) continue;
        across.push([crossing.from[i], i, 1], [crossing.end[i], i, -1]);
    }
    across.sort((a, b) => a[0] - b[0]);
    let next = 0;
    const changeAcross = (until) => {
        for (; next < across.length && across[next][0] <= until; next++) {
            const [time, step, by] = across[next];
            change(crossing.track[step], crossing.tracepoint[step], time, by);
        }
    };
    await eachChunk(from, to, (chunk) => {
        const goesOn = new Uint8Array(chunk.count);
        for (const event of chunk.stepFrom) goesOn[event] = 1;
        for (let event = 0; event < chunk.count && chunk.times[event] <= to; event++) {
            const object = chunk.objects[event], before = chunk.before[event], time = chunk.times[event];
            if (object < 0) continue;
            changeAcross(time);
            if (before >= 0) change(chunk.tracks[object], chunk.tracepoints[before], time, -1);
            if (goesOn[event]) change(chunk.tracks[object], chunk.tracepoints[event], time, 1);
        }
    });
    changeAcross(to);
    for (const track of tables.tracks.keys()) change(track, -1, to, 0);
    return {times, met};
}

// What the meetings of a time tell, as a table; null: nobody met anybody.
function makeMeetings({times, met}) {
    const LISTED = 4, total = times.reduce((sum, time) => sum + time, 0), lines_ = [];
    const kinds = [...times.keys()].filter((kind) => times[kind] > total / 1000).sort((a, b) => times[b] - times[a]);
    for (const kind of kinds) {
        const others = [...met[kind].keys()].filter((other) => met[kind][other] > 0).sort((a, b) => met[kind][b] - met[kind][a]);
        const named = others.slice(0, LISTED).flatMap((other, i) =>
            [i ? ', ' : '', (met[kind][other] / times[kind]).toFixed(2) + ' in ', swatch(other), tables.tracepoints[other].name]);
        if (!named.length) continue;
        if (others.length > LISTED) named.push(`, and ${count(others.length - LISTED, 'more kind')}`);
        lines_.push([make('span', {}, swatch(kind), tables.tracepoints[kind].name), brief(times[kind]), make('span', {}, ...named)]);
    }
    return lines_.length ? makeTable('Who waited for whom: while an object was in a step, how many others of its owner were in which, on average',
        ['step from', 'time in it:', 'others meanwhile'], lines_) : null;
}
