//! The login where the address leaves it out: `PGUSER`, `PGPASSWORD` and the file `.pgpass`, as libpq reads them. Knows the
//! environment and one file; must not know connections.

use std::path::{Path, PathBuf};

use super::address::{Address, Host, Secret};

/// Fills in the user, the database and the password that an address leaves out.
pub(super) fn complete(address: &mut Address) {
    let user = address.user.clone().or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
    let user = user.unwrap_or_else(|| "postgres".into());
    let database = address.database.get_or_insert_with(|| user.clone()).clone();
    if address.password.is_none() {
        let login = Login { host: &host(address), port: &address.port.to_string(), database: &database, user: &user };
        address.password = variable("PGPASSWORD").or_else(|| password_in_file(&login)).map(Secret);
    }
    address.user = Some(user);
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the host as it is written in a password file.
fn host(address: &Address) -> String {
    match &address.host {
        Host::Name(name) => name.clone(),
        Host::Socket(_) => "localhost".into(),
    }
}

struct Login<'a> {
    host: &'a str,
    port: &'a str,
    database: &'a str,
    user: &'a str,
}

fn password_in_file(login: &Login<'_>) -> Option<String> {
    let path = variable("PGPASSFILE").map(PathBuf::from);
    let path = path.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
    if !is_private(&path) {
        tracing::warn!("{} is ignored: others can read it; run `chmod 0600` on it", path.display());
        return None;
    }
    find_password(&std::fs::read_to_string(path).ok()?, login)
}

/// Returns whether nobody else can read the file; libpq reads no other.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o077 == 0) || !path.exists()
}

#[cfg(not(unix))]
fn is_private(_path: &Path) -> bool {
    true
}

/// Finds the first line `host:port:database:user:password` that fits; `*` fits everything.
fn find_password(file: &str, login: &Login<'_>) -> Option<String> {
    let fields = file.lines().filter(|line| !line.starts_with('#')).map(split_line);
    let wanted = [login.host, login.port, login.database, login.user];
    let fits = |fields: &Vec<String>| {
        fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
    };
    fields.into_iter().find(fits).and_then(|mut fields| fields.pop())
}

/// Splits a line at its colons; a backslash takes the next character as it is.
fn split_line(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, fields.len()) {
            (':', 1..=4) => fields.push(String::new()),
            ('\\', _) => fields.last_mut().into_iter().for_each(|field| field.extend(chars.next())),
            _ => fields.last_mut().into_iter().for_each(|field| field.push(c)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let login = Login { host: "db", port: "5432", database: "team", user: "ann" };
        let file = "# db:5432:team:ann:comment\nother:*:*:*:no\ndb:*:*:ann:a\\:b\\\\c\n*:*:*:*:later\n";
        assert_eq!(find_password(file, &login).as_deref(), Some("a:b\\c"));
        assert_eq!(find_password("db:5432:team", &login), None);
    }
}
