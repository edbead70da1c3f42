//! `keys`: adds, lists and revokes the keys of a server. Without the feature `server` it says which one is missing.

use super::session::{CommandOutput, Session};
use crate::args::KeysArgs;
use crate::failure::Failure;

#[cfg(not(feature = "server"))]
impl Session {
    /// Fails: the program has no server.
    pub(super) fn keys(&self, _: &KeysArgs) -> Result<CommandOutput, Failure> {
        let error = "keys are those of the server, which this program was built without";
        Err(Failure::usage(error).help("build it with the feature `server`"))
    }
}

#[cfg(feature = "server")]
mod with_server {
    use std::path::Path;

    use serde_json::json;
    use superstep_base::time::rfc3339;
    use superstep_server::{KeyRole, Keys, KeysError};

    use super::{CommandOutput, Failure, KeysArgs, Session};
    use crate::args::{AddKeyArgs, KeysVerb, RevokeKeyArgs};
    use crate::text::{clean, keys};

    impl Session {
        pub(in crate::commands) fn keys(&self, args: &KeysArgs) -> Result<CommandOutput, Failure> {
            match &args.verb {
                KeysVerb::Add(args) => add(args),
                KeysVerb::List(args) => list(&args.api_keys),
                KeysVerb::Revoke(args) => revoke(args),
            }
        }
    }

    /// Prints the key last, so that a script takes the last line.
    fn add(args: &AddKeyArgs) -> Result<CommandOutput, Failure> {
        let AddKeyArgs { name, role, api_keys } = args;
        let role: KeyRole = role.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        let key = Keys::add(api_keys, name, role)?;
        let file = api_keys.display().to_string();
        let text = format!(
            "the key `{}` with the role {role} is in {}; it is shown only now:\n{key}\n",
            clean(name),
            clean(&file)
        );
        CommandOutput::new(text, &json!({ "name": name, "role": role, "file": file, "key": key }))
    }

    fn list(file: &Path) -> Result<CommandOutput, Failure> {
        let all = Keys::list(file)?;
        let rows: Vec<_> =
            all.iter().map(|key| (key.name.as_str(), key.role.as_str(), rfc3339(key.created_at))).collect();
        let json: Vec<_> =
            rows.iter().map(|(name, role, time)| json!({ "name": name, "role": role, "created_at": time })).collect();
        CommandOutput::new(keys(&rows), &json)
    }

    fn revoke(args: &RevokeKeyArgs) -> Result<CommandOutput, Failure> {
        Keys::revoke(&args.api_keys, &args.name)?;
        let text = format!("the key `{}` is revoked: it is refused from now on\n", clean(&args.name));
        CommandOutput::new(text, &json!({ "name": args.name, "revoked": true }))
    }

    impl From<KeysError> for Failure {
        fn from(error: KeysError) -> Self {
            let help = error.help();
            help.into_iter().fold(Self::new(error.to_string()), Self::help)
        }
    }
}
