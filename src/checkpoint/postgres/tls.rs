//! TLS of connections by `sslmode`, as libpq means it: encrypted, with a certificate that is verified, or also the server's name.
//! Knows certificates; must not know what is sent. The cryptography is ring, and no choice for the process.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, TlsMode, invalid};
use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// Returns what the client has to know of a mode.
pub(super) fn client_mode(mode: TlsMode) -> SslMode {
    match mode {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    }
}

/// Returns the maker of encrypted connections to the server of an address.
pub(super) fn maker(address: &Address) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(superstep_base::tls::provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.or_else(|error| invalid(format!("TLS cannot be set up: {error}")))?;
    let verifier = Arc::new(Verifier { inner: inner(address, &provider)?, provider, mode: address.tls });
    Ok(MakeRustlsConnect::new(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

fn inner(address: &Address, provider: &Arc<CryptoProvider>) -> Result<Option<Arc<WebPkiServerVerifier>>> {
    if !verifies(address) {
        return Ok(None);
    }
    let roots = Arc::new(root_certificates(address)?);
    let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
    built.map(Some).or_else(|error| invalid(format!("no server can be verified: {error}")))
}

/// Returns whether the server's certificate is verified: as in libpq, `require` verifies it if there is a root certificate.
fn verifies(address: &Address) -> bool {
    match address.tls {
        TlsMode::VerifyCa | TlsMode::VerifyFull => true,
        TlsMode::Require => address.root_certificates.is_some(),
        TlsMode::Disable | TlsMode::Prefer => false,
    }
}

/// Reads the file of `sslrootcert`, or the system's certificates.
fn root_certificates(address: &Address) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match &address.root_certificates {
        Some(path) => {
            let found =
                CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
            let found = found.or_else(|error| invalid(format!("`sslrootcert`, {}: {error}", path.display())))?;
            roots.add_parsable_certificates(found);
        }
        None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    }
    match roots.is_empty() {
        true => invalid("there is no root certificate to verify the server with; name a file with `sslrootcert`"),
        false => Ok(roots),
    }
}

/// Verifies as much as the mode asks for.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    mode: TlsMode,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(flaw)) if self.mode != TlsMode::VerifyFull && is_of_the_name(&flaw) => {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn is_of_the_name(flaw: &CertificateError) -> bool {
    matches!(flaw, CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })
}
