//! TLS with ring, which `base` chooses, and the system's root certificates. Knows no bytes.
//!
//! Small because the cryptography is shared with the store in PostgreSQL.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use superstep_base::tls::provider;

/// Returns the configuration of a client. The system's root certificates are only loaded for https.
pub(super) fn config(is_https: bool) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
    match is_https {
        true => Ok(builder.with_platform_verifier()?.with_no_client_auth()),
        false => Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()),
    }
}
