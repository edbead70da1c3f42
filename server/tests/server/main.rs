//! The server through real sockets: what clients of LangGraph's API are answered, in which order, and what a killed process has promised.
//!
//! Small because it only lists the tests.
#![allow(clippy::unwrap_used, reason = "it is a test")]

#[path = "../../examples/page_server/article.rs"]
mod article;
#[path = "../../examples/agent_server/chat.rs"]
mod chat;
#[path = "../../examples/agent_server/graphs.rs"]
mod graphs;
#[path = "../../../tests/support/postgres.rs"]
mod postgres;
#[path = "../../../tests/crash/rng.rs"]
#[allow(dead_code, reason = "the crash tests draw in more ways")]
mod rng;

mod answers;
mod api;
mod branches;
mod callers;
mod commands;
mod crons;
mod damaged_records;
mod docs;
mod durability;
mod embedding;
mod foreign;
mod forms;
mod front_ends;
mod hostile;
mod inbox;
mod inbox_faults;
mod inbox_pages;
mod inspection;
mod limits;
mod lists;
mod many_runs;
mod mcp;
mod mcp_client;
mod mcp_tasks;
mod metrics;
mod operations;
mod overview;
mod page;
mod panics;
mod protocol;
mod recording;
mod requests;
mod runs;
mod schemas;
mod secrets;
mod security;
mod spend;
mod states;
mod store;
mod streams;
mod threads;
mod traces;
mod watched_store;
mod webhooks;
