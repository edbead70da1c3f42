//! Records of TLS, encrypted and decrypted with ring. Knows no handshakes.
//!
//! Adapted from the module `crypto::ring` of rustls 0.23.

use ring::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce as RingNonce, UnboundKey};
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter,
    NONCE_LEN, Nonce, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload, Tls12AeadAlgorithm,
    Tls13AeadAlgorithm, UnsupportedOperationError, make_tls12_aad, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

/// Bytes of a tag, with each of the algorithms.
const TAG: usize = 16;
/// Bytes of the nonce that a record of AES-GCM in TLS 1.2 begins with.
const EXPLICIT: usize = 8;
/// Bytes of the nonce that come from the handshake there.
const SALT: usize = NONCE_LEN - EXPLICIT;
/// Most bytes that a record may hold.
const MAX_FRAGMENT: usize = 1 << 14;

/// AEAD of TLS 1.3.
pub(super) struct Tls13(pub(super) &'static Algorithm);

impl Tls13AeadAlgorithm for Tls13 {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Records13 { key: new_key(self.0, &key), iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Records13 { key: new_key(self.0, &key), iv })
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(&self, key: AeadKey, iv: Iv) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(secrets(self.0, key, iv))
    }
}

/// AES-GCM of TLS 1.2.
pub(super) struct Gcm12(pub(super) &'static Algorithm);

impl Tls12AeadAlgorithm for Gcm12 {
    fn encrypter(&self, key: AeadKey, iv: &[u8], explicit: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(RecordsGcm { key: new_key(self.0, &key), iv: gcm_iv(iv, explicit) })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(RecordsGcm { key: new_key(self.0, &key), iv: gcm_iv(iv, &[0; EXPLICIT]) })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape { enc_key_len: self.0.key_len(), fixed_iv_len: SALT, explicit_nonce_len: EXPLICIT }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(secrets(self.0, key, gcm_iv(iv, explicit)))
    }
}

/// ChaCha20-Poly1305 of TLS 1.2 (RFC 7905).
pub(super) struct Chacha12;

impl Tls12AeadAlgorithm for Chacha12 {
    fn encrypter(&self, key: AeadKey, iv: &[u8], _: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(RecordsChacha { key: new_key(&CHACHA20_POLY1305, &key), iv: Iv::copy(iv) })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(RecordsChacha { key: new_key(&CHACHA20_POLY1305, &key), iv: Iv::copy(iv) })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape { enc_key_len: CHACHA20_POLY1305.key_len(), fixed_iv_len: NONCE_LEN, explicit_nonce_len: 0 }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        _: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(secrets(&CHACHA20_POLY1305, key, Iv::copy(iv)))
    }
}

/// Key of one direction. `None` if ring refused its length, which the shapes above rule out: no record can be read or
/// written with it.
type Key = Option<LessSafeKey>;

fn new_key(algorithm: &'static Algorithm, key: &AeadKey) -> Key {
    UnboundKey::new(algorithm, key.as_ref()).ok().map(LessSafeKey::new)
}

fn secrets(algorithm: &'static Algorithm, key: AeadKey, iv: Iv) -> ConnectionTrafficSecrets {
    if algorithm == &CHACHA20_POLY1305 {
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }
    } else if algorithm == &AES_128_GCM {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv }
    } else {
        ConnectionTrafficSecrets::Aes256Gcm { key, iv }
    }
}

/// Returns the first nonce: the salt of the handshake and the explicit part. rustls adds the record's number to it.
fn gcm_iv(salt: &[u8], explicit: &[u8]) -> Iv {
    let mut iv = [0; NONCE_LEN];
    iv.iter_mut().zip(salt.iter().chain(explicit)).for_each(|(to, from)| *to = *from);
    Iv::new(iv)
}

fn nonce(iv: &Iv, number: u64) -> RingNonce {
    RingNonce::assume_unique_for_key(Nonce::new(iv, number).0)
}

struct Records13 {
    key: Key,
    iv: Iv,
}

impl MessageEncrypter for Records13 {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, number: u64) -> Result<OutboundOpaqueMessage, Error> {
        let length = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(length);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let key = self.key.as_ref().ok_or(Error::EncryptError)?;
        key.seal_in_place_append_tag(nonce(&self.iv, number), Aad::from(make_tls13_aad(length)), &mut payload)
            .map_err(|_| Error::EncryptError)?;
        // Every record of TLS 1.3 calls itself one of TLS 1.2 (RFC 8446, section 5.1).
        Ok(OutboundOpaqueMessage::new(ContentType::ApplicationData, ProtocolVersion::TLSv1_2, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + TAG
    }
}

impl MessageDecrypter for Records13 {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let payload = &mut message.payload;
        let aad = Aad::from(make_tls13_aad(payload.len()));
        let key = self.key.as_ref().ok_or(Error::DecryptError)?;
        let plain = key.open_in_place(nonce(&self.iv, number), aad, payload).map_err(|_| Error::DecryptError)?.len();
        payload.truncate(plain);
        message.into_tls13_unpadded_message()
    }
}

struct RecordsGcm {
    key: Key,
    iv: Iv,
}

impl MessageEncrypter for RecordsGcm {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, number: u64) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(message.payload.len()));
        let nonce = nonce(&self.iv, number);
        let aad = Aad::from(make_tls12_aad(number, message.typ, message.version, message.payload.len()));
        payload.extend_from_slice(&nonce.as_ref()[SALT..]);
        payload.extend_from_chunks(&message.payload);
        let key = self.key.as_ref().ok_or(Error::EncryptError)?;
        let tag = key
            .seal_in_place_separate_tag(nonce, aad, &mut payload.as_mut()[EXPLICIT..])
            .map_err(|_| Error::EncryptError)?;
        payload.extend_from_slice(tag.as_ref());
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + EXPLICIT + TAG
    }
}

impl MessageDecrypter for RecordsGcm {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let (kind, version, payload) = (message.typ, message.version, &mut message.payload);
        let length = payload.len().checked_sub(EXPLICIT + TAG).ok_or(Error::DecryptError)?;
        let explicit = payload.get(..EXPLICIT).ok_or(Error::DecryptError)?;
        let mut nonce = Nonce::new(&self.iv, 0).0;
        nonce[SALT..].copy_from_slice(explicit);
        let aad = Aad::from(make_tls12_aad(number, kind, version, length));
        let key = self.key.as_ref().ok_or(Error::DecryptError)?;
        let plain = key
            .open_within(RingNonce::assume_unique_for_key(nonce), aad, payload, EXPLICIT..)
            .map_err(|_| Error::DecryptError)?
            .len();
        plain_message(message, plain)
    }
}

struct RecordsChacha {
    key: Key,
    iv: Iv,
}

impl MessageEncrypter for RecordsChacha {
    fn encrypt(&mut self, message: OutboundPlainMessage<'_>, number: u64) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(message.payload.len()));
        let aad = Aad::from(make_tls12_aad(number, message.typ, message.version, message.payload.len()));
        payload.extend_from_chunks(&message.payload);
        let key = self.key.as_ref().ok_or(Error::EncryptError)?;
        key.seal_in_place_append_tag(nonce(&self.iv, number), aad, &mut payload).map_err(|_| Error::EncryptError)?;
        Ok(OutboundOpaqueMessage::new(message.typ, message.version, payload))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + TAG
    }
}

impl MessageDecrypter for RecordsChacha {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        number: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let (kind, version, payload) = (message.typ, message.version, &mut message.payload);
        let length = payload.len().checked_sub(TAG).ok_or(Error::DecryptError)?;
        let aad = Aad::from(make_tls12_aad(number, kind, version, length));
        let key = self.key.as_ref().ok_or(Error::DecryptError)?;
        let plain = key.open_in_place(nonce(&self.iv, number), aad, payload).map_err(|_| Error::DecryptError)?.len();
        plain_message(message, plain)
    }
}

fn plain_message(mut message: InboundOpaqueMessage<'_>, length: usize) -> Result<InboundPlainMessage<'_>, Error> {
    if length > MAX_FRAGMENT {
        return Err(Error::PeerSentOversizedRecord);
    }
    message.payload.truncate(length);
    Ok(message.into_plain_message())
}
