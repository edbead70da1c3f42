//! Shapes of diagnostics without a recorded output, and lines that only look like diagnostics.

use rstest::rstest;
use superstep::findings::{Normalizer, ReportReader, Severity, ShellExit, ShellOutput};

/// Reads an output into findings, one a line; the finding for the exit code is left out.
fn read(output: &str) -> String {
    let normalizer = Normalizer::new(["/home/ada/tides"]);
    let output = ShellOutput { stdout: output.as_bytes(), stderr: b"", exit: ShellExit::Code(1) };
    let findings = ReportReader::new("build", "make", &normalizer).read(&output).findings;
    let lines =
        findings.into_iter().filter(|finding| !finding.message.starts_with("`make` ended with 1")).map(|finding| {
            let severity = if finding.severity == Severity::Error { "" } else { "warning " };
            let file = finding.evidence.file.map(|file| format!("{file} ")).unwrap_or_default();
            let lines = finding.evidence.lines.map(|lines| format!("{lines} ")).unwrap_or_default();
            format!("{severity}{file}{lines}{}", finding.message)
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[rstest]
#[case::rustc_short("src/lib.rs:14:21: error[E0308]: mismatched types", "src/lib.rs 14 E0308: mismatched types")]
#[case::rustc_without_a_code("error: expected `;`\n --> src/lib.rs:3:5\n  |\n", "src/lib.rs 3 expected `;`")]
#[case::rustc_without_a_place("error[E0463]: can't find crate for `tide`\n\n", "E0463: can't find crate for `tide`")]
#[case::rustc_help_is_none("help: try\n --> src/lib.rs:3:5\n", "")]
#[case::cargo_manifest(
    "error: failed to parse manifest at `/home/ada/tides/Cargo.toml`\n",
    "failed to parse manifest at `/home/ada/tides/Cargo.toml`"
)]
#[case::clippy(
    "warning: redundant clone\n  --> src/a.rs:3:5\n   |\n3  |     a.clone();\n   |      ^^^^^^^^ help: remove this\n",
    "warning src/a.rs 3 redundant clone"
)]
#[case::old_panic("thread 'main' panicked at 'no tide', src/main.rs:3:5\n", "src/main.rs 3 main: no tide")]
#[case::doctest("test src/lib.rs - level (line 5) ... FAILED", "src/lib.rs src/lib.rs - level: the test failed")]
#[case::doctest_with_a_panic(
    "test src/lib.rs - level (line 5) ... FAILED\n\n---- src/lib.rs - level (line 5) stdout ----\nTest executable failed (exit status: 101).\n\nstderr:\n\nthread 'main' (7) panicked at /tmp/rustdoctestrNuXav/doctest.rs:6:1:\nno tide\n",
    "src/lib.rs 5 src/lib.rs - level: no tide"
)]
#[case::error_after_output(
    "---- tests::a stdout ----\nhigh\nlow\nError: no tide\n\n\nfailures:\n    tests::a\n",
    "tests::a: Error: no tide"
)]
#[case::panic_after_output(
    &format!("---- tests::a stdout ----\n{}thread 'tests::a' panicked at src/a.rs:3:5:\nno tide\n", "high\n".repeat(99)),
    "src/a.rs 3 tests::a: no tide"
)]
#[case::should_panic(
    "---- tests::a stdout ----\nnote: test did not panic as expected at src/a.rs:3:5\n",
    "tests::a: note: test did not panic as expected at src/a.rs:3:5"
)]
#[case::template_of_gcc(
    "a.cpp:7:12:   required from here\n/usr/include/c++/12/bits/x.h:45:23: error: no match for ‘operator<’\n",
    "a.cpp 7 no match for ‘operator<’"
)]
#[case::template_of_clang(
    "/usr/include/c++/12/bits/x.h:45:23: error: invalid operands\na.cpp:7:8: note: in instantiation of 'sort<int>' requested here\n",
    "a.cpp 7 invalid operands"
)]
#[case::nextest_alone("        FAIL [   0.023s] (1/4) tides tests::high", "tests::high: the test failed")]
#[case::msvc(
    "c:\\tides\\a.c(3): error C2065: 'x': undeclared identifier",
    "c:/tides/a.c 3 C2065: 'x': undeclared identifier"
)]
#[case::windows("C:\\tides\\a.c:3:5: error: no", "C:/tides/a.c 3 no")]
#[case::csharp(
    "Tide.cs(3,5): error CS0103: The name 'x' does not exist [/a/tide.csproj]",
    "Tide.cs 3 CS0103: The name 'x' does not exist"
)]
#[case::fatal("a.c:1:10: fatal error: tide.h: No such file or directory", "a.c 1 tide.h: No such file or directory")]
#[case::path_with_spaces("/home/ada/tides/my src/a.c:3:5: error: no", "my src/a.c 3 no")]
#[case::swift("/home/ada/tides/a.swift:3:5: error: cannot find 'x' in scope", "a.swift 3 cannot find 'x' in scope")]
#[case::kotlin("e: file:///home/ada/tides/A.kt:3:5 Unresolved reference: x", "A.kt 3 Unresolved reference: x")]
#[case::maven("[ERROR] /home/ada/tides/A.java:[5,9] cannot find symbol", "A.java 5 cannot find symbol")]
#[case::haskell(
    "a.hs:3:5: error: [GHC-88464]\n    • Variable not in scope: tide\n",
    "a.hs 3 GHC-88464: Variable not in scope: tide"
)]
#[case::scala("[error] /home/ada/tides/A.scala:3:5: not found: value x", "A.scala 3 not found: value x")]
#[case::pylint(
    "a.py:1:0: C0114: Missing module docstring (missing-module-docstring)",
    "a.py 1 C0114: Missing module docstring (missing-module-docstring)"
)]
#[case::makefile("Makefile:3: *** missing separator.  Stop.", "Makefile 3 *** missing separator.  Stop.")]
#[case::bash("deploy.sh: line 3: tide: command not found", "deploy.sh 3 tide: command not found")]
#[case::php("a.php:3: syntax error, unexpected ';'", "a.php 3 syntax error, unexpected ';'")]
#[case::tool("cc1plus: fatal error: no input", "no input")]
#[case::lld(
    "ld.lld: error: undefined symbol: tide\n>>> referenced by a.c:3 (src/a.c:3)\n",
    "src/a.c 3 undefined symbol: tide"
)]
#[case::mac_linker("Undefined symbols for architecture arm64:\n  \"_tide\", referenced from:\n", "\"_tide\"")]
#[case::npm("npm error code E404", "")]
#[case::git("fatal: not a git repository", "not a git repository")]
#[case::go_verbose(
    "=== RUN   TestA\n    a_test.go:3: no water\n--- FAIL: TestA (0.00s)\n",
    "a_test.go 3 TestA: no water"
)]
#[case::go_package(
    "# tides [tides.test]\n./a.go:3:5: undefined: x\nFAIL\ttides [build failed]\n",
    "a.go 3 undefined: x"
)]
#[case::go_panic(
    "panic: no tide\n\ngoroutine 1 [running]:\nmain.main()\n\t/home/ada/tides/main.go:3 +0x1d\nexit status 2\n",
    "main.go 3 panic: no tide"
)]
#[case::python_chain(
    "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in g\nValueError: no tide\n",
    "a.py 3 ValueError: no tide"
)]
#[case::python_library(
    "Traceback (most recent call last):\n  File \"/home/ada/tides/a.py\", line 3, in f\n  File \"/usr/lib/python3/json.py\", line 9, in loads\njson.decoder.JSONDecodeError: bad\n",
    "a.py 3 json.decoder.JSONDecodeError: bad"
)]
#[case::python_without_text(
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nAssertionError\n",
    "a.py 3 AssertionError"
)]
#[case::mocha(
    "  1) tides\n       high:\n     AssertionError: expected 3 to equal 2\n      at Context.<anonymous> (test/a.js:3:5)\n",
    "test/a.js 3 tides > high: AssertionError: expected 3 to equal 2"
)]
#[case::node_promise(
    "Uncaught Error: no tide\n    at async read (file:///home/ada/tides/a.mjs:3:5)\n",
    "a.mjs 3 Error: no tide"
)]
#[case::java_alone("java.io.IOException\n\tat tides.A.b(A.java:3)\n", "A.java 3 java.io.IOException")]
#[case::ruff_old("a.py:1:8: F401 [*] `os` imported but unused", "a.py 1 F401: [*] `os` imported but unused")]
fn more_shapes_are_read(#[case] output: &str, #[case] expected: &str) {
    assert_eq!(read(output), expected);
}

#[rstest]
#[case::time("12:34:56: started")]
#[case::moment("2026-11-23T17:05:01.5: started")]
#[case::address("http://localhost:8080: refused")]
#[case::host("example.com:443: refused")]
#[case::ip("127.0.0.1:8080: refused")]
#[case::listen("listening on 0.0.0.0:80")]
#[case::log("[2026-11-23T17:05:01Z INFO tides] src/a.rs:3 high")]
#[case::progress("   Compiling tides v0.1.0 (/home/ada/tides)")]
#[case::summary("error: could not compile `tides` (lib) due to 3 previous errors; 1 warning emitted")]
#[case::generated("warning: `tides` (lib) generated 3 warnings")]
#[case::ld("collect2: error: ld returned 1 exit status")]
#[case::make("make: *** [Makefile:2: all] Error 1")]
#[case::note("a.c:3:5: note: declared here")]
#[case::info("src/a.ts:3:5 - info: fine")]
#[case::passed("test tests::errors_are_reported ... ok")]
#[case::gradle("BUILD FAILED in 3s")]
#[case::prose("The error: nobody knows")]
#[case::shell("bash: line 1: tide: command not found")]
#[case::rust_frames("   0: rust_begin_unwind\n             at /rustc/f2d3/library/std/src/panicking.rs:5:5")]
fn other_lines_are_not_diagnostics(#[case] output: &str) {
    assert_eq!(read(output), "");
}

/// What precedes a place, or an output of several lines, is no part of it.
#[rstest]
#[case::time("[12:00:01] ")]
#[case::time_without_brackets("12:00:01.123 ")]
#[case::moment("2026-11-25T12:00:01.1234567Z ")]
#[case::moment_and_level("[2026-11-25 12:00:01,123 INFO build] ")]
#[case::syslog("Nov 25 12:00:01 ")]
#[case::seconds("[   12.345678] ")]
#[case::progress("[ 50%] ")]
#[case::step("[3/7] ")]
#[case::azure("##[error]")]
#[case::azure_with_a_time("2026-11-25T12:00:01.1234567Z ##[error]")]
#[case::docker("#12 1.234 ")]
#[case::compose("web-1  | ")]
#[case::turbo("web:build: ")]
#[case::pnpm("packages/web build: ")]
#[case::msbuild("     2>")]
#[case::colours("\u{1b}[31m\u{1b}[1m")]
fn what_a_log_prints_before_a_line_is_no_part_of_it(
    #[case] prefix: &str,
    #[values(
        "src/a.c:3:5: error: no tide",
        "error[E0425]: cannot find value `high`\n --> src/a.rs:3:5\n  |\n3 | high\n  | ^^^^ not found in this scope\n",
        "/home/ada/tides/a.js\n  3:5  error  'high' is not defined  no-undef\n",
        "src/a.ts(3,5): error TS2304: Cannot find name 'high'."
    )]
    output: &str,
) {
    let with_prefix: String = output.lines().map(|line| format!("{prefix}{line}\n")).collect();
    assert_eq!(read(&with_prefix), read(output));
    assert!(read(output).contains(" 3 "));
}

#[rstest]
#[case::level("ERROR: ", "src/a.c 3 no tide")]
#[case::level_in("ERROR in ", "src/a.c 3 no tide")]
#[case::level_in_brackets("[ERROR] ", "src/a.c 3 no tide")]
#[case::warning("warning: ", "warning src/a.c 3 no tide")]
#[case::note("note: ", "")]
#[case::tool("eslint: ", "src/a.c 3 no tide")]
#[case::tool_in_brackets("[lint] ", "src/a.c 3 no tide")]
#[case::time_and_tool("12:00:01 [lint] error: ", "src/a.c 3 no tide")]
#[case::item("✖ ", "src/a.c 3 no tide")]
#[case::old_npm("npm ERR! ", "src/a.c 3 no tide")]
fn what_a_tool_prints_before_a_place_is_no_part_of_it(#[case] prefix: &str, #[case] expected: &str) {
    assert_eq!(read(&format!("{prefix}src/a.c:3:5: no tide")), expected);
}

#[rstest]
#[case::ctest(
    "16/26 Test #16: tides .........***Failed    0.71 sec\n\nThe following tests FAILED:\n\t 16 - tides (Failed)\n\t 17 - moons (SEGFAULT)   slow\nErrors while running CTest\n",
    "tides: the test failed\nmoons: the test failed: SEGFAULT"
)]
#[case::googletest(
    "[ RUN      ] Tides.High\na_test.cc:3: Failure\nExpected equality of these values:\n  high()\n    Which is: 3\n  2\n[  FAILED  ] Tides.High (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Tides.High\n",
    "a_test.cc 3 Tides.High: Expected equality of these values:; high(); Which is: 3; 2"
)]
#[case::surefire(
    "[ERROR] Tests run: 1, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.03 s <<< FAILURE! -- in tides.TidesTest\n[ERROR] tides.TidesTest.high -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\tat org.junit.jupiter.api.Assertions.fail(Assertions.java:5)\n\tat tides.TidesTest.high(TidesTest.java:3)\n\n",
    "TidesTest.java 3 tides.TidesTest.high: org.opentest4j.AssertionFailedError: expected: <1> but was: <2>"
)]
#[case::gradle(
    "TidesTest > high() FAILED\n    java.lang.AssertionError: no tide\n        at tides.TidesTest.high(TidesTest.java:3)\n\n1 test completed, 1 failed\n",
    "TidesTest.java 3 TidesTest > high(): java.lang.AssertionError: no tide"
)]
#[case::dotnet(
    "  Failed Tides.High [12 ms]\n  Error Message:\n   no tide\n  Stack Trace:\n     at Tides.Tests.High() in /home/ada/tides/Tests.cs:line 3\n",
    "Tests.cs 3 Tides.High: no tide"
)]
#[case::annotation("::error file=src/a.c,line=3,col=5::no tide", "src/a.c 3 no tide")]
#[case::old_kotlin("e: /home/ada/tides/A.kt: (3, 5): Unresolved reference: x", "A.kt 3 Unresolved reference: x")]
#[case::kotlin_warning("w: file:///home/ada/tides/A.kt:3:5 unused", "warning A.kt 3 unused")]
fn failures_of_more_tools_are_read(#[case] output: &str, #[case] expected: &str) {
    assert_eq!(read(output), expected);
}

/// The words below a message name the symbol: another symbol is another error, another line is not.
#[rstest]
#[case::maven(
    "[ERROR] /home/ada/tides/A.java:[LINE,9] cannot find symbol\n[ERROR]   symbol:   variable NAME\n[ERROR]   location: class A\n"
)]
#[case::javac(
    "A.java:LINE: error: cannot find symbol\n    int x = y;\n            ^\n  symbol:   variable NAME\n  location: class A\n1 error\n"
)]
#[case::javac_elsewhere(
    "A.java:LINE: error: cannot find symbol\n    int x = y;\n            ^\n  symbol:   variable x\n  location: class NAME\n1 error\n"
)]
#[case::scala(
    "[error] /home/ada/tides/A.scala:LINE:5: type mismatch;\n[error]  found   : NAME\n[error]  required: Int\n"
)]
#[case::tsc(
    "a.ts(LINE,5): error TS2345: Argument of type 'A' is not assignable to parameter of type 'B'.\n  Property 'NAME' is missing in type 'A' but required in type 'B'.\n"
)]
#[case::go(
    "./a.go:LINE:5: cannot use a as B value in assignment: A does not implement B (wrong type for method)\n\t\thave NAME()\n\t\twant high(int)\n"
)]
#[case::kotlin(
    "e: file:///home/ada/tides/A.kt:LINE:5 None of the following candidates is applicable:\nfun NAME(): Int\n\nFAILURE: Build failed\n"
)]
#[case::surefire(
    "[ERROR] tides.TidesTest.NAME  Time elapsed: 0.0LINE s  <<< FAILURE!\njava.lang.AssertionError: no tide\n\tat tides.TidesTest.run(TidesTest.java:LINE)\n"
)]
#[case::gradle("TidesTest > NAME() FAILED\n    java.lang.AssertionError at TidesTest.java:LINE\n")]
#[case::ctest("The following tests FAILED:\n\t LINE - NAME (Failed)\nErrors while running CTest\n")]
#[case::googletest("[ RUN      ] Tides.NAME\na_test.cc:LINE: Failure\nno tide\n[  FAILED  ] Tides.NAME (0 ms)\n")]
#[case::dotnet(
    "  Failed Tides.NAME [LINE ms]\n  Error Message:\n   no tide\n  Stack Trace:\n     at Tides.Run() in /home/ada/tides/Tests.cs:line LINE\n"
)]
fn another_symbol_is_another_error(#[case] output: &str) {
    let fingerprints = |name: &str, line: &str| -> Vec<_> {
        let text = output.replace("NAME", name).replace("LINE", line);
        let normalizer = Normalizer::new(["/home/ada/tides"]);
        let output = ShellOutput { stdout: text.as_bytes(), stderr: b"", exit: ShellExit::Code(1) };
        let findings = ReportReader::new("build", "make", &normalizer).read(&output).findings;
        findings.into_iter().map(|finding| (finding.fingerprint, finding.message.contains(name))).collect()
    };
    let first = fingerprints("highTide", "3");
    assert!(first.len() == 1 && first[0].1, "the message names it: {first:?}");
    assert_eq!(fingerprints("highTide", "14"), first, "on another line");
    assert_ne!(fingerprints("lowTide", "3")[0].0, first[0].0);
}

#[test]
fn thirty_errors_of_one_kind_stay_thirty_findings_with_one_fingerprint() {
    let output: String = (1..=30).map(|line| format!("a.c:{line}:5: error: ‘x’ undeclared\n")).collect();
    let normalizer = Normalizer::default();
    let output = ShellOutput { stdout: output.as_bytes(), stderr: b"", exit: ShellExit::Code(1) };
    let mut findings = ReportReader::new("build", "make", &normalizer).read(&output).findings;
    assert_eq!(findings.len(), 30);
    findings.dedup_by(|one, other| one.fingerprint == other.fingerprint);
    assert_eq!(findings.len(), 1);
}

#[test]
fn an_error_that_is_printed_twice_is_one_finding() {
    assert_eq!(read("a.c:3:5: error: no\na.c:3:5: error: no\n"), "a.c 3 no");
}
