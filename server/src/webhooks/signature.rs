//! The signature of a webhook: its receiver knows by it who has sent the body, and when. Knows no HTTP.

use std::fmt;

use ring::hmac::{HMAC_SHA256, Key, sign};

/// Secret that the receivers of webhooks share with the server.
#[derive(Clone)]
pub(crate) struct WebhookSecret(pub String);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

impl WebhookSecret {
    /// Returns the header of a body that is sent at a time, in seconds since 1970: `t=TIME,v1=HEX`.
    pub(super) fn header(&self, seconds: u64, body: &str) -> String {
        let key = Key::new(HMAC_SHA256, self.0.as_bytes());
        let tag = sign(&key, format!("{seconds}.{body}").as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("t={seconds},v1={hex}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret`
    #[test]
    fn the_signature_is_that_of_openssl() {
        let header = WebhookSecret("secret".into()).header(1_700_000_000, r#"{"a":1}"#);
        assert_eq!(header, "t=1700000000,v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686");
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", WebhookSecret("x1y2".into())), "WebhookSecret(…)");
    }
}
