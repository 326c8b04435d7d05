/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws a report page without a browser, by as little of a document as its script needs, and prints
 * it as HTML, a line for each element: node report_dom.js FILE. With a second word it prints what
 * that expression gives of the page's `data` instead.
 */
"use strict";

const fs = require("fs");
const vm = require("vm");

const page = fs.readFileSync(process.argv[2], "utf8");
const json = page.match(/<script type="application\/json"[^>]*>([^<]*)<\/script>/)[1];
const script = page.match(/<script nonce="[^"]*">\n([^]*)<\/script>\n<\/body>/)[1];

const escape = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;")
	.replaceAll('"', "&quot;");

class Element {
	constructor(name) {
		this.name = name;
		this.attributes = {};
		this.children = [];
		this.dataset = {};
		this.style = {};
		this.value = "";
	}

	setAttribute(name, value) {
		this.attributes[name] = value;
	}

	removeAttribute(name) {
		delete this.attributes[name];
	}

	append(...children) {
		this.children.push(...children);
	}

	replaceChildren(...children) {
		this.children = children;
	}

	set textContent(text) {
		this.children = [text];
	}

	get textContent() {
		return this.children.map((c) => c instanceof Element ? c.textContent : c).join("");
	}

	addEventListener() {
	}

	querySelectorAll() {
		return [];
	}

	html() {
		const attributes = Object.entries(this.attributes).map(([name, value]) =>
			` ${name}="${escape(value)}"`).join("");

		return `\n<${this.name}${attributes}>` + this.children.map((c) =>
			c instanceof Element ? c.html() : escape(c)).join("") + `</${this.name}>`;
	}
}

const body = new Element("body"), data = new Element("script");

data.append(json);
if (process.argv.length > 3) {
	console.log(vm.runInNewContext(process.argv[3], {data: JSON.parse(json)}));
} else {
	const document = {
		body,
		documentElement: new Element("html"),
		createElement: (name) => new Element(name),
		createElementNS: (space, name) => new Element(name),
		getElementById: (id) => id === "data" ? data : new Element("div"),
		querySelectorAll: () => [],
		addEventListener: () => {},
	};

	vm.runInNewContext(script, {document, location: {hash: ""}, URLSearchParams, decodeURI,
		addEventListener: () => {}});
	console.log(body.html());
}
