# SPDX-License-Identifier: BSD-3-Clause
"""The page of --html in a browser: live_html.py ROOT SPOOR BROWSER DIRECTORY PICTURES. Prints "ok …" and "not ok …"."""
import base64
import json
import os
import re
import signal
import subprocess
import sys
import zlib

root, spoor, program, directory, pictures = sys.argv[1:6]
sys.path.insert(0, root + "/tests/lib")
from browser import BrowserError, start_browser  # noqa: E402


def say(what, is_right, why=""):
    print(f"{'ok' if is_right else 'not ok'} {os.path.basename(program)}: {what}", flush=True)
    if not is_right:
        print("  " + str(why)[:2000], flush=True)


def trace(name, *arguments, text=False):
    """Runs a script with --html. Returns the path of the page, and what was printed: objects of JSON, or text."""
    path = f"{directory}/{os.path.basename(program)}-{name}.html"
    done = subprocess.run([spoor, *([] if text else ["-f", "json"]), "--html", path, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"not ok a page of {name}: {done.stderr}")
    return path, done.stdout if text else [json.loads(line) for line in done.stdout.splitlines()]


class Page:
    def __init__(self, browser, path, address=""):
        self.browser, self.path = browser, path
        browser.problems.clear()
        browser.open("file://" + path + address)
        browser.until("document.body && document.body.dataset.state === 'ready'")

    def tables(self):
        element = re.search(r'class="tables">([^<]*)<', open(self.path, encoding="utf-8").read()).group(1)
        return json.loads(zlib.decompress(base64.b64decode(element)))

    def go(self, address):
        self.browser.value(f"location.hash === {json.dumps(address)} ||"
                           " new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 20), {once: true});"
                           f" location.hash = {json.dumps(address)}; }})")

    def map(self, name):
        return f"document.querySelector('section.map[aria-label={json.dumps(name)}]')"

    def rows(self, name, which=0):
        """The table of a map, as texts of its cells; all keys are shown first."""
        self.browser.value(f"[...{self.map(name)}.querySelectorAll('button')].find((button) => button.textContent.startsWith('Show all'))?.click()")
        return self.browser.value(f"[...({self.map(name)}.querySelectorAll('table')[{which}]?.tBodies[0].rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent))")

    def lines(self):
        return self.browser.value("[...document.querySelectorAll('.line')].map((line) => [line.firstChild.textContent, line.lastChild.textContent, line.className])")

    def text(self, name):
        return self.browser.value(f"document.getElementById('{name}').textContent")

    def search(self, words):
        self.browser.value("document.getElementById('query').value = ''; document.getElementById('query').focus()")
        self.browser.type(words)
        self.browser.until(f"document.getElementById('query').value === {json.dumps(words)}")

    def is_alone(self, what):
        say(f"{what}: nothing goes wrong in it", not self.browser.problems, self.browser.problems)
        asked = [url for url in self.browser.requests if url not in ("about:blank", "file://" + self.path) and not url.startswith("data:image/png")]
        say(f"{what}: it asks for nothing", not asked, asked)


def plain(text):
    return text.replace(",", "")


def value_of(shown):
    """As JSON has it: numbers that a double does not hold are texts."""
    number = int(plain(shown))
    return number if abs(number) < 2 ** 53 else str(number)


def maps_of(printed, name):
    return [line["data"][name] for line in printed if name in (line.get("data") or {})]


EVERYTHING = """begin {
    printf("a"); printf("b\\nc </script><svg onload=alert(1)>\\n");
    @count["x", 1] = count(); @count["x", 1] = count(); @count["a,b", 2] = count();
    @sum["</script><svg onload=alert(1)>"] = sum(9007199254740993); @sum["\\x1b[31m<!--"] = sum(2);
    @text[1] = "text"; @text[2] = "<b>"; @negative = -5; @big = (uint64)18446744073709551615;
    @stats = stats(5); @stats = stats(6); @average["k"] = avg(7); @average["k"] = avg(9); @least = min(-4); @most = max(4);
    @hist[3] = hist(5); @hist[3] = hist(500); @hist[3] = hist(501); @hist[4] = hist(1); @linear = lhist(7, 0, 10, 2);
    @series["s"] = tseries(5, 1h, 10); @top = topk("one", 3); @tuple = (1, "two");
    for ($i : 0..600) { @many[$i] = $i; }
}"""


def has_what_was_printed(browser):
    path, printed = trace("everything", "--host", "vm", "-q", "-e", EVERYTHING)
    page = Page(browser, path)
    for name in "@count", "@sum", "@average", "@many":
        wanted = maps_of(printed, name)[-1]
        shown = {",".join(row[:len(row) - (3 if name in ("@count", "@sum") else 2)]): value_of(row[-3 if name in ("@count", "@sum") else -2]) for row in page.rows(name)}
        if name == "@many":
            wanted = dict(sorted(wanted.items(), key=lambda pair: pair[1])[-500:])
        if name == "@sum":  # characters that steer a terminal are told by their numbers
            wanted = {key.replace("\x1b", "\\u001b"): value for key, value in wanted.items()}
        say(f"{name} has what was printed", wanted and shown == wanted, (wanted, shown))
    for name in "@negative", "@big", "@least", "@most":
        say(f"{name} has what was printed", value_of(page.rows(name)[0][0]) == maps_of(printed, name)[-1], (page.rows(name), maps_of(printed, name)))
    stats = maps_of(printed, "@stats")[-1]
    say("@stats has what was printed", page.rows("@stats")[0][:3] == [str(stats[key]) for key in ("average", "count", "total")], (stats, page.rows("@stats")))
    text = {row[0]: row[1] for row in page.rows("@text")}
    say("@text has what was printed", text == maps_of(printed, "@text")[-1], text)
    hist = maps_of(printed, "@hist")[-1]
    counts = {row[0]: int(row[1]) for row in page.rows("@hist")}
    say("@hist has as many values", counts == {key: sum(row["count"] for row in rows) for key, rows in hist.items()}, (hist, counts))
    bars = [int(row[1]) for row in page.rows("@hist", 1)]
    say("and its bars are the rows", bars == [row["count"] for row in hist["3"]], (bars, hist))
    rows = page.rows("@hist")
    say("and its percentiles are rows that have them", rows[0][:6] == ["3", "3", "[256, 512)", "[256, 512)", "[256, 512)", "[256, 512)"], rows)
    browser.value(f"{page.map('@hist')}.querySelectorAll('tbody tr')[1].click()")
    say("a click on a key shows its bars", [row[:2] for row in page.rows("@hist", 1)] == [["[1]", "1"]], page.rows("@hist", 1))
    linear = maps_of(printed, "@linear")[-1]
    say("@linear has what was printed", [[row[0], int(row[1])] for row in page.rows("@linear", 1)] == [["[6, 8)", linear[0]["count"]]], (linear, page.rows("@linear", 1)))
    say("@series has what was printed", page.rows("@series")[0][:2] == ["s", "5"], page.rows("@series"))
    say("keys that are left out are told", "100 keys are left out" in browser.value(f"{page.map('@many')}.querySelector('.note').textContent"))
    say("lines are those of the script", [line[1] for line in page.lines()] == ["ab", "c </script><svg onload=alert(1)>"], page.lines())
    say("what was printed is text", not browser.value("document.querySelectorAll('svg, b').length"))
    browser.screenshot(f"{pictures}/everything.png")
    keys = [int(row[0]) for row in page.rows("@many")]
    say("the largest values come first", keys == list(range(599, 99, -1)), keys)
    browser.value(f"{page.map('@many')}.querySelector('th button').click()")
    keys = [int(row[0]) for row in page.rows("@many")]
    say("a click on a column sorts by it, numbers as numbers", keys == list(range(100, 600)), keys)
    browser.value(f"(() => {{ const filter = {page.map('@many')}.querySelector('input[type=search]'); filter.value = '23'; filter.dispatchEvent(new Event('input')); }})()")
    keys = [int(row[0]) for row in page.rows("@many")]
    say("a filter leaves the keys that match", keys == [key for key in range(100, 600) if "23" in str(key)], keys)
    page = Page(browser, path, browser.value("location.hash"))
    say("the address keeps all that", [int(row[0]) for row in page.rows("@many")] == keys and [row[:2] for row in page.rows("@hist", 1)] == [["[1]", "1"]],
        (browser.value("location.hash"), page.rows("@many"), page.rows("@hist", 1)))
    page.is_alone("everything")
    return path


def text_is_the_same(browser, path):
    other, _ = trace("text", "--host", "vm", "-q", "-e", EVERYTHING, text=True)
    one = Page(browser, path)
    lines, count = [line[1] for line in one.lines()], one.rows("@count")
    two = Page(browser, other)
    say("a page of text has the same lines, without maps", [line[1] for line in two.lines()] == lines, two.lines())
    say("and the same maps", [row[:3] for row in two.rows("@count")] == [row[:3] for row in count], (two.rows("@count"), count))


CLOCK = """begin { printf("begins\\n"); }
interval:ms:40 { @printed["tick"] = count(); @printed["k"] = count(); @values = hist(nsecs % 1000); print(@printed); printf("tick %d\\n", @n); @n++;
    @series = tseries(@n, 40ms, 200, "max");
    @cleared = count(); print(@cleared); clear(@cleared);
    @looked["all"] = count(); if (@n % 3 == 0) { print(@values); clear(@values); } }
interval:ms:40 { if (@n == 20) { @nothing[1] = 1; delete(@nothing, 1); } }"""


def goes_back_in_time(browser):
    """A live trace, ended by Ctrl-C."""
    able = subprocess.run([spoor, "-q", "-e", "interval:ms:1 { exit(); }"], capture_output=True, text=True)
    if able.returncode:
        return print("skip a live trace: " + able.stderr.strip().split("\n")[0])
    path, lines = f"{directory}/{os.path.basename(program)}-clock.html", []
    with open(f"{directory}/clock.errors", "w+") as errors, subprocess.Popen(
            [spoor, "-f", "json", "--times", "-B", "line", "--html", path, "-e", CLOCK], stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        for line in process.stdout:
            lines.append(line)
            if "tick 29" in line:
                process.send_signal(signal.SIGINT)
        process.wait()
        errors.seek(0)
        if process.returncode:
            return say("a live trace", False, errors.read())
    printed = [json.loads(line) for line in lines]
    page = Page(browser, path)
    start = int(page.tables()["start"])
    wanted = [(int(line["time_ns"]) - start, line["data"]["@printed"]) for line in printed if "@printed" in (line.get("data") or {}) and "time_ns" in line]
    # Which tick it was at a time. What a map has then may be more: a tracer that is late reads it when more has been counted.
    ticks_at = {int(line["time_ns"]) - start: int(line["data"].split()[1]) for line in printed if line["type"] == "printf" and line["data"].startswith("tick ")}
    for time, state in wanted[0], wanted[len(wanted) // 2], wanted[-1]:
        page.go(f"#t={time}")
        shown = {row[0]: value_of(row[1]) for row in page.rows("@printed")}
        say(f"at {time} ns @printed has what was printed then", shown == state, (state, shown))
    page.go(f"#t={wanted[len(wanted) // 2][0]}")
    value = page.rows("@series")[0][0]
    tick = ticks_at[wanted[len(wanted) // 2][0]]
    say("a time series has the value of that time", abs(tick + 1 - int(value)) <= 3, (value, tick))
    # A tracer that is late clears later than the next event: so 0 and 2 are printed as well.
    counts = [(int(line["time_ns"]) - start, line["data"]["@cleared"]) for line in printed if "@cleared" in (line.get("data") or {}) and "time_ns" in line]
    time, count = next(entry for entry in counts[len(counts) // 2:] + counts[1:] if entry[1])
    page.go(f"#t={time}")
    value, rate = page.rows("@cleared")[0][:2]
    say("a counter that is cleared counts from then on", value == str(count) and 0 < float(rate) < 100 * count, (time, count, value, rate))
    hists = [(int(line["time_ns"]) - start, line["data"]["@values"]) for line in printed if "@values" in (line.get("data") or {}) and "time_ns" in line]
    time, state = hists[len(hists) // 2]
    page.go(f"#t={time}")
    say("and a histogram, too", [int(row[1]) for row in page.rows("@values", 0) and page.rows("@values", 1)] == [row["count"] for row in state], (state, page.rows("@values", 1)))
    browser.key("ArrowRight")
    cursor = "Number(new URLSearchParams(location.hash.slice(1)).get('t'))"
    after = browser.value(cursor)
    say("→ goes to the next state", time < after <= time + 100000000, (time, after))
    browser.key("ArrowLeft")
    say("← to the one before", browser.value(cursor) == time, (time, browser.value(cursor)))
    browser.key("End")
    say("End to the end", page.text("cursor").startswith("End"), page.text("cursor"))
    ticks = [line["data"].strip() for line in printed if line["type"] == "printf"]
    page.search("tick")
    say("a search finds lines", page.text("matches") == f"{len(ticks) - 1} matches", (page.text("matches"), len(ticks)))
    page.search("tick 1 -7")
    say("all words, and none of those with a minus", page.text("matches").split()[0] == str(sum("tick" in line and "1" in line and "7" not in line for line in ticks)), page.text("matches"))
    browser.value("document.getElementById('only').click()")
    page.search("tick 17")
    say("only lines that match", [line[1] for line in page.lines()] == ["tick 17"], page.lines())
    browser.value("document.activeElement.blur()")
    browser.key("n")
    current = browser.until("document.querySelector('.line.now.found')?.textContent")
    say("n goes there, and the cursor with it", "tick 17" in current, current)
    at = page.browser.value(f"Number({page.map('@printed')}.dataset.time)")
    moment = next(time for time, tick in ticks_at.items() if tick == 17)
    state = next(state for time, state in wanted if time == moment)
    shown = {row[0]: value_of(row[1]) for row in page.rows("@printed")}
    say("the maps are those of that time", at == moment and shown == state, (at, moment, state, shown))
    address = browser.value("location.hash")
    again = Page(browser, path, address)
    say("the address keeps the view", [line[1] for line in again.lines()] == ["tick 17"] and browser.value(f"Number({page.map('@printed')}.dataset.time)") == at, address)
    browser.key("Escape")
    say("Escape ends the search", browser.until("document.querySelectorAll('.line').length > 10"))
    looked = [line["data"]["@looked"] for line in printed if "@looked" in (line.get("data") or {})]
    again.go("#t=9000000000000000")
    say("a map that is only printed at the end has that", {row[0]: value_of(row[1]) for row in again.rows("@looked")} == looked[-1], (looked, again.rows("@looked")))
    states = browser.value(f"Number(/of (\\d+)\\)/.exec({again.map('@looked')}.textContent)[1])")
    say("and states from before", states >= 5, states)
    left, top, width, height = browser.value("(() => { const box = document.getElementById('bar').getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()")
    browser.click(left + width / 2, top + height / 2)
    middle = browser.value(cursor)
    say("a click in the bar goes to its time", abs(middle - page.tables()["end"] / 2) < page.tables()["end"] / 100, (middle, page.tables()["end"]))
    browser.screenshot(f"{pictures}/clock.png")
    browser.dark(True)
    browser.resize(420, 800)
    browser.screenshot(f"{pictures}/narrow.png")
    browser.resize(1280, 800)
    browser.dark(False)
    again.is_alone("a live trace")


def tells_what_is_wrong(browser):
    path, _ = trace("wrong", "--host", "vm", "-q", "-e", 'let @small = hash(2); begin { for ($i : 0..5) { @small[$i] = 1; } errorf("a <b> mistake"); printf("goes on\\n"); }')
    page = Page(browser, path)
    say("errors are named", "mistake" in page.text("warning") and "Map full" in page.text("warning") and not browser.value("document.getElementById('warning').hidden"), page.text("warning"))
    page.is_alone("errors")
    path, _ = trace("nothing", "--host", "vm", "-q", "-e", "begin { @x[1] = 1; clear(@x); }")
    page = Page(browser, path)
    say("a trace without output says so", "printed nothing" in page.text("warning"), page.text("warning"))
    page.is_alone("nothing")


def shows_a_recording(browser):
    if not os.path.exists(f"{directory}/queue.spoor"):
        print("skip a recording: there is no libspoor.a")
        return
    path, printed = trace("queue", "-q", "-f", f"{directory}/queue.spoor", "-e", "trace:* { @events[probe] = count(); @since = hist(since); }")
    page = Page(browser, path)
    shown = {row[0]: value_of(row[1]) for row in page.rows("@events")}
    say("a recording has what was printed", shown and shown == maps_of(printed, "@events")[-1], (shown, printed[:3]))
    browser.key("Home")
    first = sum(int(plain(row[1])) for row in page.rows("@events"))
    say("and earlier states", 0 <= first < sum(shown.values()), (first, shown))
    browser.screenshot(f"{pictures}/recording.png")
    page.is_alone("a recording")


def main():
    with start_browser(program, directory) as browser:
        path = has_what_was_printed(browser)
        text_is_the_same(browser, path)
        goes_back_in_time(browser)
        tells_what_is_wrong(browser)
        shows_a_recording(browser)
    text = open(path, encoding="utf-8").read()
    say("the page has its policy", re.search("Content-Security-Policy[^>]*default-src 'none'; script-src 'sha256-[^' ]*'; style-src 'sha256-[^' ]*'; base-uri 'none'; form-action 'none'", text))
    code = re.sub(r'<script type="application/.*?</script>\n', "", text, flags=re.S)
    say(f"the page's own code is below 150 KB: {len(code)} bytes", 20000 < len(code) < 150000)


try:
    main()
except BrowserError as error:
    say("the browser goes on", False, error)
