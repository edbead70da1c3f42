//! Files that are part of the program, as they are sent: compressed if the client takes that, and not at all if it has them. Must not
//! know which page they belong to.

use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use superstep_base::Fnv;

/// A file of a page, as it is and compressed beforehand.
#[derive(Debug)]
pub(super) struct PageFile {
    pub name: &'static str,
    pub plain: &'static [u8],
    pub brotli: &'static [u8],
    pub gzip: &'static [u8],
}

impl PageFile {
    /// Returns the answer with the file: 304 if the client has it.
    pub(super) fn answer(&self, request: &HeaderMap, policy: &'static str) -> Response {
        let (body, encoding) = self.encoded(request);
        let mut response = answer(request, policy, self.content_type(), body, encoding.unwrap_or("identity"));
        if let Some(encoding) = encoding {
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        response
    }

    /// Returns the smallest form that the client takes.
    fn encoded(&self, request: &HeaderMap) -> (&'static [u8], Option<&'static str>) {
        let accepts = |coding| accepts(request, coding);
        if accepts("br") {
            (self.brotli, Some("br"))
        } else if accepts("gzip") {
            (self.gzip, Some("gzip"))
        } else {
            (self.plain, None)
        }
    }

    fn content_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

/// Returns the answer with a file of any bytes: 304 if the client has it.
pub(super) fn answer(
    request: &HeaderMap,
    policy: &'static str,
    content: &'static str,
    body: impl AsRef<[u8]> + IntoResponse,
    form: &str,
) -> Response {
    let tag = tag(body.as_ref(), form);
    let is_known =
        request.get_all(IF_NONE_MATCH).iter().any(|known| known.to_str().is_ok_and(|known| known.contains(&tag)));
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let headers = response.headers_mut();
    let fixed = [
        (CONTENT_TYPE, content),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (VARY, "accept-encoding"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// Returns the tag of a file in one of its forms.
fn tag(body: &[u8], form: &str) -> String {
    let mut hash = Fnv::new();
    hash.mix(form.as_bytes());
    hash.mix(body);
    format!("\"{:016x}\"", hash.finish())
}

/// Returns whether a client takes a coding; `q=0` refuses it.
fn accepts(request: &HeaderMap, coding: &str) -> bool {
    let lists = request.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let is_it = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let is_refused = parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)));
        is_it && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::both("gzip, br", Some("br"))]
    #[case::with_weights("gzip;q=0.5, br;q=0.1", Some("br"))]
    #[case::refused("br;q=0, gzip", Some("gzip"))]
    #[case::refused_with_zeros("br;q=0.000", None)]
    #[case::other("deflate, zstd", None)]
    fn the_smallest_accepted_form_is_sent(#[case] accepted: &str, #[case] encoding: Option<&str>) {
        let file = PageFile { name: "a.js", plain: b"plain", brotli: b"br", gzip: b"gz" };
        let request = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_str(accepted).unwrap())]);
        let sent = file.answer(&request, "default-src 'none'");
        assert_eq!(sent.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap()), encoding);
    }
}
