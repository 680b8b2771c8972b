// SPDX-License-Identifier: BSD-3-Clause
// Finds events. All words must fit: argument=value (also <, >, >=, <=, !=), r42 the events of an object, any other word a
// part of the tracepoint's or its group's name, of a text among its arguments, of its owner or its thread.

const MATCHES_MAX = 100000;
const search = {text: '', at: -1, more: 0, run: 0};

function parseWord(word) {
    const found = /^([^<>=!]+)(>=|<=|!=|=|<|>)(.*)$/.exec(word);
    if (!found) return {text: word.toLowerCase(), object: /^.(\d+|@[0-9a-f]+)$/.test(word) ? word : null};
    const number = /^-?\d+$|^0x[0-9a-f]+$/i.test(found[3]) ? BigInt(found[3]) : null;
    return {argument: found[1].toLowerCase(), operator: found[2], text: found[3].toLowerCase(), number};
}

function compare(operator, order) { // order: less than, equal to or greater than 0
    if (operator === '=') return order === 0;
    if (operator === '!=') return order !== 0;
    return operator[0] === '<' ? order < 0 || (operator === '<=' && order === 0) : order > 0 || (operator === '>=' && order === 0);
}

function argumentFits(word, argument, value) {
    const text = valueText(argument, value).toLowerCase();
    if (word.number !== null && argument.kind !== STRING && argument.kind !== REAL) {
        const own = argument.kind === SIGNED ? BigInt.asIntN(64, value) : value;
        const wanted = argument.kind === SIGNED || word.number >= 0n ? word.number : BigInt.asUintN(64, word.number);
        if (compare(word.operator, own < wanted ? -1 : own > wanted ? 1 : 0)) return true;
        return word.operator === '=' && text === word.text;
    }
    if (argument.kind === REAL && word.operator !== '=' && word.operator !== '!=') {
        const difference = Number(text) - Number(word.text);
        return compare(word.operator, difference);
    }
    return compare(word.operator, text === word.text ? 0 : text < word.text ? -1 : 1);
}

// What a word means for each tracepoint: true, false, or which arguments must be looked at.
function wordPlan(word) {
    return tables.tracepoints.map((tracepoint) => {
        const indexes = [];
        tracepoint.arguments.forEach((argument, i) => {
            if (word.argument ? argument.name.toLowerCase() === word.argument : argument.kind === STRING || argument.values !== NO_NAMES) indexes.push(i);
        });
        const isNamed = !word.argument && (tracepoint.group + ':' + tracepoint.name).toLowerCase().includes(word.text);
        return {isNamed, indexes};
    });
}

function eventFits(chunk, event, word, plan) {
    const tracepoint = chunk.tracepoints[event], {isNamed, indexes} = plan[tracepoint];
    const known = tables.tracepoints[tracepoint].arguments;
    if (isNamed) return true;
    if (word.argument) {
        if (word.argument === 'size' && word.number !== null) return compare(word.operator, chunk.size(event) - Number(word.number));
        return indexes.some((i) => argumentFits(word, known[i], chunk.value(event, i)));
    }
    const object = chunk.objects[event];
    if (word.object && object >= 0 && chunk.wanted(word.object)[object]) return true;
    if (tables.owners[chunk.owners[event]].toLowerCase().includes(word.text)) return true;
    if (tables.threads[chunk.threads[event]].label.toLowerCase().includes(word.text)) return true;
    return indexes.some((i) => valueText(known[i], chunk.value(event, i)).toLowerCase().includes(word.text));
}

// Which objects of a chunk have a label.
Chunk.prototype.wanted = function (label) {
    if (this.wantedLabel !== label) {
        this.wantedLabel = label;
        this.wantedObjects = Array.from({length: this.objectCount}, (_, object) => chunkObjectLabel(this, object) === label);
    }
    return this.wantedObjects;
};

async function runSearch(text) {
    const run = ++search.run;
    const words = text.trim().split(/\s+/).filter(Boolean).map(parseWord);
    Object.assign(search, {text: text.trim(), at: -1, more: 0});
    view.matches = [];
    const output = document.getElementById('matches');
    output.textContent = '';
    redraw();
    if (!words.length) return showMatches();
    const plans = words.map(wordPlan);
    const found = [];
    await eachChunk(0, Infinity, (chunk) => {
        if (search.run !== run) return false;
        for (let event = 0; event < chunk.count; event++) {
            if (!words.every((word, i) => eventFits(chunk, event, word, plans[i]))) continue;
            if (found.length < MATCHES_MAX) found.push({time: chunk.times[event], chunk: chunk.index, event});
            else search.more++;
        }
        output.textContent = 'searching: ' + count(found.length + search.more, 'match').replace('matchs', 'matches');
        return true;
    });
    if (search.run !== run) return;
    const isLine = words.every((word) => !word.argument);
    for (let i = 0; isLine && i < lines.times.length; i++)
        if (words.every((word) => lines.texts[i].toLowerCase().includes(word.text))) found.push({time: lines.times[i], line: i});
    view.matches = found.sort((a, b) => a.time - b.time);
    redraw();
    await showMatches();
}

// Goes to the next match, or the one before.
async function goToMatch(by) {
    const {matches} = view;
    if (!matches.length) return;
    if (search.at < 0) search.at = by > 0 ? lowerBound(matches.map((match) => match.time), view.from) - 1 : 0;
    search.at = (search.at + by + matches.length) % matches.length;
    const match = matches[search.at];
    showMatchCount();
    if (match.line !== undefined) return goTo(match.time);
    await showEvent(await chunkLoad(match.chunk), match.event);
    return goTo(match.time);
}

function showMatchCount() {
    const all = view.matches.length + search.more;
    document.getElementById('matches').textContent = !search.text ? '' : search.at >= 0 ? `${commas(search.at + 1)} of ${commas(all)}`
        : all === 1 ? '1 match' : commas(all) + ' matches';
}
