//! [`App`]: a command line over any registered graph. The one room where a state and node ids are forgotten: above the face
//! in `erased`, everything speaks JSON.
//!
//! | file | what it knows |
//! |---|---|
//! | `program`, `entry`, `decide`, `exit`, `own`, `said` | what a program says about its graphs, and adds |
//! | `erased`; `typed`, `thread`, `run`, `questions`, `shows` | a graph without its types; the same with them |
//! | `args` | words: commands, options, help |
//! | `commands` | from words to text, JSON and an exit code |
//! | `stored` | a thread and its past, for commands that a program adds |
//! | `driven`, `hooks` | what a runner drives, and what it calls |
//! | `desk`, `local`, `control` | what may be asked of whoever holds the store; this process; another one, by a socket |
//! | `shapes`, `journals`, `happened`, `held`, `text`, `watch`, `log`, `print` | JSON for programs; lines and trees for people |

mod args;
mod asked;
mod caller;
mod commands;
mod control;
mod decide;
mod desk;
mod driven;
mod entry;
mod erased;
mod exit;
mod failure;
mod graphs;
mod happened;
mod held;
mod hooks;
mod journals;
mod local;
mod log;
mod own;
mod print;
mod program;
mod questions;
mod reading;
mod run;
mod said;
mod shapes;
mod shows;
mod signal;
mod stored;
mod text;
mod thread;
mod time;
mod typed;
mod watch;

pub use decide::{Decide, Reply, Verdict};
pub use entry::{Entry, Register};
pub use exit::Exit;
pub use failure::Refusal;
pub use program::App;
pub use said::{Instead, Said};
pub use stored::{ChannelChange, Found, Pending, StoredThread};
