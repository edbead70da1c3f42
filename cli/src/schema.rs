//! `schema`: the JSON Schemas of the files that people write for this program, so that editors complete and check them.

use clap::{Args, ValueEnum};
use serde_json::Value;
use superstep::graph::GraphSpec;
use superstep::spec::VerifierConfig;
use superstep_app::{CustomOutput, Refusal};
use superstep_workflows::Profile;

/// The arguments of `schema`.
#[derive(Args)]
#[command(after_help = "Example:\n  {bin} schema profile > superstep.schema.json\n  \
    and above the profile: #:schema ./superstep.schema.json")]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(value_enum)]
    file: FileKind,
}

#[derive(Clone, Copy, ValueEnum)]
enum FileKind {
    /// A profile, such as superstep.toml
    Profile,
    /// verifiers.yml
    Verifiers,
    /// A graph as a document
    Graph,
}

impl FileKind {
    fn schema(self) -> Value {
        match self {
            Self::Profile => Profile::json_schema(),
            Self::Verifiers => VerifierConfig::json_schema(),
            Self::Graph => GraphSpec::json_schema(),
        }
    }
}

/// Prints the schema of a kind of file.
pub(crate) async fn print(args: SchemaArgs) -> Result<CustomOutput, Refusal> {
    let schema = args.file.schema();
    CustomOutput::new(format!("{schema:#}\n"), &schema)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn problems(kind: FileKind, file: &Value) -> Vec<String> {
        let validator = jsonschema::draft202012::new(&kind.schema()).unwrap();
        validator.iter_errors(file).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }

    fn read(path: &str) -> Value {
        let text = std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        if path.ends_with(".toml") {
            return toml::from_str(&text).unwrap();
        }
        serde_norway::from_str(&text).unwrap()
    }

    #[rstest]
    #[case::profile(FileKind::Profile, "examples/tasks/superstep.toml")]
    #[case::verifiers(FileKind::Verifiers, "examples/code-task/verifiers.yml")]
    fn the_files_of_the_examples_are_valid(#[case] kind: FileKind, #[case] path: &str) {
        assert_eq!(problems(kind, &read(path)), [""; 0]);
    }

    /// The blocks of TOML in a page.
    fn blocks(page: &str, language: &str) -> Vec<String> {
        let text = std::fs::read_to_string(format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let start = format!("```{language}\n");
        text.split(&start).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
    }

    #[test]
    fn the_profiles_of_the_documentation_are_valid() {
        let all = blocks("docs/profile.md", "toml");
        assert!(!all.is_empty());
        for block in all {
            assert!(Profile::parse(&block, "superstep.toml").is_ok(), "{block}");
            assert_eq!(problems(FileKind::Profile, &toml::from_str(&block).unwrap()), [""; 0], "{block}");
        }
    }

    #[rstest]
    #[case::key(FileKind::Profile, json!({ "modle": "m" }))]
    #[case::word(FileKind::Profile, json!({ "on_exhausted": "halts" }))]
    #[case::of_a_role(FileKind::Profile, json!({ "agents": { "reviewer": { "driver": 3 } } }))]
    #[case::time(FileKind::Profile, json!({ "limits": { "wall": "an hour" } }))]
    #[case::price(FileKind::Profile, json!({ "prices": { "m": { "inptu": 1 } } }))]
    #[case::id(FileKind::Verifiers, json!({ "verifiers": [{ "mode": "shell" }] }))]
    #[case::mode(FileKind::Verifiers, json!({ "verifiers": [{ "id": "a", "mode": "shall" }] }))]
    #[case::limit(FileKind::Verifiers, json!({ "verifiers": [{ "id": "a", "config": { "timeout_sec": 601 } }] }))]
    #[case::kind(FileKind::Graph, json!({ "channels": { "a": "appended" }, "nodes": {} }))]
    #[case::nodes(FileKind::Graph, json!({ "channels": {} }))]
    #[case::router(FileKind::Graph, json!({ "nodes": {}, "routers": [{ "from": "a", "field": "b" }] }))]
    fn mistakes_are_found(#[case] kind: FileKind, #[case] file: Value) {
        assert_eq!(problems(kind, &file).len(), 1, "{:?}", problems(kind, &file));
    }

    #[test]
    fn a_graph_document_is_valid() {
        let document = json!({
            "name": "sizes",
            "channels": { "text": "last_value", "log": { "kind": "topic:accumulate", "secret": true }, "n": { "kind": "add" } },
            "nodes": { "classify": "classify", "shorten": "shorten" },
            "edges": [{ "from": "START", "to": "classify" }, { "from": ["classify", "shorten"], "to": "END" }],
            "routers": [{ "from": "classify", "field": "text", "to": { "long": "shorten" }, "otherwise": "END" }],
            "interrupt_before": ["shorten"],
        });
        assert_eq!(problems(FileKind::Graph, &document), [""; 0]);
        assert!(serde_json::from_value::<GraphSpec>(document).is_ok());
    }
}
