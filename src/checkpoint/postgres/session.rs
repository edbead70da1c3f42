//! One connection to the server, with its settings and the statements that were prepared on it. A task of the store's thread reads
//! and writes; a caller that has queued a statement can have it written at once, without waiting until that thread wakes. Knows one
//! server; must not know how many connections there are.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Host};
use super::fault::{Fault, fault};
use super::query::{Query, QueryTexts};
use super::tls;
use crate::checkpoint::CheckpointError;

/// The longest time in which a connection is made.
const CONNECT: Duration = Duration::from_secs(5);
/// The time after which data that the server has not confirmed fails a connection.
const UNCONFIRMED: Duration = Duration::from_secs(10);

/// The reason of a connection that was not made in time.
pub(super) const NO_ANSWER: &str = "the server does not answer";

/// Settings of every session. Statements here look up rows by index: no plan is made twice, and none reads a whole table.
const SETTINGS: &str = "SET default_transaction_isolation = 'read committed'; SET plan_cache_mode = force_generic_plan; \
    SET enable_seqscan = off; SET jit = off; SET statement_timeout = 0; SET lock_timeout = 0; \
    SET idle_in_transaction_session_timeout = 0; SET bytea_output = 'hex'; SET client_min_messages = warning";

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Makes sessions with one server.
#[derive(Debug)]
pub(super) struct Server {
    /// The address without its password.
    pub(super) shown: String,
    config: Config,
    tls: TlsMaker,
    queries: Arc<QueryTexts>,
    pub(super) channel: String,
    is_read_only: bool,
}

struct TlsMaker(MakeRustlsConnect);

impl std::fmt::Debug for TlsMaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsMaker")
    }
}

impl Server {
    pub(super) fn new(address: &Address, is_read_only: bool) -> Result<Self, CheckpointError> {
        let tls = TlsMaker(tls::maker(address)?);
        let queries = Arc::new(QueryTexts::new(&address.schema));
        let (shown, channel) = (address.to_string(), address.schema.channel());
        Ok(Self { shown, config: config(address), tls, queries, channel, is_read_only })
    }

    /// Connects, and sets what every session needs.
    pub(super) async fn connect(&self) -> Result<Session, Fault> {
        self.connect_with(drop).await
    }

    /// Connects, and calls `wake` with the text of each notification on the channel.
    pub(super) async fn listen(&self, wake: impl Fn(&str) + Send + 'static) -> Result<Session, Fault> {
        let session = self.connect_with(move |message| {
            if let AsyncMessage::Notification(notification) = message {
                wake(notification.payload());
            }
        });
        let session = session.await?;
        session.batch(&format!("LISTEN \"{}\"", self.channel)).await?;
        Ok(session)
    }

    /// Connects; `listen` gets what the server sends unasked.
    async fn connect_with(&self, listen: impl Fn(AsyncMessage) + Send + 'static) -> Result<Session, Fault> {
        let connected = timeout(CONNECT, self.config.connect(self.tls.0.clone())).await;
        let connected = connected.map_err(|_| Fault::Lost(NO_ANSWER.into()))?;
        let (client, mut connection) = connected.map_err(|error| fault(&error, &self.shown))?;
        let driver = Driver::start(move |cx| connection.poll_message(cx), listen);
        let statements = Query::ALL.map(|_| OnceCell::new());
        let queries = Arc::clone(&self.queries);
        let session = Session { client, driver, statements, queries, shown: self.shown.clone() };
        session.set_up(self.is_read_only).await?;
        Ok(session)
    }
}

/// Returns what the client needs to know of an address.
fn config(address: &Address) -> Config {
    let mut config = Config::new();
    match &address.host {
        Host::Name(name) => config.host(name),
        #[cfg(unix)]
        Host::Socket(path) => config.host_path(path),
        #[cfg(not(unix))]
        Host::Socket(path) => config.host(path.to_string_lossy()),
    };
    config.port(address.port).ssl_mode(tls::client_mode(address.tls)).application_name("superstep");
    config.connect_timeout(CONNECT).tcp_user_timeout(UNCONFIRMED);
    config.keepalives_idle(UNCONFIRMED).keepalives_interval(CONNECT).keepalives_retries(2);
    address.user.iter().for_each(|user| _ = config.user(user));
    address.database.iter().for_each(|database| _ = config.dbname(database));
    address.password.iter().for_each(|password| _ = config.password(&password.0));
    config
}

/// One connection.
pub(super) struct Session {
    client: Client,
    driver: Driver,
    statements: [OnceCell<Statement>; Query::COUNT],
    queries: Arc<QueryTexts>,
    shown: String,
}

impl Session {
    async fn set_up(&self, is_read_only: bool) -> Result<(), Fault> {
        let read_only = if is_read_only { "SET default_transaction_read_only = on" } else { "SELECT 1" };
        let durable = "SELECT set_config('synchronous_commit', 'on', false) \
            WHERE current_setting('synchronous_commit') <> 'remote_apply'";
        self.batch(&format!("{SETTINGS}; {durable}; {read_only}")).await
    }

    /// Returns whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Polls statements to their end, and writes them as soon as the first poll has queued them.
    pub(super) async fn write_at_once<T>(&self, statements: impl Future<Output = T>) -> T {
        let (mut statements, mut is_written) = (std::pin::pin!(statements), false);
        std::future::poll_fn(|cx| {
            let polled = statements.as_mut().poll(cx);
            if !std::mem::replace(&mut is_written, true) {
                self.driver.write_now();
            }
            polled
        })
        .await
    }

    /// Executes statements without parameters.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        self.client.batch_execute(sql).await.map_err(|error| self.fault(&error))
    }

    /// Returns one value of one row of a statement without parameters.
    pub(super) async fn value(&self, sql: &str) -> Result<Option<String>, Fault> {
        let messages = self.client.simple_query(sql).await.map_err(|error| self.fault(&error))?;
        Ok(messages.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    /// Executes a prepared statement and returns its rows.
    pub(super) async fn rows(&self, query: Query, params: Params<'_>) -> Result<Vec<Row>, Fault> {
        let statement = self.statement(query).await?;
        self.client.query(statement, params).await.map_err(|error| self.fault(&error))
    }

    /// Executes a statement that differs from time to time; `{schema}` in it is replaced.
    pub(super) async fn typed_rows(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Fault> {
        let sql = self.queries.fill(sql);
        self.client.query_typed(&sql, params).await.map_err(|error| self.fault(&error))
    }

    /// Executes a prepared statement and returns its first row.
    pub(super) async fn row(&self, query: Query, params: Params<'_>) -> Result<Option<Row>, Fault> {
        Ok(self.rows(query, params).await?.into_iter().next())
    }

    /// Prepares a statement, unless this connection has it already.
    pub(super) async fn statement(&self, query: Query) -> Result<&Statement, Fault> {
        let cell = &self.statements[query as usize];
        let prepared = cell.get_or_try_init(|| self.client.prepare(self.queries.text(query))).await;
        prepared.map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &tokio_postgres::Error) -> Fault {
        fault(error, &self.shown)
    }
}

type Polled = Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>>;
type PollMessage = Box<dyn FnMut(&mut Context<'_>) -> Polled + Send>;
type Listen = Box<dyn Fn(AsyncMessage) + Send>;

/// Drives one connection until it ends or this is dropped.
struct Driver {
    work: Arc<Mutex<Work>>,
    task: JoinHandle<()>,
}

struct Work {
    /// The connection; `None` once it has ended, as only its drop fails the statements that wait for an answer.
    poll_message: Option<PollMessage>,
    listen: Listen,
    /// Wakes the task; `None` before its first turn.
    waker: Option<Waker>,
}

impl Driver {
    /// Starts a task that calls `poll_message`, and `listen` with what the server sends unasked.
    fn start(
        poll_message: impl FnMut(&mut Context<'_>) -> Polled + Send + 'static,
        listen: impl Fn(AsyncMessage) + Send + 'static,
    ) -> Self {
        let poll_message: PollMessage = Box::new(poll_message);
        let work = Work { poll_message: Some(poll_message), listen: Box::new(listen), waker: None };
        let work = Arc::new(Mutex::new(work));
        let own = Arc::clone(&work);
        let task = tokio::spawn(std::future::poll_fn(move |cx| {
            let mut work = own.lock().unwrap_or_else(PoisonError::into_inner);
            if !work.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                work.waker = Some(cx.waker().clone());
            }
            work.advance(cx)
        }));
        Self { work, task }
    }

    /// Writes what is queued, as far as the connection takes it now. If the task is at it, it does that.
    fn write_now(&self) {
        let mut work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        // The task's own waker: what happens later on the connection wakes the task.
        if let Some(waker) = work.waker.clone()
            && work.advance(&mut Context::from_waker(&waker)).is_ready()
        {
            waker.wake();
        }
    }
}

impl Work {
    /// Reads and writes until the connection has nothing more to do now; ready once it has ended.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(poll_message) = &mut self.poll_message {
            match poll_message(cx) {
                Poll::Ready(Some(Ok(message))) => (self.listen)(message),
                Poll::Ready(_) => self.poll_message = None,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A server that hangs would hold the task for ever. A task that is at it drops the connection when it is aborted.
        self.task.abort();
    }
}
