//! Any bytes as a file of recorded cases: rejected, or cases that the runner can read. Placed beside the modules of the
//! conformance suite that know the format.

use serde_json::Value;

use crate::model::Case;

/// Never panics. Returns the number of cases.
pub(crate) fn body(data: &[u8]) -> usize {
    let cases = match serde_json::from_slice(data) {
        Ok(Value::Array(cases)) => cases,
        Ok(single) => vec![single],
        Err(_) => return 0,
    };
    cases.into_iter().filter(|case| serde_json::from_value::<Case>(case.clone()).is_ok()).count()
}
