//! [`App`]: a command line for any registered graph. `entry` knows the types of a graph; above it, states are `AnyState`s and
//! JSON.
//!
//! | file | what it knows |
//! |---|---|
//! | `program`, `entry`, `settings`, `custom`, `custom_output` | the interface for programs: graphs, commands |
//! | `graphs`, `threads`, `answering` | the graphs of a program; their threads, runs and questions |
//! | `args`, `stops` | commands, options, help; stop points, which graphs know too |
//! | `commands` | from parsed arguments to text, JSON and an exit code |
//! | `advice`, `failure` | the commands to type next; errors and exit codes |
//! | `stored` | a thread and its history, for commands that a program adds |
//! | `repository`, `relocation` | what git keeps for a thread; where its repository is, if it was moved |
//! | `service`, `local`, `control` | access to threads; in this process; through a socket in another one |
//! | `store`, `dispatch`, `time` | stores, engines and times as a command line names them |
//! | `shapes`, `events` | JSON for programs |
//! | `metrics` | the requests that get the numbers of a runner |
//! | `text`, `watch`, `terminal` | lines and trees for people; the live one; the only place that prints |

mod advice;
mod answering;
mod args;
mod commands;
mod control;
mod custom;
mod custom_output;
mod dispatch;
mod entry;
mod events;
mod failure;
mod graphs;
mod local;
mod metrics;
mod program;
mod relocation;
mod repository;
mod service;
mod settings;
mod shapes;
mod stops;
mod store;
mod stored;
mod terminal;
mod text;
mod threads;
mod time;
mod watch;

pub use custom_output::{CustomOutput, Instead};
pub use entry::{Entry, Register};
pub use failure::{Exit, Refusal};
pub use program::App;
pub use settings::{ForkPoint, ForkWrites};
pub use stored::{ChannelChange, Pending, StoredThread, ThreadSummary};
