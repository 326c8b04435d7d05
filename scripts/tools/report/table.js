/* SPDX-License-Identifier: BSD-3-Clause */
/* What every part of the page uses: nodes, numbers as text, tables that sort and filter. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const PAGE_ROWS = 100;

function fill(e, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== false && value !== undefined)
			e.setAttribute(key, value === true ? "" : value);
	e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
	return e;
}

function element(name, attributes, ...children) {
	return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes,
		children);
}

const soft = (...text) => element("p", {class: "soft"}, ...text);
const tag = (kind, text) => element("span", {class: "tag " + kind}, text);

/* 65536 as 64K, as sizes are typed. */
function sizeText(bytes) {
	let i = 0;

	while (bytes >= 1024 && bytes % 1024 === 0 && i < 4) {
		bytes /= 1024;
		i++;
	}
	return bytes + ["", "K", "M", "G", "T"][i];
}

/* So many significant digits, no exponent for what people read. */
function digits(x, n) {
	return Number.isFinite(x) ? String(Number(x.toPrecision(n))) : "";
}

function numberText(x) {
	if (x === null || x === undefined)
		return "";
	if (Number.isInteger(x) && Math.abs(x) < 1e7)
		return String(x);
	if (x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e7))
		return x.toPrecision(4);
	return digits(x, 4);
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

/* A box that scrolls, which keys must reach too, with a table. */
function scrolling(label, table, more) {
	return element("div", {class: "scroll" + (more || ""), tabindex: "0", role: "region",
		"aria-label": label}, table);
}

const number = (text, attributes) => element("td", {class: "n", ...attributes}, text);
const heading = (text, of) => element("th", {scope: "col", class: of ?? "n"}, text);

/* All tables of rows: once they are in the page they show what the address asks for. */
const tables = [];

class DataTable {
	constructor(name, caption, columns, rows) {
		this.box = element("div", {class: "datatable"});
		this.name = name;
		this.caption = caption;
		this.columns = columns;
		this.rows = rows;
		/* What the search looks at: made once. */
		this.text = this.rows.map((row) => row.map((value, i) =>
			cellText(this.columns[i], value)).join(" ").toLowerCase());
		this.reset();
		this.build();
		addEventListener("hashchange", () => this.fromAddress());
		tables.push(this);
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
			this.caption));
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
			role: "region", "aria-label": this.caption}, table),
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
