//! The output of a build of 10 MB, read into findings: of several tools, and with 30,000 different errors.

use std::fmt::Write;

use superstep::findings::{Normalizer, ReportReader, ShellExit, ShellOutput};

use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;
use super::stamps::Stamps;

const BYTES: usize = 10_000_000;
/// Outputs of real tools.
const OUTPUTS: [(&str, &str); 6] = [
    ("cargo", include_str!("../../tests/verification/outputs/first/cargo_build.txt")),
    ("cargo, JSON", include_str!("../../tests/verification/outputs/first/cargo_json.txt")),
    ("gcc", include_str!("../../tests/verification/outputs/first/gcc.txt")),
    ("tsc", include_str!("../../tests/verification/outputs/first/tsc.txt")),
    ("pytest", include_str!("../../tests/verification/outputs/first/pytest.txt")),
    ("go test", include_str!("../../tests/verification/outputs/first/go_test.txt")),
];

pub(crate) fn run(bench: &Bench) {
    let bytes = bench.pick([BYTES as u64, BYTES as u64, 100_000]) as usize;
    for (tool, output) in OUTPUTS {
        print(bench, tool, &output.repeat(bytes / output.len() + 1));
    }
    print(bench, "errors that differ", &distinct(bytes));
}

fn print(bench: &Bench, tool: &str, output: &str) {
    let (normalizer, stamps) = (Normalizer::new(["/home/ada/tides"]), Stamps::new());
    let reader = ReportReader::new("build", "make", &normalizer);
    stamps.mark();
    for _ in 0..bench.pick([9, 3, 1]) {
        let output = ShellOutput { stdout: output.as_bytes(), stderr: b"", exit: ShellExit::Code(1) };
        assert!(!reader.read(&output).findings.is_empty());
        stamps.mark();
    }
    let cpu = stamps.take().into_iter().map(|(cpu, _)| cpu / 1000.0).collect();
    let what = format!("{} MB of output into findings: {tool}", output.len() / 1_000_000);
    bench.print(&Figure::new("findings", what, Spread::of(cpu), "ms cpu").target("<= 100"));
}

/// Returns errors in gcc's format, each with a unique name.
fn distinct(bytes: usize) -> String {
    let mut output = String::with_capacity(bytes + 500);
    for nth in 0_u32.. {
        let code = "   12 |     return metres + undeclared;\n      |                     ^~~~~~~~~~\n".repeat(3);
        let file = nth % 500;
        writeln!(output, "/home/ada/tides/src/part{file}.c:{nth}:21: error: ‘name_{nth}’ undeclared\n{code}").unwrap();
        if output.len() >= bytes {
            break;
        }
    }
    output
}
