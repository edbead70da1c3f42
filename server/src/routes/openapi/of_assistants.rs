//! The routes of assistants and of their graphs in the description.

use super::super::assistants::{AssistantBody, DeleteQuery, SearchBody, VersionBody, VersionSearch};
use super::super::schemas::{GraphQuery, SubgraphsQuery};
use super::route::{Route, count, delete, get, object, patch, post};
use crate::records::assistant::AssistantJson;

/// Returns the routes of assistants.
pub(super) fn assistants() -> Vec<Route> {
    let of = "/assistants/{assistant_id}";
    vec![
        post("/assistants", "create_assistant", "Creates an assistant")
            .body::<AssistantBody>()
            .answer::<AssistantJson<'_>>("The assistant.")
            .errors([404, 409]),
        post("/assistants/search", "search_assistants", "Lists assistants")
            .body::<SearchBody>()
            .page::<AssistantJson<'_>>("A page of assistants."),
        post("/assistants/count", "count_assistants", "Counts assistants")
            .body::<SearchBody>()
            .answer_of(count(), "The number of assistants."),
        get(of, "get_assistant", "Returns an assistant")
            .answer::<AssistantJson<'_>>("The assistant.")
            .errors([404, 422]),
        patch(of, "update_assistant", "Makes a new version of an assistant")
            .body::<AssistantBody>()
            .answer::<AssistantJson<'_>>("The assistant.")
            .errors([404]),
        delete(of, "delete_assistant", "Deletes an assistant")
            .query::<DeleteQuery>()
            .empty(204, "It is deleted.")
            .errors([404, 409, 422]),
        post("/assistants/{assistant_id}/versions", "list_assistant_versions", "Lists the versions of an assistant")
            .body::<VersionSearch>()
            .page::<AssistantJson<'_>>("A page of versions, the newest first.")
            .errors([404]),
        post("/assistants/{assistant_id}/latest", "set_latest_assistant_version", "Makes a version the current one")
            .body::<VersionBody>()
            .answer::<AssistantJson<'_>>("The assistant.")
            .errors([404]),
        get("/assistants/{assistant_id}/schemas", "get_assistant_schemas", "Returns the schemas of the graph")
            .answer_of(object(), "JSON Schemas of the input, the output and the state.")
            .errors([404, 422]),
        get("/assistants/{assistant_id}/graph", "get_assistant_graph", "Returns the nodes and edges of the graph")
            .query::<GraphQuery>()
            .answer_of(object(), "`nodes` and `edges`.")
            .errors([404, 422]),
        get("/assistants/{assistant_id}/subgraphs", "list_assistant_subgraphs", "Returns the schemas of the subgraphs")
            .query::<SubgraphsQuery>()
            .answer_of(object(), "JSON Schemas by the paths of the subgraphs.")
            .errors([404, 422]),
        get(
            "/assistants/{assistant_id}/subgraphs/{namespace}",
            "get_assistant_subgraph",
            "Returns the schemas of a subgraph",
        )
        .query::<SubgraphsQuery>()
        .answer_of(object(), "JSON Schemas by the path of the subgraph; empty if there is none.")
        .errors([404, 422]),
    ]
}
