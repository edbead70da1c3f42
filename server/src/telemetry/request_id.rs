//! The ids of requests: that of the client, or one that is made here. Each answer has it in `x-request-id`. Must not know what is logged.

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware::map_request;
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use uuid::Uuid;

/// The name of the header.
pub(super) const REQUEST_ID: &str = "x-request-id";
/// The most characters of an id that a client gives.
const LONGEST: usize = 128;

/// Gives each request of a router an id, and each answer that of its request.
pub(crate) fn with_request_ids(router: Router) -> Router {
    router
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(NewId))
        .layer(map_request(drop_odd_id))
}

/// Makes ids that are in the order of their time.
#[derive(Clone)]
struct NewId;

impl MakeRequestId for NewId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&Uuid::now_v7().to_string()).ok().map(RequestId::new)
    }
}

/// Drops an id that could be mistaken for something else in a log.
async fn drop_odd_id(mut request: Request) -> Request {
    if request.headers().get(REQUEST_ID).is_some_and(|id| !is_plain(id.as_bytes())) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

fn is_plain(id: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::is_plain;

    #[rstest]
    #[case::uuid("01990000-0000-7000-8000-000000000001", true)]
    #[case::trace_of_a_proxy("Root=1-67891233-abcdef012345678912345678/a:b+c.d_e", true)]
    #[case::empty("", false)]
    #[case::space("a b", false)]
    #[case::quote("a\"b", false)]
    #[case::too_long(&"a".repeat(129), false)]
    fn only_plain_ids_are_taken_over(#[case] id: &str, #[case] expected: bool) {
        assert_eq!(is_plain(id.as_bytes()), expected);
    }
}
