//! Servers and roles that a store accepts, and those that it refuses with a sentence.

use std::path::PathBuf;

use superstep::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, PostgresCheckpointer, ThreadHead,
};

use crate::server::{self, Server};

async fn refusal(address: &str) -> String {
    format!("{:?}", PostgresCheckpointer::connect(address).await.unwrap_err())
}

#[tokio::test]
async fn a_role_that_may_only_select_can_read() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1);
    let store = PostgresCheckpointer::connect(&address).await.unwrap();
    let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let head = ThreadHead { checkpoint: Some(CheckpointId(0)), next: 1, birth: 7 };
    let puts = vec![(Key::Shape(1), b"one".to_vec())];
    let commit = Commit::new("t".into(), lease.epoch(), None, head).with_records(puts);
    store.commit(commit.clone()).await.unwrap();
    server.sql(&format!(
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader"
    ));
    let address = address.replace("postgres@", "reader@");
    let reader = PostgresCheckpointer::open_read_only(&address).await.unwrap();
    assert_eq!(reader.threads(None, 9).await.unwrap(), ["t".into()]);
    assert_eq!(reader.get(&"t".into(), vec![Key::Shape(1)]).await.unwrap(), [Some(b"one".to_vec())]);
    assert_eq!(reader.owner(&"t".into()).await.unwrap().map(|owner| owner.pid), Some(std::process::id()));
    assert!(matches!(reader.commit(commit).await, Err(CheckpointError::NotWritable { .. })));
    assert!(matches!(reader.claim(&"t".into(), Claim::IfFree).await, Err(CheckpointError::NotWritable { .. })));
    let writer = PostgresCheckpointer::connect(&address).await.unwrap();
    let refused = writer.claim(&"u".into(), Claim::IfFree).await.unwrap_err();
    assert!(matches!(refused, CheckpointError::RefusedStore { .. }), "{refused}");
}

#[tokio::test]
async fn a_role_without_rights_gets_the_sql_that_makes_the_store() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1.to_owned());
    server.sql("CREATE ROLE worker LOGIN");
    let address = address.replace("postgres@", "worker@");
    assert!(refusal(&address).await.contains("superstep store migrate --dry-run"));
    let refused = PostgresCheckpointer::open_read_only(&address).await.unwrap_err();
    assert!(refused.to_string().contains("has version 0 of 2"), "{refused}");
    let sql = PostgresCheckpointer::builder(&address).migration().await.unwrap();
    server.sql(&sql);
    server.sql(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO worker; GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO worker;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO worker"
    ));
    let store = PostgresCheckpointer::connect(&address).await.unwrap();
    store.claim(&"t".into(), Claim::IfFree).await.unwrap().release().await.unwrap();
    assert_eq!(PostgresCheckpointer::builder(&address).migration().await.unwrap(), "");
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let Some(address) = server::new_store() else { return };
    drop(PostgresCheckpointer::connect(&address).await.unwrap());
    let schema = address.rsplit_once('=').unwrap().1;
    server::shared().unwrap().sql(&format!("UPDATE {schema}.meta SET version = 99"));
    let refused = refusal(&address).await;
    assert!(refused.contains("has format 99; this release reads up to 2"), "{refused}");
}

#[tokio::test]
async fn many_handles_make_one_schema() {
    let Some(address) = server::new_store() else { return };
    let all = (0..8).map(|_| {
        tokio::spawn({
            let address = address.clone();
            async move { PostgresCheckpointer::connect(&address).await.map(drop) }
        })
    });
    for connected in all.collect::<Vec<_>>() {
        connected.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_server_without_fsync_is_refused_unless_it_is_for_tests() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let address = server.store("fast");
    let refused = refusal(&address).await;
    assert!(refused.contains("loses acknowledged commits") && refused.contains("unsafe=1"), "{refused}");
    PostgresCheckpointer::connect(&format!("{address}&unsafe=1")).await.unwrap();
}

/// Writes a certificate or a key as text.
fn pem(folder: &std::path::Path, file: &str, title: &str) -> PathBuf {
    let der = std::fs::read(format!("{}/base/src/tls/certificates/{file}.der", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let path = folder.join(format!("{file}.pem"));
    let mut text = format!("-----BEGIN {title}-----\n");
    for line in base64(&der).as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).unwrap());
        text.push('\n');
    }
    std::fs::write(&path, format!("{text}-----END {title}-----\n")).unwrap();
    path
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().chain([&0; 2]).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for digit in 0..4 {
            let is_there = digit <= chunk.len();
            let value = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if is_there { DIGITS[value] as char } else { '=' });
        }
    }
    text
}

#[tokio::test]
async fn passwords_and_certificates_are_checked_over_tcp() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(server) = Server::start(&["listen_addresses=127.0.0.1", &format!("port={port}")]) else { return };
    let (certificate, key) =
        (pem(server.folder(), "rsa.crt", "CERTIFICATE"), pem(server.folder(), "rsa.key", "PRIVATE KEY"));
    server.own(&key);
    std::fs::write(
        server.folder().join("data/pg_hba.conf"),
        "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
    )
    .unwrap();
    server.sql(&format!("ALTER SYSTEM SET ssl_cert_file = '{}'", certificate.display()));
    server.sql(&format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display()));
    server.sql("ALTER SYSTEM SET ssl = on");
    server.sql("SELECT pg_reload_conf()");
    server.sql("CREATE ROLE ann SUPERUSER LOGIN PASSWORD 'hidden'");
    let address =
        |password: &str, more: &str| format!("postgres://ann:{password}@127.0.0.1:{port}/postgres?schema=tls{more}");
    let root = format!("&sslrootcert={}", certificate.display());

    let refused = refusal(&address("hidden2", "")).await;
    assert!(refused.contains("PGPASSWORD") && !refused.contains("hidden2"), "{refused}");
    let refused = refusal(&format!("postgres://ann@127.0.0.1:{port}/postgres")).await;
    assert!(refused.contains("PGPASSWORD"), "{refused}");
    for mode in ["", "&sslmode=disable", "&sslmode=require", &format!("&sslmode=verify-ca{root}")] {
        let store = PostgresCheckpointer::connect(&address("hidden", mode)).await.unwrap();
        store.threads(None, 1).await.unwrap();
        let encrypted =
            server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'ann'");
        assert_eq!(encrypted, if mode == "&sslmode=disable" { "f" } else { "t" }, "{mode}");
        store.close().await.unwrap();
        while server.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'ann'") != "0" {}
    }
    let refused = refusal(&address("hidden", &format!("&sslmode=verify-full{root}"))).await;
    assert!(refused.contains("sslrootcert") && !refused.contains("hidden"), "{refused}");
    for mode in ["require", "verify-ca"] {
        // As in libpq, a root certificate is not ignored.
        let refused = refusal(&address("hidden", &format!("&sslmode={mode}&sslrootcert=/no/such/root.crt"))).await;
        assert!(refused.contains("/no/such/root.crt"), "{mode}: {refused}");
    }
    let refused = refusal(&address("hidden", "&sslmode=verify-ca")).await;
    assert!(refused.contains("sslrootcert"), "{refused}");
}
