//! The statements of a store. Each is prepared once on a connection, and is one round trip. Knows the tables.

use super::address::Schema;

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    Commit,
    /// More records of a commit, in its transaction.
    Put,
    Post,
    Claim,
    Renew,
    /// The leases of some threads, by number.
    Leases,
    Release,
    Delete,
    /// The position of a thread as a commit compares it, by number.
    Position,
    Owner,
    SendRequest,
    /// The requests to holders of some threads, by number.
    Requests,
    Head,
    Get,
    ScanUp,
    ScanDown,
    /// A scan that sees keys longer than the index holds.
    LongScanUp,
    LongScanDown,
    Threads,
    LongThreads,
    ForgetPosts,
    Clock,
    Unlisted,
    WriteSummary,
    /// Threads that are read beside the indexes.
    Apart,
    Due,
    NextDue,
    /// Graphs that have threads which are due, apart from some.
    OtherGraphs,
    Hint,
    JoinWorkers,
    SeeWorker,
    LeaveWorkers,
    Workers,
    CommitWithItems,
    WriteItems,
    GetItems,
    ItemsUp,
    ItemsDown,
    /// A thread without a summary, by number.
    UnlistedThread,
}

impl Query {
    pub(super) const COUNT: usize = Self::ALL.len();

    pub(super) const ALL: [Self; 39] = [
        Self::Commit,
        Self::Put,
        Self::Post,
        Self::Claim,
        Self::Renew,
        Self::Leases,
        Self::Release,
        Self::Delete,
        Self::Position,
        Self::Owner,
        Self::SendRequest,
        Self::Requests,
        Self::Head,
        Self::Get,
        Self::ScanUp,
        Self::ScanDown,
        Self::LongScanUp,
        Self::LongScanDown,
        Self::Threads,
        Self::LongThreads,
        Self::ForgetPosts,
        Self::Clock,
        Self::Unlisted,
        Self::WriteSummary,
        Self::Apart,
        Self::Due,
        Self::NextDue,
        Self::OtherGraphs,
        Self::Hint,
        Self::JoinWorkers,
        Self::SeeWorker,
        Self::LeaveWorkers,
        Self::Workers,
        Self::CommitWithItems,
        Self::WriteItems,
        Self::GetItems,
        Self::ItemsUp,
        Self::ItemsDown,
        Self::UnlistedThread,
    ];

    fn text(self) -> String {
        match self {
            Self::Commit => {
                "SELECT {schema}.commit_records($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)".into()
            }
            Self::Put => "SELECT {schema}.put_records($1, $2, $3, $4, $5)".into(),
            Self::Post => "SELECT {schema}.post_records($1, $2, $3, $4, $5, $6, $7, $8, $9)".into(),
            Self::Claim => "SELECT * FROM {schema}.claim_thread($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)".into(),
            Self::Renew => RENEW.into(),
            Self::Leases => format!("SELECT id, {LEASE} FROM {{schema}}.threads WHERE id = ANY ($1)"),
            Self::Release => "SELECT {schema}.release_thread($1, $2, $3, $4)".into(),
            Self::Delete => "SELECT {schema}.delete_thread($1, $2)".into(),
            Self::Position => {
                format!("SELECT commit_number, head, {LEASE}, $2 = ANY (released_epochs) AS is_released FROM {{schema}}.threads WHERE id = $1")
            }
            Self::Owner => {
                format!("SELECT {LEASE} FROM {{schema}}.threads WHERE {BY_NAME} AND lease_until > clock_timestamp()")
            }
            Self::SendRequest => "SELECT * FROM {schema}.send_request($1, $2, $3, $4, $5)".into(),
            Self::Requests => "SELECT thread, epoch, request FROM {schema}.requests WHERE thread = ANY ($1)".into(),
            Self::Head => {
                format!("SELECT head, next, birth FROM {{schema}}.threads WHERE {BY_NAME} AND birth IS NOT NULL")
            }
            Self::Get => {
                format!("SELECT key, key_rest, bytes FROM {{schema}}.records WHERE {IN_THREAD} AND key = ANY ($4)")
            }
            Self::ScanUp => scan("ORDER BY thread, key, key_hash"),
            Self::ScanDown => scan("ORDER BY thread DESC, key DESC, key_hash DESC"),
            Self::LongScanUp => long_scan("ORDER BY thread, key, key_rest"),
            Self::LongScanDown => long_scan("ORDER BY thread DESC, key DESC, key_rest DESC"),
            Self::Threads => format!(
                "{NAMES} AND (name_length, name_start, name_hash) > ($1, $2, $3) \
                 ORDER BY name_length, name_start, name_hash LIMIT $4"
            ),
            Self::LongThreads => format!(
                "{NAMES} AND (name_length, name_start) >= ($1, $2) AND (name_length, name_start, name_rest) > ($1, $2, $3) \
                 ORDER BY name_length, name_start, name_rest LIMIT $4"
            ),
            Self::JoinWorkers => JOIN.into(),
            Self::SeeWorker => {
                "UPDATE {schema}.workers SET last_seen = clock_timestamp(), threads = $3 WHERE name = $1 AND handle = $2".into()
            }
            Self::LeaveWorkers => "DELETE FROM {schema}.workers WHERE name = $1 AND handle = $2".into(),
            Self::Workers => WORKERS.into(),
            Self::ForgetPosts => {
                "DELETE FROM {schema}.signals WHERE posted_at < clock_timestamp() - interval '1 hour'".into()
            }
            Self::Clock => "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint".into(),
            Self::Unlisted => unlisted("id > $1 ORDER BY id LIMIT 256"),
            Self::UnlistedThread => unlisted("id = $1"),
            Self::WriteSummary => WRITE_SUMMARY.into(),
            Self::Apart => {
                "SELECT name_start, name_rest FROM {schema}.threads WHERE owner IS NOT NULL AND birth IS NOT NULL \
                UNION SELECT name_start, name_rest FROM {schema}.threads WHERE summary IS NULL AND birth IS NOT NULL"
                    .into()
            }
            Self::Due => {
                let waiting =
                    due(WAIT_IS_OVER);
                format!("({}) UNION ALL ({waiting}) ORDER BY due, id LIMIT 256", due("is_ready"))
            }
            Self::NextDue => NEXT_DUE.replace("{is_asked}", IS_ASKED),
            Self::OtherGraphs => other_graphs(),
            Self::CommitWithItems => {
                "SELECT {schema}.commit_with_items($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"
                    .into()
            }
            Self::WriteItems => "SELECT {schema}.write_items($1, $2, $3, $4, $5, $6)".into(),
            Self::GetItems => "SELECT i.bytes FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (namespace, key, nth) \
                 LEFT JOIN {schema}.items AS i USING (namespace, key) ORDER BY nth"
                .into(),
            Self::ItemsUp => items("ORDER BY namespace, key"),
            Self::ItemsDown => items("ORDER BY namespace DESC, key DESC"),
            Self::Hint => "SELECT pg_notify($1, '')".into(),
        }
    }
}

/// The columns of a lease: its epoch, its owner while it is alive, and its end in milliseconds.
const LEASE: &str = "epoch, CASE WHEN lease_until > clock_timestamp() THEN owner END, owner_host, owner_pid, \
    (extract(epoch FROM lease_until) * 1000)::bigint";
const IS_FREE: &str = "(lease_until IS NULL OR lease_until <= clock_timestamp())";
/// Nobody waits for the disk: a summary that a crash removes is made again.
const WRITE_SUMMARY: &str = "UPDATE {schema}.threads SET summary = $5, status = $6, graph = $7, \
    due_at = to_timestamp($8::bigint::float8 / 1000), wake_at = to_timestamp($9::bigint::float8 / 1000), \
    created_at = to_timestamp($10::bigint::float8 / 1000), updated_at = to_timestamp($11::bigint::float8 / 1000), \
    metadata = $12::text::jsonb, is_ready = $13, graph_version = $14 WHERE id = $1 AND epoch = $2 AND commit_number = $3 AND posts = $4 AND birth IS NOT NULL \
    AND (lease_until IS NULL OR lease_until <= clock_timestamp()) RETURNING set_config('synchronous_commit', 'off', true)";
const NEXT_DUE: &str = "SELECT (extract(epoch FROM least(\
    (SELECT min(due_at) FROM {schema}.threads WHERE due_at > to_timestamp($3::bigint::float8 / 1000) AND NOT is_ready \
        AND due_at IS NOT NULL AND {is_asked} AND NOT is_left), \
    (SELECT min(lease_until) FROM {schema}.threads WHERE owner IS NOT NULL AND handle <> $4 AND lease_until > clock_timestamp()))) * 1000)::bigint";
const BY_NAME: &str = "name_length = $1 AND name_start = $2 AND name_hash = $3";
const NAMES: &str = "SELECT name_start, name_rest FROM {schema}.threads WHERE birth IS NOT NULL";
const IN_THREAD: &str =
    "thread = (SELECT id FROM {schema}.threads WHERE name_length = $1 AND name_start = $2 AND name_hash = $3)";
const RENEW: &str = "UPDATE {schema}.threads AS t SET lease_until = clock_timestamp() + $3 * interval '1 millisecond' \
    FROM unnest($1::bigint[], $2::bigint[]) AS mine(id, epoch) WHERE t.id = mine.id AND t.epoch = mine.epoch AND t.handle = $4 \
    RETURNING t.id";

/// A thread of a graph among $1 that the version at the same place in $2 can have stored.
const IS_ASKED: &str = "coalesce(graph_version, 0) <= ($2::bigint[])[array_position($1::text[], graph)]";
const WAIT_IS_OVER: &str = "NOT is_ready AND due_at IS NOT NULL AND due_at <= to_timestamp($3::bigint::float8 / 1000)";

fn other_graphs() -> String {
    let of = |condition: &str| {
        format!(
            "SELECT graph, coalesce(graph_version, 0) AS version FROM {{schema}}.threads WHERE {condition} \
             AND ({IS_ASKED}) IS NOT TRUE AND NOT is_left AND birth IS NOT NULL AND summary IS NOT NULL AND {IS_FREE}"
        )
    };
    let (ready, waiting) = (of("is_ready"), of(WAIT_IS_OVER));
    format!("SELECT graph, max(version) FROM ({ready} UNION ALL {waiting}) AS others GROUP BY graph")
}

fn due(condition: &str) -> String {
    format!(
        "SELECT name_start, name_rest, summary, (extract(epoch FROM due_at) * 1000)::bigint AS due, id FROM {{schema}}.threads \
         WHERE {condition} AND (due_at, id) > (to_timestamp($4::bigint::float8 / 1000), $5) \
         AND {IS_ASKED} AND (NOT is_left OR ($6 AND NOT is_cancelled)) AND birth IS NOT NULL AND summary IS NOT NULL AND {IS_FREE} \
         ORDER BY due_at, id LIMIT 256"
    )
}
const JOIN: &str = "INSERT INTO {schema}.workers AS w (name, handle, host, pid, version, graphs, lease) \
    VALUES ($1, $2, $3, $4, $5, $6, $7 * interval '1 millisecond') \
    ON CONFLICT (name) DO UPDATE SET handle = excluded.handle, host = excluded.host, pid = excluded.pid, \
    version = excluded.version, graphs = excluded.graphs, lease = excluded.lease, threads = 0, \
    since = clock_timestamp(), last_seen = clock_timestamp() \
    WHERE w.handle = excluded.handle OR w.last_seen + w.lease < clock_timestamp() RETURNING 1";
const WORKERS: &str = "SELECT name, host, pid, (extract(epoch FROM last_seen) * 1000)::bigint, \
    (extract(epoch FROM since) * 1000)::bigint, threads, version, graphs \
    FROM {schema}.workers WHERE last_seen + 10 * lease > clock_timestamp() ORDER BY name";

fn scan(order: &str) -> String {
    format!(
        "SELECT key, key_rest, bytes FROM {{schema}}.records WHERE {IN_THREAD} AND key >= $4 AND key <= $5 {order} LIMIT $6"
    )
}

/// Items between two names, but for one of them.
fn items(order: &str) -> String {
    format!(
        "SELECT namespace, key, bytes FROM {{schema}}.items WHERE (namespace, key) >= ($1, $2) \
         AND ($3::text IS NULL OR (namespace, key) <= ($3, $4)) AND (namespace, key) IS DISTINCT FROM ($5::text, $6::text) \
         AND ($7::text IS NULL OR namespace = $7) AND starts_with(key, $8) {order} LIMIT $9"
    )
}

/// Threads that have changed since their summary was made, and that nobody runs.
fn unlisted(condition: &str) -> String {
    format!(
        "SELECT name_start, name_rest, id, epoch, commit_number, posts FROM {{schema}}.threads \
         WHERE summary IS NULL AND birth IS NOT NULL AND {IS_FREE} AND {condition}"
    )
}

fn long_scan(order: &str) -> String {
    format!(
        "SELECT key, key_rest, bytes FROM {{schema}}.records WHERE {IN_THREAD} AND key >= $4 AND key <= $5 \
         AND (key, key_rest) >= ($4, $7) AND (key, key_rest) <= ($5, $8) {order} LIMIT $6"
    )
}

/// The texts of all statements for one schema.
#[derive(Debug)]
pub(super) struct QueryTexts([String; Query::COUNT], Schema);

impl QueryTexts {
    pub(super) fn new(schema: &Schema) -> Self {
        Self(Query::ALL.map(|query| schema.fill(&query.text())), schema.clone())
    }

    /// Replaces `{schema}` in a statement.
    pub(super) fn fill(&self, sql: &str) -> String {
        self.1.fill(sql)
    }

    pub(super) fn text(&self, query: Query) -> &str {
        &self.0[query as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_at_its_own_place() {
        assert!(Query::ALL.iter().enumerate().all(|(nth, query)| *query as usize == nth));
    }
}
