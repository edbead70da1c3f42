//! The description of the routes, and the page that shows it.

use std::sync::Arc;

use reqwest::Method;
use superstep::checkpoint::MemoryCheckpointer;
use superstep_server::Options;

use crate::api::Api;

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let api = Api::start().await;
    for path in ["/docs", "/docs/docs.css", "/docs/docs.js"] {
        let answer = api.send(Method::GET, path, None).await;
        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{path}: {policy}");
        let text = answer.text().await.unwrap();
        assert!(!text.contains("://") && !text.contains("style=") && !text.contains("innerHTML"), "{path}: {text}");
    }
}

#[tokio::test]
async fn the_page_is_left_out_where_it_is_not_wanted() {
    let api = Api::start_with(Options::default().page(false), Arc::new(MemoryCheckpointer::new())).await;
    for path in ["/docs", "/docs/docs.js"] {
        assert_eq!(api.status(Method::GET, path, None).await, 404, "{path}");
    }
}
