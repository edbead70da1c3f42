//! [`Normalizer`]: texts and paths without the folders of a run.

use std::borrow::Cow;

use super::path;
use super::scan::Scan;

/// The folders of a run, which do not count as part of a path: the checkout, folders of worktrees, temporary folders.
///
/// ```
/// # use superstep_verify as superstep;
/// use superstep::findings::Normalizer;
/// let first = Normalizer::new(["/home/ada/tides"]);
/// let second = Normalizer::new(["/tmp/tmp.8fQzKw1Xyz"]);
/// assert_eq!(first.relative("/home/ada/tides/src/main.rs"), "src/main.rs");
/// assert_eq!(
///     first.normalize("/home/ada/tides/src/main.rs:3:5: ‘depth’ is 0x7f12 after 1.2s"),
///     second.normalize("/tmp/tmp.8fQzKw1Xyz/src/main.rs:14:9: 'depth' is 0x55aa after 980ms"),
/// );
/// assert_ne!(first.normalize("E0308 in foo1"), first.normalize("E0277 in foo2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalizer {
    /// Absolute, without a `/` at the end, the longest first.
    roots: Vec<String>,
}

impl Normalizer {
    /// Returns a normalizer for these folders. What is no absolute path, and `/` itself, is left out.
    #[must_use]
    pub fn new(roots: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let folder = |root: String| root.replace('\\', "/").trim_end_matches('/').to_owned();
        let mut roots: Vec<String> = roots.into_iter().map(|root| folder(root.into())).collect();
        roots.retain(|root| path::is_absolute(root));
        roots.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        roots.dedup();
        Self { roots }
    }

    /// Returns the path from the root of the repository, with `/`; a path that leads elsewhere stays as it is.
    #[must_use]
    pub fn relative<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let slashed = if path.contains('\\') { Cow::Owned(path.replace('\\', "/")) } else { Cow::Borrowed(path) };
        match slashed {
            Cow::Borrowed(path) => Cow::Borrowed(self.within(path)),
            Cow::Owned(path) => Cow::Owned(self.within(&path).to_owned()),
        }
    }

    /// Returns the text with one form for everything that changes from run to run. Paths are relative and without line numbers,
    /// numbers are `#`, and so are addresses, times, hashes and temporary names; quotation marks are of one kind; space is
    /// single. Digits in identifiers stay, and so do numbers of up to three digits in quotation marks: they are code.
    #[must_use]
    pub fn normalize(&self, text: &str) -> String {
        Scan::text(&self.rootless(text)).finish()
    }

    /// Returns a code, a symbol or the name of a test in one form: its numbers stay.
    pub(in crate::findings) fn normalize_code(&self, code: &str) -> String {
        Scan::quoted(&self.rootless(code)).finish()
    }

    /// Returns a path in one form: its numbers stay.
    pub(in crate::findings) fn normalize_path(&self, path: &str) -> String {
        let mut normal = String::with_capacity(path.len());
        path::push(&self.relative(path), &mut normal);
        normal
    }

    fn within<'a>(&self, path: &'a str) -> &'a str {
        let inside = self.roots.iter().find_map(|root| match path.strip_prefix(root.as_str())? {
            "" => Some("."),
            rest => rest.strip_prefix('/'),
        });
        let mut path = inside.unwrap_or(path);
        while let Some(rest) = path.strip_prefix("./") {
            path = rest.trim_start_matches('/');
        }
        path
    }

    fn rootless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.roots.iter().fold(Cow::Borrowed(text), |text, root| match text.contains(root.as_str()) {
            true => Cow::Owned(path::without(&text, root)),
            false => text,
        })
    }
}
