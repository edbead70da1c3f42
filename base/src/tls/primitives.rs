//! Hashes, key exchange, signatures and random numbers of ring for rustls. Knows no records.
//!
//! The same algorithms, in the same order, as in the module `crypto::ring` of rustls 0.23, from which this is adapted.

use std::sync::Arc;

use ring::rand::SecureRandom as _;
use ring::rand::SystemRandom;
use ring::{agreement, digest, hmac};
use rustls::crypto::{
    ActiveKeyExchange, GetRandomFailed, KeyProvider, SecureRandom, SharedSecret, SupportedKxGroup,
    WebPkiSupportedAlgorithms, hash, hmac as rustls_hmac,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use rustls::{NamedGroup, PeerMisbehaved, SignatureScheme};
use webpki::ring as signatures;

#[derive(Debug)]
pub(super) struct Ring;

impl SecureRandom for Ring {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        SystemRandom::new().fill(bytes).map_err(|_| GetRandomFailed)
    }
}

impl KeyProvider for Ring {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("this client has no certificate".to_owned()))
    }
}

pub(super) static SHA256: Hash = Hash(&digest::SHA256, hash::HashAlgorithm::SHA256);
pub(super) static SHA384: Hash = Hash(&digest::SHA384, hash::HashAlgorithm::SHA384);

pub(super) struct Hash(&'static digest::Algorithm, hash::HashAlgorithm);

impl hash::Hash for Hash {
    fn start(&self) -> Box<dyn hash::Context> {
        Box::new(HashContext(digest::Context::new(self.0)))
    }

    fn hash(&self, bytes: &[u8]) -> hash::Output {
        hash::Output::new(digest::digest(self.0, bytes).as_ref())
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> hash::HashAlgorithm {
        self.1
    }
}

struct HashContext(digest::Context);

impl hash::Context for HashContext {
    fn fork_finish(&self) -> hash::Output {
        hash::Output::new(self.0.clone().finish().as_ref())
    }

    fn fork(&self) -> Box<dyn hash::Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> hash::Output {
        hash::Output::new(self.0.finish().as_ref())
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

pub(super) static HMAC_SHA256: Hmac = Hmac(&hmac::HMAC_SHA256);
pub(super) static HMAC_SHA384: Hmac = Hmac(&hmac::HMAC_SHA384);

pub(super) struct Hmac(&'static hmac::Algorithm);

impl rustls_hmac::Hmac for Hmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn rustls_hmac::Key> {
        Box::new(HmacKey(hmac::Key::new(*self.0, key)))
    }

    fn hash_output_len(&self) -> usize {
        self.0.digest_algorithm().output_len()
    }
}

struct HmacKey(hmac::Key);

impl rustls_hmac::Key for HmacKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> rustls_hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(first);
        middle.iter().for_each(|bytes| context.update(bytes));
        context.update(last);
        rustls_hmac::Tag::new(context.sign().as_ref())
    }

    fn tag_len(&self) -> usize {
        self.0.algorithm().digest_algorithm().output_len()
    }
}

pub(super) static X25519: Group =
    Group { name: NamedGroup::X25519, curve: &agreement::X25519, is_key: |key| key.len() == 32 };
pub(super) static P256: Group =
    Group { name: NamedGroup::secp256r1, curve: &agreement::ECDH_P256, is_key: is_uncompressed };
pub(super) static P384: Group =
    Group { name: NamedGroup::secp384r1, curve: &agreement::ECDH_P384, is_key: is_uncompressed };

/// Returns whether a public key is in the one encoding that TLS allows (SEC1, section 2.3.3).
fn is_uncompressed(key: &[u8]) -> bool {
    key.first() == Some(&4)
}

/// Curve on which keys are exchanged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    name: NamedGroup,
    curve: &'static agreement::Algorithm,
    is_key: fn(&[u8]) -> bool,
}

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, rustls::Error> {
        let own = agreement::EphemeralPrivateKey::generate(self.curve, &SystemRandom::new());
        let own = own.map_err(|_| GetRandomFailed)?;
        let public = own.compute_public_key().map_err(|_| GetRandomFailed)?;
        Ok(Box::new(Exchange { group: *self, own, public }))
    }

    fn name(&self) -> NamedGroup {
        self.name
    }
}

struct Exchange {
    group: Group,
    own: agreement::EphemeralPrivateKey,
    public: agreement::PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, rustls::Error> {
        if !(self.group.is_key)(peer) {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let peer = agreement::UnparsedPublicKey::new(self.group.curve, peer);
        agreement::agree_ephemeral(self.own, &peer, |secret| SharedSecret::from(secret))
            .map_err(|_| PeerMisbehaved::InvalidKeyShare.into())
    }

    fn group(&self) -> NamedGroup {
        self.group.name
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }
}

pub(super) static SIGNATURES: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        signatures::ECDSA_P256_SHA256,
        signatures::ECDSA_P256_SHA384,
        signatures::ECDSA_P384_SHA256,
        signatures::ECDSA_P384_SHA384,
        signatures::ED25519,
        signatures::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        signatures::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
        signatures::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
        signatures::RSA_PKCS1_2048_8192_SHA256,
        signatures::RSA_PKCS1_2048_8192_SHA384,
        signatures::RSA_PKCS1_2048_8192_SHA512,
        signatures::RSA_PKCS1_2048_8192_SHA256_ABSENT_PARAMS,
        signatures::RSA_PKCS1_2048_8192_SHA384_ABSENT_PARAMS,
        signatures::RSA_PKCS1_2048_8192_SHA512_ABSENT_PARAMS,
    ],
    mapping: &[
        // TLS 1.2 does not fix the curve by the scheme; TLS 1.3 does.
        (SignatureScheme::ECDSA_NISTP384_SHA384, &[signatures::ECDSA_P384_SHA384, signatures::ECDSA_P256_SHA384]),
        (SignatureScheme::ECDSA_NISTP256_SHA256, &[signatures::ECDSA_P256_SHA256, signatures::ECDSA_P384_SHA256]),
        (SignatureScheme::ED25519, &[signatures::ED25519]),
        (SignatureScheme::RSA_PSS_SHA512, &[signatures::RSA_PSS_2048_8192_SHA512_LEGACY_KEY]),
        (SignatureScheme::RSA_PSS_SHA384, &[signatures::RSA_PSS_2048_8192_SHA384_LEGACY_KEY]),
        (SignatureScheme::RSA_PSS_SHA256, &[signatures::RSA_PSS_2048_8192_SHA256_LEGACY_KEY]),
        (SignatureScheme::RSA_PKCS1_SHA512, &[signatures::RSA_PKCS1_2048_8192_SHA512]),
        (SignatureScheme::RSA_PKCS1_SHA384, &[signatures::RSA_PKCS1_2048_8192_SHA384]),
        (SignatureScheme::RSA_PKCS1_SHA256, &[signatures::RSA_PKCS1_2048_8192_SHA256]),
    ],
};
