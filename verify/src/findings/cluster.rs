//! Groups findings by their likely common cause.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_base::gather;
use superstep_base::text::shorten;

use super::finding::{Finding, Fingerprint};
use super::normalizer::Normalizer;

/// The minimum share of common words, in percent, of two texts with a likely common cause.
const ALIKE: usize = 60;
/// The maximum length of a title, in bytes.
const TITLE: usize = 100;

/// Findings with a likely common cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The place and the first message.
    pub title: String,
    /// The fingerprints, each once.
    pub fingerprints: Vec<Fingerprint>,
    /// The files, each once.
    pub files: Vec<String>,
    /// The messages, each once.
    pub messages: Vec<String>,
}

/// Groups findings with a likely common cause: in the same file; with the same message in any file; without a file,
/// with the same code or symbol, or with similar texts. Groups and findings stay in the order of the findings.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::{Finding, FindingKind, clusters};
/// let error = |file, message| Finding::error(FindingKind::BuildFail, message).at(file, 3);
/// let findings = [error("src/a.rs", "E0308: mismatched types"), error("src/b.rs", "E0425: no `x`"), error("src/a.rs", "E0433: no `y`")];
/// let titles: Vec<_> = clusters(&findings).into_iter().map(|cluster| cluster.title).collect();
/// assert_eq!(titles, ["src/a.rs: E0308: mismatched types, and 1 more", "src/b.rs: E0425: no `x`"]);
/// ```
#[must_use]
pub fn clusters(findings: &[Finding]) -> Vec<Cluster> {
    let groups = Groups::of(findings);
    groups.lists().iter().map(|group| cluster(findings, group)).collect()
}

/// Groups findings into at most `most` clusters by merging the smallest one into the most similar one.
#[must_use]
pub fn clusters_at_most(findings: &[Finding], most: usize) -> Vec<Cluster> {
    let mut groups = Groups::of(findings).lists();
    let traits: Vec<Traits> = findings.iter().map(Traits::of).collect();
    while groups.len() > most.max(1) {
        merge_smallest(&mut groups, &traits);
    }
    groups.iter().map(|group| cluster(findings, group)).collect()
}

/// The parts of a finding that are compared with others.
#[derive(Debug)]
struct Traits {
    file: Option<String>,
    code: Option<String>,
    text: String,
    words: BTreeSet<String>,
}

impl Traits {
    fn of(finding: &Finding) -> Self {
        let (code, rest) = code(&finding.message);
        let text = Normalizer::default().normalize(&finding.message);
        let words = Normalizer::default().normalize(rest);
        let words = gather(words.split_whitespace().map(str::to_owned));
        Self { file: finding.evidence.file.clone(), code: code.map(str::to_owned), text, words }
    }

    fn is_similar(&self, other: &Self) -> bool {
        let common = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - common;
        all > 0 && common * 100 >= ALIKE * all
    }

    /// Returns the folder of the file.
    fn folder(&self) -> Option<&str> {
        self.file.as_deref().map(|file| file.rsplit_once('/').map_or("", |(folder, _)| folder))
    }

    /// Returns the similarity of two findings: by their code, their text, their folder.
    fn similarity(&self, other: &Self) -> usize {
        let has_code = self.code.is_some() && self.code == other.code;
        let has_folder = self.file.is_some() && self.folder() == other.folder();
        4 * usize::from(has_code) + 2 * usize::from(self.is_similar(other)) + usize::from(has_folder)
    }
}

/// Splits a message into the code or symbol before it and the rest.
fn code(message: &str) -> (Option<&str>, &str) {
    match message.split_once(": ") {
        Some((code, rest)) if !code.contains(' ') => (Some(code), rest),
        _ => (None, message),
    }
}

/// Disjoint groups of findings by index: each points to an earlier one of its group, or to itself.
struct Groups(Vec<usize>);

impl Groups {
    fn of(findings: &[Finding]) -> Self {
        let traits: Vec<Traits> = findings.iter().map(Traits::of).collect();
        let mut groups = Self((0..findings.len()).collect());
        groups.join_by(&traits, |one| one.file.clone());
        groups.join_by(&traits, |one| Some(one.text.clone()));
        groups.join_by(&traits, |one| one.code.clone().filter(|_| one.file.is_none()));
        groups.join_similar(&traits);
        groups
    }

    fn root(&self, mut nth: usize) -> usize {
        while self.0[nth] != nth {
            nth = self.0[nth];
        }
        nth
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }

    /// Joins the findings with the same key.
    fn join_by(&mut self, traits: &[Traits], of: impl Fn(&Traits) -> Option<String>) {
        let mut first: HashMap<String, usize> = HashMap::new();
        for (nth, one) in traits.iter().enumerate() {
            if let Some(same) = of(one) {
                let first = *first.entry(same).or_insert(nth);
                self.join(first, nth);
            }
        }
    }

    /// Joins the findings without a file whose texts are similar.
    fn join_similar(&mut self, traits: &[Traits]) {
        let loose: Vec<usize> = (0..traits.len()).filter(|nth| traits[*nth].file.is_none()).collect();
        for (at, nth) in loose.iter().enumerate() {
            if let Some(alike) = loose[..at].iter().find(|other| traits[**other].is_similar(&traits[*nth])) {
                self.join(*alike, *nth);
            }
        }
    }

    /// Returns the groups, in the order of their first findings.
    fn lists(&self) -> Vec<Vec<usize>> {
        let mut lists: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..self.0.len()).for_each(|nth| lists.entry(self.root(nth)).or_default().push(nth));
        lists.into_values().collect()
    }
}

/// Merges the smallest group, or the last of several, into the most similar one, or the smallest of several.
fn merge_smallest(groups: &mut Vec<Vec<usize>>, traits: &[Traits]) {
    let Some(smallest) = (0..groups.len()).min_by_key(|nth| (groups[*nth].len(), Reverse(*nth))) else { return };
    let group = groups.remove(smallest);
    let likeness = |other: &[usize]| {
        let pairs = group.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
        pairs.map(|(one, other)| traits[*one].similarity(&traits[*other])).max().unwrap_or_default()
    };
    let nearest =
        (0..groups.len()).max_by_key(|nth| (likeness(&groups[*nth]), Reverse(groups[*nth].len()), Reverse(*nth)));
    if let Some(nearest) = nearest {
        groups[nearest].extend(group);
        groups[nearest].sort_unstable();
        groups.sort_unstable();
    }
}

fn cluster(findings: &[Finding], group: &[usize]) -> Cluster {
    let mut cluster = Cluster::default();
    for finding in group.iter().map(|nth| &findings[*nth]) {
        add(&mut cluster.fingerprints, &finding.fingerprint);
        add(&mut cluster.messages, &finding.message);
        finding.evidence.file.iter().for_each(|file| add(&mut cluster.files, file));
    }
    let title = title(&cluster);
    Cluster { title, ..cluster }
}

fn add<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}

fn title(cluster: &Cluster) -> String {
    let message = cluster.messages.first().map_or("", |message| message.lines().next().unwrap_or_default());
    let message = shorten(message, TITLE);
    let place = match cluster.files.as_slice() {
        [] => String::new(),
        [file] => format!("{file}: "),
        files => format!("{} files: ", files.len()),
    };
    match cluster.messages.len() {
        0 | 1 => format!("{place}{message}"),
        more => format!("{place}{message}, and {} more", more - 1),
    }
}
