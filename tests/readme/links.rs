//! The links of the README and the pages: each leads to a file, and to a heading of it; and the README leads to every page.

use std::path::Path;

use crate::{README, files, read, root};

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    page.lines().filter(is_prose).map(|line| format!("{line}\n")).collect()
}

/// Returns where the links of a page lead, without those to other sites.
fn targets(page: &str) -> Vec<String> {
    let prose = prose(page);
    let opened = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let inside = opened.map(|(target, _)| target.to_owned());
    inside.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace)).collect()
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let prose = prose(page);
    let titles =
        prose.lines().filter_map(|line| line.strip_prefix('#')).map(|line| line.trim_start_matches('#').trim());
    let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    titles.map(|title| title.chars().filter(is_kept).collect::<String>().to_lowercase().replace(' ', "-")).collect()
}

fn pages() -> Vec<String> {
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benches/README.md"];
    top.map(str::to_owned).into_iter().chain(files("docs", ".md")).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = vec![];
    for page in pages() {
        let folder = Path::new(&page).parent().unwrap();
        for target in targets(&read(&page)) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { page.clone() } else { folder.join(file).display().to_string() };
            let is_file = root().join(&path).exists();
            if !is_file || (!anchor.is_empty() && !anchors(&read(&path)).iter().any(|known| known == anchor)) {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_readme_leads_to_every_page_in_one_step() {
    let linked = targets(README);
    let missed: Vec<String> = files("docs", ".md").into_iter().filter(|page| !linked.contains(page)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
