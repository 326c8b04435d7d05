/* SPDX-License-Identifier: BSD-3-Clause */
/* The first screen, and what a careful reader would look for; see page.js. */
"use strict";

/* --- what the numbers of a section amount to ------------------------------------------------- */

/* The best of a place: the project's, else the library's. */
const bestOf = (place) => place.mine || place.library;
const geomean = (x) => x.length ? Math.exp(x.reduce((a, r) => a + Math.log(r), 0) / x.length) : NaN;

/* Ratios of the library's time by the best own one, over sizes. */
function ratiosOf(sections) {
	const r = {all: [], slower: 0, quicker: 0, least: null};

	for (const section of sections)
		for (const place of section.places) {
			const own = place.mine;

			if (!own || !Number.isFinite(own.ratio))
				continue;
			r.all.push(own.ratio);
			r.slower += own.ratio_high < 1;
			r.quicker += own.ratio_low > 1;
			if (!r.least || own.ratio < r.least.ratio)
				r.least = {ratio: own.ratio, program: section.program,
					bytes: place.bytes};
		}
	return r;
}

function placeText(section, place, cell) {
	return `${section.program}, ${cell.label}, ${sizeText(place.bytes)} bytes, ` +
		`${place.ranks} ranks`;
}

/* --- the top --------------------------------------------------------------------------------- */

function makeTop() {
	const moments = rowsOf("utc").sort();
	const facts = data.machine.map(([name, value]) => [name,
		/* What follows a library's name is its packager's. */
		name === "MPI" ? value.split(",")[0] : value]);

	if (moments.length)
		facts.push(["Measured", `${moments[0]} to ${moments.at(-1)}`]);
	return element("header", {class: "top"},
		element("p", {class: "kicker"}, "fabricbench report"),
		element("h1", {}, data.name),
		data.base && soft("compared with the base ", element("b", {}, data.base.name)),
		element("dl", {class: "facts"}, facts.map(([name, value]) => element("div", {},
			element("dt", {}, name), element("dd", {}, value)))));
}

function makeNavigation() {
	const parts = ["summary", "findings", "comparison", "figures", "rows", "environment"];

	return element("nav", {"aria-label": "Parts of the report"}, element("ul", {},
		parts.filter((id) => data.base || id !== "comparison").map((id) => element("li", {},
			element("a", {href: "#" + id}, id[0].toUpperCase() + id.slice(1))))));
}

/* --- summary --------------------------------------------------------------------------------- */

function makeBanners() {
	const banner = (kind, text) => element("p",
		{class: "banner " + kind, role: "status"}, text);
	const {wrong, fault, few} = data.tally;
	const all = data.doubts.map((doubt) => banner("warn", doubt));

	if (wrong || fault)
		all.push(banner("bad", `Not all is well: ${wrong} rows had wrong data, ${fault} ` +
			"ended in a fault."));
	else if (few)
		all.push(banner("warn", `All data were right; ${few} rows rest on fewer than 5 ` +
			"repetitions."));
	else
		all.push(banner("good", "All data were right, and no row ended in a fault."));
	return all;
}

function tile(kind, value, ...text) {
	return element("div", {class: "tile " + kind}, element("b", {}, value),
		element("span", {}, ...text));
}

function makeTiles(ratios) {
	const {ok, few, wrong, fault, skipped} = data.tally, mean = geomean(ratios.all);
	const tiles = [tile("", ok + few, "rows measured"),
		tile(wrong + fault ? "bad" : "good", wrong + fault, "wrong or faulty"),
		tile("", skipped, "skipped, with a reason")];

	if (ratios.all.length)
		tiles.push(tile(mean >= 1 ? "good" : "bad", mean.toFixed(2),
			`library / own time, geometric mean over ${ratios.all.length} sizes`),
		tile(ratios.least.ratio < 1 ? "bad" : "good", ratios.least.ratio.toFixed(2),
			`least: ${ratios.least.program}, ${sizeText(ratios.least.bytes)} bytes`),
		tile("", `${ratios.quicker} : ${ratios.slower}`,
			"sizes at which own is quicker : slower, intervals apart"));
	return element("div", {class: "tiles"}, tiles);
}

/* A ratio with a bar: half full is equal, full is eight times as quick. */
function ratioCell(ratio, low, high) {
	if (!Number.isFinite(ratio))
		return number("");
	const share = Math.min(100, Math.max(4, 50 + 50 * Math.log2(ratio) / 3));
	return element("td", {class: "n"}, ratio.toFixed(2) + (low <= 1 && high >= 1 ? " ~" : ""),
		element("span", {class: "bar " + (ratio < 1 ? "slow" : ""), "aria-hidden": "true"},
			element("i", {style: `width:${share.toFixed(0)}%`})));
}

function makeOperations() {
	const rows = data.sections.map((section, s) => {
		const r = ratiosOf([section]), mean = geomean(r.all);

		return r.all.length ? element("tr", {}, element("td", {class: "wrap"},
			element("a", {href: `#section-${s + 1}`}, section.title)),
		number(r.all.length), ratioCell(mean, mean, mean), number(r.least.ratio.toFixed(2)),
		number(r.quicker), number(r.slower)) : null;
	});
	const label = "Each operation beside the library";

	return [element("h3", {}, label), scrolling(label, element("table", {},
		element("caption", {class: "hidden"}, "Library's time by the own best time"),
		element("thead", {}, element("tr", {}, heading("operation", ""), ["sizes",
			"geometric mean", "least", "quicker", "slower"].map((x) => heading(x)))),
		element("tbody", {}, rows)), " card")];
}

const timeText = (us) => !Number.isFinite(us) ? "" : us < 1000 ? digits(us, 4) : us.toFixed(0);
const percent = (x, n) => Number.isFinite(x) ? digits(100 * x, n) + "%" : "";

function makeSection(section, s) {
	const mean = geomean(ratiosOf([section]).all);
	const rows = section.places.map((place) => {
		const best = bestOf(place), own = place.mine;
		const half = Math.max(best.high - best.us, best.us - best.low) / best.us;

		return element("tr", {}, place.at.map((x) => number(x)),
			section.sizes && number(sizeText(place.bytes)),
			element("td", {}, best.label),
			number(timeText(best.us)),
			number(Number.isFinite(half) ? (100 * half).toFixed(1) + "%" : ""),
			number(best.GBps > 0 ? digits(best.GBps, 3) : ""),
			number(percent(best.bound / best.us, 3)),
			number(timeText(place.library?.us)),
			ratioCell(own?.ratio, own?.ratio_low, own?.ratio_high),
			place.own.map((x) => number(x)));
	});
	const columns = ["us", "\u00b1", "GB/s", "of the bound", "library us", "library / own",
		...section.own];
	const table = element("table", {},
		element("caption", {class: "hidden"}, section.title + ": best algorithm per size"),
		element("thead", {}, element("tr", {}, section.axes.map((x) => heading(x)),
			section.sizes && heading("bytes"), heading("best of own", ""),
			columns.map((x) => heading(x)))),
		element("tbody", {}, rows));

	return element("details", {class: "card", open: s === 0}, element("summary", {},
		section.title, Number.isFinite(mean) && element("span", {class: "soft"},
			` library / own ${mean.toFixed(2)}`)), scrolling(section.title, table));
}

function makeSummary() {
	const ratios = ratiosOf(data.sections);

	return element("section", {id: "summary", "aria-labelledby": "summary-title"},
		element("h2", {id: "summary-title", class: "hidden"}, "Summary"), makeBanners(),
		makeTiles(ratios), ratios.all.length > 0 && makeOperations(),
		element("h3", {}, "Best algorithm per size"),
		soft("Best: the one whose interval ends first. Above 1 the own one is quicker; ~ " +
			"means that the two intervals overlap, so no difference was seen. The " +
			"bound is the least possible time on this memory or link."),
		data.sections.map(makeSection),
		data.pair_sections > 0 && soft(`${data.pair_sections} tables of single pairs of ` +
			"ranks are ", element("a", {href: "#pairs"}, "matrices"), " instead."));
}

/* --- findings: counted first, then with the worst few ---------------------------------------- */

/* From this size on time goes by bytes, and the bound is one that can be reached. */
const FAR_BYTES = 65536, FAR_SHARE = 0.5, WORST = 8, LISTED = 50;

function finding(kind, text, what, list) {
	return element("li", {}, tag(kind, text), " ", what,
		list && element("ul", {}, list.map((x) => element("li", {}, x))));
}

function badRows(status, what) {
	const bad = data.troubles.filter(([s]) => s === status);
	const list = bad.slice(0, LISTED).map(([, text, reason]) =>
		text + (reason ? ": " + reason : ""));

	if (bad.length > LISTED)
		list.push(`and ${bad.length - LISTED} more`);
	/* A bad row is never folded away. */
	return bad.length ? element("li", {}, element("details", {open: status !== "few"},
		element("summary", {}, tag(status, `${bad.length} ${status}`), " ",
			element("span", {class: "soft"}, what)),
		element("ul", {}, list.map((x) => element("li", {}, x))))) : null;
}

/* Every reason once, with how many rows it is of. */
function skippedRows() {
	const reasons = new Map();

	for (const [status, , reason] of data.troubles)
		if (status === "skipped")
			reasons.set(reason, (reasons.get(reason) || 0) + 1);
	return data.tally.skipped ? finding("skipped", `${data.tally.skipped} skipped`,
		"cases that could not be run here",
		[...reasons].map(([r, n]) => `${n}: ${r}`)) : null;
}

function flaggedRows() {
	const flags = rowsOf("flags").map((text) => text.split(";"));

	return data.symptoms.map(([name, sign, causes, look, remedy]) => {
		const n = flags.filter((list) => list.includes(name)).length;

		return n ? finding("few", `${n} ${name}`, [sign + ". ",
			element("a", {href: "#rows?q=" + name}, "Show the rows")],
		["Usual causes: " + causes, "Look at: " + look, "What helps: " + remedy]) : null;
	});
}

/* Own cells with a value, the least first. */
function ranked(value) {
	return data.sections.flatMap((section) => section.places.filter((p) => p.mine)
		.map((place) => ({place, value: value(place),
			text: placeText(section, place, place.mine)})))
		.filter((x) => Number.isFinite(x.value)).sort((a, b) => a.value - b.value);
}

/* Where the library is quicker than all own algorithms, with intervals apart. */
function slowerOnes() {
	const list = ranked((p) => p.mine.ratio).filter((x) => x.place.mine.ratio_high < 1);

	return list.length ? finding("few", `${list.length} slower than the library`, "sizes at " +
		"which the library is quicker than every own algorithm, intervals apart:",
	list.slice(0, WORST).map((x) => `${x.text}: library / own ${x.value.toFixed(2)}`)) : null;
}

/* The best own cells of large sizes that take more than twice the bound. */
function farOnes() {
	const large = ranked((p) => p.mine.bound / p.mine.us).filter((x) =>
		x.place.bytes >= FAR_BYTES);
	const list = large.filter((x) => x.value < FAR_SHARE);

	return list.length ? finding("skipped", `${list.length} far from the bound`, `of ` +
		`${large.length} sizes from 64K on, the best algorithm takes more than twice the ` +
		"least possible time. The farthest:", list.slice(0, WORST).map((x) =>
		`${x.text}: ${percent(x.value, 3)} of the bound`)) : null;
}

function makeFindings() {
	const {wrong, fault, few} = data.tally;

	return element("section", {id: "findings", "aria-labelledby": "findings-title"},
		element("h2", {id: "findings-title"}, "Findings"),
		element("div", {class: "card"}, element("ul", {class: "findings"},
			badRows("wrong", "rows whose data differed from the expected"),
			badRows("fault", "rows that ended in a fault"),
			badRows("few", "rows with fewer than 5 repetitions"),
			wrong + fault + few === 0 && finding("ok", "ok", "No wrong data, no " +
				"fault, no row with too few repetitions."),
			skippedRows(), flaggedRows(),
			data.laggards.map((sentence) => finding("few", "late", sentence)),
			slowerOnes(), farOnes())));
}
