//! Enums whose variants are words: one name in files, JSON, text and on the command line.
//! Small because every room has such enums.

/// Defines an enum of words, written in the case that comes first, such as `"lowercase"`.
macro_rules! words {
    ($case:tt $(#[$attribute:meta])* pub enum $name:ident { $($variants:tt)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[derive(strum::Display, strum::EnumString, strum::VariantNames)]
        #[serde(rename_all = $case)]
        #[strum(serialize_all = $case)]
        $(#[$attribute])*
        pub enum $name { $($variants)* }
    };
}
