//! The command `store migrate`: makes the tables of a store in a database, moves them to the newest version, or prints the SQL that
//! would. Must not know the tables.
//! Small because only stores in databases have tables.

use serde_json::json;

use super::session::{CommandOutput, Session};
use crate::args::MigrateArgs;
use crate::failure::Failure;
use crate::local::Local;
use crate::store::StoreLocation;
use crate::text::clean;

impl Session {
    pub(super) async fn migrate(&self, args: &MigrateArgs) -> Result<CommandOutput, Failure> {
        let StoreLocation::Database(address) = &self.store else {
            Local::find(&self.store)?;
            let text = "nothing to do: a store in a directory is up to date once it is open\n";
            return CommandOutput::new(text, &json!({ "sql": "", "migrated": false }));
        };
        let sql = address.migration().await?;
        let shown = clean(&address.to_string()).into_owned();
        match (sql.is_empty(), args.dry_run) {
            (true, true) => output(format!("-- nothing to do: {shown} has the newest tables\n"), &sql, false),
            (true, false) => output(format!("nothing to do: {shown} has the newest tables\n"), &sql, false),
            (false, true) => output(format!("BEGIN;\n{sql}COMMIT;\n"), &sql, false),
            (false, false) => {
                self.store_or_new().await?; // makes them, unless another process has done so meanwhile
                output(format!("{shown} has the newest tables now\n"), &sql, true)
            }
        }
    }
}

fn output(text: String, sql: &str, is_migrated: bool) -> Result<CommandOutput, Failure> {
    CommandOutput::new(text, &json!({ "sql": sql, "migrated": is_migrated }))
}
