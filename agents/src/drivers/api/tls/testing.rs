//! Each suite and each curve, against the same algorithms as rustls has them built in.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring as built_in};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig, ServerConnection};
use rustls::{SupportedCipherSuite, Tls12CipherSuite};

use super::provider::provider;
use super::suites::SUITES;

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

fn connect(suite: SupportedCipherSuite, group: &'static dyn SupportedKxGroup) -> (ClientConnection, ServerConnection) {
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
    let config = super::config(false).unwrap();
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
