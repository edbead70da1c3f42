//! Findings grouped by probable cause.

use proptest::prelude::*;
use rstest::rstest;
use superstep::findings::{Cluster, Finding, FindingKind, Normalizer, clusters, clusters_at_most};

fn error(file: &str, message: &str) -> Finding {
    let finding = Finding::error(FindingKind::BuildFail, message);
    let finding = if file.is_empty() { finding } else { finding.at(file, 3) };
    finding.with_fingerprint("build", &Normalizer::default())
}

fn titles(clusters: &[Cluster]) -> Vec<&str> {
    clusters.iter().map(|cluster| cluster.title.as_str()).collect()
}

#[rstest]
#[case::nothing(&[], &[])]
#[case::two_files(&[("a.rs", "E1: x"), ("b.rs", "E2: y")], &["a.rs: E1: x", "b.rs: E2: y"])]
#[case::one_file(&[("a.rs", "E1: x"), ("b.rs", "E2: y"), ("a.rs", "E3: z")], &["a.rs: E1: x, and 1 more", "b.rs: E2: y"])]
#[case::one_message(&[("a.rs", "E1: no `x`"), ("b.rs", "E1: no `x`")], &["2 files: E1: no `x`"])]
#[case::numbers_do_not_count(&[("a.rs", "took 3 of 4"), ("b.rs", "took 5 of 6")], &["2 files: took 3 of 4, and 1 more"])]
#[case::other_symbols(&[("a.rs", "E1: no `x`"), ("b.rs", "E1: no `y`")], &["a.rs: E1: no `x`", "b.rs: E1: no `y`"])]
#[case::one_code(&[("", "E1: x"), ("", "E2: y"), ("", "E1: z")], &["E1: x, and 1 more", "E2: y"])]
#[case::similar(
    &[("", "the harbour of Brest is closed"), ("", "no water"), ("", "the harbour of Dover is closed")],
    &["the harbour of Brest is closed, and 1 more", "no water"]
)]
#[case::chain(&[("a.rs", "E1: x"), ("a.rs", "E2: y"), ("b.rs", "E2: y")], &["2 files: E1: x, and 1 more"])]
fn findings_of_one_cause_are_together(#[case] findings: &[(&str, &str)], #[case] expected: &[&str]) {
    let findings: Vec<Finding> = findings.iter().map(|(file, message)| error(file, message)).collect();
    assert_eq!(titles(&clusters(&findings)), expected);
}

#[test]
fn a_cluster_has_each_fingerprint_file_and_message_once() {
    let findings = [error("a.rs", "E1: x"), error("a.rs", "E1: x"), error("b.rs", "E1: x")];
    let expected = Cluster {
        title: "2 files: E1: x".to_owned(),
        fingerprints: vec![findings[0].fingerprint.clone(), findings[2].fingerprint.clone()],
        files: vec!["a.rs".to_owned(), "b.rs".to_owned()],
        messages: vec!["E1: x".to_owned()],
    };
    assert_eq!(clusters(&findings), [expected]);
}

#[rstest]
#[case::enough_room(5, &["src/a.rs: E1: x", "src/b.rs: E2: y", "test/c.rs: E1: z", "test/d.rs: E3: w"])]
#[case::by_folder(3, &["src/a.rs: E1: x", "src/b.rs: E2: y", "2 files: E1: z, and 1 more"])]
#[case::by_folder_again(2, &["2 files: E1: x, and 1 more", "2 files: E1: z, and 1 more"])]
#[case::one(1, &["4 files: E1: x, and 3 more"])]
#[case::none_is_one(0, &["4 files: E1: x, and 3 more"])]
fn the_smallest_clusters_are_merged_into_similar_ones(#[case] most: usize, #[case] expected: &[&str]) {
    let findings = [
        error("src/a.rs", "E1: x"),
        error("src/b.rs", "E2: y"),
        error("test/c.rs", "E1: z"),
        error("test/d.rs", "E3: w"),
    ];
    assert_eq!(titles(&clusters_at_most(&findings, most)), expected);
}

fn finding() -> impl Strategy<Value = Finding> {
    ("|[a-c]\\.rs|src/[a-c]\\.rs", "(E[1-3]: )?[a-c]( [a-c]){0,3}").prop_map(|(file, message)| error(&file, &message))
}

proptest! {
    #[test]
    fn every_fingerprint_is_in_one_cluster(findings in prop::collection::vec(finding(), 0..20), most in 1..6_usize) {
        let clusters = clusters_at_most(&findings, most);
        prop_assert!(clusters.len() <= most);
        let mut clustered: Vec<_> = clusters.iter().flat_map(|cluster| &cluster.fingerprints).collect();
        clustered.sort();
        let mut all: Vec<_> = findings.iter().map(|finding| &finding.fingerprint).collect();
        all.sort();
        all.dedup();
        prop_assert_eq!(clustered, all);
        prop_assert_eq!(&clusters, &clusters_at_most(&findings, most));
    }

    #[test]
    fn a_file_is_in_one_cluster(findings in prop::collection::vec(finding(), 0..20)) {
        let clusters = clusters(&findings);
        let mut files: Vec<_> = clusters.iter().flat_map(|cluster| &cluster.files).collect();
        let count = files.len();
        files.sort();
        files.dedup();
        prop_assert_eq!(files.len(), count);
    }
}
