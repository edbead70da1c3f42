//! Records on their way into the store.

use crate::checkpoint::Key;

/// Records of one commit.
pub(crate) type Puts = Vec<(Key, Vec<u8>)>;
