//! Issues from markdown files, and the ids of review comments.

use rstest::rstest;
use superstep::plan::{Issue, Review};

#[rstest]
#[case::plain("# Read the tides\n\nAll.\n", ("tide-7", "Read the tides", "# Read the tides\n\nAll."))]
#[case::front_matter("---\nid: T-1\ntitle: \"Tides: all\"\nlabels: [a]\n---\n\n# Other\n\nAll.\n", ("T-1", "Tides: all", "# Other\n\nAll."))]
#[case::only_an_id("---\nid: T-1 # ours\n---\n# Tides\n", ("T-1", "Tides", "# Tides"))]
#[case::toml("+++\nid = 'T-1'\n+++\nText.\n", ("T-1", "T-1", "Text."))]
#[case::number("---\nid: 42\n---\nText.\n", ("42", "42", "Text."))]
#[case::no_heading("Just do it.\n", ("tide-7", "tide-7", "Just do it."))]
#[case::fenced_heading("```\n# x\n```\n\n## Real\n", ("tide-7", "Real", "```\n# x\n```\n\n## Real"))]
#[case::crlf("---\r\ntitle: T\r\n---\r\nText.\r\n", ("tide-7", "T", "Text."))]
#[case::byte_order_mark("\u{feff}# T\n", ("tide-7", "T", "# T"))]
#[case::rule("---\n\n# T\n", ("tide-7", "T", "---\n\n# T"))]
#[case::kindly("---\nid: T-1\ntitle: Fix: the tides\nlabels:\n  - a\nby: \"Ada\"\n---\nText.\n", ("T-1", "Fix: the tides", "Text."))]
#[case::title_only("---\ntitle: T\n---\n", ("tide-7", "T", ""))]
fn an_issue_is_read(#[case] text: &str, #[case] (id, title, description): (&str, &str, &str)) {
    let issue = Issue::parse(text, "tide-7").unwrap();
    assert_eq!((issue.id.as_str(), issue.title.as_str(), issue.description.as_str()), (id, title, description));
}

#[rstest]
#[case::empty("\n", "tides.md:1: the issue is empty")]
#[case::open("---\nid: x\n\n# T\n", "tides.md:1: this front matter is never closed")]
#[case::twice("---\nid: x\nid: y\n---\nT\n", "tides.md:3: `id` is given twice")]
#[case::no_title("---\nid: x\ntitle:\n---\nT\n", "tides.md:3: `title` is not a text in one line")]
#[case::block("---\nid: |\n  x\n---\nT\n", "tides.md:2: `id` is not a text in one line")]
#[case::no_yaml(
    "---\nid: x\nbad: [\n---\nT\n",
    "tides.md:3: this front matter cannot be read: it is not valid YAML, did not find expected node content"
)]
#[case::no_yaml_above(
    "---\nbad: [\ntitle: x\n---\nT\n",
    "tides.md:3: this front matter cannot be read: it is not valid YAML, did not find expected node content"
)]
#[case::no_toml(
    "+++\nbad = [\n+++\nT\n",
    "tides.md:2: this front matter cannot be read: it is not valid TOML, unclosed array, expected `]`"
)]
#[case::not_text(b"# T\n\n\xff\n", "tides.md:3: this is not UTF-8 text")]
fn a_broken_issue_is_refused_with_its_line(#[case] text: impl AsRef<[u8]>, #[case] expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tides.md");
    std::fs::write(&file, text).unwrap();
    let error = Issue::read(&file).unwrap_err();
    assert_eq!(error.to_string().replace(&format!("{}/", folder.path().display()), ""), expected);
    assert!(!error.help().is_empty());
}

#[test]
fn the_id_of_an_issue_is_the_name_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tide-7.md");
    assert!(Issue::read(&file).unwrap_err().to_string().contains("tide-7.md: the issue cannot be read: "));
    std::fs::write(&file, "# T\n").unwrap();
    assert_eq!(Issue::read(&file).unwrap().id, "tide-7");
}

#[rstest]
#[case::none(&["", " "], &[], &[], &["c1", "c2"])]
#[case::own(&["a", "b"], &[], &[], &["a", "b"])]
#[case::twice(&["a", "a", ""], &[], &[], &["a", "c1", "c2"])]
#[case::taken(&["", "c1", "c3"], &["c1", "c2"], &[], &["c4", "c5", "c3"])]
#[case::again(&["c1", "c1"], &["c1"], &["c1"], &["c1", "c2"])]
fn comments_get_ids_of_their_own(
    #[case] ids: &[&str],
    #[case] taken: &[&str],
    #[case] unresolved: &[&str],
    #[case] expected: &[&str],
) {
    let comments: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id, "issue": "x" })).collect();
    let review = serde_json::json!({ "approved": false, "comments": comments, "unresolved_ids": unresolved });
    let review: Review = serde_json::from_value(review).unwrap();
    let numbered: Vec<String> =
        review.with_comment_ids(taken.iter().copied()).comments.into_iter().map(|comment| comment.id).collect();
    assert_eq!(numbered, expected);
}
