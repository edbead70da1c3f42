//! Rejected, broken and silent responses of servers, and the error of the turn. No key is ever shown.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use superstep::drivers::api::{ApiConfig, ApiDriver, ApiKey};
use superstep::drivers::{AgentEvent, DriverError, DriverErrorClass, DriverExt, SessionStore};

use super::{KEY, Scene, work_done};
use crate::model_server::{Answer, Hang, How, ModelServer, Tokens};

async fn error_of(answer: Answer) -> (Scene, DriverError) {
    let scene = Scene::of([answer]).await;
    let error = scene.finish(scene.request("t", "x")).await.unwrap_err();
    (scene, error)
}

#[rstest]
#[case(429, DriverErrorClass::RateLimited)]
#[case(401, DriverErrorClass::Auth)]
#[case(403, DriverErrorClass::Auth)]
#[case(400, DriverErrorClass::Content)]
#[case(404, DriverErrorClass::Fatal)]
#[case(422, DriverErrorClass::Content)]
#[case(408, DriverErrorClass::Transient)]
#[case(500, DriverErrorClass::Transient)]
#[case(502, DriverErrorClass::Transient)]
#[case(503, DriverErrorClass::Transient)]
#[case(529, DriverErrorClass::Transient)]
#[case(402, DriverErrorClass::Fatal)]
#[tokio::test]
async fn a_rejection_has_a_class_and_the_servers_message(#[case] status: u16, #[case] class: DriverErrorClass) {
    let (scene, error) =
        error_of(Answer::refusal(status, &format!("no, {KEY} is wrong\n{}", "long ".repeat(1000)))).await;
    assert_eq!(error.class, class, "{error}");
    assert!(error.message.contains("no, [key] is wrong long"), "{error}");
    assert!(error.message.len() < 1300, "bounded");
    assert!(!format!("{error:?}").contains(KEY));
    assert_eq!(scene.server.requests().len(), 1, "a driver does not try again by itself");
}

#[tokio::test]
async fn refused_keys_name_their_variable() {
    let (_scene, error) = error_of(Answer::refusal(401, "bad key")).await;
    assert_eq!(error.help, "the key comes from MY_KEY; is it the right one?");
    let scene = Scene::of([Answer::refusal(401, "no key")]).await;
    let config = ApiConfig::new(scene.server.url()).key_from_env("SUPERSTEP_TEST_NO_SUCH_KEY");
    let api = ApiDriver::new(config, SessionStore::new(scene.store())).unwrap();
    let error = api.finish(scene.request("t", "x"), |_| ()).await.unwrap_err();
    assert_eq!(error.help, "SUPERSTEP_TEST_NO_SUCH_KEY is not set: set it to the server's key");
    assert_eq!(scene.server.requests()[0].header("authorization"), None);
}

#[rstest]
#[case("retry-after", "7", 7000)]
#[case("Retry-After-Ms", "250", 250)]
#[case("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT", 0)]
#[tokio::test]
async fn a_rate_limit_gives_the_time_to_wait(#[case] name: &str, #[case] value: &str, #[case] millis: u64) {
    let (_scene, error) = error_of(Answer::refusal(429, "slowly").header(name, value)).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(millis)));
}

#[rstest]
#[case::cut_stream(How { cut: Some(300), ..How::default() }, DriverErrorClass::Transient, "closed the connection early")]
#[case::cut_at_once(How { cut: Some(0), ..How::default() }, DriverErrorClass::Transient, "closed the connection early")]
#[case::cut_json(How { cut: Some(50), json: true, ..How::default() }, DriverErrorClass::Transient, "closed the connection early")]
#[case::ended_early(How { no_done: true, no_finish: true, ..How::default() }, DriverErrorClass::Transient, "closed the connection early")]
#[tokio::test]
async fn a_cut_answer_may_be_requested_again(#[case] how: How, #[case] class: DriverErrorClass, #[case] says: &str) {
    let (scene, error) = error_of(Answer::text("half of what there was to say").how(how)).await;
    assert_eq!(error.class, class, "{error}");
    assert!(error.message.contains(says), "{error}");
    assert!(!scene.stored().contains("assistant"), "what is not whole is not kept");
}

#[rstest]
#[case::no_json("data: {\"choices\": [\n\n", "an invalid chunk")]
#[case::other_json("{\"weather\": \"fine\"}", "without a choice")]
#[case::html("<html>Welcome to this network</html>", "Welcome")]
#[case::nothing("", "nothing")]
#[tokio::test]
async fn an_invalid_answer_is_not_requested_again(#[case] body: &str, #[case] says: &str) {
    let how = How { no_content_type: true, ..How::default() };
    let (_scene, error) = error_of(Answer { body: Some(body.to_owned()), how, ..Answer::default() }).await;
    assert_eq!(error.class, DriverErrorClass::Content, "{error}");
    assert!(error.message.contains(says), "{error}");
}

#[rstest]
#[case(json!({ "message": "overloaded", "code": 429 }), DriverErrorClass::RateLimited)]
#[case(json!({ "message": "overloaded", "code": "502" }), DriverErrorClass::Transient)]
#[case(json!({ "message": "overloaded", "type": "server_error" }), DriverErrorClass::Transient)]
#[case(json!({ "message": "too long", "type": "invalid_request_error" }), DriverErrorClass::Content)]
#[tokio::test]
async fn an_error_in_the_stream_has_a_class(#[case] error: serde_json::Value, #[case] class: DriverErrorClass) {
    let body = format!("data: {}\n\n", json!({ "error": error }));
    let how = How { no_content_type: true, ..How::default() };
    let (_scene, error) = error_of(Answer { body: Some(body), how, ..Answer::default() }).await;
    assert_eq!(error.class, class, "{error}");
}

#[rstest]
#[case::silent(Hang::Silent)]
#[case::stalled(Hang::Stalled)]
#[tokio::test]
async fn a_silent_server_times_out(#[case] hang: Hang) {
    let scene = Scene::of([Answer::text("never said").how(How { hang: Some(hang), ..How::default() })]).await;
    let mut request = scene.request("t", "x");
    request.limits.idle = Duration::from_millis(200);
    let error = scene.finish(request).await.unwrap_err();
    assert_eq!(
        (error.class, error.message.contains("silent for 200ms")),
        (DriverErrorClass::Transient, true),
        "{error}"
    );
}

#[tokio::test]
async fn comments_prevent_the_idle_timeout_but_not_the_time_limit() {
    let how = How { hang: Some(Hang::Comments), ..How::default() };
    let scene = Scene::of([Answer::text("never said").how(how)]).await;
    let mut request = scene.request("t", "x");
    (request.limits.idle, request.limits.wall) = (Duration::from_secs(20), Duration::from_millis(500));
    let error = scene.finish(request).await.unwrap_err();
    assert_eq!(error.class, DriverErrorClass::Budget, "{error}");
}

#[tokio::test]
async fn a_turn_can_be_cancelled_while_the_model_is_silent() {
    let scene = Scene::of([Answer::text("x").how(How { hang: Some(Hang::Silent), ..How::default() })]).await;
    let request = scene.request("t", "x");
    let cancel = request.cancel.clone();
    let (ended, ()) = tokio::join!(scene.finish(request), async {
        scene.server.wait_for(1).await;
        cancel.cancel();
    });
    assert_eq!(ended.unwrap_err().class, DriverErrorClass::Cancelled);
}

#[tokio::test]
async fn a_missing_server_is_a_transient_error() {
    let mut scene = Scene::of([]).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let config = ApiConfig::new(format!("http://user:{KEY}@{address}/v1")).key(ApiKey::new(KEY), "MY_KEY");
    let api = ApiDriver::new(config, SessionStore::new(scene.store())).unwrap();
    let error = api.finish(scene.request("t", "x"), |_| ()).await.unwrap_err();
    assert_eq!(error.class, DriverErrorClass::Transient);
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    scene.server = ModelServer::start_at([Answer::text("back")], &address).await.unwrap();
    assert_eq!(api.finish(scene.request("t", "x"), |_| ()).await.unwrap().text, "back");
}

#[rstest]
#[case::elsewhere(302, false)]
#[case::elsewhere_with_the_body(307, false)]
#[case::same_host(307, true)]
#[tokio::test]
async fn keys_do_not_follow_redirects_to_other_servers(#[case] status: u16, #[case] same_host: bool) {
    let other = Scene::of([Answer::text("stolen").always()]).await;
    let to = match same_host {
        true => "/other/path".to_owned(),
        false => format!("{}/chat/completions", other.server.url()),
    };
    let moved = Answer { status, body: Some(String::new()), ..Answer::default() }.header("location", &to);
    let scene = Scene::of([moved, Answer::text("at home")]).await;
    let ended = scene.finish(scene.request("t", "x")).await;
    assert!(other.server.requests().is_empty());
    match same_host {
        true => assert_eq!(ended.unwrap().text, "at home"),
        false => assert_eq!(ended.unwrap_err().class, DriverErrorClass::Fatal),
    }
}

#[rstest]
#[case("not a url", DriverErrorClass::Fatal)]
#[case("ftp://example.org/v1", DriverErrorClass::Fatal)]
#[tokio::test]
async fn an_invalid_base_url_is_refused(#[case] url: &str, #[case] class: DriverErrorClass) {
    let error = ApiDriver::new(ApiConfig::new(url), SessionStore::new("unused")).unwrap_err();
    assert_eq!(error.class, class);
    assert!(error.message.contains("base URL"), "{error}");
}

#[tokio::test]
async fn a_key_with_a_line_end_in_it_is_refused_and_not_shown() {
    let config = ApiConfig::new("http://localhost/v1").key(ApiKey::new("sk-one\nsk-two"), "MY_KEY");
    let error = ApiDriver::new(config, SessionStore::new("unused")).unwrap_err();
    assert_eq!(error.class, DriverErrorClass::Auth);
    assert!(error.message.contains("MY_KEY") && !format!("{error:?}").contains("sk-"), "{error:?}");
}

#[tokio::test]
async fn a_secure_server_is_checked_with_the_systems_certificates() {
    let api = ApiDriver::new(ApiConfig::new("https://localhost:1/v1"), SessionStore::new("unused"));
    assert!(api.is_ok(), "{api:?}");
}

#[tokio::test]
async fn no_key_gets_into_events_or_history() {
    let mut echo = Answer::call("read", json!({ "path": "key.txt" }));
    echo.text = format!("Your key is {KEY}!");
    echo.how = How { piece: 3, ..How::default() };
    let scene = Scene::of([echo, Answer::call("submit_work", json!({ "summary": KEY }))]).await;
    std::fs::write(scene.work().join("key.txt"), format!("KEY={KEY}")).unwrap();
    let (events, ended) = scene.run(scene.request("t", &format!("my key is {KEY}"))).await;
    assert_eq!(ended.as_ref().unwrap().submitted, Some(json!({ "summary": "[key]" })));
    assert!(!format!("{events:?}{ended:?}").contains(KEY));
    assert!(!scene.stored().contains(KEY) && scene.stored().contains("[key]"));
    assert!(!scene.server.requests().iter().any(|requests| requests.body.to_string().contains(KEY)));
    assert!(!format!("{:?}", scene.api()).contains(KEY));
}

#[tokio::test]
async fn content_errors_do_not_change_the_session() {
    let scene = Scene::of([
        Answer::call("read", json!({ "path": "a.txt" })),
        Answer::refusal(400, "no"),
        Answer::call("submit_work", work_done()),
    ])
    .await;
    assert_eq!(scene.finish(scene.request("t", "x")).await.unwrap_err().class, DriverErrorClass::Content);
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    assert_eq!(finished.submitted, Some(work_done()));
    let requests = scene.server.requests();
    assert_eq!(requests[1].body, requests[2].body, "the request that was refused is the one that is made again");
}

#[rstest]
#[case::in_a_chunk("data: {\"choices\": [{\"delta\": {\"content\": \"half of wh")]
#[case::after_others("data: {\"choices\": [{\"delta\": {\"content\": \"half\"}}]}\n\ndata: {\"cho")]
#[case::before_its_data("data: {\"choices\": [{\"delta\": {\"content\": \"half\"}}]}\n\ndata:")]
#[tokio::test]
async fn a_stream_that_ends_inside_a_frame_is_a_cut(#[case] body: &str) {
    let how = How { no_content_type: true, ..How::default() };
    let (scene, error) = error_of(Answer { body: Some(body.to_owned()), how, ..Answer::default() }).await;
    assert_eq!(error.class, DriverErrorClass::Transient, "{error}");
    assert!(error.message.contains("closed the connection early"), "{error}");
    assert!(!scene.stored().contains("assistant"));
}

#[tokio::test]
async fn an_event_without_its_empty_line_is_complete() {
    let body = "data: {\"choices\": [{\"delta\": {\"content\": \"all\"}, \"finish_reason\": \"stop\"}]}";
    let how = How { no_content_type: true, ..How::default() };
    let scene = Scene::of([Answer { body: Some(body.into()), how, ..Answer::default() }]).await;
    assert_eq!(scene.finish(scene.request("t", "x")).await.unwrap().text, "all");
}

#[rstest]
#[case::a_new_session("bad request", false)]
#[case::too_long("This model's maximum context length is 8192 tokens", true)]
#[case::filtered("The prompt was stopped by Azure's content management policy", true)]
#[tokio::test]
async fn a_first_rejection_concerns_the_session_only_if_the_message_does(#[case] says: &str, #[case] refusal: bool) {
    let (_scene, error) = error_of(Answer::refusal(400, says)).await;
    assert_eq!((error.class, error.refusal), (DriverErrorClass::Content, refusal), "{error}");
}

#[tokio::test]
async fn a_rejection_after_an_answer_concerns_the_session() {
    let scene =
        Scene::of([Answer::call("read", json!({ "path": "a.txt" })), Answer::refusal(400, "bad request")]).await;
    let error = scene.finish(scene.request("t", "x")).await.unwrap_err();
    assert_eq!((error.class, error.refusal), (DriverErrorClass::Content, true), "{error}");
}

#[tokio::test]
async fn a_filtered_answer_is_a_refusal_and_is_not_stored() {
    let how = How { finish: Some("content_filter".into()), ..How::default() };
    let used = Some(Tokens { read: 40, cached: 0, written: 2 });
    let answers = [Answer::text("I").how(how).usage(used), Answer::text("all")];
    let scene = Scene::of(answers).await;
    let (events, ended) = scene.run(scene.request("t", "x")).await;
    let error = ended.unwrap_err();
    assert_eq!((error.class, error.refusal), (DriverErrorClass::Content, true), "{error}");
    assert!(error.message.contains("content filter") && !scene.stored().contains("assistant"), "{error}");
    let Some(AgentEvent::Usage(usage)) = events.last() else { panic!("{events:?}") };
    assert_eq!((usage.input, usage.output, usage.requests), (40, 2, 1), "what is not kept is paid for");
    let usage = scene.finish(scene.request("t", "x")).await.unwrap().usage;
    assert_eq!((usage.input, usage.output, usage.requests), (50, 7, 2), "with what the turn used before");
}
