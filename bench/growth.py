# SPDX-License-Identifier: BSD-3-Clause
"""How fast a cost grows with the size of the work: the exponent of a curve, with its uncertainty."""
import collections, math

LIMIT = 1.15  # n log n over the sizes that are measured has at most 1.11; what is linear, 1
SURE = 2  # standard deviations: what is less than so many beyond the limit may be noise
CLEAR = 4  # standard deviations that a cost is above the constant part, to be looked at

# The exponent, None where nothing grows beyond noise, and its standard deviation; whether it is only known to be at least so large; whether
# the noise is what hides it.
Growth = collections.namedtuple("Growth", "exponent error at_least is_noisy", defaults=(False, False))


def least(costs):
    """What a size costs. Whatever else a machine does adds to a cost and never takes from it, so the least of several turns is
    nearest to the truth."""
    return min(costs)


def noise(costs, relative, floor):
    """How far the least may be from the truth: as far as the second of the turns is from it, and never less than what
    a clock shows and what a cache that lies otherwise changes."""
    costs = sorted(costs)
    return math.hypot(costs[1] - costs[0] if len(costs) > 1 else 0, relative * costs[0], floor)


def fit(points, relative, floor, clear=CLEAR):
    """The exponent of a curve: `points` are (size, costs of the turns), by size.

    A program costs something before it does any work: a + b n^k. On double logarithmic paper the constant would bend the curve, and
    hide a quadratic part behind it. So the smallest size is taken off, cost from cost and size from size: of a linear curve
    b (n - n0) is left, with the exponent 1 whatever the constant is, of a quadratic one b (n - n0)(n + n0), with an exponent that nears
    2 from below. A size counts only where what is left is well above the noise of both costs: of the rest a logarithm would show the
    noise alone. The line through the others is that of least squares, each weighted by its own noise, from which the uncertainty of
    the exponent follows, too."""
    size0, costs0 = points[0]
    below = noise(costs0, relative, floor)
    samples, most = [], None
    for size, costs in points[1:]:
        grown = least(costs) - least(costs0)
        uncertain = math.hypot(noise(costs, relative, floor), below)
        if grown > clear * uncertain:
            samples.append((math.log(size - size0), math.log(grown), (grown / uncertain) ** 2))
        elif not samples:
            most = (size - size0, max(grown, 0) + SURE * uncertain)
    if len(samples) == 1 and most:
        # Only the largest size stands out: it cost this much more than the one before can have, so the curve is at least so steep.
        return Growth((samples[0][1] - math.log(most[1])) / (samples[0][0] - math.log(most[0])), 0, True)
    if len(samples) < 2:
        return Growth(None, None, False, least(points[-1][1]) > 2 * least(costs0) + floor)
    total = sum(weight for _, _, weight in samples)
    x0 = sum(x * weight for x, _, weight in samples) / total
    y0 = sum(y * weight for _, y, weight in samples) / total
    spread = sum(weight * (x - x0) ** 2 for x, _, weight in samples)
    slope = sum(weight * (x - x0) * (y - y0) for x, y, weight in samples) / spread
    return Growth(slope, 1 / math.sqrt(spread))


def of_time(points):
    """Of CPU time, in ms."""
    return fit(points, 0.03, 1)


def of_memory(points):
    """Of peak memory, in MB: what is doubled when it is full may take twice of what it needs, or not. So this is not exact, but a
    quadratic part is seen."""
    return fit(points, 0.2, 1, 2)


def exceeds(growth):
    return growth.exponent is not None and growth.exponent - SURE * growth.error > LIMIT


def self_test():
    """Curves of which it is known how they grow, with noise as a busy machine makes it. Returns those that were judged wrongly."""
    import random

    def noisy(function, draw):
        return [(n, [function(n) * (1 + abs(draw.gauss(0, 0.05))) for _ in range(3)]) for n in (1000, 4000, 16000, 64000)]

    curves = [  # name, cost in ms, whether it grows too fast
        ("constant", lambda n: 20, False),
        ("linear", lambda n: n / 100, False),
        ("linear, behind a large constant", lambda n: 500 + n / 100, False),
        ("n log n", lambda n: n * math.log2(n) / 1000, False),
        ("logarithm", lambda n: 10 * math.log2(n), False),
        ("n to the 1.5th", lambda n: n**1.5 / 3000, True),
        ("quadratic", lambda n: n * n / 1e6, True),
        ("quadratic, behind a large constant", lambda n: 500 + n * n / 1e6, True),
        ("linear, and quadratic at the end", lambda n: n / 100 + n * n / 2e6, True),
    ]
    wrong = []
    for seed in range(200):
        draw = random.Random(seed)
        for name, function, grows in curves:
            growth = of_time(noisy(function, draw))
            if exceeds(growth) != grows:
                wrong.append(f"{name}, seed {seed}: {'grows too fast' if not grows else 'is linear'}, it says: {growth}")
    return wrong
