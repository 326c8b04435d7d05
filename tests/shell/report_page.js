/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests/shell/report.sh does to a report page that lies in a frame: it reads, types and clicks
 * as a person would, and writes a line `good NAME` or `bad NAME: WHAT` for each thing looked at.
 */
"use strict";

const lines = [];

function check(name, good, what) {
	lines.push(good ? "good " + name : "bad " + name + ": " + what);
}

/* Relative luminance and contrast as WCAG 2 defines them; colours as computed: rgb(r, g, b). */
function luminance(rgb) {
	const part = rgb.map((x) => {
		x /= 255;
		return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	});

	return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

function colour(text) {
	return text.match(/[\d.]+/g).map(Number);
}

/* The background that an element really stands on. */
function background(view, e) {
	for (; e; e = e.parentElement) {
		const c = colour(view.getComputedStyle(e).backgroundColor);

		if (c.length < 4 || c[3] > 0.99)
			return c.slice(0, 3);
	}
	return [255, 255, 255];
}

function contrast(view, e) {
	const a = luminance(colour(view.getComputedStyle(e).color).slice(0, 3));
	const b = luminance(background(view, e));

	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function checkLayout(view, page) {
	const root = page.documentElement;
	const wide = [...page.querySelectorAll("body *")].filter((e) =>
		!e.closest(".scroll, nav, .skip, .hidden") &&
		e.getBoundingClientRect().right > root.clientWidth + 1);

	check("no_overflow", root.scrollWidth <= root.clientWidth && wide.length === 0,
		`${root.scrollWidth} of ${root.clientWidth}; ` +
		wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(" | "));
	check("charts_visible", [...page.querySelectorAll("svg.chart")].every((e) =>
		e.getBoundingClientRect().width > 200), "a chart is narrower than 200 pixels");
	/* The least letters of a chart, as they come out at this width. */
	const text = page.querySelector("svg.chart text");
	const size = text ? 12 * text.ownerSVGElement.getBoundingClientRect().width / 420 : 12;
	check("chart_letters", size >= 9, `${size} pixels`);
}

function checkStructure(view, page) {
	const ids = [...page.querySelectorAll("[id]")].map((e) => e.id);
	const links = [...page.querySelectorAll("[src], [href]")].map((e) =>
		e.getAttribute("src") || e.getAttribute("href"));
	const levels = [...page.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]));

	check("one_h1", levels.filter((x) => x === 1).length === 1, levels);
	check("levels", levels.every((x, i) => i === 0 || x - levels[i - 1] <= 1), levels);
	check("language", page.documentElement.lang === "en", page.documentElement.lang);
	check("unique_ids", new Set(ids).size === ids.length, "an id twice");
	check("no_addresses", links.every((x) => /^(#|data:)/.test(x)),
		links.filter((x) => !/^(#|data:)/.test(x)).slice(0, 3));
	check("nav_targets", [...page.querySelectorAll("nav a")].every((a) =>
		page.getElementById(a.getAttribute("href").slice(1))), "a link leads nowhere");
	check("labels", [...page.querySelectorAll("input, select")].every((e) => e.labels.length),
		"a field without label");
	check("names", [...page.querySelectorAll("button, a, summary")].every((e) =>
		e.textContent.trim()), "a button without text");
	check("alternatives", [...page.querySelectorAll("img, svg")].every((e) =>
		e.getAttribute("alt") || e.getAttribute("aria-label") ||
		e.getAttribute("aria-hidden")), "a picture without words");
	check("captions", [...page.querySelectorAll("table")].every((e) =>
		e.caption && e.caption.textContent), "a table without caption");
	/* What scrolls must be reached by keyboard. */
	check("scrollable", [...page.querySelectorAll(".scroll")].every((e) =>
		e.tabIndex === 0 && e.getAttribute("aria-label")), "a box that no key scrolls");
	for (const name of ["body", ".soft", "th", ".tag", ".banner", "td", "nav a", ".tile span",
		"figcaption", "footer p", ".tile b", "summary"]) {
		const low = [...page.querySelectorAll(name)].find((e) => contrast(view, e) < 4.5);

		check("contrast " + name, !low, low && contrast(view, low).toFixed(2) + " " +
			low.outerHTML.slice(0, 80));
	}
}

function rowsOf(box) {
	return [...box.querySelectorAll("tbody tr")].map((tr) =>
		[...tr.cells].map((td) => td.textContent));
}

function type(view, field, text) {
	field.value = text;
	field.dispatchEvent(new view.Event(field.tagName === "SELECT" ? "change" : "input",
		{bubbles: true}));
}

function checkTable(view, page) {
	const box = page.querySelector("#rows .datatable");
	const heads = [...box.querySelectorAll("th")];
	const names = heads.map((th) => th.textContent);
	const at = names.indexOf("median us"), program = names.indexOf("program");
	const status = box.querySelector("[role=status]");
	const all = Number(status.textContent.match(/of (\d+) rows/)[1]);
	/* Rows without a time come last in either direction. */
	const known = (texts) => texts.slice(0, texts.findLastIndex((t) => t !== "") + 1);
	const medians = () => known(rowsOf(box).map((r) => r[at])).map(Number);
	const rising = (x) => x.every((v, i) => i === 0 || x[i - 1] <= v);

	check("all_rows", all === window.ROWS, `${all}, want ${window.ROWS}`);
	check("page_of_100", rowsOf(box).length === Math.min(100, all), rowsOf(box).length);
	heads[at].querySelector("button").click();
	check("sorted_up", rising(medians()) && heads[at].getAttribute("aria-sort") ===
		"ascending", medians().slice(0, 5));
	heads[at].querySelector("button").click();
	check("sorted_down", rising(medians().reverse()) && heads[at].getAttribute("aria-sort") ===
		"descending", medians().slice(0, 5));
	check("sorted_really", medians()[0] > medians().at(-1), medians());
	check("in_address", /sort=median_us&dir=desc/.test(view.location.hash), view.location.hash);
	type(view, box.querySelector("input"), "RING direct");
	check("searched", rowsOf(box).length > 0 && rowsOf(box).every((r) =>
		/ring/.test(r.join(" ")) && /direct/.test(r.join(" "))) &&
		/in all/.test(status.textContent), status.textContent);
	type(view, box.querySelector("input"), "no such words");
	check("found_nothing", rowsOf(box).length === 0 && status.textContent === "no row",
		status.textContent);
	type(view, box.querySelector("input"), "");
	const select = [...box.querySelectorAll("label")].find((l) =>
		l.firstChild.textContent === "program")?.querySelector("select");
	if (select) {
		type(view, select, "all_reduce");
		check("filtered", rowsOf(box).length > 0 && rowsOf(box).every((r) =>
			r[program] === "all_reduce"), status.textContent);
		type(view, select, "");
	}
	const next = [...box.querySelectorAll("button")].find((b) => b.textContent === "Next");
	const first = rowsOf(box)[0].join();
	if (all > 100) {
		next.click();
		check("second_page", /^101 to /.test(status.textContent) &&
			rowsOf(box)[0].join() !== first, status.textContent);
	}
	/* A view that somebody sent. */
	view.location.hash = "#rows?q=ring&sort=median_us&dir=asc";
}

function checkAddress(page) {
	const box = page.querySelector("#rows .datatable");

	check("from_address", box.querySelector("input").value === "ring" &&
		rowsOf(box).every((r) => /ring/.test(r.join(" "))),
		box.querySelector("input").value);
}

function checkFacts(view, page) {
	const input = page.getElementById("facts-search");
	const shown = () => [...page.querySelectorAll("#facts tbody tr")].filter((r) => !r.hidden);
	const all = shown().length;

	type(view, input, "kernel");
	check("facts_searched", shown().length > 0 && shown().length < all && shown().every((r) =>
		/kernel/i.test(r.textContent)), `${shown().length} of ${all}`);
}

const frame = document.querySelector("iframe");

frame.addEventListener("load", () => {
	const view = frame.contentWindow, page = frame.contentDocument;

	try {
		check("ready", page.documentElement.dataset.ready === "yes",
			"the script did not run");
		check("not_taken_over", !page.documentElement.dataset.taken, "foreign script ran");
		checkLayout(view, page);
		checkStructure(view, page);
		checkTable(view, page);
		checkFacts(view, page);
		checkLayout(view, page);
	} catch (error) {
		check("no_exception", false, error.stack);
	}
	setTimeout(() => {
		checkAddress(page);
		document.getElementById("out").textContent = "\n" + lines.join("\n") + "\nend\n";
	}, 100);
});
