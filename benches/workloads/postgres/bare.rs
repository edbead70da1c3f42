//! The lower bound of a commit in PostgreSQL: a transaction of the same bytes, one UPDATE and as many INSERTs as records, sent in
//! one round trip by the client that the store uses too. Knows tables of its own, and no superstep.

use futures::future::{join_all, try_join3};
use superstep::checkpoint::{ThreadHead, key_bytes};
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::{Records, Server};

const TABLES: &str = "CREATE SCHEMA IF NOT EXISTS bare; \
    CREATE TABLE IF NOT EXISTS bare.threads (id bigint PRIMARY KEY, name text, owner text, until timestamptz, head bigint, next bigint, \
    birth bigint); \
    CREATE TABLE IF NOT EXISTS bare.records (thread bigint, key bytea, bytes bytea, PRIMARY KEY (thread, key))";

/// A connection.
pub(crate) struct BarePostgres {
    client: Client,
    claim: Statement,
    update: Statement,
    insert: Statement,
    release: Statement,
}

impl BarePostgres {
    pub(crate) async fn connect(server: &Server) -> Self {
        let mut config = Config::new();
        let config = config.host_path(server.folder()).user("postgres").dbname("postgres");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(TABLES).await.unwrap();
        let claim = "INSERT INTO bare.threads VALUES ($1, $2, $3, now() + interval '15 s') ON CONFLICT (id) DO UPDATE \
            SET owner = excluded.owner, until = excluded.until RETURNING id";
        Self {
            claim: client.prepare(claim).await.unwrap(),
            update: client
                .prepare("UPDATE bare.threads SET head = $2, next = $3, birth = $4 WHERE id = $1")
                .await
                .unwrap(),
            insert: client.prepare("INSERT INTO bare.records VALUES ($1, $2, $3)").await.unwrap(),
            release: client.prepare("UPDATE bare.threads SET owner = NULL, until = NULL WHERE id = $1").await.unwrap(),
            client,
        }
    }

    /// Makes the row of a thread, or claims it again.
    pub(crate) async fn claim(&self, thread: i64) {
        let name = format!("t-{thread:06}");
        self.client.query_one(&self.claim, &[&thread, &name, &"owner"]).await.unwrap();
    }

    pub(crate) async fn release(&self, thread: i64) {
        self.client.execute(&self.release, &[&thread]).await.unwrap();
    }

    /// Writes commits, each durable before the next is sent.
    pub(crate) async fn write(&self, thread: i64, commits: &[Records]) {
        for (records, head) in commits {
            let inserts = join_all(records.iter().map(async |(key, value)| {
                self.client.execute(&self.insert, &[&thread, &key_bytes(key), value]).await.unwrap();
            }));
            let inserts = async { Ok(inserts.await) };
            let begun = async { tokio::try_join!(self.client.batch_execute("BEGIN"), self.update(thread, head)) };
            try_join3(begun, inserts, self.client.batch_execute("COMMIT")).await.unwrap();
        }
    }

    async fn update(&self, thread: i64, head: &ThreadHead) -> Result<(), tokio_postgres::Error> {
        let checkpoint = head.checkpoint.map(|id| id.0.cast_signed());
        let (next, birth) = (head.next.cast_signed(), head.birth.cast_signed());
        self.client.execute(&self.update, &[&thread, &checkpoint, &next, &birth]).await.map(drop)
    }
}
