//! Names of drivers, and JSON results in text.

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{DriverName, fenced_json};

#[rstest]
#[case("api")]
#[case("api:open-router")]
#[case("cli:codex")]
#[case("cli:claude")]
#[case("scripted:some where/a:b.yaml")]
fn a_name_is_read_and_written_unchanged(#[case] name: &str) {
    let driver: DriverName = name.parse().unwrap();
    assert_eq!(driver.to_string(), name);
    assert_eq!(serde_json::from_value::<DriverName>(json!(name)).unwrap(), driver);
}

#[test]
fn each_program_is_found_by_its_name() {
    for program in DriverName::programs() {
        assert_eq!(program.name.parse::<DriverName>().unwrap().to_string(), program.name);
    }
}

#[rstest]
#[case("", None)]
#[case("codex", Some("cli:codex"))]
#[case("claude", Some("cli:claude"))]
#[case("claude-code", Some("cli:claude"))]
#[case("Claude", Some("cli:claude"))]
#[case("cli:claud", Some("cli:claude"))]
#[case("anthropic", Some("cli:claude"))]
#[case("cli:", None)]
#[case("cli:gemini", None)]
#[case("api:", Some("api:PROVIDER"))]
#[case("api:a b", Some("api:PROVIDER"))]
#[case("scripted", Some("scripted:FILE"))]
#[case("scripted:", Some("scripted:FILE"))]
#[case("API", Some("api"))]
#[case("gpt", None)]
fn an_unknown_name_lists_the_known_ones(#[case] name: &str, #[case] meant: Option<&str>) {
    let error = name.parse::<DriverName>().unwrap_err().to_string();
    let known = "there are `api`, `api:PROVIDER`, `cli:codex`, `cli:claude` and `scripted:FILE`";
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    assert_eq!(error, format!("there is no driver `{name}`; {known}{meant}"));
}

#[rstest]
#[case::bare(r#" {"a": 1} "#, Some(json!({"a": 1})))]
#[case::fenced("so:\n```json\n{\"a\": 1}\n```\n", Some(json!({"a": 1})))]
#[case::the_last_fence("```json\n{\"a\": 1}\n```\n~~~\n{\"a\": 2}\n~~~\nand\n```sh\nls\n```", Some(json!({"a": 2})))]
#[case::a_fence_inside("````json\n{\"a\": \"\\n```\\n\"}\n````", Some(json!({"a": "\n```\n"})))]
#[case::never_closed("```json\n{\"a\":\n1}", Some(json!({"a": 1})))]
#[case::in_prose("I think\n  {\"a\": {\n  \"b\": 1}}\nthat is all {really}", Some(json!({"a": {"b": 1}})))]
#[case::nested_lines("I think\n{\"a\": [\n{\"b\": 1},\n{\"c\": 2}\n]}\ndone", Some(json!({"a": [{"b": 1}, {"c": 2}]})))]
#[case::crlf("```json\r\n{\"a\": 1}\r\n```\r\n", Some(json!({"a": 1})))]
#[case::no_object("```json\n[1]\n```", None)]
#[case::broken("```json\n{\"a\": }\n```", None)]
#[case::nothing("", None)]
fn a_result_is_found_in_text(#[case] text: &str, #[case] found: Option<Value>) {
    assert_eq!(fenced_json(text), found);
}
