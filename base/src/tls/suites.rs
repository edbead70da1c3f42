//! Cipher suites of TLS 1.3 and 1.2, best first. Knows no bytes.

use ring::aead;
use rustls::crypto::cipher::{Tls12AeadAlgorithm, Tls13AeadAlgorithm};
use rustls::crypto::tls12::PrfUsingHmac;
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, CryptoProvider, KeyExchangeAlgorithm};
use rustls::{CipherSuite, SignatureScheme, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use super::aead::{Chacha12, Gcm12, Tls13};
use super::primitives::{HMAC_SHA256, HMAC_SHA384, Hash, Hmac, P256, P384, Ring, SHA256, SHA384, SIGNATURES, X25519};

/// Returns the cryptography of a client.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: SUITES.to_vec(),
        kx_groups: vec![&X25519, &P256, &P384],
        signature_verification_algorithms: SIGNATURES,
        secure_random: &Ring,
        key_provider: &Ring,
    }
}

/// Records that one key may encrypt with AES-GCM; ChaCha20 has no such limit.
const GCM_LIMIT: u64 = 1 << 24;

static SUITES: [SupportedCipherSuite; 9] = [
    SupportedCipherSuite::Tls13(&AES_256),
    SupportedCipherSuite::Tls13(&AES_128),
    SupportedCipherSuite::Tls13(&CHACHA),
    SupportedCipherSuite::Tls12(&ECDSA_AES_256),
    SupportedCipherSuite::Tls12(&ECDSA_AES_128),
    SupportedCipherSuite::Tls12(&ECDSA_CHACHA),
    SupportedCipherSuite::Tls12(&RSA_AES_256),
    SupportedCipherSuite::Tls12(&RSA_AES_128),
    SupportedCipherSuite::Tls12(&RSA_CHACHA),
];

static AES_256: Tls13CipherSuite = tls13(
    common(CipherSuite::TLS13_AES_256_GCM_SHA384, &SHA384, GCM_LIMIT),
    &HkdfUsingHmac(&HMAC_SHA384),
    &Tls13(&aead::AES_256_GCM),
);
static AES_128: Tls13CipherSuite = tls13(
    common(CipherSuite::TLS13_AES_128_GCM_SHA256, &SHA256, GCM_LIMIT),
    &HkdfUsingHmac(&HMAC_SHA256),
    &Tls13(&aead::AES_128_GCM),
);
static CHACHA: Tls13CipherSuite = tls13(
    common(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    &HkdfUsingHmac(&HMAC_SHA256),
    &Tls13(&aead::CHACHA20_POLY1305),
);

static PRF_256: PrfUsingHmac<'static> = prf(&HMAC_SHA256);
static PRF_384: PrfUsingHmac<'static> = prf(&HMAC_SHA384);

static ECDSA_AES_256: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, &SHA384, GCM_LIMIT),
    ECDSA,
    &PRF_384,
    &Gcm12(&aead::AES_256_GCM),
);
static ECDSA_AES_128: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, &SHA256, GCM_LIMIT),
    ECDSA,
    &PRF_256,
    &Gcm12(&aead::AES_128_GCM),
);
static ECDSA_CHACHA: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    ECDSA,
    &PRF_256,
    &Chacha12,
);
static RSA_AES_256: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, &SHA384, GCM_LIMIT),
    RSA,
    &PRF_384,
    &Gcm12(&aead::AES_256_GCM),
);
static RSA_AES_128: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, &SHA256, GCM_LIMIT),
    RSA,
    &PRF_256,
    &Gcm12(&aead::AES_128_GCM),
);
static RSA_CHACHA: Tls12CipherSuite = tls12(
    common(CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, &SHA256, u64::MAX),
    RSA,
    &PRF_256,
    &Chacha12,
);

static ECDSA: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];
static RSA: &[SignatureScheme] = &[
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA256,
];

const fn common(suite: CipherSuite, hash_provider: &'static Hash, confidentiality_limit: u64) -> CipherSuiteCommon {
    CipherSuiteCommon { suite, hash_provider, confidentiality_limit }
}

const fn prf(hmac: &'static Hmac) -> PrfUsingHmac<'static> {
    PrfUsingHmac(hmac)
}

const fn tls13(
    common: CipherSuiteCommon,
    hkdf_provider: &'static HkdfUsingHmac<'static>,
    aead_alg: &'static dyn Tls13AeadAlgorithm,
) -> Tls13CipherSuite {
    Tls13CipherSuite { common, hkdf_provider, aead_alg, quic: None }
}

const fn tls12(
    common: CipherSuiteCommon,
    sign: &'static [SignatureScheme],
    prf_provider: &'static PrfUsingHmac<'static>,
    aead_alg: &'static dyn Tls12AeadAlgorithm,
) -> Tls12CipherSuite {
    Tls12CipherSuite { common, prf_provider, kx: KeyExchangeAlgorithm::ECDHE, sign, aead_alg }
}

/// Each suite and each curve, against the same algorithms as rustls has them built in.
#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;

    use rustls::crypto::{SupportedKxGroup, ring as built_in};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig, ServerConnection};

    use super::*;

    /// More than one record.
    const LONG: usize = 100_000;

    fn identity(suite: &SupportedCipherSuite) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let is_ecdsa = |suite: &Tls12CipherSuite| suite.sign.contains(&rustls::SignatureScheme::ECDSA_NISTP256_SHA256);
        let (certificate, key): (&[u8], &[u8]) = match suite {
            SupportedCipherSuite::Tls12(suite) if is_ecdsa(suite) => {
                (include_bytes!("certificates/ecdsa.crt.der"), include_bytes!("certificates/ecdsa.key.der"))
            }
            _ => (include_bytes!("certificates/rsa.crt.der"), include_bytes!("certificates/rsa.key.der")),
        };
        (certificate.to_vec().into(), PrivatePkcs8KeyDer::from(key.to_vec()).into())
    }

    fn connect(
        suite: SupportedCipherSuite,
        group: &'static dyn SupportedKxGroup,
    ) -> (ClientConnection, ServerConnection) {
        let (certificate, key) = identity(&suite);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let ours = CryptoProvider { cipher_suites: vec![suite], kx_groups: vec![group], ..provider() };
        let versions = [suite.version()];
        let client = ClientConfig::builder_with_provider(Arc::new(ours)).with_protocol_versions(&versions).unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let server = ServerConfig::builder_with_provider(Arc::new(built_in::default_provider()))
            .with_protocol_versions(&versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let name = "superstep.test".try_into().unwrap();
        (ClientConnection::new(Arc::new(client), name).unwrap(), ServerConnection::new(Arc::new(server)).unwrap())
    }

    /// Carries all that waits on either side to the other, and returns what the two have received.
    fn exchange(client: &mut ClientConnection, server: &mut ServerConnection) -> (Vec<u8>, Vec<u8>) {
        let (mut by_client, mut by_server) = (vec![], vec![]);
        while client.wants_write() || server.wants_write() {
            let mut wire = vec![];
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut rest = &wire[..];
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                server.process_new_packets().unwrap();
                let _ = server.reader().read_to_end(&mut by_server);
            }
            let mut wire = vec![];
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut rest = &wire[..];
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                client.process_new_packets().unwrap();
                let _ = client.reader().read_to_end(&mut by_client);
            }
        }
        (by_client, by_server)
    }

    #[test]
    fn every_suite_and_curve_speaks_with_the_built_in_ones() {
        for suite in SUITES {
            for group in provider().kx_groups {
                let (mut client, mut server) = connect(suite, group);
                exchange(&mut client, &mut server);
                client.set_buffer_limit(None);
                server.set_buffer_limit(None);
                assert_eq!(client.negotiated_cipher_suite().unwrap().suite(), suite.suite());
                assert_eq!(client.negotiated_key_exchange_group().map(|group| group.name()), Some(group.name()));
                for round in 1..4_u8 {
                    client.writer().write_all(&vec![round; LONG]).unwrap();
                    server.writer().write_all(&vec![!round; LONG]).unwrap();
                    let (by_client, by_server) = exchange(&mut client, &mut server);
                    assert_eq!((by_client, by_server), (vec![!round; LONG], vec![round; LONG]), "{suite:?} {group:?}");
                }
            }
        }
    }

    #[test]
    fn a_changed_record_is_refused() {
        for suite in SUITES {
            let (mut client, mut server) = connect(suite, provider().kx_groups[0]);
            exchange(&mut client, &mut server);
            server.writer().write_all(b"paid: 100").unwrap();
            let mut wire = vec![];
            server.write_tls(&mut wire).unwrap();
            *wire.last_mut().unwrap() ^= 1;
            client.read_tls(&mut &wire[..]).unwrap();
            assert_eq!(client.process_new_packets().unwrap_err(), rustls::Error::DecryptError, "{suite:?}");
        }
    }

    #[test]
    fn a_server_with_a_foreign_certificate_is_refused() {
        let (_, mut server) = connect(SUITES[0], provider().kx_groups[0]);
        let builder = ClientConfig::builder_with_provider(Arc::new(provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let config = builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let mut client = ClientConnection::new(Arc::new(config), "superstep.test".try_into().unwrap()).unwrap();
        let mut wire = vec![];
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut &wire[..]).unwrap();
        server.process_new_packets().unwrap();
        let mut wire = vec![];
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut &wire[..]).unwrap();
        let error = client.process_new_packets().unwrap_err();
        assert!(matches!(error, rustls::Error::InvalidCertificate(_)), "{error}");
    }

    #[test]
    fn curves_are_offered_best_first() {
        let names: Vec<NamedGroup> = provider().kx_groups.iter().map(|group| group.name()).collect();
        assert_eq!(names, [NamedGroup::X25519, NamedGroup::secp256r1, NamedGroup::secp384r1]);
    }
}
