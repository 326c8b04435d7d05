/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of two runs, all rows, and the environment; see page.js. */
"use strict";

/* --- comparison ------------------------------------------------------------------------------ */

const COMPARED = {
	program: {filter: true}, algorithm: {filter: true}, protocol: {filter: true},
	bytes: {type: "bytes", help: "message size", filter: true},
	ranks: {type: "number", filter: true},
	rest: {label: "other keys", help: "keys beyond those"},
	base: {type: "number"}, new: {type: "number"},
	ratio: {type: "number", label: "new / base", help: "above 1 the new one is slower"},
	ratio_low: {type: "number", label: "low", help: "lower end of the ratio's interval"},
	ratio_high: {type: "number", label: "high", help: "upper end"},
	verdict: {help: "of compare", filter: true, tag: true}, reason: {wrap: true},
};

function makeVerdicts(c) {
	const at = c.columns.indexOf("verdict");

	return element("div", {class: "tiles"}, [["REGRESSED", "bad"], ["IMPROVED", "good"],
		["UNSURE", ""], ["SAME", ""]].map(([verdict, kind]) => {
		const n = c.rows.filter((row) => row[at] === verdict).length;

		return tile(n ? kind : "", n, element("a",
			{href: "#comparison-rows?f.verdict=" + verdict}, verdict));
	}));
}

function makeComparison() {
	const c = data.comparison, same = data.base.name === data.name;
	const columns = c.columns.map((name) => ({name, label: name, type: "text",
		...COMPARED[name]}));
	const table = new DataTable("comparison-rows", "Rows of both runs" +
		(c.verdicts ? " with verdicts" : ""), columns, c.rows);
	const at = (name) => c.columns.indexOf(name);
	const ratios = c.rows.map((r) => r[at("new")] / r[at("base")]);

	/* The sides of one study have its name both; then their folders tell them apart. */
	return element("section", {id: "comparison", "aria-labelledby": "comparison-title"},
		element("h2", {id: "comparison-title"}, "Comparison"),
		soft(`base: ${same ? data.base.path : data.base.name}, new: ` +
			`${same ? data.path : data.name}. What differs between the two ` +
			"environments is marked under ",
		element("a", {href: "#environment"}, "Environment"), "."),
		soft(`Each side's value is the ${data.estimator}, new / base the quotient of the ` +
			"two, low and high the ends of its 95% interval."),
		c.verdicts ? makeVerdicts(c) : element("p", {class: "banner warn"}, "No " +
			"verdicts: ratios alone do not say whether anything changed, as the same " +
			"program differs from one start to the next. ",
		element("code", {}, "compare --csv FILE BASE NEW"), " judges, and ",
		element("code", {}, "--verdicts FILE"), " shows it here."),
		element("div", {class: "card", style: "margin-top:14px"}, table.box),
		!c.verdicts && soft(`${c.rows.length} rows are in both runs, ${c.alone} have no ` +
			"counterpart in the base." + (ratios.length ? " Geometric mean of new / " +
			`base: ${geomean(ratios).toFixed(3)}.` : "")));
}

/* --- rows ------------------------------------------------------------------------------------ */

/* How columns are shown, where that is not by their name. */
const SHOWN = {
	program: {filter: true}, operation: {filter: true}, engine: {filter: true},
	algorithm: {filter: true}, protocol: {filter: true},
	bytes: {type: "bytes", filter: true}, median_us: {label: "median us"},
	busbw_GBps: {label: "GB/s"}, efficiency: {label: "of bound", type: "percent"},
	status: {filter: true, tag: true}, median_low_us: {label: "low us"},
	median_high_us: {label: "high us"}, p95_us: {label: "p95 us"}, skew_us: {label: "skew us"},
	transport: {filter: true}, datatype: {label: "type", filter: true},
	redop: {label: "reduction", filter: true}, in_place: {label: "in place", filter: true},
	ranks: {filter: true}, nodes: {filter: true}, memory: {filter: true},
	registration: {filter: true}, launch: {filter: true}, cadence: {filter: true},
	launch_index: {label: "start"},
};

/* All rows' values of a column of that name. */
function rowsOf(name) {
	const at = data.rows.columns.findIndex((c) => c.name === name);

	return data.rows.rows.map((row) => row[at]);
}

/* Key columns in which no two rows differ are said once above the table instead. */
function makeRows() {
	const {columns, rows} = data.rows, said = [], shown = [];
	const programs = rowsOf("program"), operations = rowsOf("operation");
	/* Most programs time one operation, which has their name. */
	const plain = programs.every((program, i) => program === operations[i]);

	columns.forEach((column, i) => {
		const first = rows.length ? rows[0][i] : null;
		const constant = rows.length > 1 && rows.every((row) => row[i] === first);
		const empty = rows.every((row) => row[i] === "" || row[i] === null);
		const differs = column.key || column.name === "launch_index" ? !constant : !empty;

		if (column.name === "utc" || (plain && column.name === "operation"))
			return;
		if (["status", "median_us"].includes(column.name) || differs)
			shown.push({at: i, label: column.name,
				type: column.number ? "number" : "text", ...column,
				...SHOWN[column.name]});
		else if (column.key && !empty && first !== "-")
			said.push([said.length ? ", " : "",
				(SHOWN[column.name]?.label || column.name) + " ",
				element("b", {}, String(first))]);
	});
	const table = new DataTable("rows", "Rows of the result files", shown, rows.map((row) =>
		shown.map((column) => row[column.at])));

	return element("section", {id: "rows", "aria-labelledby": "rows-title"},
		element("h2", {id: "rows-title"}, "Rows"), element("div", {class: "card"},
			said.length > 0 && soft("The same in all rows: ", said, "."), table.box));
}

/* --- environment ----------------------------------------------------------------------------- */

/* Facts of single ranks and hosts are joined to one line for each key. */
function joinFacts(facts) {
	const joined = new Map();

	for (const [host, rank, key, value] of facts || [])
		joined.set(key, [...joined.get(key) || [], rank ? `rank ${rank}: ${value}` :
			host ? `${host}: ${value}` : value]);
	for (const [key, values] of joined)
		joined.set(key, values.slice(0, WORST).join(", ") + (values.length > WORST ?
			`, and ${values.length - WORST} more` : ""));
	return joined;
}

function makeFacts() {
	const facts = joinFacts(data.facts), before = joinFacts(data.base_facts);
	const keys = [...new Set([...facts.keys(), ...before.keys()])].sort();
	/* Facts that differ from one moment to the next say nothing about what changed. */
	const lasting = (key) => !/^(host|program)\./.test(key);
	const row = (key) => {
		const value = facts.get(key) || "", old = before.get(key) || "";
		const differs = data.base && value !== old;

		return element("tr", {"data-differs": differs && "1"},
			element("th", {scope: "row", class: "wrap"}, key),
			data.base && element("td", {class: "wrap"}, old),
			element("td", {class: "wrap" + (differs ? " differs" : "")}, value));
	};
	const table = (title, list, open) => list.length ? element("details", {open},
		element("summary", {}, title + " ", element("span", {class: "soft"}, list.length)),
		scrolling(title, element("table", {}, element("caption", {class: "hidden"}, title),
			element("thead", {}, element("tr", {}, heading("fact", ""),
				data.base && heading("base: " + data.base.name, ""),
				heading(data.base ? data.name : "value", ""))),
			element("tbody", {}, list.map(row))))) : null;
	const status = element("span", {role: "status", class: "soft"});
	const search = element("input", {type: "search", id: "facts-search",
		placeholder: "words, all of them"});
	const only = element("input", {type: "checkbox", id: "facts-search-differs"});
	const card = element("div", {class: "card", id: "facts"}, keys.length ? [
		element("div", {class: "tools", role: "search"},
			element("label", {}, "Search", search),
			data.base && element("label", {}, element("span", {}, only,
				" only what differs")), status),
		table("Machine and software", keys.filter(lasting), true),
		table("Settings, self-tests and the moment of the run",
			keys.filter((key) => !lasting(key)), false)] :
		element("p", {}, "There is no environment.csv beside the rows."));

	filterFacts(card, search, only, status);
	return element("section", {id: "environment", "aria-labelledby": "environment-title"},
		element("h2", {id: "environment-title"}, "Environment"), card);
}

function filterFacts(card, search, only, status) {
	const rows = [...card.querySelectorAll("tbody tr")];
	const text = rows.map((row) => row.textContent.toLowerCase());
	const [name, query] = decodeURI(location.hash.slice(1)).split("?");

	function apply() {
		const words = search.value.toLowerCase().split(/\s+/).filter((w) => w);
		let shown = 0;

		rows.forEach((row, i) => {
			const hit = words.every((w) => text[i].includes(w)) &&
				(!only.checked || row.dataset.differs);

			row.hidden = !hit;
			shown += hit ? 1 : 0;
		});
		status.textContent = `${shown} of ${rows.length} facts`;
		if (words.length)
			card.querySelectorAll("details").forEach((d) => {
				d.open = true;
			});
	}
	search.addEventListener("input", apply);
	only.addEventListener("change", apply);
	if (name === "environment" && query)
		search.value = new URLSearchParams(query).get("q") || "";
	apply();
}
