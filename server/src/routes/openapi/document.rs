//! `/openapi.json`: the whole document, made once.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::rejection::NestedPathRejection;
use axum::extract::{NestedPath, State};
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::path::{PathItem, PathsBuilder};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    self, ComponentsBuilder, InfoBuilder, License, OpenApi, OpenApiBuilder, RefOr, SecurityRequirement,
};
use utoipa::{PartialSchema, ToSchema};

use super::errors::{ErrorJson, all_errors};
use super::route::Route;
use super::{of_assistants, of_branches, of_crons, of_inbox, of_inspection, of_runs, of_server, of_store, of_threads};
use crate::server::Server;

const ABOUT: &str = "LangGraph's API over the graphs of a program, and what this server adds to it. Errors are `{\"detail\": text}`. \
                     The names of threads in paths are percent-encoded. Keys are needed where the server has any.";

/// Routes that belong together: their tag, and what it is about.
type Group = (&'static str, &'static str, Vec<Route>);

/// Returns the route of the document.
pub(in super::super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/openapi.json", get(answer))
}

async fn answer(
    State(server): State<Arc<Server>>,
    prefix: Result<NestedPath, NestedPathRejection>,
) -> impl IntoResponse {
    static WITH_PAGE: OnceLock<OpenApi> = OnceLock::new();
    static WITHOUT_PAGE: OnceLock<OpenApi> = OnceLock::new();
    let known = if server.has_page { &WITH_PAGE } else { &WITHOUT_PAGE };
    let mut document = known.get_or_init(|| document(server.has_page)).clone();
    // Below a prefix, clients that take the place of the routes from here would look for them at the root.
    document.servers = prefix.ok().map(|prefix| vec![openapi::Server::new(prefix.as_str())]);
    ([(header::CONTENT_TYPE, "application/json")], document.to_json().unwrap_or_default())
}

/// Returns all routes that the document has, by tag.
fn groups(has_page: bool) -> Vec<Group> {
    let mut of_server = of_server::server();
    if has_page {
        of_server.extend(of_server::page());
    }
    let groups = vec![
        ("assistants", "Graphs with a configuration, in numbered versions.", of_assistants::assistants()),
        ("threads", "Threads, their states and their histories.", of_threads::threads()),
        ("branches", "Forks of threads, and threads as files.", of_branches::branches()),
        ("inbox", "What waits for a person.", of_inbox::inbox()),
        ("inspection", "The past of a thread, taken apart.", of_inspection::inspection()),
        ("runs", "Runs: created, waited for, streamed, joined and cancelled; the events of threads.", of_runs::runs()),
        ("crons", "Runs by a schedule.", of_crons::crons()),
        ("store", "Long-term memory: the items that nodes use too.", of_store::store()),
        ("server", "Health, information and numbers.", of_server),
    ];
    #[cfg(feature = "mcp")]
    let groups =
        groups.into_iter().chain([("mcp", "The graphs as tools of coding agents.", of_server::mcp())]).collect();
    groups
}

/// Returns the document.
fn document(has_page: bool) -> OpenApi {
    let (mut paths, mut components, mut tags) = (PathsBuilder::new().build(), components(), vec![]);
    for (tag, about, routes) in groups(has_page) {
        tags.push(TagBuilder::new().name(tag).description(Some(about)).build());
        for route in routes {
            let (path, method) = (route.path, route.http_method());
            let (operation, schemas) = route.build(tag);
            let Some(method) = method else { continue };
            let item = PathItem::new(method, operation);
            match paths.paths.get_mut(path) {
                Some(known) => known.merge_operations(item),
                None => _ = paths.paths.insert(path.to_owned(), item),
            }
            components = components.schemas_from_iter(schemas);
        }
    }
    OpenApiBuilder::new()
        .info(info())
        .paths(paths)
        .components(Some(components.build()))
        .tags(Some(tags))
        .security(Some(security()))
        .build()
}

fn info() -> InfoBuilder {
    let license = License::new(env!("CARGO_PKG_LICENSE"));
    InfoBuilder::new()
        .title("superstep")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(license))
}

/// Returns the errors and the ways to send a key.
fn components() -> ComponentsBuilder {
    let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
    let components = ComponentsBuilder::new()
        .schema(ErrorJson::name(), ErrorJson::schema())
        .security_scheme("api_key", key)
        .security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    all_errors().fold(components, |components, (name, answer)| components.response(name, RefOr::T(answer)))
}

/// Returns the ways to send a key: either, or none where the server has no keys.
fn security() -> [SecurityRequirement; 3] {
    let by = |name: &str| SecurityRequirement::new(name, Vec::<String>::new());
    [by("api_key"), by("bearer"), SecurityRequirement::default()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::security::access::{TABLE, is_same};

    /// Returns whether a row of the table is an operation: neither a redirect, nor what is refused with 405 to those who may read, nor a
    /// part of the page.
    fn is_operation(method: &str, path: &str) -> bool {
        !path.starts_with("/ui") && !matches!((method, path), (_, "/mcp/") | ("GET", "/mcp"))
    }

    fn routes() -> Vec<Route> {
        groups(true).into_iter().flat_map(|(.., routes)| routes).collect()
    }

    #[test]
    fn the_document_has_the_routes_of_the_table_of_roles() {
        let routes = routes();
        let is_described = |path: &str, method: &str| {
            routes.iter().any(|route| is_same(route.path, path) && route.method.as_str() == method)
        };
        for (path, rules) in TABLE {
            for (method, _) in rules.iter().filter(|(method, _)| is_operation(method, path)) {
                assert!(is_described(path, method), "{method} {path} is not in the document");
            }
        }
    }

    #[test]
    fn the_table_of_roles_has_the_routes_of_the_document() {
        for route in routes() {
            let row = TABLE.iter().find(|(path, _)| is_same(path, route.path));
            let has = row.is_some_and(|(_, rules)| rules.iter().any(|(method, _)| *method == route.method.as_str()));
            assert!(has, "{} {} is in the document alone", route.method, route.path);
        }
    }

    #[test]
    fn each_operation_has_an_id_of_its_own_and_an_answer() {
        let json = serde_json::to_value(document(true)).unwrap();
        let operations =
            json["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
        let (mut ids, mut all) = (BTreeSet::new(), 0);
        for operation in operations {
            all += 1;
            let id = operation["operationId"].as_str().unwrap();
            assert!(id.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_'), "{id}");
            assert!(ids.insert(id), "two operations are `{id}`");
            let mut answers = operation["responses"].as_object().unwrap().keys();
            assert!(answers.any(|status| status < &"400".to_owned()), "`{id}` has errors only");
        }
        assert_eq!(all, routes().len());
    }

    #[test]
    fn each_reference_leads_to_something() {
        let json = serde_json::to_value(document(true)).unwrap();
        let mut open = vec![&json];
        while let Some(value) = open.pop() {
            if let Some(reference) = value.get("$ref").and_then(|reference| reference.as_str()) {
                let place = reference.strip_prefix('#').unwrap();
                assert!(json.pointer(place).is_some(), "{reference} leads to nothing");
            }
            open.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
            open.extend(value.as_array().into_iter().flatten());
        }
    }
}
