//! The settings of a server for the checks of requests: keys, origins, limits. Must not know how they are checked.

use std::time::Duration;

use crate::options::Options;
use crate::security::Keys;

/// Settings of the checks of requests.
impl Options {
    /// Accepts only requests with one of these keys, in `x-api-key` or as `authorization: Bearer`, and only what the key's role may do.
    /// Without keys everyone who reaches the server may do everything, so that it should listen at a loopback address only; a router
    /// that is mounted in a program with an authentication of its own takes a [`Caller`](crate::Caller) from a layer around it.
    pub fn api_keys(mut self, keys: Keys) -> Self {
        self.security.set_keys(keys);
        self
    }

    /// Lets pages of an origin use the server in a browser, beside those of `http://localhost:*`, `http://127.0.0.1:*` and of the server
    /// itself: `https://app.example.com`, with the port `*` for any; `*` alone for all pages. Others get 403 for all but reads, and
    /// their browser hides those from them.
    pub fn allow_origin(mut self, origin: impl AsRef<str>) -> Self {
        self.security.origins.allow_origin(origin.as_ref());
        self
    }

    /// Accepts a name as that of this server in requests, beside `localhost` and all addresses. With [keys](Self::api_keys) all
    /// names are accepted: pages that pretend to be this server know no key.
    pub fn allow_host(mut self, name: impl AsRef<str>) -> Self {
        self.security.origins.allow_host(name.as_ref());
        self
    }

    /// Sets the largest body of a request, in bytes; larger ones get 413. Default: 32 MiB.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.security.limits.body = bytes;
        self
    }

    /// Sets the time in which a body must arrive; slower ones get 408. Default: 60 s.
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.security.limits.body_time = time;
        self
    }

    /// Sets the largest head of a request, in bytes; larger ones get 431. At least 8 KiB. Default: 64 KiB. Only for
    /// [`serve`](Self::serve), as a router does not see it.
    pub fn header_limit(mut self, bytes: usize) -> Self {
        self.security.limits.headers = bytes;
        self
    }

    /// Sets the time in which the head of a request must arrive, from the connection or the last answer on; then the connection is
    /// closed. Default: 30 s. Only for [`serve`](Self::serve).
    pub fn header_timeout(mut self, time: Duration) -> Self {
        self.security.limits.headers_time = time;
        self
    }

    /// Sets the number of open connections; others get 503. Default: 10,000. Only for [`serve`](Self::serve).
    pub fn connection_limit(mut self, connections: usize) -> Self {
        self.security.limits.connections = connections;
        self
    }

    /// Sets the number of answers that are streamed or waited for at a time; others get 503. Default: 8,000.
    pub fn stream_limit(mut self, streams: usize) -> Self {
        self.security.limits.streams = streams;
        self
    }

    /// Sets the number of runs of one thread that have not ended; then another gets 429. Default: 1,000.
    pub fn queue_limit(mut self, runs: usize) -> Self {
        self.security.limits.queue = runs;
        self
    }

    /// Sets the number of runs of all threads that have not ended; then another gets 429. Default: 100,000.
    pub fn open_run_limit(mut self, runs: usize) -> Self {
        self.security.limits.open_runs = runs;
        self
    }

    /// Sets the number of requests in a second of one key, or of one address without keys; others get 429. Default: 10,000. Addresses
    /// are known to [`serve`](Self::serve), and to a router that is served with axum's `ConnectInfo`.
    pub fn request_limit(mut self, requests: u32) -> Self {
        self.security.limits.requests = requests;
        self
    }
}
