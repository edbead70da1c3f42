//! The examples of the page on writing a verifier are parsed and run.

use serde_json::json;
use superstep::spec::{Flags, RunSettings, SpecId, TaskSpec, VerifierConfig, Verifiers};

use crate::scene::{Scene, text};

const PAGE: &str = include_str!("../../docs/writing-a-verifier.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let opened = PAGE.split(&format!("```{language}\n") as &str).skip(1).collect::<Vec<_>>();
    opened.into_iter().map(|rest| rest.split_once("```").unwrap().0).collect()
}

fn verifiers(text: &str) -> Verifiers {
    let config = VerifierConfig::parse(text, "verifiers.yml").unwrap_or_else(|error| panic!("{error}"));
    let task = TaskSpec::new("tides".parse::<SpecId>().unwrap(), "Know the tides", "");
    let settings = RunSettings::merge(&config, &task, "tides.md", &Flags::default());
    settings.unwrap_or_else(|error| panic!("{error}")).verifiers
}

#[rstest::rstest]
fn the_page_shows_the_compiled_example(#[values("verifier", "program")] name: &str) {
    let (_, rest) = include_str!("../../examples/own_verifier.rs").split_once(&format!("// <{name}>\n")).unwrap();
    let (code, _) = rest.split_once(&format!("// </{name}>")).unwrap();
    assert!(PAGE.contains(&format!("```rust,ignore\n{code}```\n")), "docs/writing-a-verifier.md lacks:\n{code}");
}

#[test]
fn every_verifiers_yml_is_read() {
    let ids = ["links", "long-files", "latency"];
    for (text, id) in blocks("yaml").into_iter().zip(ids) {
        assert!(verifiers(text).get(id).is_some(), "{text}");
    }
    assert_eq!(blocks("yaml").len(), ids.len());
    let config = verifiers(blocks("yaml")[1]).get("long-files").unwrap().config.clone();
    assert_eq!(config.other.get("most"), Some(&json!(300)));
}

#[tokio::test]
async fn the_command_finds_dead_links() {
    let entry = verifiers(blocks("yaml")[0]).get("links").unwrap().clone();
    let page = "[here](tides.md)\n[there](moon/phases.md)\n";
    let scene = Scene::with(entry, &[("tools/links.sh", blocks("sh")[0]), ("docs/tides.md", page)]).await;
    let output = scene.output().await;
    assert_eq!(text(&output), "warning -\nwarning DEAD_LINK docs/tides.md there is no moon/phases.md");
}
