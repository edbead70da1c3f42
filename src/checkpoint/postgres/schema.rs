//! The schema of a store: made and moved to the newest version at connect, by one process at a time; and the settings that a server
//! must have. Knows versions and SQL; must not know records.

use super::address::{Address, Schema};
use super::fault::Fault;
use super::session::Session;
use crate::checkpoint::CheckpointError;

/// The steps from each version to the next; the first makes everything.
const STEPS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];
/// The oldest server that has what the statements use.
const OLDEST_SERVER: u32 = 130_000;

/// Returns the SQL that makes a schema of version `found` one of the newest version; empty if it is.
pub(super) fn migration(schema: &Schema, found: usize) -> String {
    let missing = STEPS.get(found..).unwrap_or_default();
    if missing.is_empty() {
        return String::new();
    }
    let first = "CREATE SCHEMA IF NOT EXISTS {schema};\nCREATE TABLE {schema}.meta (version integer NOT NULL);\n\
        INSERT INTO {schema}.meta VALUES (0);\n\n";
    let first = if found == 0 { first } else { "" };
    let last = format!("\nUPDATE {{schema}}.meta SET version = {};\n", STEPS.len());
    schema.fill(&format!("{first}{}{last}", missing.join("\n")))
}

/// Returns the version of the schema; 0 if there is none.
pub(super) async fn version(session: &Session, schema: &Schema) -> Result<usize, Fault> {
    let is_there = session.value(&schema.fill("SELECT to_regclass('{schema}.meta') IS NOT NULL")).await?;
    if is_there.as_deref() != Some("t") {
        return Ok(0);
    }
    let version = session.value(&schema.fill("SELECT version FROM {schema}.meta")).await?;
    Ok(version.and_then(|version| version.parse().ok()).unwrap_or(0))
}

/// Makes the schema, or moves it to the newest version.
pub(super) async fn migrate(session: &Session, schema: &Schema, shown: &str) -> Result<(), Fault> {
    let found = version(session, schema).await?;
    if found == STEPS.len() {
        return Ok(());
    }
    check_version(found, shown)?;
    // All schemas of a database share the lock: migrations are rare and short. It is taken before the transaction begins, which
    // otherwise would not see the tables that another process has just made.
    session.batch("SELECT pg_advisory_lock(hashtext('superstep schema'))").await?;
    let migrated = migrate_alone(session, schema, shown).await;
    if migrated.is_err() {
        session.batch("ROLLBACK").await?;
    }
    session.batch("SELECT pg_advisory_unlock(hashtext('superstep schema'))").await?;
    migrated
}

async fn migrate_alone(session: &Session, schema: &Schema, shown: &str) -> Result<(), Fault> {
    let found = version(session, schema).await?;
    check_version(found, shown)?;
    session.batch("BEGIN").await?;
    session.batch(&migration(schema, found)).await?;
    session.batch("COMMIT").await
}

/// Checks that the schema is there and of the newest version, for a role that may not change it.
pub(super) async fn check_existing(session: &Session, schema: &Schema, shown: &str) -> Result<(), Fault> {
    let found = version(session, schema).await?;
    check_version(found, shown)?;
    if found == STEPS.len() {
        return Ok(());
    }
    Err(refused(
        shown,
        format!("its schema `{}` has version {found} of {}", schema.name(), STEPS.len()),
        "open it once with the right to change it, or execute what `superstep store migrate --dry-run` prints",
    ))
}

/// Checks that this release knows the version of a schema.
pub(super) fn check_version(found: usize, shown: &str) -> Result<(), Fault> {
    if found <= STEPS.len() {
        return Ok(());
    }
    let number = |version: usize| u16::try_from(version).unwrap_or(u16::MAX);
    let what = format!("the schema of the store at {shown}");
    Err(CheckpointError::Format { what, found: number(found), known: number(STEPS.len()) }.into())
}

/// Checks what the server promises.
pub(super) async fn check_server(session: &Session, address: &Address, shown: &str) -> Result<(), Fault> {
    let server = session.value("SELECT current_setting('server_version_num')").await?;
    if server.and_then(|version| version.parse::<u32>().ok()).is_none_or(|version| version < OLDEST_SERVER) {
        return Err(refused(shown, "the server is older than PostgreSQL 13".into(), "use PostgreSQL 13 or newer"));
    }
    let fsync = session.value("SELECT current_setting('fsync')").await?;
    if fsync.as_deref() == Some("on") || address.is_unsafe {
        return Ok(());
    }
    let reason = "`fsync` is off: a crash of the machine loses acknowledged commits".into();
    Err(refused(shown, reason, "set `fsync = on` on the server, or add `unsafe=1` to the address of a store for tests"))
}

fn refused(shown: &str, reason: String, advice: &'static str) -> Fault {
    CheckpointError::RefusedStore { store: shown.into(), reason, advice }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_has_no_gaps_to_fill() {
        let sql = migration(&Schema::new("flows").unwrap(), 0);
        assert!(sql.contains("CREATE TABLE \"flows\".threads") && !sql.contains("{schema"));
        assert_eq!(migration(&Schema::new("flows").unwrap(), STEPS.len()), "");
    }
}
