//! Parts of threads that a client names by their paths: `values.messages[-1].content`. Knows JSON only.

use serde_json::{Map, Value};

use crate::error::{ApiError, ApiResult};

/// The largest number of paths.
const MOST: usize = 10;
/// The fields of a thread in which paths begin.
const ROOTS: [&str; 4] = ["values", "metadata", "config", "interrupts"];

/// Checks the paths of a search, before any thread is read.
///
/// # Errors
/// 422 for too many of them, and for one that begins nowhere.
pub(super) fn check_paths(paths: &Map<String, Value>) -> ApiResult<()> {
    if paths.len() > MOST {
        return Err(ApiError::invalid(format!("extract has {MOST} paths at most")));
    }
    let is_known = |path: &str| ROOTS.contains(&path.split(['.', '[']).next().unwrap_or_default());
    let unknown = paths.iter().find(|(_, path)| path.as_str().is_some_and(|path| !is_known(path)));
    match unknown {
        Some((name, path)) => {
            Err(ApiError::invalid(format!("extract `{name}`: {path} begins with none of {}", ROOTS.join(", "))))
        }
        None => Ok(()),
    }
}

/// Returns the parts of a thread that `paths` names; null for those that are not there.
///
/// # Errors
/// 422 for a path that cannot be read.
pub(super) fn extract_fields(thread: &Value, paths: &Map<String, Value>) -> ApiResult<Value> {
    let part = |(name, path): (&String, &Value)| {
        let path = path.as_str().ok_or_else(|| ApiError::invalid(format!("extract `{name}`: {path} is no path")))?;
        Ok((name.clone(), find(thread, path)?.cloned().unwrap_or_default()))
    };
    paths.iter().map(part).collect::<ApiResult<Map<_, _>>>().map(Value::from)
}

fn find<'a>(value: &'a Value, path: &str) -> ApiResult<Option<&'a Value>> {
    let mut found = Some(value);
    for segment in path.split('.') {
        let (name, indexes) = segment.split_once('[').map_or((segment, None), |(name, rest)| (name, Some(rest)));
        if !name.is_empty() {
            found = found.and_then(|value| value.get(name));
        }
        for index in indexes.into_iter().flat_map(|rest| rest.split('[')) {
            let number = index.strip_suffix(']').and_then(|index| index.parse::<isize>().ok());
            let number = number.ok_or_else(|| {
                ApiError::invalid(format!("the path `{path}` cannot be read: an index is a number in brackets"))
            })?;
            found = found.and_then(Value::as_array).and_then(|list| element(list, number));
        }
    }
    Ok(found)
}

/// Returns an element of a list; a negative number counts from its end.
fn element(list: &[Value], number: isize) -> Option<&Value> {
    let from_end = number.is_negative().then(|| list.len().checked_sub(number.unsigned_abs()));
    list.get(from_end.unwrap_or(usize::try_from(number).ok())?)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("values.messages[-1].content", json!("b"))]
    #[case("values.messages[0]", json!({ "content": "a" }))]
    #[case("values.grid[1][0]", json!(3))]
    #[case("metadata.owner", json!("me"))]
    #[case("values.messages[-3]", Value::Null)]
    #[case("values.none.deeper", Value::Null)]
    fn paths_lead_to_their_parts(#[case] path: &str, #[case] part: Value) {
        let thread = json!({
            "values": { "messages": [{ "content": "a" }, { "content": "b" }], "grid": [[1, 2], [3]] },
            "metadata": { "owner": "me" },
        });
        let paths = Map::from_iter([("x".to_owned(), path.into())]);
        assert_eq!(extract_fields(&thread, &paths).unwrap(), json!({ "x": part }));
    }

    #[test]
    fn an_index_that_is_no_number_is_refused() {
        let paths = Map::from_iter([("x".to_owned(), "values[last]".into())]);
        assert!(extract_fields(&json!({}), &paths).unwrap_err().detail.contains("values[last]"));
    }
}
