//! Keys with their roles, and pages of other origins: who may do what.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use axum::{Extension, Router};
use reqwest::{Method, RequestBuilder, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep_server::{Caller, KeyRole, Keys, KeysError, Options};
use tempfile::TempDir;

use crate::api::{Api, all_graphs};

/// A server with a key for each role, named like it.
pub(crate) struct Locked {
    pub(crate) api: Api,
    folder: TempDir,
    keys: Vec<(KeyRole, String)>,
}

fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("keys.json")
}

impl Locked {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let file = file_in(&folder);
        let keys = KeyRole::ALL.map(|role| (role, Keys::add(&file, role.as_str(), role).unwrap()));
        let options = Options::default().api_keys(Keys::load(&file).unwrap());
        let api = Api::start_with(options, Arc::new(MemoryCheckpointer::new())).await;
        Self { api, folder, keys: keys.into() }
    }

    pub(crate) fn revoke(&self, role: KeyRole) {
        Keys::revoke(file_in(&self.folder), role.as_str()).unwrap();
    }

    pub(crate) fn key(&self, role: KeyRole) -> &str {
        &self.keys.iter().find(|(known, _)| *known == role).unwrap().1
    }

    pub(crate) fn request(&self, role: KeyRole, method: Method, path: &str) -> RequestBuilder {
        let request = self.api.client.request(method, format!("{}{path}", self.api.address));
        request.header("x-api-key", self.key(role))
    }

    pub(crate) async fn post(&self, role: KeyRole, path: &str, body: &Value) -> (StatusCode, Value) {
        let answer = self.request(role, Method::POST, path).json(body).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }
}

#[rstest]
#[case(Method::GET, "/info", KeyRole::Read)]
#[case(Method::POST, "/threads/search", KeyRole::Read)]
#[case(Method::POST, "/assistants/search", KeyRole::Read)]
#[case(Method::GET, "/threads/t", KeyRole::Read)]
#[case(Method::GET, "/threads/t/state", KeyRole::Read)]
#[case(Method::POST, "/threads/t/history", KeyRole::Read)]
#[case(Method::GET, "/threads/t/runs", KeyRole::Read)]
#[case(Method::GET, "/threads/t/runs/0197a3c4-0000-7000-8000-000000000000/stream", KeyRole::Read)]
#[case(Method::POST, "/threads", KeyRole::Run)]
#[case(Method::PATCH, "/threads/t", KeyRole::Run)]
#[case(Method::POST, "/threads/t/state", KeyRole::Run)]
#[case(Method::POST, "/threads/t/runs", KeyRole::Run)]
#[case(Method::POST, "/threads/t/runs/wait", KeyRole::Run)]
#[case(Method::POST, "/runs/stream", KeyRole::Run)]
#[case(Method::POST, "/threads/t/runs/0197a3c4-0000-7000-8000-000000000000/cancel", KeyRole::Run)]
#[case(Method::DELETE, "/threads/t", KeyRole::Admin)]
#[case(Method::DELETE, "/threads/t/runs/0197a3c4-0000-7000-8000-000000000000", KeyRole::Admin)]
#[case(Method::POST, "/assistants", KeyRole::Admin)]
#[case(Method::PATCH, "/assistants/0197a3c4-0000-7000-8000-000000000000", KeyRole::Admin)]
#[case(Method::DELETE, "/assistants/0197a3c4-0000-7000-8000-000000000000", KeyRole::Admin)]
#[case(Method::PUT, "/threads/t", KeyRole::Admin)]
#[tokio::test]
async fn a_route_is_closed_to_lower_roles(#[case] method: Method, #[case] path: &str, #[case] needed: KeyRole) {
    let locked = Locked::start().await;
    for role in KeyRole::ALL {
        let request = locked.request(role, method.clone(), path).json(&json!({ "input": {} }));
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status == StatusCode::FORBIDDEN, role < needed, "{role}: {status} {text}");
        assert!(role >= needed || text.contains(&format!("needs the role {needed}")), "{text}");
    }
}

#[tokio::test]
async fn without_a_known_key_only_health_is_answered() {
    let locked = Locked::start().await;
    let get = |path: &str, header: &'static str, key: &str| {
        let request = locked.api.client.get(format!("{}{path}", locked.api.address));
        if key.is_empty() { request } else { request.header(header, key) }.send()
    };
    for path in ["/", "/ok"] {
        assert_eq!(get(path, "", "").await.unwrap().status(), StatusCode::OK);
    }
    for path in ["/info", "/threads/t", "/unknown"] {
        for key in ["", "superstep_0000", "é"] {
            let refused = get(path, "x-api-key", key).await.unwrap();
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{path} {key}");
            assert_eq!(refused.headers()["www-authenticate"], "Bearer");
            assert!(refused.json::<Value>().await.unwrap()["detail"].is_string());
        }
    }
    let bearer = format!("Bearer {}", locked.key(KeyRole::Read));
    let info: Value = get("/info", "authorization", &bearer).await.unwrap().json().await.unwrap();
    assert_eq!(info["caller"]["role"], "read");
    let basic = format!("Basic {}", locked.key(KeyRole::Read));
    assert_eq!(get("/info", "authorization", &basic).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(get("/unknown", "authorization", &bearer).await.unwrap().status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_role_answer_only_answers_and_under_its_own_name() {
    let locked = Locked::start().await;
    let (_, thread) = locked.post(KeyRole::Run, "/threads", &json!({})).await;
    let path = format!("/threads/{}/runs/wait", thread["thread_id"].as_str().unwrap());
    let start = json!({ "assistant_id": "approval", "input": { "request": "x" } });
    let (refused, detail) = locked.post(KeyRole::Answer, &path, &start).await;
    assert_eq!(refused, StatusCode::FORBIDDEN);
    assert!(detail["detail"].as_str().unwrap().contains("answer"), "{detail}");
    locked.post(KeyRole::Run, &path, &start).await;
    for more in [json!({ "goto": "finish" }), json!({ "update": { "status": "approved" } })] {
        let mut command = json!({ "resume": "yes" });
        command.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({ "assistant_id": "approval", "command": command });
        assert_eq!(locked.post(KeyRole::Answer, &path, &body).await.0, StatusCode::FORBIDDEN);
    }
    let answer = json!({ "assistant_id": "approval", "input": null, "command": { "resume": "yes", "by": "the boss" } });
    assert_eq!(locked.post(KeyRole::Read, &path, &answer).await.0, StatusCode::FORBIDDEN);
    let (answered, values) = locked.post(KeyRole::Answer, &path, &answer).await;
    assert_eq!((answered, &values["status"]), (StatusCode::OK, &json!("approved")));
    let runs = locked.request(KeyRole::Read, Method::GET, path.trim_end_matches("/wait")).send().await.unwrap();
    assert_eq!(runs.json::<Value>().await.unwrap()[0]["kwargs"]["command"]["by"], "answer");
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_its_streams_end() {
    let locked = Locked::start().await;
    let file = file_in(&locked.folder);
    let body = json!({ "assistant_id": "slow", "input": { "steps": 100_000, "ms": 5 }, "stream_mode": "custom" });
    let stream = locked.request(KeyRole::Run, Method::POST, "/runs/stream").json(&body).send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    locked.revoke(KeyRole::Run);
    assert_eq!(locked.post(KeyRole::Run, "/threads", &json!({})).await.0, StatusCode::UNAUTHORIZED);
    assert!(stream.text().await.unwrap().starts_with("event: "), "the stream ends while its run goes on");
    let added = Keys::add(&file, "run", KeyRole::Run).unwrap();
    let again = locked.api.client.post(format!("{}/threads", locked.api.address)).header("x-api-key", added);
    assert_eq!(again.json(&json!({})).send().await.unwrap().status(), StatusCode::OK);
    fs::write(&file, "{}").unwrap();
    assert_eq!(locked.post(KeyRole::Admin, "/threads", &json!({})).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn a_file_holds_no_key_and_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("new/keys.json");
    assert!(matches!(Keys::load(&file), Err(KeysError::Missing { .. })));
    assert!(matches!(Keys::revoke(&file, "ci"), Err(KeysError::Missing { .. })));
    let key = Keys::add(&file, "ci", KeyRole::Run).unwrap();
    assert!(key.starts_with("superstep_") && key.len() == 74, "{}", key.len());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains(&key[10..]));
    assert!(matches!(Keys::add(&file, "ci", KeyRole::Read), Err(KeysError::Taken { .. })));
    for name in ["", " ci", "a\nb", &"x".repeat(65)] {
        assert!(matches!(Keys::add(&file, name, KeyRole::Read), Err(KeysError::InvalidName { .. })), "{name}");
    }
    assert!(matches!(Keys::revoke(&file, "other"), Err(KeysError::Unknown { .. })));
    let names: Vec<_> = Keys::list(&file).unwrap().into_iter().map(|key| (key.name, key.role)).collect();
    assert_eq!(names, [("ci".to_owned(), KeyRole::Run)]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = Keys::load(&file).unwrap_err();
    assert!(refused.to_string().ends_with("its mode is 0640"), "{refused}");
    assert!(refused.help().unwrap().starts_with("`chmod 600 "));
}

#[test]
fn keys_that_are_added_at_once_are_all_kept() {
    let folder = TempDir::new().unwrap();
    let file = file_in(&folder);
    let add = |number: usize| Keys::add(&file, &format!("key {number}"), KeyRole::Read).map(drop).unwrap();
    std::thread::scope(|scope| (0..8).for_each(|number| drop(scope.spawn(move || add(number)))));
    assert_eq!(Keys::list(&file).unwrap().len(), 8);
}

#[tokio::test]
async fn a_key_that_was_closed_to_others_too_late_is_not_accepted() {
    use std::os::unix::fs::PermissionsExt;
    let locked = Locked::start().await;
    let file = file_in(&locked.folder);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(locked.post(KeyRole::Admin, "/threads", &json!({})).await.0, StatusCode::SERVICE_UNAVAILABLE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(locked.post(KeyRole::Admin, "/threads", &json!({})).await.0, StatusCode::OK);
}

/// Returns the status of a request as a browser sends it for a page.
async fn from_page(api: &Api, method: Method, headers: &[(&str, &str)]) -> StatusCode {
    let path = if method == Method::POST { "/threads" } else { "/info" };
    let request = api.client.request(method, format!("{}{path}", api.address)).json(&json!({}));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap().status()
}

#[rstest]
#[case::no_browser(Method::POST, &[], StatusCode::OK)]
#[case::local_page(Method::POST, &[("origin", "http://localhost:3000")], StatusCode::OK)]
#[case::allowed_page(Method::POST, &[("origin", "https://chat.example.com")], StatusCode::OK)]
#[case::own_page(Method::POST, &[("origin", "http://10.1.2.3:9"), ("host", "10.1.2.3:9")], StatusCode::OK)]
#[case::foreign_page(Method::POST, &[("origin", "https://evil.example")], StatusCode::FORBIDDEN)]
#[case::sandboxed_page(Method::POST, &[("origin", "null")], StatusCode::FORBIDDEN)]
#[case::foreign_read(Method::GET, &[("origin", "https://evil.example")], StatusCode::OK)]
#[case::foreign_socket(
    Method::GET,
    &[("origin", "https://evil.example"), ("connection", "upgrade"), ("upgrade", "websocket")],
    StatusCode::FORBIDDEN
)]
#[case::rebound(Method::GET, &[("host", "evil.example:2024")], StatusCode::FORBIDDEN)]
#[case::rebound_page(
    Method::POST,
    &[("host", "evil.example:2024"), ("origin", "http://evil.example:2024")],
    StatusCode::FORBIDDEN
)]
#[tokio::test]
async fn a_page_from_elsewhere_changes_nothing(
    #[case] method: Method,
    #[case] headers: &[(&str, &str)],
    #[case] expected: StatusCode,
) {
    let options = Options::default().allow_origin("https://chat.example.com");
    let api = Api::start_with(options, Arc::new(MemoryCheckpointer::new())).await;
    assert_eq!(from_page(&api, method.clone(), headers).await, expected);
    let is_made = method == Method::POST && expected == StatusCode::OK;
    assert_eq!(api.post("/threads/count", json!({})).await, usize::from(is_made));
}

#[rstest]
#[case("http://localhost:3000", true)]
#[case("https://evil.example", false)]
#[tokio::test]
async fn a_preflight_says_what_a_page_may_send(#[case] origin: &str, #[case] is_allowed: bool) {
    let api = Api::start().await;
    let asked = [
        ("origin", origin),
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "authorization,x-api-key"),
        ("access-control-request-private-network", "true"),
    ];
    let request = api.client.request(Method::OPTIONS, format!("{}/threads/t", api.address));
    let preflight = asked.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await;
    let preflight = preflight.unwrap();
    let (status, headers) = (preflight.status(), preflight.headers());
    assert_eq!(status, StatusCode::OK);
    let allowed = is_allowed.then_some(origin);
    assert_eq!(headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap()), allowed);
    let network = headers.get("access-control-allow-private-network").map(|value| value.to_str().unwrap());
    assert_eq!(network, is_allowed.then_some("true"));
    assert_eq!(headers["access-control-allow-headers"], "authorization,x-api-key");
    assert_eq!(headers["access-control-max-age"], "600");
    assert!(headers["access-control-allow-methods"].to_str().unwrap().contains("DELETE"));
    let read = api.client.get(format!("{}/info", api.address)).header("origin", origin).send().await.unwrap();
    assert_eq!(read.headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap()), allowed);
    let exposed = read.headers()["access-control-expose-headers"].to_str().unwrap();
    for name in ["location", "content-location", "x-pagination-total", "x-pagination-next", "retry-after"] {
        assert!(exposed.split(',').any(|known| known == name), "{name}: {exposed}");
    }
}

/// Serves a router that is mounted in another.
async fn mount(options: Options, wrap: impl FnOnce(Router) -> Router) -> Api {
    let router = options.router(all_graphs().unwrap(), Arc::new(MemoryCheckpointer::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/agents", listener.local_addr().unwrap());
    let router = wrap(router);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Api { client: reqwest::Client::new(), address }
}

#[rstest]
#[case::nested(|router| Router::new().nest("/agents", router))]
#[case::service(|router| Router::new().nest_service("/agents", router))]
#[tokio::test]
async fn roles_hold_in_a_mounted_router(#[case] wrap: fn(Router) -> Router) {
    let folder = TempDir::new().unwrap();
    let key = Keys::add(file_in(&folder), "reader", KeyRole::Read).unwrap();
    let api = mount(Options::default().api_keys(Keys::load(file_in(&folder)).unwrap()), wrap).await;
    let send = |method, path: &str| {
        api.client.request(method, format!("{}{path}", api.address)).header("x-api-key", &key).send()
    };
    assert_eq!(send(Method::GET, "/info").await.unwrap().status(), StatusCode::OK);
    assert_eq!(send(Method::GET, "/threads/t").await.unwrap().status(), StatusCode::NOT_FOUND);
    assert_eq!(send(Method::POST, "/threads").await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(api.send(Method::GET, "/ok", None).await.status(), StatusCode::OK);
    assert_eq!(api.send(Method::GET, "/info", None).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_program_brings_an_authentication_of_its_own() {
    let caller = Caller { name: "ada".into(), role: KeyRole::Read };
    let wrap = move |router: Router| Router::new().nest("/agents", router.layer(Extension(caller)));
    let api = mount(Options::default(), wrap).await;
    assert_eq!(api.send(Method::GET, "/info", None).await.status(), StatusCode::OK);
    let refused = api.send(Method::POST, "/threads", Some(json!({}))).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert!(refused.text().await.unwrap().contains("`ada` has the role read"));
}

#[rstest]
#[case::minutes(json!({ "ttl": 5 }), KeyRole::Admin)]
#[case::strategy(json!({ "ttl": { "ttl": 5, "strategy": "delete" } }), KeyRole::Admin)]
#[case::keep_latest(json!({ "ttl": { "ttl": 0, "strategy": "keep_latest" } }), KeyRole::Admin)]
#[case::none(json!({ "ttl": null, "metadata": { "a": 1 } }), KeyRole::Run)]
#[tokio::test]
async fn to_let_a_thread_expire_needs_the_role_that_deletes_it(#[case] change: Value, #[case] needed: KeyRole) {
    let locked = Locked::start().await;
    locked.post(KeyRole::Run, "/threads", &json!({ "thread_id": "t" })).await;
    for role in KeyRole::ALL {
        let answer = locked.request(role, Method::PATCH, "/threads/t").json(&change).send().await.unwrap();
        assert_eq!(answer.status() == StatusCode::OK, role >= needed, "{role}: {}", answer.text().await.unwrap());
    }
}
