//! The routes of long-term memory in the description.
//!
//! Small because types describe themselves.

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};

use super::super::store::{FoundItemJson, ItemJson, NameBody, NamespacesBody, ReadQuery, SearchBody, WriteBody};
use super::route::{Route, delete, get, post, put, text};

/// Returns the routes of items.
pub(super) fn store() -> Vec<Route> {
    vec![
        put("/store/items", "put_item", "Writes an item").body::<WriteBody>().empty(204, "It is written."),
        item_or_null(get("/store/items", "get_item", "Returns an item")),
        delete("/store/items", "delete_item", "Deletes an item").body::<NameBody>().empty(204, "It is not there."),
        found_items(post("/store/items/search", "search_items", "Finds items")),
        namespaces(post("/store/namespaces", "list_namespaces", "Lists namespaces")),
    ]
}

fn item_or_null(mut route: Route) -> Route {
    let null = Object::with_type(Type::Null);
    let item = OneOfBuilder::new().item(route.reference::<ItemJson>()).item(null).build();
    route.query::<ReadQuery>().answer_of(Schema::OneOf(item), "The item; null if there is none.").errors([422])
}

fn found_items(mut route: Route) -> Route {
    let items = ArrayBuilder::new().items(route.reference::<FoundItemJson>());
    let found = ObjectBuilder::new().property("items", items).required("items").build();
    route.body::<SearchBody>().answer_of(found, "The items, the best first.")
}

fn namespaces(route: Route) -> Route {
    let names = ArrayBuilder::new().items(RefOr::T(ArrayBuilder::new().items(text()).into()));
    let found = ObjectBuilder::new().property("namespaces", names).required("namespaces").build();
    route.body::<NamespacesBody>().answer_of(found, "The namespaces.")
}
