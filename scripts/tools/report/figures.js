/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts of every section, matrices of pairs and pictures; see page.js. */
"use strict";

const WIDTH = 420, HEIGHT = 280, LEFT = 58, RIGHT = 10, TOP = 12, BOTTOM = 38, SERIES = 6;

/* Marks of series around (0, 0), so that they differ without their colours; last the library. */
const MARKS = [
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
	"M-3.6 -3.6h7.2v7.2h-7.2z",
	"M0 -5l4.8 8.4h-9.6z",
	"M0 5l4.8 -8.4h-9.6z",
	"M0 -5.2l4.6 5.2l-4.6 5.2l-4.6 -5.2z",
	"M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
	"M-3.8 -3.8h7.6v7.6h-7.6z",
];

/* What a chart shows of a cell, and how its values lie; ticks are [value, text]. */
const CHARTS = {
	time: {
		title: "Median time", unit: "us", scale: Math.log10,
		values: (cell) => [cell.us, cell.low, cell.high],
		bound: (best) => best.bound,
		/* Room for the bound below the quickest curve, but not for any distance. */
		range: (low, high) => {
			const room = Math.max((high - low + 0.7) * 0.06, 0.1);

			return [low - 0.7 - room, high + room];
		},
		ticks: (low, high) => {
			/* In two decades or less steps of 1, 2, 5; in many every second decade. */
			const found = [];

			for (let d = Math.floor(low); d <= Math.ceil(high); d++)
				for (const k of high - low > 2 ? [1] : [1, 2, 5])
					if (k > 1 || high - low <= 6 || d % 2 === 0)
						found.push(k * 10 ** d);
			return found.filter((v) => Math.log10(v) >= low && Math.log10(v) <= high)
				.map((v) => [v, shortTime(v)]);
		},
	},
	bandwidth: {
		title: "Bus bandwidth in GB/s", unit: "GB/s", scale: (y) => y,
		values: (cell) => [cell.GBps, cell.GBps * cell.us / cell.high,
			cell.GBps * cell.us / cell.low],
		bound: (best) => best.GBps * best.us / best.bound,
		range: (low, high) => [0, high > 0 ? high * 1.1 : 1],
		ticks: (low, high) => {
			const raw = high / 5, unit = 10 ** Math.floor(Math.log10(raw));
			const step = unit * [1, 2, 5, 10].find((x) => x >= raw / unit);

			return Array.from({length: Math.floor(high / step) + 1}, (_, i) =>
				[i * step, digits(i * step, 3)]);
		},
	},
	ratio: {
		title: "Library's time / own time", unit: "times as quick as the library",
		scale: Math.log2,
		values: (cell) => [cell.ratio, cell.ratio_low, cell.ratio_high],
		range: (low, high) => {
			const room = (high - low) * 0.06;

			return [Math.min(low - room, -0.5), Math.max(high + room, 0.5)];
		},
		ticks: (low, high) => {
			const step = high - low > 6 ? 2 : 1, found = [];

			for (let d = Math.ceil(low); d <= Math.floor(high); d++)
				if (d % step === 0)
					found.push([2 ** d, 2 ** d + "x"]);
			return found;
		},
	},
};

/* 10 ns, 1 us, 200 ms */
function shortTime(us) {
	const unit = us < 0.9995 ? 0 : us < 999.5 ? 1 : us < 999500 ? 2 : 3;

	return digits(us * 1000 ** (1 - unit), 3) + " " + ["ns", "us", "ms", "s"][unit];
}

/* The curves of a section: points [bytes, cell] of each own series, then of the library. */
function curvesOf(section) {
	const points = (pick) => section.places.filter((p) => p.bytes > 0 && pick(p))
		.map((p) => [p.bytes, pick(p)]);

	return [...section.curves.map((_, i) => points((p) => p.curves[i])),
		points((p) => p.library)];
}

function makeChart(section, kind) {
	const chart = CHARTS[kind], good = ([, cell]) => chart.values(cell)[0] > 0 &&
		Number.isFinite(chart.values(cell)[0]);
	const curves = curvesOf(section).map((curve) => curve.filter(good));
	const all = curves.flat();

	if (!all.length)
		return null;
	const sizes = all.map(([bytes]) => Math.log2(bytes));
	const values = all.map(([, cell]) => chart.scale(chart.values(cell)[0]));
	const [left, right] = [Math.min(...sizes), Math.max(...sizes)];
	const [low, high] = chart.range(Math.min(...values), Math.max(...values));
	const middle = LEFT + (WIDTH - LEFT - RIGHT) / 2;
	const x = (bytes) => (right > left ? LEFT + 8 + (WIDTH - LEFT - RIGHT - 16) *
		(Math.log2(bytes) - left) / (right - left) : middle).toFixed(1);
	const y = (value) => {
		const at = Math.min(1, Math.max(0, (chart.scale(value) - low) / (high - low)));

		return (HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * at).toFixed(1);
	};
	const line = (name, x1, x2, y1, y2) => drawn("line", {class: name, x1, x2, y1, y2});
	const path = (points) => drawn("path", {class: "curve", d: points.map(([bytes, value], i) =>
		`${i ? "L" : "M"}${x(bytes)} ${y(value)}`).join("")});
	const ticks = chart.ticks(low, high).map(([value, text]) => [
		line("grid", LEFT, WIDTH - RIGHT, y(value), y(value)),
		drawn("text", {x: LEFT - 6, y: Number(y(value)) + 4, "text-anchor": "end"}, text)]);
	const first = Math.ceil(left - 1e-9), last = Math.floor(right + 1e-9);
	const step = Math.floor((last - first) / 7) + 1, labels = [];

	for (let d = first; d <= last; d += step)
		labels.push(drawn("text", {x: x(2 ** d), y: HEIGHT - BOTTOM + 16,
			"text-anchor": "middle"}, sizeText(2 ** d)));

	const point = (bytes, cell, mark) => {
		const [mid, from, to] = chart.values(cell);
		const known = Number.isFinite(from) && Number.isFinite(to);

		return [known && line("error", x(bytes), x(bytes), y(from), y(to)),
			drawn("g", {class: "point", transform: `translate(${x(bytes)} ${y(mid)})`},
				drawn("title", {}, `${cell.label}, ${sizeText(bytes)} bytes: ` +
					`${digits(mid, 4)} ${chart.unit}` + (known ?
					` (${digits(from, 4)} to ${digits(to, 4)})` : "")),
				drawn("circle", {class: "hit", r: 10}),
				drawn("path", {class: "mark", d: MARKS[mark]}))];
	};
	const curve = (points, name, mark) => drawn("g", {class: name}, path(points.map(
		([bytes, cell]) => [bytes, chart.values(cell)[0]])), points.map(([bytes, cell]) =>
		point(bytes, cell, mark)));
	/* The least possible time, or the bandwidth that follows; interrupted beyond the frame. */
	const bound = [[]];

	for (const place of kind === "ratio" ? [] : section.places) {
		const known = place.mine?.bound > 0 && place.bytes > 0;
		const value = known ? chart.bound(place.mine) : NaN;

		if (chart.scale(value) >= low && chart.scale(value) <= high)
			bound.at(-1).push([place.bytes, value]);
		else if (Number.isFinite(value))
			bound.push([]);
	}
	return element("figure", {}, element("figcaption", {}, chart.title), drawn("svg",
		{class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
			"aria-label": `${chart.title} against size: ${section.title}`},
		ticks, line("axis", LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM), labels,
		drawn("text", {x: middle, y: HEIGHT - 4, "text-anchor": "middle"}, "bytes"),
		kind === "ratio" && line("one", LEFT, WIDTH - RIGHT, y(1), y(1)),
		drawn("g", {class: "bound"}, bound.filter((p) => p.length).map(path)),
		kind !== "ratio" && curve(curves.at(-1), "lib", SERIES),
		curves.slice(0, -1).map((points, i) => curve(points, `s${i + 1}`, i)).reverse()));
}

function makeLegend(section) {
	const mark = (d) => drawn("svg", {viewBox: "0 0 26 12", "aria-hidden": "true"},
		drawn("path", {class: "curve", d: "M0 6h26"}),
		d && drawn("path", {class: "mark", transform: "translate(13 6)", d}));
	const entry = (name, text, d) => element("li", {class: name}, mark(d),
		element("span", {}, text));

	return element("ul", {class: "legend"},
		section.curves.map((text, i) => entry(`s${i + 1}`, text, MARKS[i])),
		section.places.some((p) => p.library) && entry("lib", "library", MARKS[SERIES]),
		section.places.some((p) => p.mine?.bound > 0) && entry("bound", "bound"),
		section.hidden > 0 && element("li", {class: "soft"},
			`${section.hidden} more algorithms are not drawn`));
}

function makeCharts(section, s) {
	const card = (...children) => element("div", {class: "card", id: `section-${s + 1}`},
		element("h3", {}, section.title), ...children);

	if (!section.places.some((p) => p.bytes > 0))
		return card(soft("Moves nothing: its times are in the summary."));
	return card(makeLegend(section), element("div", {class: "figures"},
		makeChart(section, "time"), makeChart(section, "bandwidth"),
		section.curves.length > 0 && section.places.some((p) => p.library) &&
			makeChart(section, "ratio")));
}

function makeMatrix(m, i) {
	const known = m.values.flat().filter((x) => x !== null);
	const least = Math.min(...known), most = Math.max(...known);
	const share = (v) => {
		const good = most > least ? (v - least) / (most - least) : 1;

		return m.more_is_better || !(most > least) ? good : 1 - good;
	};
	const cell = (v) => v === null ? element("td") : element("td",
		{style: `--share:${(100 * share(v)).toFixed(0)}%`}, digits(v, 3));
	const table = element("table", {class: "heat"},
		element("caption", {}, `${m.unit}; rows: ${m.row_name}, columns: ${m.column_name}`),
		element("thead", {}, element("tr", {}, element("td"),
			(m.values[0] || []).map((_, c) => element("th", {scope: "col"}, c)))),
		element("tbody", {}, m.values.map((row, r) => element("tr", {},
			element("th", {scope: "row"}, r), row.map(cell)))));

	return element("details", {open: i === 0 || m.slow !== ""}, element("summary", {}, m.title,
		m.slow && [" ", tag("few", m.slow)]), scrolling(m.title, table));
}

function makePairs() {
	return data.pairs.length || data.pairs_hidden ? element("div", {class: "card", id: "pairs"},
		element("h3", {}, "Pairs of ranks"),
		soft("The less colour, the worse beside the others: a slow rank is a pale row " +
			"and a pale column. Who is named is slower than noise explains."),
		data.pairs.map(makeMatrix),
		data.pairs_hidden > 0 && soft(`${data.pairs_hidden} more are not shown: `,
			element("code", {}, "scripts/plot matrix"), " draws them.")) : null;
}

function makeFigures() {
	/* As pictures, which can neither run scripts nor load anything. */
	const pictures = data.figures.map(({name, svg}) => element("figure", {class: "card"},
		element("img", {alt: "Figure " + name, loading: "lazy",
			src: "data:image/svg+xml," + encodeURIComponent(svg)}),
		element("figcaption", {}, name)));

	return element("section", {id: "figures", "aria-labelledby": "figures-title"},
		element("h2", {id: "figures-title"}, "Figures"),
		soft("Each algorithm with its quickest protocol at each size. Bars are 95% " +
			"intervals; points say their numbers when pointed at."),
		data.sections.map(makeCharts), makePairs(), pictures);
}
