//! The provider of cryptography for rustls, and the configuration of clients with it. Knows no algorithm.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use super::primitives::{P256, P384, Ring, SIGNATURES, X25519};
use super::suites::SUITES;

/// Returns the configuration of a client. The system's root certificates are only loaded for https.
pub(in crate::drivers::api) fn config(is_https: bool) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
    match is_https {
        true => Ok(builder.with_platform_verifier()?.with_no_client_auth()),
        false => Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()),
    }
}

pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: SUITES.to_vec(),
        kx_groups: vec![&X25519, &P256, &P384],
        signature_verification_algorithms: SIGNATURES,
        secure_random: &Ring,
        key_provider: &Ring,
    }
}
