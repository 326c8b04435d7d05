/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws the report from the one JSON document in the page. Text of result files goes into the page
 * as text only, by nodes, never as HTML. This is the last of the files that become the page's
 * script (assets.c): table.js, summary.js, figures.js and tables.js stand before it.
 *
 * Tables of rows are sortable and filterable. One page of 100 rows is in the document at a time: so
 * ten thousand are as quick as ten. The state of a table is in the address after #, as
 * #rows?q=ring&sort=median_us&dir=desc&page=2&f.program=all_reduce, so that a view can be sent
 * to somebody (and tests can ask for one).
 */
"use strict";

/* A point's own words beside it at once, where the browser's title comes late or never. */
function showTips() {
	const tip = document.getElementById("tip");

	document.addEventListener("pointerover", (event) => {
		const point = event.target.closest(".point");

		tip.style.display = point ? "block" : "none";
		if (!point)
			return;
		tip.textContent = point.querySelector("title").textContent;
		const box = point.getBoundingClientRect();
		const right = innerWidth - tip.offsetWidth - 4;
		tip.style.left = Math.max(4, Math.min(box.left, right)) + "px";
		tip.style.top = Math.max(4, box.top - tip.offsetHeight - 6) + "px";
	});
}

function makeFooter() {
	return element("footer", {}, element("p", {}, `Made by fabricbench ${data.version} ` +
		`(${data.revision}) from `, element("code", {}, data.path), ". Times are medians " +
		"over repetitions of the time until the last rank is through; intervals are 95%; " +
		"rates are in 1e9 bytes per second."));
}

document.title = data.name + ", fabricbench";
document.body.replaceChildren(
	element("a", {class: "skip", href: "#summary"}, "To the summary"), makeTop(),
	makeNavigation(), element("main", {}, makeSummary(), makeFindings(),
		data.base ? makeComparison() : "", makeFigures(), makeRows(), makeFacts()),
	makeFooter(), element("div", {id: "tip"}));
tables.forEach((table) => table.fromAddress());
showTips();
/* On paper everything is open. */
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => {
	d.open = true;
}));
document.documentElement.dataset.ready = "yes";
