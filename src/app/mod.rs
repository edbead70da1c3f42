//! [`App`]: a command line for any registered graph. The one room where state and node ids are erased: above `erased`,
//! everything is JSON.
//!
//! | file | what it knows |
//! |---|---|
//! | `program`, `entry`, `decide`, `exit`, `custom`, `output` | the interface for programs: graphs, commands |
//! | `erased`; `typed`, `thread`, `run`, `answering`, `questions`, `presentation` | graphs without types; with types |
//! | `args` | commands, options, help |
//! | `commands` | from parsed arguments to text, JSON and an exit code |
//! | `advice`, `examples` | the next step of a thread; examples of answers |
//! | `stored` | a thread and its history, for commands that a program adds |
//! | `repository`, `relocation` | what git keeps for a thread; where its repository is, if it was moved |
//! | `driven`, `hooks` | graphs as a runner drives them; the hooks that it calls |
//! | `service`, `local`, `control` | access to threads; in this process; through a socket in another one |
//! | `shapes`, `journals`, `event_json`, `event_buffer` | JSON for programs |
//! | `text`, `watch`, `log`, `print` | lines and trees for people |

mod advice;
mod answering;
mod args;
mod caller;
mod commands;
mod control;
mod custom;
mod custom_output;
mod decide;
mod driven;
mod entry;
mod erased;
mod event_buffer;
mod event_json;
mod examples;
mod exit;
mod failure;
mod forks;
mod graphs;
mod hooks;
mod journals;
mod local;
mod log;
mod presentation;
mod print;
mod program;
mod questions;
mod relocation;
mod repository;
mod run;
mod service;
mod settings;
mod shapes;
mod signal;
mod store_location;
mod stored;
mod supersteps;
mod text;
mod thread;
mod time;
mod typed;
mod watch;

pub use custom_output::{Instead, Said};
pub use decide::{Decide, Reply, Verdict};
pub use entry::{Entry, Register};
pub use exit::Exit;
pub use failure::Refusal;
pub use forks::{ForkPoint, ForkWrites};
pub use program::App;
pub use stored::{ChannelChange, Found, Pending, StoredThread};
pub use superstep_base::shell::shell_word;
