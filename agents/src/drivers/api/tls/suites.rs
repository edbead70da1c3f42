//! Cipher suites of TLS 1.3 and 1.2, best first. Knows no bytes.

use ring::aead;
use rustls::crypto::cipher::{Tls12AeadAlgorithm, Tls13AeadAlgorithm};
use rustls::crypto::tls12::PrfUsingHmac;
use rustls::crypto::tls13::HkdfUsingHmac;
use rustls::crypto::{CipherSuiteCommon, KeyExchangeAlgorithm};
use rustls::{CipherSuite, SignatureScheme, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use super::aead::{Chacha12, Gcm12, Tls13};
use super::primitives::{HMAC_SHA256, HMAC_SHA384, Hash, Hmac, SHA256, SHA384};

/// Records that one key may encrypt with AES-GCM; ChaCha20 has no such limit.
const GCM_LIMIT: u64 = 1 << 24;

pub(super) static SUITES: [SupportedCipherSuite; 9] = [
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
