//! A program that the page is tried with: `page_server serve`. Its graphs spend, show themselves at work, and ask about plans, changes,
//! findings and payments.
//!
//! Small because the graphs are in files of their own.

mod article;
mod payment;
mod release;
mod writer;

use std::process::ExitCode;

use superstep_app::{App, Register};

fn main() -> ExitCode {
    App::new()
        .about("Graphs that the page of the server is tried with")
        .version(env!("CARGO_PKG_VERSION"))
        .graph("article", article::article().about("Spends on an outline, chapters and a review"))
        .graph("payment", payment::payment().about("Asks two of three people, until a time"))
        .graph("release", release::release().about("Asks about a plan and about changes"))
        .graph("writer", writer::writer().about("Writes a report piece by piece, and asks about its outline"))
        .main()
}
