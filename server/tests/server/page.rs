//! The page for people, as a browser gets it: its files, their forms and their headers.

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, redirect};
use rstest::rstest;
use serde_json::json;

use crate::api::Api;
use crate::security::Locked;

/// Sends a request with headers, and follows no redirect.
async fn get(api: &Api, path: &str, headers: &[(&'static str, &str)]) -> Response {
    let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    let header =
        |(name, value): &(&'static str, &str)| ((*name).parse().unwrap(), HeaderValue::from_str(value).unwrap());
    let headers: HeaderMap = headers.iter().map(header).collect();
    client.get(format!("{}{path}", api.address)).headers(headers).send().await.unwrap()
}

fn header(answer: &Response, name: &str) -> String {
    answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[rstest]
#[case::document("/ui/", "text/html; charset=utf-8")]
#[case::script("/ui/page.js", "text/javascript; charset=utf-8")]
#[case::style("/ui/page.css", "text/css; charset=utf-8")]
#[case::icon("/ui/icon.svg", "image/svg+xml")]
#[case::licences("/ui/licences.txt", "text/plain; charset=utf-8")]
#[case::address_of_a_view("/ui/threads/order%2F7/checkpoints/3", "text/html; charset=utf-8")]
#[tokio::test]
async fn each_file_has_its_type_and_lets_nothing_else_in(#[case] path: &str, #[case] content: &str) {
    let api = Api::start().await;
    let answer = get(&api, path, &[]).await;
    assert_eq!((answer.status().as_u16(), header(&answer, "content-type").as_str()), (200, content));
    let policy = header(&answer, "content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn the_document_has_no_script_or_style_of_its_own() {
    let api = Api::start().await;
    let text = get(&api, "/ui/", &[]).await.text().await.unwrap();
    assert!(text.contains("<script type=\"module\" crossorigin src=\"/ui/page.js\"></script>"), "{text}");
    assert!(!text.contains("<style") && !text.contains("style=") && !text.contains("://"), "{text}");
}

#[rstest]
#[case::brotli("gzip, deflate, br", "br")]
#[case::gzip("gzip", "gzip")]
#[case::plain("identity", "")]
#[tokio::test]
async fn a_file_is_compressed_as_the_browser_takes_it_and_sent_once(#[case] accepted: &str, #[case] encoding: &str) {
    let api = Api::start().await;
    let first = get(&api, "/ui/page.js", &[("accept-encoding", accepted)]).await;
    assert_eq!(
        (header(&first, "content-encoding").as_str(), header(&first, "vary").as_str()),
        (encoding, "accept-encoding")
    );
    let tag = header(&first, "etag");
    let again = get(&api, "/ui/page.js", &[("accept-encoding", accepted), ("if-none-match", &tag)]).await;
    assert_eq!(again.status(), 304);
    assert_eq!((header(&again, "etag"), again.bytes().await.unwrap().len()), (tag, 0));
}

#[tokio::test]
async fn the_tag_of_another_form_is_not_that_of_this_one() {
    let api = Api::start().await;
    let tag = header(&get(&api, "/ui/page.js", &[("accept-encoding", "gzip")]).await, "etag");
    let other = get(&api, "/ui/page.js", &[("accept-encoding", "br"), ("if-none-match", &tag)]).await;
    assert_eq!(other.status(), 200);
}

#[tokio::test]
async fn a_browser_is_led_to_the_page_and_a_program_gets_the_answer_of_ok() {
    let api = Api::start().await;
    for path in ["/", "/ui"] {
        let browser = get(&api, path, &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")]).await;
        assert_eq!((browser.status().as_u16(), header(&browser, "location").as_str()), (307, "/ui/"), "{path}");
    }
    assert_eq!(api.get("/").await, json!({ "ok": true }));
}

#[tokio::test]
async fn the_page_needs_no_key_and_what_it_shows_does() {
    let locked = Locked::start().await;
    for path in ["/ui/", "/ui/page.js", "/ui/threads/order-7"] {
        assert_eq!(locked.api.status(Method::GET, path, None).await, 200, "{path}");
    }
    assert_eq!(locked.api.status(Method::GET, "/threads/order-7", None).await, 401);
}
