#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processors: 1
# timeout: 300
#
# The report page: what its document holds and what its script draws of it (by node, where it is
# there), that nothing from a result file can become part of the page but as text, and, in a real
# Chromium, how it looks and works at the widths of a phone and of a
# desk: no overflow, sorting, searching, filtering, contrast in light and dark, nothing on the
# console, also with 10,000 rows. FB_SHOTS=FOLDER keeps the screenshots.

set -u
export LC_ALL=C
. scripts/lib.sh
. tests/shell/lib.sh
report=$FB_BUILD/bin/report
[ -x "$report" ] || { echo "SKIP report: not built (no libcsv or no jansson)"; exit 0; }
run=results/reference/xeon-16
shots=${FB_SHOTS-$FB_TMP}
export FB_BIN=$FB_BUILD/bin

# write FILE ARGUMENT...: a page by the program.
write() {
	"$report" --output "$@" 2>"$FB_TMP/err"
	expect "exit code of report ${*:2}" $? 0
	expect "stderr of report ${*:2}" "$(cat "$FB_TMP/err")" ''
}

# refuses PATTERN ARGUMENT...: one line on stderr, exit code 3, no file.
refuses() {
	"$report" --output "$FB_TMP/none.html" "${@:2}" 2>"$FB_TMP/err"
	expect "exit code of report ${*:2}" $? 3
	expect "lines on stderr of report ${*:2}" "$(wc -l <"$FB_TMP/err")" 1
	holds "$FB_TMP/err" "$1"
	[ ! -e "$FB_TMP/none.html" ] || fail "report ${*:2} wrote a page"
}

# shows FILE PATTERN...: what the script of the page draws has such lines.
shows() {
	local pattern

	fb_have node || return 0
	node tests/shell/report_dom.js "$1" >"$FB_TMP/drawn" 2>"$FB_TMP/err" ||
		fail "$(cat "$FB_TMP/err")"
	for pattern in "${@:2}"; do
		holds "$FB_TMP/drawn" "$pattern"
	done
}

# says FILE EXPRESSION WANTED: of the page's data.
says() {
	fb_have node || return 0
	expect "$2" "$(node tests/shell/report_dom.js "$1" "$2")" "$3"
}

# rows FILE: how many rows of result files are in the page, one between each [" and [".
rows() {
	grep -oE '"rows":\{"columns".*' "$1" | sed 's/,"facts":.*//' | grep -oE '\["' | wc -l
}

page=$FB_TMP/page.html
write "$page" $run
holds "$page" 'Intel\(R\) Xeon\(R\) Processor'
holds "$page" 'needs two nodes or more'
shows "$page" '^<h1>xeon-32</h1>' '<dd>Open MPI v4[0-9.]*</dd>' '<p class="banner' \
	'<figcaption>Bus bandwidth in GB/s</figcaption>' '<svg class="chart"' \
	'<g class="point"' '<title>[^<]*, 8 bytes: [0-9.]* us \(' 'needs two nodes or more' \
	'<td class="wrap">Intel\(R\) Xeon' 'Usual causes: ' 'What helps: '
# Address-like words are allowed where they are no addresses: nowhere.
expect "addresses" "$(grep -cE '(src|href|url)[=(]"?(https?:)?//' "$page")" 0
# The name of a namespace is none either.
expect "http addresses" "$(grep -oE 'https?://[^"]*' "$page" | sort -u)" http://www.w3.org/2000/svg
expect "rows" "$(rows "$page")" "$(cat $run/[a-df-z]*.csv | grep -c '^1,')"
verdict report_file

write "$FB_TMP/axis.html" --axis bucket results/reference/h200x4-ddp
holds "$FB_TMP/axis.html" '"axes":\["bucket"\],"own":\[[^]]*"exposed_us"'
holds "$FB_TMP/axis.html" '"at":\["whole"\]'
shows "$FB_TMP/axis.html" '<th scope="col" class="n">bucket</th>' \
	'<th scope="col" class="n">exposed_us</th>' '^<td class="n">whole</td>'
verdict report_axis

write "$FB_TMP/two.html" results/reference/pair-mpich results/reference/pair-openmpi
holds "$FB_TMP/two.html" '"base":\{"path":"[^"]*","name":"pair-mpich"\}'
shows "$FB_TMP/two.html" '^<b>pair-mpich</b>' 'No verdicts' '^<tr data-differs="1">' \
	'<th scope="row" class="wrap">mpi.library' 'rows are in both runs'
cat >"$FB_TMP/verdicts.csv" <<'END'
program,algorithm,protocol,bytes,ranks,metric,verdict,ratio,ratio_low,ratio_high,base,new,reason
all_reduce,ring,ll,8,2,median_us,REGRESSED,1.2,1.1,1.3,10,12,
all_reduce,ring,ll,64,2,median_us,SAME,1,0.99,1.01,10,10,
END
write "$FB_TMP/verdicts.html" --verdicts "$FB_TMP/verdicts.csv" tests/golden/summary/one \
	tests/golden/summary/six
holds "$FB_TMP/verdicts.html" \
	'"all_reduce","ring","ll",8,2,"",10,12,1.2,1.1,1.3,"REGRESSED",""'
shows "$FB_TMP/verdicts.html" '<div class="tile bad">' '^<b>1</b>' \
	'<span class="tag REGRESSED">REGRESSED</span>'
# The estimator is named, and two sides of one study by their folders.
shows "$FB_TMP/verdicts.html" "Each side's value is the median over launches"
cp -r $run "$FB_TMP/a"
cp -r $run "$FB_TMP/b"
write "$FB_TMP/sides.html" "$FB_TMP/a" "$FB_TMP/b"
shows "$FB_TMP/sides.html" "base: $FB_TMP/a, new: $FB_TMP/b\."
verdict report_two

# Pairs of ranks are a matrix, not a section for each.
mkdir "$FB_TMP/pairs"
cp tests/golden/plotdata/pairs.csv "$FB_TMP/pairs/all_pairs.csv"
write "$FB_TMP/pairs.html" "$FB_TMP/pairs"
holds "$FB_TMP/pairs.html" '"values":\[\[null,6.55[0-9]*,'
shows "$FB_TMP/pairs.html" '<table class="heat">' '<td style="--share:0%">3.28</td>' \
	'<td style="--share:100%">6.55</td>'
says "$FB_TMP/pairs.html" 'data.pairs.length' 1
says "$FB_TMP/pairs.html" 'data.sections.length' 0
verdict report_pairs

refuses 'no input' --output "$FB_TMP/none.html"
refuses 'more than two runs' $run $run $run
refuses 'verdicts needs two runs' --verdicts "$FB_TMP/verdicts.csv" $run
refuses 'No such file' "$FB_TMP/missing"
refuses 'no column program: expected program,bytes' --verdicts $run/environment.csv $run $run
refuses 'No such file' $run "$FB_TMP/none.svg"
verdict report_bad_input

# The script: finds the folder's own figures, says where the page is.
cp -r tests/golden/summary/one "$FB_TMP/one"
scripts/report "$FB_TMP/one" >"$FB_TMP/out" 2>"$FB_TMP/err"
expect "exit code of scripts/report" $? 0
expect "what scripts/report says" "$(cat "$FB_TMP/out" "$FB_TMP/err")" "$FB_TMP/one/report.html"
[ -s "$FB_TMP/one/report.html" ] || fail "scripts/report wrote no page"
# The figure of the verdicts says what they were measured on, not where a temporary file was.
if fb_have gnuplot && [ -x "$FB_BUILD/bin/compare" ]; then
	cp -r tests/golden/compare/study "$FB_TMP/study"
	cp $run/environment.csv "$FB_TMP/study/a"
	cp $run/environment.csv "$FB_TMP/study/b"
	scripts/report "$FB_TMP/study/a" "$FB_TMP/study/b" >"$FB_TMP/out" 2>"$FB_TMP/err"
	expect "exit code of scripts/report with two sides" $? 0
	grep -o '"figures":.*' "$FB_TMP/study/b/report.html" | sed 's/"doubts":.*//' \
		>"$FB_TMP/forest.svg"
	holds "$FB_TMP/forest.svg" '"svg":".*Time of the new result set'
	holds "$FB_TMP/forest.svg" 'Intel'
	grep -q "$(basename "$FB_TMP")" "$FB_TMP/forest.svg" && fail "a temporary name in a figure"
fi
verdict report_script

# Names and reasons that would be more than text. Each would mark the page if it ran.
evil=$FB_TMP/evil
mark='document.documentElement.dataset.taken=1'
mkdir "$evil"
head -n 1 $run/all_reduce.csv >"$evil/all_reduce.csv"
awk -F, -v OFS=, -v mark="$mark" 'NR > 1 && NR < 30 {
		$2 = "\"<script>" mark "</script>\""
		$8 = $8; $9 = "\"\"\"><img src=x onerror=" mark ">\""
		if (NR > 20) { $23 = "fault"; $24 = "</script><script>" mark "</script>" }
		print }' $run/all_reduce.csv >>"$evil/all_reduce.csv"
cat >"$evil/environment.csv" <<-END
	scope,host,rank,key,value
	run,,,hostname,<script>$mark</script>
	run,,,cpu.model,"""><svg onload=$mark>"
	run,,,</th><script>$mark</script>,"'';!--""<x>=&{()} $(printf '\377\200')"
	run,,,os.kernel,<!--<script>
END
write "$FB_TMP/evil.html" "$evil"
# Its own: the document and the program.
expect "script elements" "$(grep -o '<script' "$FB_TMP/evil.html" | wc -l)" 2
expect "script elements of a good page" "$(grep -o '<script' "$page" | wc -l)" 2
shows "$FB_TMP/evil.html" '&lt;/script>&lt;script>'
grep -qE '<(img|svg)[^>]*on(error|load)' "$FB_TMP/drawn" && fail "an element with a handler"
iconv -f UTF-8 -t UTF-8 "$FB_TMP/evil.html" >/dev/null || fail "the page is no UTF-8"
verdict report_escapes

# --- in a browser --------------------------------------------------------------------------------

for browser in chromium chromium-browser google-chrome chrome; do
	fb_have $browser && break
	browser=
done
[ -n "$browser" ] || { echo "SKIP report_browser: no chromium"; exit "$bad"; }

# browse URL FLAG...: into dom and log. Only root needs --no-sandbox, and containers do.
browse() {
	timeout -k 5 $((120 * slow)) "$browser" --headless=new --no-sandbox --disable-gpu \
		--hide-scrollbars --disable-dev-shm-usage --user-data-dir="$FB_TMP/profile" \
		--no-first-run \
		--enable-logging=stderr --virtual-time-budget=20000 \
		--allow-file-access-from-files --disable-web-security \
		"${@:2}" "$1" >"$FB_TMP/dom" 2>"$FB_TMP/log"
}

echo '<p id="out">no</p><script>out.textContent = 6 * 7</script>' >"$FB_TMP/try.html"
browse "file://$FB_TMP/try.html" --dump-dom
if ! grep -q '>42</p>' "$FB_TMP/dom"; then
	echo "SKIP report_browser: $browser does not start"
	exit "$bad"
fi

# A page that is taken over is seen: else the tests below could not fail.
echo "<html><script>$mark</script>" >"$FB_TMP/taken.html"
browse "file://$FB_TMP/taken.html" --dump-dom
holds "$FB_TMP/dom" '<html data-taken="1"'

# look NAME FILE WIDTH ROWS FLAG...: the page in a frame of that width, looked at by report_page.js.
look() {
	local name=$1 file=$2 width=$3

	cat >"$FB_TMP/frame.html" <<-END
		<pre id="out"></pre>
		<iframe src="file://$file" style="border:0;width:${width}px;height:900px"></iframe>
		<script>window.ROWS = $4</script>
		<script src="file://$PWD/tests/shell/report_page.js"></script>
	END
	browse "file://$FB_TMP/frame.html" --dump-dom --window-size=1600,1000 "${@:5}"
	sed -n '/^good /p; /^bad /p; /^end/p' "$FB_TMP/dom" >"$FB_TMP/lines"
	holds "$FB_TMP/lines" '^end$'
	[ "$(grep -c '^good ' "$FB_TMP/lines")" -ge 30 ] || fail "$name: few things were looked at"
	while read -r line; do
		fail "$name: $line"
	done < <(grep '^bad ' "$FB_TMP/lines")
	expect "$name: console" "$(grep CONSOLE "$FB_TMP/log")" ''
}

look phone "$page" 390 "$(rows "$page")"
verdict report_phone
look desk "$page" 1440 "$(rows "$page")"
verdict report_desk
look dark "$page" 390 "$(rows "$page")" --blink-settings=preferredColorScheme=0
verdict report_dark
look evil "$FB_TMP/evil.html" 390 "$(rows "$FB_TMP/evil.html")"
verdict report_evil

# Ten thousand rows: the same works, with no more of them in the document than a page of the table.
mkdir "$FB_TMP/many"
cp $run/environment.csv "$FB_TMP/many"
head -n 1 $run/all_reduce.csv >"$FB_TMP/many/all_reduce.csv"
awk -F, -v OFS=, 'NR > 1 { row[n++] = $0 }
	END {
		for (i = 0; i < 10000; i++) {
			$0 = row[i % n]; $3 = int(i / n); print
		}
	}' $run/all_reduce.csv >>"$FB_TMP/many/all_reduce.csv"
write "$FB_TMP/many.html" "$FB_TMP/many"
look many "$FB_TMP/many.html" 1440 10000
verdict report_many_rows

# Screenshots: of the whole width, and not of an empty page.
for width in 390 1440; do
	browse "file://$page" --screenshot="$shots/report-$width.png" --window-size=$width,1400
	[ "$(wc -c <"$shots/report-$width.png")" -gt 40000 ] ||
		fail "the screenshot at $width pixels shows hardly anything"
done
verdict report_screenshots
exit "$bad"
