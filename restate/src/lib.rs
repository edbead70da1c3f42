//! Restate as the engine of superstep's threads: it says where and when a thread runs, and calls a worker with it. What is true of
//! a thread is in its store, which all workers share.
//!
//! A thread is a virtual object of Restate whose key is the thread's name, and a call of its handler is one turn: the worker claims
//! the thread and runs it until it interrupts, sleeps, waits or ends. Each superstep is committed to the store. An answer is stored
//! first, and then the next call; a sleep is a delayed call. If a worker dies, Restate calls another one, which takes over at once:
//! Restate calls one worker at a time for a thread, and a commit of the one before is refused.
//!
//! ```no_run
//! use superstep::graph::Graphs;
//! use superstep_restate::RestateWorker;
//! # async fn example(graphs: Graphs, stop: superstep::graph::CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let worker = RestateWorker::new(superstep::graph::runner(graphs))?
//!     .listen("127.0.0.1:9080")
//!     .admin("http://127.0.0.1:9070")?;
//! worker.run(stop).await?; // registers, serves, and hands over when it is stopped
//! # Ok(()) }
//! ```
//!
//! [`RestateDispatch`] wakes a thread after something was stored for it. A service of your own serves [`endpoint`] beside, or binds
//! [`RestateWorker::definition`] to an endpoint with handlers of its own.
//!
//! | file | what it knows |
//! |---|---|
//! | `address` | addresses of Restate and of workers |
//! | `client` | one HTTP request |
//! | `dispatch` | the ingress of Restate: wakes and cancels threads |
//! | `object` | the handlers that Restate calls |
//! | `admin` | the admin API of Restate: which addresses serve a service |
//! | `peers` | workers that died, and their calls |
//! | `server` | connections from Restate |
//! | `worker` | a worker: all of it together |
//! | `error`, `notices` | what can go wrong; lines for people |

mod address;
mod admin;
mod client;
mod dispatch;
mod error;
mod notices;
mod object;
mod peers;
mod server;
mod worker;

pub use dispatch::RestateDispatch;
pub use error::RestateError;
pub use worker::{RestateWorker, endpoint};
