# SPDX-License-Identifier: BSD-3-Clause
"""The page of report --html in a browser: report_html.py ROOT SPOOR BROWSER DIRECTORY PICTURES [SPDK]. The directory has the recordings
small, many, overwritten, queue.spoor, empty, damaged, hostile.1, hostile.2 and, if it is named, spdk. Prints "ok …" and "not ok …"."""
import bisect
import json
import os
import re
import subprocess
import sys

root, spoor, program, directory, pictures = sys.argv[1:6]
sys.path.insert(0, root + "/tests/lib")
from browser import BrowserError, start_browser  # noqa: E402

TEXT = "document.getElementById('%s').textContent"
NARROW = "\u202f"


def say(what, is_right, why=""):
    print(f"{'ok' if is_right else 'not ok'} {os.path.basename(program)}: {what}", flush=True)
    if not is_right:
        print("  " + str(why)[:2000], flush=True)


def report(*arguments):
    return subprocess.run([spoor, "report", *arguments], capture_output=True, text=True)


def page_of(name, *options):
    """Writes a page; returns its address and what was said about it."""
    path = f"{directory}/{name}{len(os.listdir(directory))}.html"
    done = report("-f", f"{directory}/{name}", "--html", path, *options)
    if done.returncode:
        raise SystemExit(f"not ok a page of {name}: {done.stderr}")
    return "file://" + path, done.stderr


class Page:
    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        browser.problems.clear()
        browser.open(url)
        browser.until("document.body && document.body.dataset.state === 'ready'")

    def text(self, name):
        return self.browser.value(TEXT % name)

    def window(self):
        """The times that are shown, ns: the page says them to the nanosecond."""
        times = re.match(r"(.*?) s – (.*?) s ", self.text("window")).groups()
        return [int(re.sub(r"[^\d-]", "", time.replace("−", "-").replace(".", ""))) for time in times]

    def span(self):
        first, last = self.window()
        return last - first

    def go(self, address, written=None):
        """As if somebody followed a link; written: and the page wrote its own address before it was told of the link."""
        write = f"history.replaceState(null, '', {json.dumps(written)});" if written else ""
        self.browser.value("new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 50), {once: true});"
                           f" location.hash = {json.dumps(address)}; {write} }})")

    def table(self, caption):
        """The rows of a table, as lists of texts, without its head."""
        return self.browser.value("(() => { const table = [...document.querySelectorAll('table')].find((table) => "
                                  f"table.caption.textContent.startsWith({json.dumps(caption)}));"
                                  "return table ? [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)) : null; })()")

    def until_table(self, caption):
        self.browser.until("[...document.querySelectorAll('table')].some((table) => "
                           f"table.caption.textContent.startsWith({json.dumps(caption)}))")
        return self.table(caption)

    def key(self, key):
        self.browser.key(key)
        self.settle()

    def settle(self):
        """Until what was asked for is drawn."""
        self.browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")

    def search(self, words):
        self.browser.value("document.getElementById('query').value = ''; document.getElementById('query').focus()")
        self.browser.type(words)
        self.browser.key("Enter")
        self.browser.until(f"document.getElementById('panel-title').textContent === {json.dumps('Found: ' + words)}")
        return int(re.sub(r"\D", "", self.text("matches")) or 0)

    def box(self):
        return self.browser.value("(() => { const box = document.getElementById('canvas').getBoundingClientRect();"
                                  "return [box.left, box.top, box.width, box.height]; })()")

    def is_alone(self, what):
        say(f"{what}: nothing goes wrong in it", not self.browser.problems, self.browser.problems)
        asked = [url for url in self.browser.requests if url not in ("about:blank", self.url.split("#")[0])]
        say(f"{what}: it asks for nothing", not asked, asked)


def number(text):
    return int(text.replace(",", ""))


def micros(value):
    return f"{value:,.3f}"


def same_as_stats(page, name, *options):
    """The counts and latencies on the page are those of --stats."""
    stats = json.loads(report("-f", f"{directory}/{name}", "--stats", "-j", *options).stdout)
    events = sorted((f'{row["group"]}:{row["name"]}', row["count"]) for row in stats["tracepoints"])
    shown = sorted((row[0], number(row[1])) for row in page.table("Events"))
    say(f"{name}: its counts are those of --stats", events and events == shown, (events, shown))
    page.browser.value("document.getElementById('tab-times').click()")
    rows = page.browser.value("[...document.querySelectorAll('#times table')].filter((table) => table.caption.textContent.startsWith('Steps'))"
                              ".flatMap((table) => [...table.tBodies[0].rows].map((row) => [table.closest('section').querySelector('h2').textContent[0],"
                              "...[...row.cells].map((cell) => cell.textContent)]))")
    shown = sorted((row[0], row[1], number(row[4]), *row[6:]) for row in rows)
    wanted = sorted((row["object"], f'{row["from"]} → {row["to"]}' if "from" in row else "whole life", row["count"],
                     *(micros(row[key]) for key in ("p50", "p90", "p99", "p99.9", "max"))) for row in stats["latencies"])
    say(f"{name}: its latencies are those of --stats", wanted and wanted == shown, [pair for pair in zip(wanted, shown) if pair[0] != pair[1]])
    # Of a mean in the middle between two numbers of three digits, such as 0.0445, either is right.
    shown = sorted((row[0], row[1], float(row[5].replace(",", ""))) for row in rows)
    wanted = sorted((row["object"], f'{row["from"]} → {row["to"]}' if "from" in row else "whole life", row["mean_us"]) for row in stats["latencies"])
    say(f"{name}: its means are those of --stats", len(wanted) == len(shown) and all(
        one[:2] == other[:2] and abs(one[2] - other[2]) <= 0.001001 for one, other in zip(wanted, shown)), (wanted, shown))
    page.browser.value("document.getElementById('tab-timeline').click()")


# ---- what the page does ----

def moves(page):
    page.browser.value("document.getElementById('canvas').focus()")
    whole = page.window()
    page.key("w")
    say("w zooms in", page.span() < whole[1] - whole[0], (whole, page.window()))
    before = page.window()
    page.key("d")
    after = page.window()
    say("d goes later, as wide as before", after[0] > before[0] and abs(page.span() - (before[1] - before[0])) <= 2, (before, after))
    page.key("a")
    say("a goes back", abs(page.window()[0] - before[0]) <= 2, (before, page.window()))
    page.key("s")
    say("s zooms out", abs(page.span() - (whole[1] - whole[0])) <= 2 + (whole[1] - whole[0]) / 100, (whole, page.window()))
    left, top, width, height = page.box()
    page.key("0")
    first, last = page.window()
    at = first + (last - first) * 0.25
    page.browser.wheel(left + width / 4, top + height / 2, -400)
    page.settle()
    first, last = page.window()
    say("the wheel zooms in, at the pointer", last - first < 0.5 * (whole[1] - whole[0]) and abs(first + (last - first) / 4 - at) < (last - first) / 50,
        (at, first, last))
    page.browser.wheel(left + width / 4, top + height / 2, 200, shift=True)
    page.settle()
    say("Shift and the wheel go later", page.window()[0] > first and abs(page.span() - (last - first)) <= 2, (first, page.window()))
    before = page.window()
    page.browser.drag(left + 400, top + 100, left + 200, top + 100)
    page.settle()
    moved = page.window()[0] - before[0]
    say("a drag moves", abs(moved - page.span() * 200 / width) < page.span() / 50, (before, page.window()))
    page.browser.value("document.getElementById('whole').click()")
    page.settle()
    say("the button All shows everything", abs(page.span() - (whole[1] - whole[0])) <= 2, (whole, page.window()))
    page.key("?")
    say("? shows the keys", page.browser.value("document.getElementById('help').open && document.getElementById('help').textContent.includes('zoom in')"))
    page.browser.value("document.getElementById('help').close()")
    middle = (whole[0] + whole[1]) // 2
    page.go(f"#t={middle},{middle + 101}")
    say("to the nanosecond", page.window() == [middle, middle + 101], (middle, page.window()))
    page.go("#t=0,1000")
    for _ in range(30):
        page.browser.key("w")
    page.settle()
    say("zooming ends at some nanoseconds", 10 <= page.span() <= 50, page.window())
    page.key("0")


def selects(page, name):
    text = report("-f", f"{directory}/{name}", "-j").stdout
    document = json.loads(text)
    start = int(document["entries"][0]["time_ns"])
    times = [int(entry["time_ns"]) - start for entry in document["entries"]]
    # The first event is what times count from, or is after it.
    origin = page.browser.value("JSON.parse(document.getElementById('tables').textContent).first")
    first, last = origin + times[len(times) // 4], origin + times[len(times) // 2]
    page.go(f"#t={first},{last}")
    page.browser.value("document.getElementById('canvas').focus()")
    page.key("v")
    page.browser.until("/^[\\d,]+ events? in/.test(document.getElementById('panel-title').textContent)")
    inside = [time for time in times if first <= origin + time <= last]
    found = number(page.text("panel-title").split()[0])
    say("v selects what is in view: as many events as there are", found == len(inside) > 100, (found, len(inside)))
    counted = sum(number(row[1]) for row in page.table("Events"))  # the panel's stands before that of the tab
    say("the selection's events are counted by tracepoint", counted == found, counted)
    steps = page.table("Steps that end in it")
    say("and its steps have percentiles in order", steps and all(
        float(row[5].replace(",", "")) <= float(row[6].replace(",", "")) <= float(row[7].replace(",", "")) <= float(row[8].replace(",", "")) for row in steps), steps)
    page.browser.screenshot(f"{pictures}/selection.png")
    address = page.browser.value("location.hash")
    page.key("Escape")
    say("Escape closes it", page.browser.value("document.getElementById('panel').hidden"))
    page.go(address)
    page.browser.until("!document.getElementById('panel').hidden")
    say("the address keeps a selection", number(page.text("panel-title").split()[0]) == found, page.text("panel-title"))
    page.go(f"#t={first},{last}", written=f"#t={origin},{origin + times[-1]}")
    page.settle()
    say("a link is followed, though the page wrote its address meanwhile", page.window() == [round(first), round(last)], page.window())
    page.key("Escape")
    page.key("0")
    left, top, width, _ = page.box()
    for what, shift, y in ("a drag with Shift", True, 60), ("a drag in the ruler", False, 10):
        page.browser.drag(left + width * 0.1, top + y, left + width * 0.8, top + 300, shift=shift)
        page.browser.until("/^[\\d,]+ events? in/.test(document.getElementById('panel-title').textContent)")
        say(what + " selects", 0 < number(page.text("panel-title").split()[0]) < len(times), page.text("panel-title"))
        page.key("Escape")


def searches(page, name):
    document = json.loads(report("-f", f"{directory}/{name}", "-j").stdout)
    names = {tracepoint["id"]: tracepoint["name"] for tracepoint in document["tpoints"]}
    counts = {}
    for entry in document["entries"]:
        counts[names[entry["tpoint"]]] = counts.get(names[entry["tpoint"]], 0) + 1
    say("search: a name", page.search("bdev_io_start") == counts["BDEV_IO_START"], page.text("matches"))
    writes = page.search("type=IO_WRITE")
    say("search: an argument by the name of its value", writes == counts["BDEV_IO_START"] // 4, page.text("matches"))
    say("search: the same by its number", page.search("type=2") == writes, page.text("matches"))
    say("search: larger than", page.search("offset>=2000 len=8") == 3 * (300 - 250), page.text("matches"))
    say("search: a text among the arguments", page.search("steady") == 600, page.text("matches"))
    say("search: an object", page.search("r42") == 5, page.text("matches"))
    page.browser.screenshot(f"{pictures}/search.png")
    page.browser.value("document.getElementById('canvas').focus()")
    page.key("0")
    page.browser.key("n")
    page.browser.until("document.getElementById('matches').textContent.startsWith('1 of 5')")
    page.browser.until("document.getElementById('panel-title').textContent === 'TCP_REQ_NEW'")
    say("n goes to the first match", True)
    address = page.browser.value("location.hash")
    page.browser.key("]")
    page.browser.until("document.getElementById('panel-title').textContent === 'TCP_REQ_NEED_BUFFER'")
    say("] goes to the object's next event", True)
    page.go(address)
    page.browser.until("document.getElementById('panel-title').textContent === 'TCP_REQ_NEW'")
    say("the address keeps the event", True)
    say("and the search", page.browser.value("document.getElementById('query').value") == "r42")
    say("search: nothing fits", page.search("nosuchthing") == 0 and page.table("Nothing fits") is not None)
    page.search("type=2")
    page.browser.value("document.getElementById('query').value = ''; document.getElementById('search').requestSubmit()")
    page.browser.until("document.getElementById('panel').hidden")
    say("an empty search ends it", page.text("matches") == "")


def tells_stories(page, name):
    """The slowest object, by a click on its bar: its story is that of --slowest."""
    lines = report("-f", f"{directory}/{name}", "--slowest", "1", "tcp_req", "--width", "0").stdout.splitlines()
    label, life, since = re.search(r"(r\d+)\b.*?([\d.]+) us.*?([\d.]+) us", lines[0]).groups()
    told = [line for line in lines[1:] if re.match(r" *[\d.]+% ", line)]
    page.browser.value("document.getElementById('tab-times').click()")
    page.browser.value(f"[...document.querySelectorAll('#times .link')].find((link) => link.textContent === '{label}').click()")
    page.browser.until(f"document.getElementById('panel-title').textContent.startsWith('{label}: tcp_req')")
    page.browser.until("document.getElementById('panel-body').textContent.includes('Whom it waited for')")
    title, story = page.text("panel-title"), page.table("Its events")
    say("the story says how long the object lived", f"{float(life):,.3f} µs" in title, (title, lines[0]))
    say("the story is that of --slowest", len(story) == len(told) and all(row[3] in line for row, line in zip(story, told)), (story, told))
    page.browser.screenshot(f"{pictures}/story.png")
    address = page.browser.value("location.hash")
    page.key("Escape")
    page.go(address)
    page.browser.until(f"document.getElementById('panel-title').textContent.startsWith('{label}: ')")
    say("the address keeps the object", True)
    page.key("Escape")
    # its bar: where the tip names it
    left, top, width, height = page.box()
    hit = None
    for y in range(40, int(height), 4):
        page.browser.mouse("mouseMoved", left + width / 2, top + y)
        if page.browser.value(f"!document.getElementById('tip').hidden && document.getElementById('tip').textContent.startsWith('{label} ')"):
            hit = y
            break
    say("the tip names the object", hit is not None)
    if hit is not None:
        page.browser.screenshot(f"{pictures}/tip.png")
        page.browser.click(left + width / 2, top + hit)
        page.browser.until(f"document.getElementById('panel-title').textContent.startsWith('{label}: ')")
        say("a click on the object tells its story", page.table("Its events") == story)
    related = page.browser.value("(() => { const link = [...document.querySelectorAll('#panel-body table .link')].find((link) => link.textContent[0] === 'i');"
                                 "link.click(); return link.textContent; })()")
    page.browser.until(f"document.getElementById('panel-title').textContent.startsWith('{related}: bdev_io')")
    say("a click on a related object tells its", True)
    page.key("Escape")


def steps_of(name):
    """Of each owner its steps, from the events: (tracepoint, begin, end, object), ns."""
    document = json.loads(report("-f", f"{directory}/{name}", "-j").stdout)
    names = {tracepoint["id"]: tracepoint["name"] for tracepoint in document["tpoints"]}
    owners, before = {}, {}
    for entry in document["entries"]:
        key, time = entry["object"]["id"], int(entry["time_ns"])
        if key in before:
            owner, kind, since = before[key]
            owners.setdefault(owner, []).append((kind, since, time, key))
        before[key] = (before[key][0] if key in before else entry["owner"], names[entry["tpoint"]], time)
    return owners


def meanwhile(owners, since, until):
    """Of each two kinds of steps how many others were in the second one, on average, while an object was in the first one."""
    times, met = {}, {}
    for steps in owners.values():
        steps = [(kind, max(begin, since), min(end, until)) for kind, begin, end, _ in steps if begin < until and end > since]
        changes = {}  # of each kind: when how many more are in it
        for kind, begin, end in steps:
            changes.setdefault(kind, []).extend([(begin, 1), (end, -1)])
        for other, list_ in changes.items():
            list_.sort()
            at, sums, many = [since], [0], [0]  # up to a time: how long objects were in it
            for time, by in list_:
                sums.append(sums[-1] + many[-1] * (time - at[-1]))
                at.append(time)
                many.append(many[-1] + by)

            def up_to(time):
                i = bisect.bisect_right(at, time) - 1
                return sums[i] + many[i] * (time - at[i])
            for kind, begin, end in steps:
                met[kind, other] = met.get((kind, other), 0) + up_to(end) - up_to(begin) - (end - begin if kind == other else 0)
        for kind, begin, end in steps:
            times[kind] = times.get(kind, 0) + end - begin
    return {key: f"{time / times[key[0]]:.2f}" for key, time in met.items() if time}


def tells_who_waited(browser, name):
    """Who waited for whom: in all of a recording of several chunks, in a part, and for the slowest object."""
    url, _ = page_of(name)
    page = Page(browser, url)
    owners = steps_of(name)
    say("there are steps from chunk to chunk", page.browser.value("['chunk', 'crossing'].every((name) => document.getElementsByClassName(name).length > (name === 'chunk'))"))

    def shown():
        return {(row[0], other): value for row in page.until_table("Who waited for whom") for value, other in re.findall(r"([\d.]+) in (\w+)", row[2])}
    page.browser.value("document.getElementById('tab-times').click()")
    page.browser.until("document.getElementById('times').dataset.state === 'ready'")
    wanted = meanwhile(owners, 0, 1 << 63)
    say("who waited for whom is what the events say", len(wanted) == 4 and shown() == wanted, (wanted, shown()))
    page.browser.screenshot(f"{pictures}/waits.png")
    steps = [step for steps in owners.values() for step in steps]
    kind, begin, end, key = max(steps, key=lambda step: step[2] - step[1])
    row = page.table("The slowest")[0]
    others = {step[3] for step in owners["disk0"] if step[3] != key and step[1] < end and step[2] > begin}
    named = re.findall(r"(q\d+) in", row[3])
    more = int(re.sub(r"\D", "", row[3].rsplit("and", 1)[1]))
    say("the slowest object names whom it waited for", row[0] == key and row[3].startswith(f"{kind} {micros((end - begin) / 1000)} µs: ")
        and len(named) == 3 and set(named) <= others and more + 3 >= len(others), (row, len(others)))
    facts = dict(page.table("The recording"))
    say("it says on which machine it was recorded", facts["host"] == os.uname().nodename, facts)
    start = int(re.sub(r"\D", "", facts["from"]))
    first = min(step[1] for step in steps)
    in_order = sorted(owners["disk0"], key=lambda step: step[1])
    middle = in_order[len(in_order) // 2][2]  # a time at which a step ends, for nothing may happen half way, where the program had to wait
    page.go(f"s={middle - 200000 - first + start},{middle - first + start}")
    wanted = meanwhile(owners, middle - 200000, middle)
    page.browser.until("!document.getElementById('panel').hidden")
    page.browser.value("document.getElementById('times').replaceChildren()")
    say("and in a selection", wanted and shown() == wanted, (wanted, shown()))
    page.is_alone(name)


def looks(browser, url):
    """Pictures, dark and narrow ones too; nothing is wider than the page."""
    page = Page(browser, url)
    browser.screenshot(f"{pictures}/timeline.png")
    browser.value("document.getElementById('tab-times').click()")
    page.settle()
    browser.screenshot(f"{pictures}/times.png")
    browser.dark(True)
    page.settle()
    browser.screenshot(f"{pictures}/times-dark.png")
    browser.value("document.getElementById('tab-timeline').click()")
    page.settle()
    browser.screenshot(f"{pictures}/timeline-dark.png")
    browser.resize(400, 700)
    page.settle()
    browser.screenshot(f"{pictures}/narrow.png")
    for tab in "timeline", "times", "about":
        browser.value(f"document.getElementById('tab-{tab}').click()")
        page.settle()
        say(f"{tab} fits in 400 pixels", browser.value("document.documentElement.scrollWidth <= innerWidth"))
    browser.dark(False)
    browser.resize(1280, 800)


def sums_up(browser, name):
    url, _ = page_of(name)
    page = Page(browser, url)
    say("many events are summed up", "summed up" in page.text("window") and "320,000 events" in page.text("window"), page.text("window"))
    browser.screenshot(f"{pictures}/sums.png")
    for _ in range(12):
        page.key("w")
    browser.until("!document.getElementById('window').textContent.includes('summed up')")
    say("and each is drawn when there are few", True)
    same_as_stats(page, name)
    say("search: all of many", page.search("tcp_req_new") == 40000, page.text("matches"))
    page.is_alone("many events")


def tells_the_truth(browser):
    for name in "overwritten", "damaged":
        url, said = page_of(name)
        page = Page(browser, url)
        notes = [note for note in re.findall(r"^NOTE: (.*)$", said, re.M) if "a browser shows it" not in note]
        say(f"{name}: the page says what report says", notes and all(note in page.text("warning") for note in notes), (said, page.text("warning")))
        same_as_stats(page, name)
        page.is_alone(name)
    url, said = page_of("empty")
    page = Page(browser, url)
    say("a recording without events has a page that says so", "no events" in page.text("warning") and "no events" in said, page.text("warning"))
    page.is_alone("empty")
    path = f"{directory}/nothing.html"
    done = report("-f", f"{directory}/small", "--html", path, "--group", "nosuch")
    say("a filter that means nothing is an error", done.returncode == 1 and not os.path.exists(path), done.stderr)
    url, _ = page_of("small", "--group", "bdev")
    same_as_stats(Page(browser, url), "small", "--group", "bdev")


def is_not_commanded(browser):
    """Names that are markup are text, wherever they are shown."""
    for name, part in ("hostile.1", "<svg/onload=alert(1)>"), ("hostile.2", "</script><svg><!-- x>"):
        url, _ = page_of(name)
        page = Page(browser, url)
        seen = page.browser.value("document.body.innerText") + " ".join(map(str, page.table("Events")))
        browser.value("document.getElementById('tab-about').click()")
        seen += page.browser.value("document.getElementById('about').textContent")
        browser.value("document.getElementById('tab-times').click()")
        seen += page.browser.value("document.getElementById('times').textContent")
        browser.value("document.getElementById('tab-timeline').click()")
        found = page.search("Zbegin_")
        seen += page.text("panel")
        browser.value("document.querySelector('#panel-body .link').click()")
        browser.until("document.getElementById('panel-title').textContent.startsWith('Zbegin_')")
        seen += page.text("panel")
        missing = [prefix + part for prefix in ("Zgroup_", "Zbegin_", "Zobject_", "Ztext_", "Zkind_", "Zone_") if prefix + part not in seen]
        say(f"{name}: its names are seen as they are", found and not missing and "</script><svg onload=a()>" in seen, (missing, seen[-1500:]))
        say(f"{name}: and are text", browser.value("document.querySelectorAll('svg').length + document.querySelectorAll('[onload]').length") == 0)
        browser.screenshot(f"{pictures}/{name}.png")
        page.is_alone(name)


def has_lines(browser):
    document = json.loads(report("-f", f"{directory}/small", "-j").stdout)
    times = [int(entry["time_ns"]) for entry in document["entries"]][::50]
    with open(f"{directory}/lines", "w") as file:
        for i, time in enumerate(times):
            print(json.dumps({"type": "printf", "time_ns": time, "data": f"line <b>{i}</b>\n"}), file=file)
    url, _ = page_of("small", "--merge", f"{directory}/lines")
    page = Page(browser, url)
    say("merged lines are there", page.search("line <b>7</b>") == 1, page.text("matches"))
    say("all of them", page.search("<b>") == len(times), (page.text("matches"), len(times)))
    page.is_alone("merged")


def main():
    with start_browser(program, directory) as browser:
        url, _ = page_of("small")
        page = Page(browser, url)
        same_as_stats(page, "small")
        moves(page)
        selects(page, "small")
        searches(page, "small")
        tells_stories(page, "small")
        page.is_alone("a recording")
        looks(browser, url)
        sums_up(browser, "many")
        tells_who_waited(browser, "queue.spoor")
        tells_the_truth(browser)
        is_not_commanded(browser)
        has_lines(browser)
        if sys.argv[6:]:
            url, _ = page_of("spdk", "--whole")
            page = Page(browser, url)
            same_as_stats(page, "spdk", "--whole")
            browser.screenshot(f"{pictures}/spdk.png")
            page.is_alone("SPDK")
    policy = subprocess.run(["grep", "-c", "Content-Security-Policy.*default-src 'none'; script-src 'sha256-", url[7:]], capture_output=True, text=True)
    say("the page has its policy", policy.stdout.strip() == "1")
    code = re.sub(r'<script type="application/.*?</script>\n', "", open(url[7:], encoding="utf-8").read(), flags=re.S)
    say(f"the page's own code is below 150 KB: {len(code)} bytes", 20000 < len(code) < 150000)


try:
    main()
except BrowserError as error:
    say("the browser goes on", False, error)
