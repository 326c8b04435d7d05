/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes the report's tables sortable and filterable. Rows lie as JSON in the page, of which
 * one page of 100 is in the document at a time: so ten thousand are as quick as ten. Text goes into
 * the document as text only. The state of a table is in the address after #, as
 * #rows?q=ring&sort=median_us&dir=desc&page=2&f.program=all_reduce, so that a view can be sent
 * to somebody (and tests can ask for one).
 */
"use strict";

const PAGE_ROWS = 100;

function element(name, attributes, ...children) {
	const e = document.createElement(name);

	for (const [key, value] of Object.entries(attributes || {}))
		e.setAttribute(key, value);
	e.append(...children);
	return e;
}

/* 65536 as 64K, as sizes are typed. */
function sizeText(bytes) {
	let i = 0;

	while (bytes >= 1024 && bytes % 1024 === 0 && i < 4) {
		bytes /= 1024;
		i++;
	}
	return bytes + ["", "K", "M", "G", "T"][i];
}

/* Four significant digits, no exponent for what people read. */
function numberText(x) {
	if (x === null || x === undefined)
		return "";
	if (Number.isInteger(x) && Math.abs(x) < 1e7)
		return String(x);
	if (x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e7))
		return x.toPrecision(4);
	return String(Number(x.toPrecision(4)));
}

function cellText(column, value) {
	if (value === null || value === undefined)
		return "";
	if (column.type === "bytes")
		return sizeText(value);
	if (column.type === "percent")
		return (100 * value).toPrecision(3) + "%";
	return column.type === "text" ? value : numberText(value);
}

class DataTable {
	constructor(box) {
		const data = JSON.parse(document.getElementById(box.dataset.source).textContent);

		this.box = box;
		this.name = box.dataset.name;
		this.columns = data.columns;
		this.rows = data.rows;
		/* What the search looks at: made once. */
		this.text = this.rows.map((row) => row.map((value, i) =>
			cellText(this.columns[i], value)).join(" ").toLowerCase());
		this.reset();
		this.build();
		this.fromAddress();
	}

	reset() {
		this.query = "";
		this.sort = -1;
		this.down = false;
		this.page = 0;
		this.filters = new Map();
	}

	build() {
		const tools = element("div", {class: "tools", role: "search"});
		const table = element("table", {}, element("caption", {class: "hidden"},
			this.box.dataset.caption));
		const head = element("tr");

		this.search = element("input", {type: "search", placeholder: "words, all of them",
			id: this.name + "-search"});
		this.search.addEventListener("input", () => this.change(() => {
			this.query = this.search.value;
		}));
		tools.append(element("label", {}, "Search", this.search));
		this.selects = new Map();
		this.columns.forEach((column, i) => {
			if (column.filter)
				this.addSelect(tools, column, i);
		});
		const save = element("button", {type: "button"}, "Save as CSV");
		save.addEventListener("click", () => this.save());
		tools.append(save);
		this.heads = this.columns.map((column, i) => {
			const button = element("button", {type: "button", title: column.help || ""},
				column.label);
			const th = element("th", {scope: "col",
				class: column.type === "text" ? "" : "n"}, button);

			button.addEventListener("click", () => this.change(() => {
				this.down = this.sort === i && !this.down;
				this.sort = i;
			}));
			head.append(th);
			return th;
		});
		this.body = element("tbody");
		table.append(element("thead", {}, head), this.body);
		this.count = element("span", {role: "status", "aria-live": "polite"});
		this.before = element("button", {type: "button"}, "Previous");
		this.after = element("button", {type: "button"}, "Next");
		this.before.addEventListener("click", () => this.turn(-1));
		this.after.addEventListener("click", () => this.turn(1));
		this.box.replaceChildren(tools, element("div", {class: "scroll", tabindex: "0",
			role: "region", "aria-label": this.box.dataset.caption}, table),
			element("div", {class: "pager"}, this.before, this.after, this.count));
	}

	addSelect(tools, column, i) {
		const values = [...new Set(this.rows.map((row) => row[i]))];
		const select = element("select", {}, element("option", {value: ""}, "all"));

		if (values.length < 2 || values.length > 60)
			return;
		values.sort((a, b) => (a > b) - (a < b));
		for (const value of values)
			select.append(element("option", {value: String(value)},
				cellText(column, value) || "(none)"));
		select.addEventListener("change", () => this.change(() => {
			this.filters.set(i, select.value);
		}));
		this.selects.set(i, select);
		tools.append(element("label", {}, column.label, select));
	}

	/* After any change but turning a page the first page is shown. */
	change(how) {
		how();
		this.page = 0;
		this.show();
		this.toAddress();
	}

	turn(by) {
		this.page += by;
		this.show();
		this.toAddress();
	}

	matches() {
		const words = this.query.toLowerCase().split(/\s+/).filter((w) => w);
		const filters = [...this.filters].filter(([, value]) => value !== "");
		const found = [];

		for (let r = 0; r < this.rows.length; r++)
			if (words.every((w) => this.text[r].includes(w)) &&
			    filters.every(([i, value]) => String(this.rows[r][i]) === value))
				found.push(r);
		if (this.sort >= 0)
			found.sort((a, b) => this.compare(this.rows[a][this.sort],
				this.rows[b][this.sort]) || a - b);
		return found;
	}

	/* What is not known comes last in either direction. */
	compare(a, b) {
		const none = (x) => x === null || x === undefined || x === "";

		if (none(a) || none(b))
			return none(a) - none(b);
		return ((a > b) - (a < b)) * (this.down ? -1 : 1);
	}

	show() {
		const found = this.matches();
		const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
		const first = Math.min(this.page, pages - 1) * PAGE_ROWS;
		const shown = found.slice(first, first + PAGE_ROWS);

		this.page = first / PAGE_ROWS;
		this.found = found;
		this.heads.forEach((th, i) => {
			if (i === this.sort)
				th.setAttribute("aria-sort",
					this.down ? "descending" : "ascending");
			else
				th.removeAttribute("aria-sort");
		});
		this.body.replaceChildren(...shown.map((r) => this.row(this.rows[r])));
		this.count.textContent = found.length === 0 ? "no row" :
			`${first + 1} to ${first + shown.length} of ${found.length} rows` +
			(found.length < this.rows.length ? ` (${this.rows.length} in all)` : "");
		this.before.disabled = this.page === 0;
		this.after.disabled = this.page >= pages - 1;
	}

	row(values) {
		return element("tr", {}, ...values.map((value, i) => {
			const column = this.columns[i], text = cellText(column, value);
			const td = element("td", {class: column.type === "text" ?
				(column.wrap ? "wrap" : "") : "n"});

			if (column.tag && text)
				td.append(element("span", {class: "tag " + text}, text));
			else
				td.append(text);
			if (column.type === "bytes" && value !== null)
				td.title = value + " bytes";
			return td;
		}));
	}

	save() {
		const quote = (x) => /[",\n]/.test(x) ? '"' + x.replaceAll('"', '""') + '"' : x;
		const line = (cells) => cells.map((x) => quote(String(x ?? ""))).join(",") + "\n";
		const text = line(this.columns.map((c) => c.name)) +
			this.found.map((r) => line(this.rows[r])).join("");
		const link = element("a", {download: this.name + ".csv"});

		link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
		link.click();
		URL.revokeObjectURL(link.href);
	}

	toAddress() {
		const state = new URLSearchParams();

		if (this.query)
			state.set("q", this.query);
		if (this.sort >= 0) {
			state.set("sort", this.columns[this.sort].name);
			state.set("dir", this.down ? "desc" : "asc");
		}
		if (this.page)
			state.set("page", this.page + 1);
		for (const [i, value] of this.filters)
			if (value !== "")
				state.set("f." + this.columns[i].name, value);
		history.replaceState(null, "", "#" + this.name + (state.size ? "?" + state : ""));
	}

	fromAddress() {
		const [name, query] = decodeURI(location.hash.slice(1)).split("?");
		const state = new URLSearchParams(name === this.name ? query || "" : "");
		const find = (column) => this.columns.findIndex((c) => c.name === column);

		this.reset();
		this.query = state.get("q") || "";
		this.sort = find(state.get("sort"));
		this.down = state.get("dir") === "desc";
		this.page = Math.max(0, (parseInt(state.get("page"), 10) || 1) - 1);
		for (const [i, select] of this.selects) {
			select.value = state.get("f." + this.columns[i].name) || "";
			this.filters.set(i, select.value);
		}
		this.search.value = this.query;
		this.show();
		if (name === this.name && query)
			this.box.closest("section").scrollIntoView();
	}
}

/* Lists that are in the document as a whole: facts of the environment. */
function filterFacts(input) {
	const rows = [...document.querySelectorAll("#" + input.dataset.for + " tbody tr")];
	const text = rows.map((row) => row.textContent.toLowerCase());
	const only = document.getElementById(input.id + "-differs");
	const status = document.getElementById(input.id + "-count");
	const folds = document.querySelectorAll("#" + input.dataset.for + " details");

	function apply() {
		const words = input.value.toLowerCase().split(/\s+/).filter((w) => w);
		let shown = 0;

		rows.forEach((row, i) => {
			const hit = words.every((w) => text[i].includes(w)) &&
				(!only || !only.checked || row.dataset.differs);

			row.hidden = !hit;
			shown += hit ? 1 : 0;
		});
		status.textContent = `${shown} of ${rows.length} facts`;
		if (words.length)
			folds.forEach((d) => {
				d.open = true;
			});
	}
	input.addEventListener("input", apply);
	if (only)
		only.addEventListener("change", apply);
	const [name, query] = decodeURI(location.hash.slice(1)).split("?");
	if (name === "environment" && query)
		input.value = new URLSearchParams(query).get("q") || "";
	apply();
}

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

for (const box of document.querySelectorAll(".datatable")) {
	const table = new DataTable(box);

	addEventListener("hashchange", () => table.fromAddress());
}
document.querySelectorAll("input[data-for]").forEach(filterFacts);
showTips();
/* On paper everything is open. */
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => {
	d.open = true;
}));
document.documentElement.dataset.ready = "yes";
