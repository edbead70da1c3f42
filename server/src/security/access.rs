//! The role that each route needs: the only place that says so. A route that is not in the table needs the role admin. Must not know
//! handlers.

use axum::http::Method;

use super::roles::KeyRole;

/// Access to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// None for a route that needs no key.
    pub needs: Option<KeyRole>,
    /// Set if the answer lasts as long as a run, or longer.
    pub is_stream: bool,
    /// Set if the role `answer` is enough for a request that only answers a question.
    pub may_answer: bool,
}

const OPEN: Access = Access { needs: None, is_stream: false, may_answer: false };
const READ: Access = Access { needs: Some(KeyRole::Read), ..OPEN };
const ANSWER: Access = Access { needs: Some(KeyRole::Answer), ..OPEN };
const RUN: Access = Access { needs: Some(KeyRole::Run), ..OPEN };
const ADMIN: Access = Access { needs: Some(KeyRole::Admin), ..OPEN };

impl Access {
    const fn stream(self) -> Self {
        Self { is_stream: true, ..self }
    }

    const fn or_answer(self) -> Self {
        Self { may_answer: true, ..self }
    }
}

/// A path pattern, and the access for each of its methods.
type Row = (&'static str, &'static [(&'static str, Access)]);

/// All routes. Names of parameters do not matter.
pub(crate) const TABLE: &[Row] = &[
    ("/", &[("GET", OPEN)]),
    ("/ok", &[("GET", OPEN)]),
    ("/info", &[("GET", READ)]),
    ("/openapi.json", &[("GET", READ)]),
    ("/ui", &[("GET", OPEN)]),
    ("/ui/", &[("GET", OPEN)]),
    ("/ui/{*path}", &[("GET", OPEN)]),
    ("/docs", &[("GET", OPEN)]),
    ("/docs/docs.css", &[("GET", OPEN)]),
    ("/docs/docs.js", &[("GET", OPEN)]),
    ("/metrics", &[("GET", READ)]),
    ("/events", &[("GET", READ.stream())]),
    // What waits for people.
    ("/inbox", &[("GET", READ)]),
    ("/threads/{thread}/inbox", &[("GET", READ)]),
    ("/threads/{thread}/check", &[("POST", ANSWER)]),
    ("/threads/{thread}/status", &[("GET", READ)]),
    ("/health", &[("GET", READ)]),
    ("/spend", &[("GET", READ)]),
    ("/graphs", &[("GET", READ)]),
    // Assistants: their changes decide what the runs of others do.
    ("/assistants", &[("POST", ADMIN)]),
    ("/assistants/search", &[("POST", READ)]),
    ("/assistants/count", &[("POST", READ)]),
    ("/assistants/{id}", &[("GET", READ), ("PATCH", ADMIN), ("DELETE", ADMIN)]),
    ("/assistants/{id}/graph", &[("GET", READ)]),
    ("/assistants/{id}/schemas", &[("GET", READ)]),
    ("/assistants/{id}/subgraphs", &[("GET", READ)]),
    ("/assistants/{id}/subgraphs/{namespace}", &[("GET", READ)]),
    ("/assistants/{id}/versions", &[("POST", READ)]),
    ("/assistants/{id}/latest", &[("POST", ADMIN)]),
    // Threads.
    ("/threads", &[("POST", RUN)]),
    ("/threads/search", &[("POST", READ)]),
    ("/threads/count", &[("POST", READ)]),
    ("/threads/prune", &[("POST", ADMIN)]),
    ("/threads/{thread}", &[("GET", READ), ("PATCH", RUN), ("DELETE", ADMIN)]),
    ("/threads/{thread}/copy", &[("POST", RUN)]),
    ("/threads/{thread}/trust", &[("POST", ADMIN)]),
    ("/threads/{thread}/fork", &[("POST", RUN)]),
    ("/threads/{thread}/export", &[("GET", ADMIN)]),
    ("/threads/import", &[("POST", RUN)]),
    ("/threads/{thread}/state", &[("GET", READ), ("POST", RUN)]),
    ("/threads/{thread}/state/checkpoint", &[("POST", READ)]),
    ("/threads/{thread}/state/{checkpoint}", &[("GET", READ)]),
    ("/threads/{thread}/history", &[("GET", READ), ("POST", READ)]),
    // The past of a thread. What is compared runs no effect and stores nothing.
    ("/threads/{thread}/checkpoints", &[("GET", READ)]),
    ("/threads/{thread}/checkpoints/{checkpoint}", &[("GET", READ)]),
    ("/threads/{thread}/checkpoints/{checkpoint}/value", &[("GET", READ)]),
    ("/threads/{thread}/checkpoints/{checkpoint}/tasks/{task}", &[("GET", READ)]),
    ("/threads/{thread}/diff", &[("GET", READ)]),
    ("/threads/{thread}/verify", &[("POST", READ)]),
    ("/threads/{thread}/what-if", &[("POST", READ)]),
    ("/threads/{thread}/stream", &[("GET", READ.stream())]),
    // A WebSocket carries commands too.
    ("/threads/{thread}/stream/events", &[("POST", READ.stream()), ("GET", RUN.stream())]),
    ("/threads/{thread}/commands", &[("POST", RUN.or_answer())]),
    // Runs.
    ("/threads/{thread}/runs", &[("GET", READ), ("POST", RUN.or_answer())]),
    ("/threads/{thread}/runs/wait", &[("POST", RUN.or_answer().stream())]),
    ("/threads/{thread}/runs/stream", &[("POST", RUN.or_answer().stream())]),
    ("/threads/{thread}/runs/crons", &[("POST", RUN)]),
    ("/threads/{thread}/runs/{run}", &[("GET", READ), ("DELETE", ADMIN)]),
    ("/threads/{thread}/runs/{run}/join", &[("GET", READ.stream())]),
    ("/threads/{thread}/runs/{run}/stream", &[("GET", READ.stream())]),
    ("/threads/{thread}/runs/{run}/cancel", &[("POST", RUN)]),
    ("/runs", &[("POST", RUN)]),
    ("/runs/wait", &[("POST", RUN.stream())]),
    ("/runs/stream", &[("POST", RUN.stream())]),
    ("/runs/batch", &[("POST", RUN)]),
    ("/runs/cancel", &[("POST", RUN)]),
    ("/runs/{run}/join", &[("GET", READ.stream())]),
    ("/runs/{run}/stream", &[("GET", READ.stream())]),
    ("/runs/crons", &[("POST", RUN)]),
    ("/runs/crons/search", &[("POST", READ)]),
    ("/runs/crons/count", &[("POST", READ)]),
    ("/runs/crons/{cron}", &[("GET", READ), ("PATCH", RUN), ("DELETE", ADMIN)]),
    // Long-term memory.
    ("/store/items", &[("GET", READ), ("PUT", RUN), ("DELETE", ADMIN)]),
    ("/store/items/search", &[("POST", READ)]),
    ("/store/namespaces", &[("POST", READ)]),
    // Each tool of MCP checks the role that it needs.
    ("/mcp", &[("POST", READ.stream()), ("GET", READ.stream()), ("DELETE", READ)]),
    ("/mcp/", &[("POST", READ), ("GET", READ), ("PUT", READ), ("PATCH", READ), ("DELETE", READ)]),
];

/// Returns the access to a route; `pattern` is that of the router. HEAD is as GET.
pub(crate) fn access(method: &Method, pattern: &str) -> Access {
    let name = if method == Method::HEAD { "GET" } else { method.as_str() };
    let row = TABLE.iter().find(|(known, _)| is_same(known, pattern));
    let rule = row.and_then(|(_, rules)| rules.iter().find(|(known, _)| *known == name));
    rule.map_or(ADMIN, |(_, access)| *access)
}

/// Returns whether two patterns are the same but for the names of their parameters.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.split('/'), b.split('/'));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if one == other || (is_parameter(one) && is_parameter(other)) => {}
            _ => return false,
        }
    }
}

fn is_parameter(part: &str) -> bool {
    part.starts_with('{') && !part.starts_with("{*")
}

#[cfg(test)]
mod tests {
    use std::fs::{read_dir, read_to_string};
    use std::path::Path;

    use rstest::rstest;

    use super::*;

    const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

    /// Returns the sources below a folder.
    fn sources(folder: &Path) -> Vec<String> {
        let entries = read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| match path.is_dir() {
            true => sources(&path),
            false => vec![read_to_string(path).unwrap()],
        };
        entries.flat_map(read).collect()
    }

    /// Returns the text up to the parenthesis that closes one.
    fn inside(text: &str) -> &str {
        let mut depth = 1;
        let end = text.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        &text[..end.unwrap()]
    }

    /// Returns whether one of the functions that add a method to a route is called.
    fn adds(handlers: &str, method: &str) -> bool {
        let is_part = |before: &str| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        handlers.match_indices(&format!("{method}(")).any(|(at, _)| !is_part(&handlers[..at]))
    }

    /// Returns the paths and methods of all routes that the sources of this crate add to a router.
    fn routes() -> Vec<(String, Vec<String>)> {
        let (sources, call) = (sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")), [".route", "("].concat());
        let calls = sources.iter().flat_map(|source| source.split(call.as_str()).skip(1).map(inside));
        let route = |call: &str| {
            let (path, handlers) = call.trim_start().strip_prefix('"')?.split_once('"')?;
            let methods = METHODS.into_iter().filter(|method| adds(handlers, method) || adds(handlers, "any"));
            Some((path.to_owned(), methods.map(str::to_uppercase).collect()))
        };
        calls.filter_map(route).collect()
    }

    #[test]
    fn each_route_of_the_router_is_in_the_table() {
        let routes = routes();
        assert!(routes.len() > 20, "the routes of the router are not found: {routes:?}");
        for (path, methods) in routes {
            assert!(!methods.is_empty(), "no method of {path} is found");
            let row = TABLE.iter().find(|(known, _)| is_same(known, &path));
            let (_, known) = row.unwrap_or_else(|| panic!("{path} is not in the table of roles"));
            for method in methods {
                assert!(
                    known.iter().any(|(known, _)| *known == method),
                    "{method} {path} is not in the table of roles"
                );
            }
        }
    }

    #[test]
    fn no_route_is_twice_in_the_table() {
        let same = |at: usize| TABLE[at + 1..].iter().find(|(path, _)| is_same(path, TABLE[at].0));
        let twice: Vec<_> = (0..TABLE.len()).filter_map(same).map(|(path, _)| path).collect();
        assert!(twice.is_empty(), "only the first row of {twice:?} counts");
    }

    #[rstest]
    #[case(Method::GET, "/threads/{id}", READ)]
    #[case(Method::HEAD, "/threads/{id}", READ)]
    #[case(Method::DELETE, "/threads/{id}", ADMIN)]
    #[case(Method::PUT, "/threads/{id}", ADMIN)]
    #[case(Method::GET, "/runs/crons/{cron}", READ)]
    #[case(Method::POST, "/runs/crons/search", READ)]
    #[case(Method::GET, "/unknown", ADMIN)]
    #[case(Method::GET, "/threads/{*rest}", ADMIN)]
    fn a_route_is_found_by_its_pattern_and_an_unknown_one_needs_admin(
        #[case] method: Method,
        #[case] pattern: &str,
        #[case] expected: Access,
    ) {
        assert_eq!(access(&method, pattern), expected);
    }
}
