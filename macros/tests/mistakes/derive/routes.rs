//! Outcomes whose targets are missing or wrong.

use superstep::prelude::*;

#[derive(NodeId)]
enum Step {
    Pay,
}

#[derive(Route)]
enum Incomplete {
    #[to(Step::Pay)]
    Pay,
    Done,
    #[to()]
    Nowhere,
}

#[derive(Route)]
enum OnlyTheEnd {
    #[to(END)]
    Done,
}

#[derive(Route)]
enum NotATarget {
    #[to(Step::Pay)]
    Pay,
    #[to("pay")]
    Text,
}

#[derive(Route)]
#[to(END)]
struct Struct;

fn main() {}
