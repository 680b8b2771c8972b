// SPDX-License-Identifier: BSD-3-Clause
// The panel below the timeline: an event, an object's story, a selection, what was found.

let shownPanel = 0;

function showPanel(title, buttons, ...contents) {
    document.getElementById('panel').hidden = false;
    document.getElementById('panel-title').textContent = title;
    document.getElementById('panel-buttons').replaceChildren(...buttons);
    document.getElementById('panel-body').replaceChildren(...contents);
    document.getElementById('panel-body').scrollTop = 0;
    resize();
}

function closePanel() {
    shownPanel++;
    if (document.getElementById('panel').hidden) return;
    document.getElementById('panel').hidden = true;
    Object.assign(view, {object: null, event: null, selection: null});
    keepAddress();
    resize();
    canvas.focus();
}

const link = (text, act) => make('button', {className: 'link', text, on: {click: act}});

function objectLink(serial, label, time) {
    return link(label, () => showObject(serial, time));
}

function chunkObjectLink(chunk, object, time) {
    return object < 0 ? '' : objectLink(chunk.serials[object], chunkObjectLabel(chunk, object), time);
}

// ---- an event ----

async function showEvent(chunk, event) {
    const object = chunk.objects[event];
    const time = chunk.times[event], tracepoint = tables.tracepoints[chunk.tracepoints[event]];
    shownPanel++;
    Object.assign(view, {event: {time, chunk: chunk.index, event}, object: object < 0 ? null : chunk.serials[object]});
    const facts = [['time', exact(time)], ['time of day', wall(time) || 'unknown'], ['tracepoint', tracepoint.group + ':' + tracepoint.name],
        ['thread', tables.threads[chunk.threads[event]].label], ['owner', tables.owners[chunk.owners[event]] || 'none']];
    if (object >= 0) facts.push(['object', chunkObjectLink(chunk, object, time)]);
    const related = chunk.related.get(event) || [];
    for (const other of related) facts.push(['related to', chunkObjectLink(chunk, other, time)]);
    const step = object >= 0 && stepBefore(chunk, event);
    if (step) facts.push(['step before', `${tables.tracepoints[step.tracepoint].name}: ${micros(time - step.from)} µs`]);
    if (chunk.lost.has(event)) facts.push(['missing before it', count(chunk.lost.get(event), 'event')]);
    if (chunk.size(event)) facts.push(['size', commas(chunk.size(event))]);
    tracepoint.arguments.forEach((argument, i) => facts.push([argument.name, valueText(argument, chunk.value(event, i))]));
    showPanel(tracepoint.name, [link('Event before', () => stepEvent(-1)), link('Event after', () => stepEvent(1))],
        makeTable('The event', ['', ''], facts));
    keepAddress();
    redraw();
}

// Shows the next event, or the one before: of the chosen object if there is one.
async function stepEvent(by) {
    if (!view.event) return;
    let {chunk: index, event} = view.event;
    let chunk = await chunkLoad(index);
    const object = view.object;
    for (;;) {
        event += by;
        if (event < 0 || event >= chunk.count) {
            index += by;
            if (index < 0 || index >= chunks.length) return;
            chunk = await chunkLoad(index);
            event = by > 0 ? 0 : chunk.count - 1;
        }
        if (object === null || (chunk.objects[event] >= 0 && chunk.serials[chunk.objects[event]] === object)) break;
    }
    await showEvent(chunk, event);
    if (view.event.time < view.from || view.event.time > view.to) goTo(view.event.time);
}

// ---- an object ----

// Shows the story of an object that is there at a time.
async function showObject(serial, time) {
    const ticket = ++shownPanel;
    Object.assign(view, {object: serial, objectTime: time});
    redraw();
    let place = null;
    await eachChunk(time, time, (chunk) => {
        const object = chunk.serials.indexOf(serial);
        if (object >= 0) place = {chunk, object};
    });
    if (!place) { // no event of it is in the chunks of this time: a step goes on from chunk to chunk
        const step = (crossing.bySerial.get(serial) || []).find((i) => crossing.from[i] <= time && crossing.from[i] + crossing.length[i] >= time);
        if (step !== undefined && crossing.from[step] !== time) return showObject(serial, crossing.from[step]);
        return;
    }
    const begun = place.chunk.begins[place.object];
    const ended = await endOf(serial, place.chunk.index);
    const story = await storyOf(serial, begun, ended);
    if (ticket !== shownPanel) return;
    showStory(story, []);
    const waits = await waitsOf(story);
    if (ticket === shownPanel) showStory(story, waits);
}

function showStory(story, waits) {
    const life = story.ended - story.begun;
    const share = (time) => (life ? (100 * time / life).toFixed(1) + ' %' : '');
    let before = story.begun;
    const lines = story.events.map(({chunk, event, isOwn, isParent}) => {
        const time = chunk.times[event], step = time - before, tracepoint = chunk.tracepoints[event];
        before = time;
        const row = [micros(time - story.begun), micros(step), share(step), make('span', {}, swatch(tracepoint), tables.tracepoints[tracepoint].name),
            chunkObjectLink(chunk, chunk.objects[event], time), relatedText(chunk, event), tables.owners[chunk.owners[event]], tables.threads[chunk.threads[event]].label,
            argumentsText(chunk, event)];
        row.className = isOwn ? 'own' : isParent ? 'parent' : '';
        return row;
    });
    const table = makeTable(`Its events and those of what is related to it${story.more ? `; ${commas(story.more)} more are not listed` : ''}`,
        ['µs:', 'step µs:', 'share:', 'tracepoint', 'object', 'related', 'owner', 'thread', 'arguments'], lines);
    const said = waits.flatMap(({step, count: others, others: named}) => {
        const during = make('p', {}, make('strong', {}, `${tables.tracepoints[step.tracepoint].name}: ${micros(step.to - step.from)} µs (${share(step.to - step.from)}) `));
        if (!named.length) during.append('nobody: no other object of its owner was in a step meanwhile.');
        else during.append('meanwhile, of the same owner: ');
        named.forEach((other, i) => during.append(i ? ', ' : '', objectLink(other.serial, other.label, step.from), ' in ',
            `${tables.tracepoints[other.tracepoint].name} for ${brief(other.time)} (${(100 * other.time / (step.to - step.from)).toFixed(0)} %)`));
        if (others > named.length) during.append(`, and ${commas(others - named.length)} more`);
        return during;
    });
    const whom = said.length ? [make('h3', {text: 'Whom it waited for'}), ...said] : [];
    showPanel(`${story.label}: ${typeName(story.type)} of ${tables.owners[story.owner] || 'no owner'}, ${micros(life)} µs from ${exact(story.begun)}`,
        [link('Show it', () => goTo(story.begun, story.ended))], ...whom, table);
    revealLane(story.track, story.lane);
    keepAddress();
}

// ---- a selection ----

async function showSelection() {
    const {selection} = view;
    if (!selection) return;
    const ticket = ++shownPanel;
    const found = await inside(selection.from, selection.to, selection.rows);
    const meetings = makeMeetings(await meetingsOf(selection.from, selection.to, selection.rows));
    if (ticket !== shownPanel) return;
    const seconds = (selection.to - selection.from) / 1e9;
    const named = [...found.events].map((events, index) => [events, index]).filter(([events]) => events).sort((a, b) => b[0] - a[0]);
    const events = makeTable('Events', ['tracepoint', 'count:', 'per second:'], named.map(([events_, index]) =>
        [make('span', {}, swatch(index), tables.tracepoints[index].name), commas(events_), seconds > 0 ? commas(Math.round(events_ / seconds)) : '-']));
    const steps = makeTable('Steps that end in it, µs', ['object', 'step', 'count:', 'sum:', 'mean:', 'p50:', 'p90:', 'p99:', 'max:'],
        found.steps.map((step) => [typeName(step.type), make('span', {}, swatch(step.before), `${tables.tracepoints[step.before].name} → ${tables.tracepoints[step.after].name}`),
            commas(step.count), micros(step.sum), micros(step.mean), micros(step.p50), micros(step.p90), micros(step.p99), micros(step.most)]));
    showPanel(`${count(found.total, 'event')} in ${micros(selection.to - selection.from)} µs`,
        [link('Zoom to it', () => goTo(selection.from, selection.to, 0))], ...(found.steps.length ? [steps] : []), ...(meetings ? [meetings] : []), events);
    keepAddress();
}

// ---- what was found ----

async function showMatches() {
    const LISTED = 200;
    showMatchCount();
    keepAddress();
    if (!search.text) return closePanel();
    const ticket = ++shownPanel;
    const rows_ = [];
    for (const match of view.matches.slice(0, LISTED)) {
        const when = link(exact(match.time), () => {
            search.at = view.matches.indexOf(match) - 1;
            goToMatch(1);
        });
        if (match.line !== undefined) {
            rows_.push([when, 'line', '', clean(lines.texts[match.line])]);
            continue;
        }
        const chunk = await chunkLoad(match.chunk), {event} = match, tracepoint = chunk.tracepoints[event];
        rows_.push([when, make('span', {}, swatch(tracepoint), tables.tracepoints[tracepoint].name), chunkObjectLink(chunk, chunk.objects[event], match.time), argumentsText(chunk, event)]);
    }
    if (ticket !== shownPanel) return;
    const all = view.matches.length + search.more;
    showPanel(`Found: ${search.text}`, [], makeTable(all > LISTED ? `The first ${LISTED} of ${commas(all)}` : all ? 'All of them' : 'Nothing fits', ['time', 'tracepoint', 'object', 'arguments'], rows_));
}
